// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/tiles.hpp
/// @brief  What the backends on one thread share: tiles of channels that go through time in blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <ebb/recurrence/concept.hpp>
#include <ebb/recurrence/update.hpp>

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

/// The scan over tiles: a block of decays is filled on the stack, then its rows are walked by
///
///   Kernel::row<Form, Gain>(weights, state, x, x_stride, y, width)        one step, many channels
///   Kernel::column<Form, Gain>(weights, w_stride, h, x, x_stride, y, stride, count) -> h
///                                                        one channel, many steps; stride is 1 or
///                                                        -1
///
/// The order of operations on an element does not depend on the tiles and blocks.
template <class Kernel, class Decay, class State, class Axis>
class tile {
  static constexpr bool rows_are_steps = std::same_as<Axis, time_major>;
  static constexpr bool constant = Decay::kind == decay_kind::constant;
  static constexpr decay_form form = Decay::form;
  static constexpr input_gain gain = gain_of<Decay>;
  using weight = step_weight_t<State>;
  static constexpr bool in_place = std::same_as<weight, State>;

 public:
  // Long rows where channels are adjacent (a narrow column through all of time would use little
  // of each cache line's page); few channels and long columns where steps are.
  static constexpr index_t widest = rows_are_steps ? 512 : 16;

  explicit tile(index_t width) : width_(width), height_(constant ? 1 : block_elements / width) {}

  template <class In, class Out>
  void scan(const Decay& decay, const In& in, const Out& out, const sequences<State>& where,
            const walk_range& range, index_t k) {
    for (index_t c = 0; c < width_; ++c)
      state_[c] = where.initial_states.data()
                      ? where.initial_states(range.batch, range.sequence, k + c)
                      : State(0);
    // Constant decays fill one row, which then serves a block of any length.
    const index_t longest = constant ? std::max<index_t>(range.length, 1) : height_;
    for (index_t done = 0; done < range.length;) {
      const index_t count = std::min(longest, range.length - done);
      const bool forward = range.order == direction::forward;
      const index_t t = forward ? range.begin + done : range.begin + range.length - done - count;
      fill(decay, {range.batch, t, k, range.first_position + (t - range.begin)},
           constant ? 1 : count);
      for (index_t i = 0; i < count;) {
        if (where.resets_at(range.batch, range.step(done + i), out.steps()))
          std::fill_n(state_, width_, State(0));
        const index_t stop = run_end(where, range, done + i + 1, done + count, out.steps()) - done;
        walk(in, out, range, t, k, count, i, stop);
        i = stop;
        keep_snapshot(where, range.batch, range.step(done + i - 1), k);
      }
      done += count;
    }
    if (where.final_states.data())
      for (index_t c = 0; c < width_; ++c)
        where.final_states(range.batch, range.sequence, k + c) = state_[c];
  }

 private:
  // 32 KB of double at most, a quarter of that many complex numbers: it lies on the stack.
  static constexpr index_t block_elements = is_complex<State> ? 1024 : 4096;

  void keep_snapshot(const sequences<State>& where, index_t b, index_t t, index_t k) const {
    if (where.snapshot_steps.empty()) return;
    const index_t m = where.snapshot_of(t);
    if (m < 0) return;
    for (index_t c = 0; c < width_; ++c) where.snapshots(b, m, k + c) = state_[c];
  }

  void fill(const Decay& decay, const block_origin& origin, index_t count) {
    const index_t row = rows_are_steps ? width_ : height_;
    const strided_view<State, Axis> block(values(), {1, count, width_}, {0, row});
    decay.fill(origin, block);
    if constexpr (!in_place || form == decay_form::log_factor) {
      const index_t rows = rows_are_steps ? count : width_,
                    length = rows_are_steps ? width_ : count;
      for (index_t r = 0; r < rows; ++r)
        for (index_t i = 0; i < length; ++i)
          weights_[r * row + i] = weight_of<form>(values()[r * row + i]);
    }
  }

  State* values() {
    if constexpr (in_place)
      return weights_;
    else
      return filled_;
  }

  // Rows i .. stop of a block of `count`, in processing order; the block begins at step t.
  template <class In, class Out>
  void walk(const In& in, const Out& out, const walk_range& range, index_t t, index_t k,
            index_t count, index_t i, index_t stop) {
    const bool forward = range.order == direction::forward;
    if constexpr (rows_are_steps) {
      for (; i < stop; ++i) {
        const index_t row = forward ? i : count - 1 - i;
        Kernel::template row<form, gain>(weights_ + (constant ? 0 : row * width_), state_,
                                         in.pointer(range.batch, t + row, k), in.channel_stride(),
                                         out.pointer(range.batch, t + row, k), width_);
      }
    } else {
      const index_t row = forward ? i : count - 1 - i, stride = forward ? 1 : -1;
      for (index_t c = 0; c < width_; ++c)
        state_[c] = Kernel::template column<form, gain>(
            weights_ + c * height_ + (constant ? 0 : row), constant ? 0 : stride, state_[c],
            in.pointer(range.batch, t + row, k + c), stride * in.step_stride(),
            out.pointer(range.batch, t + row, k + c), stride, stop - i);
    }
  }

  struct nothing {};
  index_t width_, height_;
  State state_[static_cast<std::size_t>(widest)];
  weight weights_[static_cast<std::size_t>(block_elements)];
  [[no_unique_address]] std::conditional_t<in_place, nothing,
                                           State[static_cast<std::size_t>(block_elements)]>
      filled_;
};

/// The whole scan on one thread, tile by tile.
template <class Kernel, class Decay, class T, class InAxis, class OutAxis, class State>
void scan_tiles(const Decay& decay, const strided_view<const T, InAxis>& in,
                const strided_view<T, OutAxis>& out, const sequences<State>& where,
                const scan_options& options) {
  using tile_type = tile<Kernel, Decay, State, OutAxis>;
  for (index_t b = 0; b < out.batches(); ++b)
    for (index_t s = 0; s < where.count(); ++s)
      for (index_t k = 0; k < out.channels(); k += tile_type::widest) {
        tile_type work(std::min(tile_type::widest, out.channels() - k));
        work.scan(decay, in, out, where, range_of(where, b, s, out.steps(), options.order), k);
      }
}

}  // namespace ebb::inline EBB_ABI::detail
