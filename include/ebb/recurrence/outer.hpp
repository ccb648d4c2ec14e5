// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/outer.hpp
/// @brief  The matrix-state recurrence of Mamba-2, GLA and RetNet: decay, and write k v^T.
#pragma once

#include <span>

#include <ebb/recurrence/backend/sequential.hpp>
#include <ebb/recurrence/matrix_call.hpp>

namespace ebb::inline EBB_ABI {

/// Evaluate S_t = diag(w_t) S_{t-1} + c_t k_t v_t^T, o_t = scale S_t^T q_t, head by head.
///
/// Shapes and members: outer_data (recurrence/matrix.hpp). Units: the values', times the keys' and
/// the queries'.
///
/// @param decay  w_t: a bound decay of H channels, or of H K (decay_per::key), or an array or view
///               of factors (batch, time, H or H K)
/// @param data   the arrays
/// @param where  the sequences in the data (core/sequences.hpp), states of H K V channels: element
///               (j, i) of head h is channel (h K + j) V + i; `sequences<State>` sets the type of
///               the state, at least as wide as the data. Left out: one sequence per batch entry,
///               from position 1 and state 0
/// @param form   how; `sequential` by default, others in recurrence/backend/ (docs/backends.md)
/// @throws shape_error when shapes disagree or memory is shared otherwise than allowed;
///   domain_error for the scale and for a first position outside 1 .. 2^62. Nothing has been
///   written then. Values are not inspected.
/// Cost: see the form. Accuracy: the form's error_bound (recurrence/matrix.hpp).
template <class Decay, class T, class State, class Form = sequential>
void outer(const Decay& decay, const outer_data<T>& data, const sequences<State>& where,
           const Form& form = {}) {
  detail::run_matrix("outer", decay, data, where, form);
}

/// The same for one sequence per batch entry, from position 1 and state 0.
template <class Decay, class T, class Form = sequential>
void outer(const Decay& decay, const outer_data<T>& data, const Form& form = {}) {
  detail::run_matrix("outer", decay, data, sequences<default_state_t<T>>{}, form);
}

/// One step of one sequence, in place: decode.
///
/// @param decay     as above; decays that read arrays of the caller read their first step
/// @param position  t, 1 <= t <= 2^62
/// @param data      one batch entry of one step
/// @param state     (H K V), read and written
/// @throws as outer; shape_error unless the data has one batch entry and one step.
/// Cost: touches the state once; no allocation.
template <class Decay, class T, class State, class Form = sequential>
void step(const Decay& decay, index_t position, const outer_data<T>& data, std::span<State> state,
          const Form& form = {}) {
  detail::step_matrix("step", decay, position, data, state, form);
}

}  // namespace ebb::inline EBB_ABI
