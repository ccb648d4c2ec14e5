// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/column_tile.hpp
/// @brief  A tile of a scan whose steps are adjacent in memory.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>

#include <ebb/recurrence/backend/tile.hpp>
#include <ebb/recurrence/update.hpp>

namespace ebb::inline EBB_ABI::detail {

/// A tile of a scan whose steps are adjacent in memory: few channels, long columns.
///
///   Kernel::column<Form, Gain>(weights, w_stride, h, x, x_stride, y, stride, count) -> h
///                              one channel, many steps; stride is 1 or -1, w_stride 0 or that
template <class Kernel, class Decay, class State>
class column_tile : tile_of<State> {
  static constexpr bool constant = Decay::kind == decay_kind::constant;
  static constexpr decay_form form = Decay::form;
  static constexpr input_gain gain = gain_of<Decay>;
  static constexpr bool flies = in_log_time<Decay, State>;
  static constexpr bool in_memory = weights_in_memory<Decay, State, channel_major>;
  static constexpr bool made = weights_made<Decay, State>;
  using weight = step_weight_t<State>;
  static constexpr bool in_place = std::same_as<weight, State>;

 public:
  static constexpr index_t widest = 16;

  explicit column_tile(index_t width) : width_(width) {}

  template <class In, class Out>
  void scan(const Decay& decay, const In& in, const Out& out, const sequences<State>& where,
            const walk_range& range, index_t k) {
    this->load_states(where, range, state_, k, width_);
    if (constant && !made && range.length > 0) fill(decay, this->origin(range, range.begin, k), 1);
    for (index_t done = 0, count = 0; done < range.length; done += count) {
      log_time_block block{};
      count = range.length - done;
      if constexpr (flies)
        std::tie(block, count) = this->next_block(decay, range, done);
      else if (!constant && !in_memory)
        count = std::min(count, height);
      const index_t t = this->first_step(range, done, count);
      const block_origin origin = this->origin(range, t, k);
      const weight* weights = weights_;
      if constexpr (made) weights = decay.template weights<State>(k);
      index_t column = made ? 1 : height;
      if constexpr (in_memory) {
        const auto rows = decay.rows_at(origin);
        weights = rows.data, column = rows.row;
      } else if constexpr (flies) {
        fill_in_flight(decay, block, origin, count);
      } else if (!constant) {
        fill(decay, origin, count);
      }
      this->for_each_run(
          where, range, out.steps(), done, count, state_, k, width_, [&](index_t i, index_t stop) {
            const bool forward = range.order == direction::forward;
            const index_t row = forward ? i : count - 1 - i, stride = forward ? 1 : -1;
            for (index_t c = 0; c < width_; ++c)
              state_[c] = Kernel::template column<form, gain>(
                  weights + c * column + (constant ? 0 : row), constant ? 0 : stride, state_[c],
                  in.pointer(range.batch, t + row, k + c), stride * in.step_stride(),
                  out.pointer(range.batch, t + row, k + c), stride, stop - i);
          });
    }
    this->store_states(where, range, state_, k, width_);
  }

 private:
  static constexpr index_t height = is_complex<State> ? 64 : 256;

  void fill(const Decay& decay, const block_origin& origin, index_t count) {
    State* values = weights_of_filled();
    decay.fill(origin, strided_view<State, channel_major>(values, {1, count, width_}, {0, height}));
    if constexpr (!in_place || form == decay_form::log_factor)
      for (index_t c = 0; c < width_; ++c)
        weights_of<form>(values + c * height, weights_ + c * height, count);
  }
  void fill_in_flight(const Decay& decay, const log_time_block& block, const block_origin& origin,
                      index_t count) requires flies {
    flight_.set_steps(block, origin.position, count);
    flight_.set_channels(decay, origin.channel, width_);
    with_log_time_degree<State>(block, [&]<int Degree>() {
      for (index_t c = 0; c < width_; ++c)
        flight_.template column<Degree>(c, 0, count, weights_ + c * height);
    });
  }
  State* weights_of_filled() {
    if constexpr (in_place)
      return weights_;
    else
      return filled_;
  }

  struct nothing {};
  index_t width_;
  State state_[static_cast<std::size_t>(widest)];
  [[no_unique_address]] std::conditional_t<flies, log_time_weights<State>, nothing> flight_;
  weight weights_[static_cast<std::size_t>(in_memory || made ? 1 : widest * height)];
  State filled_[static_cast<std::size_t>(in_place ? 1 : widest * height)];
};

}  // namespace ebb::inline EBB_ABI::detail
