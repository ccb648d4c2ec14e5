// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/selective_scan.hpp
/// @brief  The selective scan of Mamba-1: each channel of the input has a small state of its own.
#pragma once

#include <span>

#include <ebb/recurrence/backend/key_lanes.hpp>
#include <ebb/recurrence/matrix_call.hpp>

namespace ebb::inline EBB_ABI {

/// Evaluate, for each channel d of the input and each n of N,
///
///   h_t[d][n] = a_t[d][n] h_{t-1}[d][n] + dt_t[d] B_t[n] x_t[d]
///   y_t[d] = sum_n C_t[n] h_t[d][n] + D[d] x_t[d]
///
/// It is the outer-product recurrence with a head for each channel and values of width 1: `keys` B,
/// `queries` C, `values` x, `outputs` y, `skip` D, `decays` by key, and `weights` dt or a decay
/// that weighs: selective_decay(raw).steps_for(N).weighing() bound to rates [d][n].
///
/// @param decay  a bound decay of D N channels, channel d N + n
/// @param data   the arrays, V = 1
/// @param where  the sequences, states of D N channels
/// @param form   how; `key_lanes` by default, with vectors along n
/// @throws as outer (recurrence/outer.hpp); shape_error unless V = 1. Nothing has been written
///   then.
/// Cost: see the form. Accuracy: the form's error_bound. Source: [Mamba].
template <class Decay, class T, class State, class Form = key_lanes>
void selective_scan(const Decay& decay, const outer_data<T>& data, const sequences<State>& where,
                    const Form& form = {}) {
  detail::run_matrix("selective_scan", decay, data, where, form);
}

/// The same for one sequence per batch entry, from position 1 and state 0.
template <class Decay, class T, class Form = key_lanes>
void selective_scan(const Decay& decay, const outer_data<T>& data, const Form& form = {}) {
  detail::run_matrix("selective_scan", decay, data, sequences<default_state_t<T>>{}, form);
}

/// One step of one sequence, in place: decode.
///
/// @param decay     as above; decays that read arrays of the caller read their first step
/// @param position  t, 1 <= t <= 2^62
/// @param data      one batch entry of one step
/// @param state     (D N), read and written
/// @throws as selective_scan; shape_error unless the data has one batch entry and one step.
template <class Decay, class T, class State, class Form = key_lanes>
void selective_step(const Decay& decay, index_t position, const outer_data<T>& data,
                    std::span<State> state, const Form& form = {}) {
  detail::step_matrix("selective_step", decay, position, data, state, form);
}

}  // namespace ebb::inline EBB_ABI
