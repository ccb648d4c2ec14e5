// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/row_tile.hpp
/// @brief  A tile of a scan that walks rows: the channels of a step, side by side.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include <ebb/core/view.hpp>
#include <ebb/recurrence/backend/tile.hpp>
#include <ebb/recurrence/backend/weight_block.hpp>
#include <ebb/recurrence/update.hpp>

namespace ebb::inline EBB_ABI::detail {

/// A tile of a scan that walks rows, the channels of a step side by side:
///
///   Kernel::rows<Form, Gain>(weights, weight_row, state, x, x_row, x_stride, y, y_row,
///                            width, count, far)    count steps of many channels; rows are walked
///                                                  in either direction; weight_row may be 0; far:
///                                                  the data lies beyond the caches
///   Kernel::log_time<Degree, Gain>(weights, i, i_step, state, x, ..., far)       the same with the
///                                                  weights of steps i, i + i_step, ... in flight
///   Kernel::transpose(from, from_row, to, to_row, rows, columns)
///
/// Data whose steps are adjacent goes through rows on the stack, block by block: so it has the
/// same bits, and waits for no chain of sums.
///
/// Weights that lie in memory are read there; constant ones are one row; polynomials in log-time
/// are evaluated on the way; all others fill blocks on the stack. The order of operations on an
/// element does not depend on tiles and blocks.
template <class Kernel, class Decay, class State, class T, class InAxis, class OutAxis>
class row_tile : tile_of<State> {
  static constexpr bool constant = Decay::kind == decay_kind::constant;
  static constexpr decay_form form = Decay::form;
  static constexpr input_gain gain = gain_of<Decay>;
  static constexpr bool flies = in_log_time<Decay, State>;
  static constexpr bool in_memory = weights_in_memory<Decay, State, time_major>;
  static constexpr bool in_columns = filled_in_memory<Decay, State, channel_major>;
  static constexpr bool made = weights_made<Decay, State>;
  // What a block of weights lies in: 32 KB on the stack at most, of complex ones twice that.
  static constexpr index_t block_elements =
      is_complex<State> ? 32768 / static_cast<index_t>(sizeof(State)) : 4096;
  // Rows of weights that kernels read soon after they are made.
  static constexpr index_t block_aim = is_complex<State> ? 1024 : block_elements;
  static constexpr bool turns_in = !std::same_as<InAxis, time_major>,
                        turns_out = !std::same_as<OutAxis, time_major>;
  // Rows on the stack, 8 KB of 16 channels: of float two cache lines, and 128 steps: eight more.
  static constexpr index_t turned_width = 16, turned_rows = 512 / static_cast<index_t>(sizeof(T));

 public:
  // Whole rows, as far as their states leave room in the first cache: columns that are narrow in
  // memory defeat the processor's prefetching.
  static constexpr index_t widest =
      turns_in || turns_out
          ? turned_width
          : std::min<index_t>(block_elements,
                              16384 / static_cast<index_t>(sizeof(real_of_t<State>)));

  explicit row_tile(index_t width) : width_(width) {}

  using In = strided_view<const T, InAxis>;
  using Out = strided_view<T, OutAxis>;

  void scan(const Decay& decay, const In& in, const Out& out, const sequences<State>& where,
            const walk_range& range, index_t k) {
    this->load_states(where, range, state_, k, width_);
    // What whole rows, of which these channels may be a part, take beside what a processor's last
    // cache keeps for one of its cores. Rows on the stack are always near.
    const auto row = static_cast<double>(std::abs(in.step_stride()) + std::abs(out.step_stride()));
    far_ = !turns_out && sizeof(T) * static_cast<double>(range.length) * row > 16e6;
    if constexpr (flies)
      scan_in_flight(decay, in, out, where, range, k);
    else
      scan_blocks(decay, in, out, where, range, k);
    this->store_states(where, range, state_, k, width_);
  }

 private:
  void scan_blocks(const Decay& decay, const In& in, const Out& out, const sequences<State>& where,
                   const walk_range& range, index_t k) {
    if (constant && !made && range.length > 0) fill(decay, this->origin(range, range.begin, k), 1);
    const index_t longest = constant || in_memory ? std::max<index_t>(range.length, 1)
                                                  : std::max<index_t>(block_aim / width_, 1);
    for (index_t done = 0, count = 0; done < range.length; done += count) {
      count = std::min(longest, range.length - done);
      const index_t t = this->first_step(range, done, count);
      auto weights = weights_.begin();
      if constexpr (made) weights = decay.template weights<State>(k);
      index_t weight_row = constant ? 0 : width_;
      if constexpr (in_memory) {
        const auto rows = decay.rows_at(this->origin(range, t, k));
        weights = rows.data, weight_row = rows.row;
      } else if (!constant) {
        fill(decay, this->origin(range, t, k), count);
      }
      this->for_each_run(
          where, range, out.steps(), done, count, state_, k, width_, [&](index_t i, index_t stop) {
            const step_order go(range, count, i);
            walk(in, out, range.batch, t + go.row, go.sign, stop - i, k, width_,
                 [&](index_t n, const row_pointers& at, index_t rows) {
                   Kernel::template rows<form, gain>(
                       weights + (go.row + go.sign * n) * weight_row, go.sign * weight_row, state_,
                       at.x, at.x_row, at.x_stride, at.y, at.y_row, width_, rows, far_);
                 });
          });
    }
  }

  void scan_in_flight(const Decay& decay, const In& in, const Out& out,
                      const sequences<State>& where, const walk_range& range, index_t k) {
    for (index_t done = 0, count = 0; done < range.length; done += count) {
      const auto [block, inside] = this->next_block(decay, range, done);
      count = inside;
      const index_t t = this->first_step(range, done, count);
      flight_.set_steps(block, this->origin(range, t, k).position, count);
      for (index_t c = 0, width = 0; c < width_; c += width) {
        width = width_ - c <= flight_.widest ? width_ - c : flight_.strip;
        flight_.set_channels(decay, k + c, width);
        this->for_each_run(
            where, range, out.steps(), done, count, state_ + c, k + c, width,
            [&](index_t i, index_t stop) {
              const step_order go(range, count, i);
              walk(in, out, range.batch, t + go.row, go.sign, stop - i, k + c, width,
                   [&](index_t n, const row_pointers& at, index_t rows) {
                     with_log_time_degree<real_of_t<State>>(flight_.block(), [&]<int Degree>() {
                       Kernel::template log_time<Degree, gain>(
                           flight_, go.row + go.sign * n, go.sign, state_ + c, at.x, at.x_row,
                           at.x_stride, at.y, at.y_row, width, rows, far_);
                     });
                   });
            });
      }
    }
  }

  // Where the i-th row of a block of `count` in processing order lies, and which way to go.
  struct step_order {
    step_order(const walk_range& range, index_t count, index_t i)
        : row(range.order == direction::forward ? i : count - 1 - i),
          sign(range.order == direction::forward ? 1 : -1) {}
    index_t row, sign;
  };

  // The rows that a kernel walks.
  struct row_pointers {
    const T* x;
    index_t x_row, x_stride;
    T* y;
    index_t y_row;
  };
  // Calls run(n, pointers, rows) for the steps first, first + sign, ... of the channels from k on:
  // all of them, or blocks of them that lie turned on the stack; n of them come before.
  template <class Run>
  void walk(const In& in, const Out& out, index_t batch, index_t first, index_t sign, index_t count,
            index_t k, index_t width, const Run& run) {
    // A single channel is a row of its own, whatever its steps' distance.
    const bool turned = (turns_in || turns_out) && width > 1;
    for (index_t n = 0, rows = 0; n < count; n += rows) {
      rows = count - n;
      if (turned) {
        // Blocks end where a cache line of the output does: where all columns lie a power of two
        // apart, a line that is touched twice has been thrown out in between.
        const index_t over = beyond_line(out.pointer(batch, first + sign * n + (sign < 0), k));
        rows = std::min(rows, turned_rows - (sign > 0 || over == 0 ? over : line - over));
      }
      const index_t step = first + sign * n, lowest = sign > 0 ? step : step - (rows - 1),
                    start = (step - lowest) * width;
      row_pointers at{in.pointer(batch, step, k), sign * in.step_stride(), in.channel_stride(),
                      out.pointer(batch, step, k), sign * out.step_stride()};
      if constexpr (turns_in)
        if (turned) {
          Kernel::transpose(in.pointer(batch, lowest, k), in.channel_stride(), inputs_.rows, width,
                            width, rows);
          at.x = inputs_.rows + start, at.x_row = sign * width, at.x_stride = 1;
        }
      if constexpr (turns_out)
        if (turned) at.y = outputs_.rows + start, at.y_row = sign * width;
      run(n, at, rows);
      if constexpr (turns_out)
        if (turned)
          Kernel::transpose(outputs_.rows, width, out.pointer(batch, lowest, k),
                            out.channel_stride(), rows, width);
    }
  }

  // Elements of a cache line, and how many lie between its beginning and an address.
  static constexpr auto line = static_cast<index_t>(std::max<std::size_t>(1, 64 / sizeof(T)));
  static index_t beyond_line(const T* address) {
    return static_cast<index_t>(reinterpret_cast<std::uintptr_t>(address) / sizeof(T)) & (line - 1);
  }

  void fill(const Decay& decay, const block_origin& origin, index_t count) {
    if constexpr (in_columns) {
      const auto columns = decay.rows_at(origin);
      Kernel::transpose(columns.data, columns.row, weights_.filled(), width_, width_, count);
    } else {
      decay.fill(origin, strided_view<State>(weights_.filled(), count, width_));
    }
    weights_.weigh(0, count * width_);
  }

  struct nothing {};
  template <bool Needed, class Data>
  using if_needed = std::conditional_t<Needed, Data, nothing>;
  struct turned_rows_of {
    T rows[static_cast<std::size_t>(turned_width * turned_rows)];
  };

  // What each row reads again lies within cache lines: a state that crosses one costs the next row
  // half as much time again, where it waits for what was just stored.
  index_t width_;
  bool far_ = false;
  alignas(64) State state_[static_cast<std::size_t>(widest)];
  [[no_unique_address]] if_needed<turns_in, turned_rows_of> inputs_;
  [[no_unique_address]] if_needed<turns_out, turned_rows_of> outputs_;
  [[no_unique_address]] if_needed<flies, log_time_weights<real_of_t<State>>> flight_;
  weight_block<State, form, flies || in_memory || made ? 1 : block_elements> weights_;
};

}  // namespace ebb::inline EBB_ABI::detail
