// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/matrix_gate.hpp
/// @brief  The gates of matrix states: those of scans, and weighing ones.
#pragma once

#include <type_traits>
#include <utility>

#include <ebb/recurrence/backend/cuda/gate.hpp>
#include <ebb/recurrence/backend/cuda/logistic_gate.hpp>
#include <ebb/recurrence/backend/cuda/steps_gate.hpp>
#include <ebb/recurrence/matrix.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// A gate that also weighs what is written (weighing_decay, recurrence/matrix.hpp):
///
///   gate.weight_at(batch, step, head)   where a weight_value lies
///   gate.weight_of(c, head, value)      the weight made of it
template <class Gate>
concept weighing_gate = requires {
  typename Gate::weight_value;
};

/// The step of a selective decay weighs.
template <class Gate>
struct weighing_selective_gate : Gate {
  using weight_value = typename Gate::value;

  EBB_DEVICE const weight_value* weight_at(index_t b, index_t t, index_t h) const {
    return this->values.at(b, t, this->column(h * this->steps_for));
  }
  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE auto weight_of(Context& c, index_t h, const weight_value& raw) const {
    return this->step(c, this->channel(c, h * this->steps_for), raw);
  }
};

/// body(gate) for a bound decay of matrix states.
template <class State, class Launcher, class Decay, class Body>
void with_matrix_gate(Launcher& launcher, const Decay& decay, const Body& body) {
  with_gate<State>(launcher, decay, [&](const auto& gate) {
    using Gate = std::remove_cvref_t<decltype(gate)>;
    if constexpr (weighing_decay<Decay, State> && !weighing_gate<Gate>)
      body(weighing_selective_gate<Gate>{gate});
    else
      body(gate);
  });
}

/// Reads the values of channels k, k + 1, ..., of which there are `count`.
EBB_NO_EXEC_CHECK template <class Context, class Gate, int N>
EBB_DEVICE void read_gate(Context& c, const Gate& gate, index_t b, index_t t, index_t k,
                          index_t count, typename Gate::value (&to)[N]) {
  if constexpr (!std::is_same_v<typename Gate::value, no_values>) {
    EBB_UNROLL
    for (int i = 0; i < N; ++i)
      if (i < count) to[i] = c.template load<1>(gate.values.at(b, t, gate.column(k + i))).v[0];
  }
}

/// The factor that a weight (decay/weight.hpp) stands for, rounded.
template <decay_form Form, class State>
EBB_DEVICE State factor_of_weight(const State& weight) {
  if constexpr (Form == decay_form::factor)
    return weight;
  else
    return weight < 0 ? State(1) + weight : weight;
}

}  // namespace ebb::inline EBB_ABI::detail::gpu
