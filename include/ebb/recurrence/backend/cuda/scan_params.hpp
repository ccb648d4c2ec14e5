// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/scan_params.hpp
/// @brief  What the kernels of a scan are given, and what they do at a step.
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

/// Bits of the steps that a lane keeps: before which nothing is left of the state of the steps
/// before, and (on the way back) after which nothing is left of any.
struct cut_bits {
  word32 begins = 0, ends = 0;
};

/// The types of the steps of a kernel, and how their values are read.
template <class T, class State, class Gate>
struct step_values {
  using input = T;
  using state = State;
  using gate = Gate;
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
};

/// What the kernels do at a step of the scan. Another such type (cuda/back_steps.hpp) makes them go
/// the way back.
///
///   reads(p), writes(p)     whether there are inputs, and outputs
///   make(c, w, x, data)     the weight and the number x that comes in, from what was read
///   note(place, bit, cuts)  notes the bit of a step among the cuts
///   meet(c, p, place, ...)  changes x by what else happens at a step
///   map_of(c, w, x, ...)    the step as a map of the state
///   advance(c, w, x, ...)   moves the state, and gives what the step puts out
///   stored(c, w, y)         that in the type of the outputs
template <class T, class State, class Gate, input_gain Gain>
struct scan_steps : step_values<T, State, Gate> {
  using base = step_values<T, State, Gate>;
  using output = T;
  using weight = typename base::weight;
  using params = scan_params<T, State, Gate>;
  template <bool Cuts>
  using algebra = map_algebra<State, Gate::form, Cuts>;

  static EBB_DEVICE constexpr bool reads(const params&) { return true; }
  static EBB_DEVICE constexpr bool writes(const params&) { return true; }

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void make(Context& c, weight& w, State& x, const T& data) {
    x = algebra<false>::template gained<Gain>(c, w, scalar_as<State>(data));
  }
  static EBB_DEVICE void note(const step_place& here, word32 bit, cut_bits& cuts) {
    if (here.first || here.reset) cuts.begins |= bit;
  }
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void meet(Context& c, const params& p, const step_place& here, index_t b,
                              index_t, index_t k, const weight& w, State& x) {
    if (!here.first && !here.reset) return;
    const State h = here.reset ? State(0) : base::initial(c, p.where, b, here.sequence, k);
    x = algebra<false>::step(c, w, h, x);
  }
  template <class Context>
  static EBB_DEVICE step_map<State> map_of(Context&, const weight& w, const State& x, bool begins,
                                           bool) {
    return algebra<true>::of(w, x, begins);
  }
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE State advance(Context& c, const weight& w, const State& x, bool begins, bool,
                                  State& h) {
    h = begins ? x : algebra<false>::step(c, w, h, x);
    return h;
  }
  template <class Context>
  static EBB_DEVICE T stored(Context&, const weight&, const State& y) {
    return scalar_as<T>(y);
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
