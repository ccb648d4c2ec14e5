// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/tile.hpp
/// @brief  What tiles of a scan share: channels side by side that go through a sequence together.
#pragma once

#include <algorithm>
#include <concepts>
#include <utility>

#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/backend/log_time_weights.hpp>
#include <ebb/recurrence/concept.hpp>

namespace ebb::inline EBB_ABI::detail {

/// One sequence of one batch entry as a scan walks it: processing order 0 .. length - 1.
struct walk_range {
  index_t batch, sequence, begin, length, first_position;
  direction order;

  index_t step(index_t i) const {
    return order == direction::forward ? begin + i : begin + length - 1 - i;
  }
};

template <class State>
walk_range range_of(const sequences<State>& where, index_t b, index_t s, index_t steps,
                    direction order) {
  const index_t begin = where.begin(s);
  return {b, s, begin, where.end(s, steps) - begin, where.first_position(b, s), order};
}

/// The first i in from .. to at which a run of plain steps has to stop: a reset before step i, or a
/// snapshot after step i - 1.
template <class State>
index_t run_end(const sequences<State>& where, const walk_range& range, index_t from, index_t to,
                index_t steps) {
  if (where.resets.empty() && where.snapshot_steps.empty()) return to;
  for (index_t i = from; i < to; ++i)
    if (where.resets_at(range.batch, range.step(i), steps) ||
        where.snapshot_of(range.step(i - 1)) >= 0)
      return i;
  return to;
}

/// Whether what a decay fills lies in memory, in rows of this axis.
template <class Decay, class State, class Axis>
concept filled_in_memory = requires(const Decay& decay) {
  { decay.rows_at(block_origin{}) } -> std::same_as<stored_rows<State, Axis>>;
};

/// Whether those are the weights that the kernels want.
template <class Decay, class State, class Axis>
concept weights_in_memory =
    !is_complex<State> && Decay::form == decay_form::factor && filled_in_memory<Decay, State, Axis>;

/// Whether a constant decay has made its weights before.
template <class Decay, class State>
concept weights_made = Decay::kind == decay_kind::constant&& requires(const Decay& decay) {
  { decay.template weights<State>(index_t{}) } -> std::same_as<const State*>;
};

/// What the two kinds of tiles share.
template <class State>
struct tile_of {
  /// Calls run(i, stop) for the rows of a block of `count`, `done` rows into the sequence, cut at
  /// resets and snapshots, which happen to the `width` states of the channels from k on.
  template <class Run>
  static void for_each_run(const sequences<State>& where, const walk_range& range, index_t steps,
                           index_t done, index_t count, State* state, index_t k, index_t width,
                           const Run& run) {
    for (index_t i = 0; i < count;) {
      if (where.resets_at(range.batch, range.step(done + i), steps))
        std::fill_n(state, width, State(0));
      const index_t stop = run_end(where, range, done + i + 1, done + count, steps) - done;
      run(i, stop);
      i = stop;
      if (where.snapshot_steps.empty()) continue;
      const index_t m = where.snapshot_of(range.step(done + i - 1));
      if (m >= 0) std::copy_n(state, width, where.snapshots.pointer(range.batch, m, k));
    }
  }

  static void load_states(const sequences<State>& where, const walk_range& range, State* state,
                          index_t k, index_t width) {
    if (where.initial_states.data())
      std::copy_n(where.initial_states.pointer(range.batch, range.sequence, k), width, state);
    else
      std::fill_n(state, width, State(0));
  }
  static void store_states(const sequences<State>& where, const walk_range& range,
                           const State* state, index_t k, index_t width) {
    if (where.final_states.data())
      std::copy_n(state, width, where.final_states.pointer(range.batch, range.sequence, k));
  }

  static block_origin origin(const walk_range& range, index_t t, index_t k) {
    return {range.batch, t, k, range.first_position + (t - range.begin)};
  }
  /// The first step in memory of a block of `count` rows, `done` rows into the sequence.
  static index_t first_step(const walk_range& range, index_t done, index_t count) {
    return range.order == direction::forward ? range.begin + done
                                             : range.begin + range.length - done - count;
  }
  /// How many rows from `done` on lie in the block of log-time of the first, and the block.
  template <class Decay>
  static std::pair<log_time_block, index_t> next_block(const Decay& decay, const walk_range& range,
                                                       index_t done) {
    const index_t t = range.step(done), position = range.first_position + (t - range.begin);
    const log_time_block block = decay.template log_time_block_at<real_of_t<State>>(position);
    const index_t inside =
        range.order == direction::forward ? block.end - position : position - block.first + 1;
    return {block,
            std::min({inside, range.length - done, log_time_weights<real_of_t<State>>::longest})};
  }
};

}  // namespace ebb::inline EBB_ABI::detail
