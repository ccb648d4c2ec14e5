// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/column_tile.hpp
/// @brief  A tile of a scan that walks columns: one channel after the other, by vectors of steps.
#pragma once

#include <algorithm>
#include <cstddef>

#include <ebb/recurrence/backend/tile.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Whether a kernel walks the columns of data of this type better than rows turned on the stack.
template <class Kernel, class Decay, class State, class T>
concept walks_columns = Kernel::template walks_columns<Decay::form, State, T>;

/// A tile of a scan of factors whose steps are adjacent in memory: few channels, long columns.
///
///   Kernel::column<Gain>(weights, w_stride, h, x, x_stride, y, stride, count) -> h
///                        one channel, many steps; stride is 1 or -1; w_stride may be 0
template <class Kernel, class Decay, class State, class T, class InAxis, class OutAxis>
class column_tile : tile_of<State> {
  static constexpr bool constant = Decay::kind == decay_kind::constant;
  static constexpr bool by_columns = weights_in_memory<Decay, State, channel_major>,
                        by_rows = weights_in_memory<Decay, State, time_major>;

 public:
  static constexpr index_t widest = 16;

  explicit column_tile(index_t width) : width_(width) {}

  void scan(const Decay& decay, const strided_view<const T, InAxis>& in,
            const strided_view<T, OutAxis>& out, const sequences<State>& where,
            const walk_range& range, index_t k) {
    this->load_states(where, range, state_, k, width_);
    const index_t longest = by_columns || by_rows ? range.length : height;
    for (index_t done = 0, count = 0; done < range.length; done += count) {
      count = std::min(longest, range.length - done);
      const index_t t = this->first_step(range, done, count);
      const block_origin origin = this->origin(range, t, k);
      const State* weights = weights_;
      index_t column = height, row = 1;
      if constexpr (by_columns) {
        const auto rows = decay.rows_at(origin);
        weights = rows.data, column = rows.row;
      } else if constexpr (by_rows) {
        const auto rows = decay.rows_at(origin);
        weights = rows.data, column = 1, row = rows.row;
      } else if (!constant || done == 0) {
        decay.fill(origin,
                   strided_view<State, channel_major>(weights_, {1, count, width_}, {0, height}));
      }
      this->for_each_run(
          where, range, out.steps(), done, count, state_, k, width_, [&](index_t i, index_t stop) {
            const bool forward = range.order == direction::forward;
            const index_t first = forward ? i : count - 1 - i, sign = forward ? 1 : -1;
            for (index_t c = 0; c < width_; ++c)
              state_[c] = Kernel::template column<gain_of<Decay>>(
                  weights + c * column + first * row, sign * row, state_[c],
                  in.pointer(range.batch, t + first, k + c), sign * in.step_stride(),
                  out.pointer(range.batch, t + first, k + c), sign, stop - i);
          });
    }
    this->store_states(where, range, state_, k, width_);
  }

 private:
  static constexpr index_t height = 256;

  index_t width_;
  State state_[static_cast<std::size_t>(widest)];
  State weights_[static_cast<std::size_t>(by_columns || by_rows ? 1 : widest * height)];
};

}  // namespace ebb::inline EBB_ABI::detail
