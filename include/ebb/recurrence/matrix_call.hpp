// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/matrix_call.hpp
/// @brief  What the entry points of both matrix-state recurrences share.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>

#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/matrix.hpp>

namespace ebb::inline EBB_ABI::detail {

template <class Decay, class Data, class State, class Form>
void run_matrix(std::string_view name, const Decay& decay, const Data& data,
                const sequences<State>& where, const Form& form) {
  using T = typename Data::value_type;
  static_assert(scan_scalar<T> && !is_complex<T>,
                "ebb: matrix states take data of float, double, bfloat16 or half");
  static_assert(is_state_for<State, T>());
  static_assert(holds_digits_of<State, T>, "ebb: the state must be at least as wide as the data");
  auto&& bound = as_decay<State>(decay);
  using Bound = std::remove_cvref_t<decltype(bound)>;
  static_assert(gain_of<Bound> == input_gain::one,
                "ebb: matrix states take no averages; give the gain as weights");
  static_assert(matrix_form_for<Form, Bound, Data, State>,
                "ebb: the last argument is not a matrix_form_for this decay, data and state");
  check_matrix(name, bound, data, where);
  form.run(bound, data, where);
}

template <class Decay, class Data, class State, class Form>
void step_matrix(std::string_view name, const Decay& decay, index_t position, const Data& data,
                 std::span<State> state, const Form& form) {
  require_shape(data.outputs.batches() == 1 && data.outputs.steps() == 1, name,
                "need one batch entry of one step (batches, steps)", data.outputs.batches(),
                data.outputs.steps());
  sequences<State> where;
  where.first_positions = std::span<const index_t>(&position, 1);
  where.initial_states = where.final_states =
      strided_view<State>(state.data(), 1, static_cast<index_t>(state.size()));
  run_matrix(name, decay, data, where, form);
}

}  // namespace ebb::inline EBB_ABI::detail
