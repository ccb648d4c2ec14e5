// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/row_tile.hpp
/// @brief  A tile of a scan whose channels are adjacent in memory.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <ebb/recurrence/backend/tile.hpp>
#include <ebb/recurrence/update.hpp>

namespace ebb::inline EBB_ABI::detail {

/// A tile of a scan whose channels are adjacent in memory:
///
///   Kernel::rows<Form, Gain>(weights, weight_row, state, x, x_row, x_stride, y, y_row,
///                            width, count, far)    count steps of many channels; rows are walked
///                                                  in either direction; weight_row may be 0; far:
///                                                  the data lies beyond the caches
///   Kernel::log_time<Degree, Gain>(weights, i, i_step, state, x, ..., far)       the same with the
///                                                  weights of steps i, i + i_step, ... in flight
///
/// Weights that lie in memory are read there; constant ones are one row; polynomials in log-time
/// are evaluated on the way; all others fill blocks on the stack. The order of operations on an
/// element does not depend on tiles and blocks.
template <class Kernel, class Decay, class State>
class row_tile : tile_of<State> {
  static constexpr bool constant = Decay::kind == decay_kind::constant;
  static constexpr decay_form form = Decay::form;
  static constexpr input_gain gain = gain_of<Decay>;
  static constexpr bool flies = in_log_time<Decay, State>;
  static constexpr bool in_memory = weights_in_memory<Decay, State, time_major>;
  static constexpr bool made = weights_made<Decay, State>;
  using weight = step_weight_t<State>;
  static constexpr bool in_place = std::same_as<weight, State>;
  // 32 KB of double at most, a quarter of that many complex numbers: it lies on the stack.
  static constexpr index_t block_elements = is_complex<State> ? 1024 : 4096;

 public:
  // Whole rows, as far as their states leave room in the first cache: columns that are narrow in
  // memory defeat the processor's prefetching.
  static constexpr index_t widest =
      std::min<index_t>(block_elements, 16384 / static_cast<index_t>(sizeof(State)));

  explicit row_tile(index_t width) : width_(width) {}

  template <class In, class Out>
  void scan(const Decay& decay, const In& in, const Out& out, const sequences<State>& where,
            const walk_range& range, index_t k) {
    this->load_states(where, range, state_, k, width_);
    // What is read and written, against what a processor's last cache keeps for one of its cores.
    far_ = 2 * sizeof(*out.data()) * static_cast<double>(range.length) *
               static_cast<double>(out.channels()) >
           16e6;
    if constexpr (flies)
      scan_in_flight(decay, in, out, where, range, k);
    else
      scan_blocks(decay, in, out, where, range, k);
    this->store_states(where, range, state_, k, width_);
  }

 private:
  template <class In, class Out>
  void scan_blocks(const Decay& decay, const In& in, const Out& out, const sequences<State>& where,
                   const walk_range& range, index_t k) {
    if (constant && !made && range.length > 0) fill(decay, this->origin(range, range.begin, k), 1);
    const index_t longest =
        constant || in_memory ? std::max<index_t>(range.length, 1) : block_elements / width_;
    for (index_t done = 0, count = 0; done < range.length; done += count) {
      count = std::min(longest, range.length - done);
      const index_t t = this->first_step(range, done, count);
      const weight* weights = weights_;
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
            Kernel::template rows<form, gain>(weights + go.row * weight_row, go.sign * weight_row,
                                              state_, in.pointer(range.batch, t + go.row, k),
                                              go.sign * in.step_stride(), in.channel_stride(),
                                              out.pointer(range.batch, t + go.row, k),
                                              go.sign * out.step_stride(), width_, stop - i, far_);
          });
    }
  }

  template <class In, class Out>
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
        this->for_each_run(where, range, out.steps(), done, count, state_ + c, k + c, width,
                           [&](index_t i, index_t stop) {
                             const step_order go(range, count, i);
                             with_log_time_degree<State>(flight_.block(), [&]<int Degree>() {
                               Kernel::template log_time<Degree, gain>(
                                   flight_, go.row, go.sign, state_ + c,
                                   in.pointer(range.batch, t + go.row, k + c),
                                   go.sign * in.step_stride(), in.channel_stride(),
                                   out.pointer(range.batch, t + go.row, k + c),
                                   go.sign * out.step_stride(), width, stop - i, far_);
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

  void fill(const Decay& decay, const block_origin& origin, index_t count) {
    State* values = weights_of_filled();
    decay.fill(origin, strided_view<State>(values, count, width_));
    if constexpr (!in_place || form == decay_form::log_factor)
      weights_of<form>(values, weights_, count * width_);
  }
  State* weights_of_filled() {
    if constexpr (in_place)
      return weights_;
    else
      return filled_;
  }

  struct nothing {};
  template <bool Needed, class T>
  using if_needed = std::conditional_t<Needed, T, nothing>;

  index_t width_;
  bool far_ = false;
  State state_[static_cast<std::size_t>(widest)];
  [[no_unique_address]] if_needed<flies, log_time_weights<State>> flight_;
  weight weights_[static_cast<std::size_t>(flies || in_memory || made ? 1 : block_elements)];
  State filled_[static_cast<std::size_t>(in_place ? 1 : block_elements)];
};

}  // namespace ebb::inline EBB_ABI::detail
