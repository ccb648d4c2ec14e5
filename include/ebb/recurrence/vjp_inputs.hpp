// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/vjp_inputs.hpp
/// @brief  The way back where no decay's gradients are asked for: a scan of its own.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>

#include <ebb/decay/shifted.hpp>
#include <ebb/recurrence/concept.hpp>
#include <ebb/recurrence/scan.hpp>
#include <ebb/recurrence/update.hpp>
#include <ebb/recurrence/vjp_tile.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Whether g_t = dh_t + a_{t+1} g_{t+1} is a scan that a backend can walk: real numbers, gain one.
template <class Call, class T, class State, class Backend>
concept goes_back_by_scan = std::same_as<T, State> && !is_complex<State> &&
                            gain_of<typename Call::decay_type> == input_gain::one &&
                            scan_backend_for<Backend, shifted_decay<typename Call::decay_type>, T>;

/// ... and whether this call asks for nothing else.
template <class Call>
bool only_inputs_asked(const Call& call) {
  if constexpr (Call::has_decay_gradients)
    if (call.gradients.decay) return false;
  return call.cotangents.outputs.data() && call.gradients.inputs.data() &&
         (call.cotangents.snapshots.data() == nullptr || call.where.snapshot_steps.empty());
}

/// One sequence of length >= 2 for `width` channels from `channel` on: its last step by hand, the
/// others by the backend with the decays of the step after, towards the start.
template <class Call, class State, class Backend>
void walk_inputs_back(const Call& call, const walk_range& range, index_t channel, index_t width,
                      State* last_g, const Backend& backend) {
  const auto& given = call.cotangents;
  const auto& asked = call.gradients;
  const index_t b = range.batch, last = range.step(range.length - 1);
  for (index_t k = 0; k < width; ++k) {
    State g = given.outputs(b, last, channel + k);
    if (given.final_states.data()) g += given.final_states(b, range.sequence, channel + k);
    last_g[k] = asked.inputs(b, last, channel + k) = g;
  }
  const bool forward = range.order == direction::forward;
  const index_t by = forward ? 1 : -1, count = range.length - 1;
  const index_t begin = forward ? range.begin : range.begin + 1;
  const index_t position = range.first_position + (begin - range.begin);
  const auto part = [&](const auto& view) {
    return view.batch_entry(b).steps_from(begin, count).channels_from(channel, width);
  };
  sequences<State> where;
  where.first_positions = std::span<const index_t>(&position, 1);
  where.initial_states = strided_view<const State>(last_g, 1, width);
  if (!call.where.resets.empty())  // a reset before the step after
    where.resets =
        call.where.resets.subspan(static_cast<std::size_t>(b * call.out.steps() + begin + by),
                                  static_cast<std::size_t>(count));
  const shifted_decay<typename Call::decay_type> decay(call.decay, {b, begin + by, channel}, by);
  backend.scan(decay, part(given.outputs), part(asked.inputs), where,
               scan_options{forward ? direction::reverse : direction::forward});
}

/// dh_0 = a_1 g_1, or 0 where the first step begins with a reset.
template <class Call, class State>
void write_initial_back(const Call& call, const walk_range& range, index_t channel, index_t width,
                        State* filled) {
  using Decay = typename Call::decay_type;
  const index_t b = range.batch, t = range.step(0);
  const auto& asked = call.gradients;
  const bool erased = call.where.resets_at(b, t, call.out.steps());
  call.decay.fill({b, t, channel, range.first_position + (t - range.begin)},
                  strided_view<State>(filled, 1, width));
  for (index_t k = 0; k < width; ++k) {
    const State g = asked.inputs(b, t, channel + k);
    asked.initial_states(b, range.sequence, channel + k) =
        erased ? State(0)
               : advance<Decay::form, input_gain::one, State>(weight_of<Decay::form>(filled[k]), g,
                                                              State(0));
  }
}

/// A sequence of length >= 2, in ranges of channels whose states lie on the stack.
template <class State, class Call, class Backend>
void go_back_by_scan(const Call& call, const walk_range& range, const Backend& backend) {
  constexpr index_t widest = 16384 / sizeof(State);
  State states[static_cast<std::size_t>(widest)];
  for (index_t k = 0; k < call.out.channels(); k += widest) {
    const index_t width = std::min(widest, call.out.channels() - k);
    walk_inputs_back(call, range, k, width, states, backend);
    if (call.gradients.initial_states.data()) write_initial_back(call, range, k, width, states);
  }
}

}  // namespace ebb::inline EBB_ABI::detail
