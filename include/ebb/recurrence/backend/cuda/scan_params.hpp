// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/scan_params.hpp
/// @brief  What the kernels of a scan are given, and what they have in common.
#pragma once

#include <type_traits>

#include <ebb/recurrence/backend/cuda/gate.hpp>
#include <ebb/recurrence/backend/cuda/launcher.hpp>
#include <ebb/recurrence/backend/cuda/place.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// A scan on the device. Steps are counted as they are walked: number i is step i of the data, in
/// reverse step steps - 1 - i.
template <class T, class State, class Gate>
struct scan_params {
  Gate gate;
  operand<const T> in;
  operand<T> out;
  device_sequences<State> where;
  index_t batches, steps, channels;
  bool reverse;
  tile_buffer tiles;

  EBB_DEVICE index_t step(index_t i) const { return reverse ? steps - 1 - i : i; }
};

/// What makes the steps of a kernel: the types, the gate, its gain.
template <class T, class State, class Gate, input_gain Gain>
struct scan_steps {
  using value = typename Gate::value;
  using weight = step_weight_t<State, Gate::form>;
  using channel_part = typename Gate::channel_part;
  using time_part = typename Gate::time_part;
  static constexpr bool reads_values = !std::is_same_v<value, no_values>;

  /// The state before the first step of a sequence.
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE State initial(Context& c, const device_sequences<State>& where, index_t b,
                                  index_t s, index_t k) {
    if (where.initial.data == nullptr) return State(0);
    return c.template load<1>(where.initial.at(b, s, k)).v[0];
  }
  /// One element of an array.
  EBB_NO_EXEC_CHECK template <class Context, class D>
  static EBB_DEVICE D one(Context& c, const operand<const D>& values, index_t b, index_t t,
                          index_t k) {
    return c.template load<1>(values.at(b, t, k)).v[0];
  }
  /// The value of the gate for an element.
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE value gate_value(Context& c, const Gate& gate, index_t b, index_t t,
                                     index_t k) {
    if constexpr (reads_values)
      return one(c, gate.values, b, t, gate.column(k));
    else
      return {};
  }
  /// The input with its gain.
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE State gained(Context& c, const weight& w, const T& x) {
    using plain = map_algebra<State, Gate::form, false>;
    return plain::template gained<Gain>(c, w, scalar_as<State>(x));
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
