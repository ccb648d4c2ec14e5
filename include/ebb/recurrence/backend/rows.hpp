// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/rows.hpp
/// @brief  The default backend: portable loops over rows, decays filled block by block.
#pragma once

#include <algorithm>
#include <string_view>

#include <ebb/recurrence/concept.hpp>
#include <ebb/recurrence/update.hpp>

namespace ebb::inline EBB_ABI {

/// The scan as plain loops that any compiler can vectorise.
///
/// A tile of channels goes through time in blocks: the decay fills a block of weights on the
/// stack, then the rows of the block are walked. The order of operations on an element never
/// depends on the blocks, so cutting a sequence into pieces or single steps gives the same bits.
///
/// Cost: 2 T N flops and the decay's own; no allocation, about 40 KB of stack.
/// Accuracy: error_bound below, derived in docs/accuracy.md. Infinite states stay infinite; for
/// decays in [1/2, 1) the intermediate (1 - a) h - b must not overflow either.
/// Subnormals: gradual underflow as the processor is set; nothing is flushed or switched.
struct rows {
  static constexpr std::string_view name = "rows";
  static constexpr determinism repeats = determinism::any_thread_count;

  /// Two roundings a step for factors; three more for log-decays, whose exponential counts two.
  static constexpr double error_bound(index_t steps, decay_form form = decay_form::log_factor) {
    return (form == decay_form::factor ? 2.0 : 5.0) * static_cast<double>(steps);
  }

  template <class Decay, scan_scalar T, class InAxis, class OutAxis, class State>
  void scan(const Decay& decay, const strided_view<const T, InAxis>& in,
            const strided_view<T, OutAxis>& out, const sequences<State>& where,
            const scan_options& options) const {
    for (index_t b = 0; b < out.batches(); ++b)
      for (index_t s = 0; s < where.count(); ++s)
        for (index_t k = 0; k < out.channels(); k += tile_width<OutAxis>) {
          const index_t width = std::min(tile_width<OutAxis>, out.channels() - k);
          tile<Decay, State, OutAxis> work(width);
          work.load(where, b, s, k);
          work.walk(decay, in, out, where, b, s, k, options.order);
          work.store(where, b, s, k);
        }
  }

 private:
  // Long rows where channels are adjacent (a narrow column through all of time would use little
  // of each cache line's page); few channels and long columns where steps are.
  template <class Axis>
  static constexpr index_t tile_width = std::same_as<Axis, time_major> ? 512 : 16;
  static constexpr index_t block_elements = 4096;

  template <class Decay, class State, class Axis>
  class tile {
   public:
    explicit tile(index_t width)
        : width_(width),
          height_(Decay::kind == decay_kind::constant ? 1 : block_elements / width) {}

    void load(const sequences<State>& where, index_t b, index_t s, index_t k) {
      for (index_t c = 0; c < width_; ++c)
        state_[c] = where.initial_states.data() ? where.initial_states(b, s, k + c) : State(0);
    }

    void store(const sequences<State>& where, index_t b, index_t s, index_t k) const {
      if (!where.final_states.data()) return;
      for (index_t c = 0; c < width_; ++c) where.final_states(b, s, k + c) = state_[c];
    }

    template <class In, class Out>
    void walk(const Decay& decay, const In& in, const Out& out, const sequences<State>& where,
              index_t b, index_t s, index_t k, direction order) {
      const index_t begin = where.begin(s), end = where.end(s, out.steps());
      const index_t first = where.first_position(b, s);
      constexpr bool constant = Decay::kind == decay_kind::constant;
      // Constant decays fill one row, which then serves a block of any length.
      const index_t longest = constant ? std::max<index_t>(end - begin, 1) : height_;
      for (index_t done = 0; done < end - begin; done += longest) {
        const index_t count = std::min(longest, end - begin - done);
        const index_t t = order == direction::forward ? begin + done : end - done - count;
        fill(decay, {b, t, k, first + (t - begin)}, constant ? 1 : count);
        if constexpr (std::same_as<Axis, time_major>)
          walk_rows(in, out, b, t, k, count, order);
        else
          walk_columns(in, out, b, t, k, count, order);
      }
    }

   private:
    void fill(const Decay& decay, const block_origin& origin, index_t count) {
      const bool rows_are_steps = std::same_as<Axis, time_major>;
      const strided_view<State, Axis> block(weights_, {1, count, width_},
                                            {0, rows_are_steps ? width_ : height_});
      decay.fill(origin, block);
      if constexpr (Decay::form == decay_form::log_factor)
        for (index_t row = 0; row < (rows_are_steps ? count : width_); ++row)
          for (index_t i = 0; i < (rows_are_steps ? width_ : count); ++i) {
            State& weight = weights_[row * block.stride().row + i];
            weight = detail::weight_of_log(weight);
          }
    }

    template <class In, class Out>
    void walk_rows(const In& in, const Out& out, index_t b, index_t t, index_t k, index_t count,
                   direction order) {
      using T = typename Out::value_type;
      for (index_t i = 0; i < count; ++i) {
        const index_t row = order == direction::forward ? i : count - 1 - i;
        const T* x = in.pointer(b, t + row, k);
        T* y = out.pointer(b, t + row, k);
        const State* weight = weights_ + (Decay::kind == decay_kind::constant ? 0 : row * width_);
        const index_t x_stride = in.channel_stride();
        for (index_t c = 0; c < width_; ++c) {
          state_[c] = detail::advance<Decay::form>(weight[c], state_[c],
                                                   static_cast<State>(x[c * x_stride]));
          y[c] = static_cast<T>(state_[c]);
        }
      }
    }

    template <class In, class Out>
    void walk_columns(const In& in, const Out& out, index_t b, index_t t, index_t k, index_t count,
                      direction order) {
      using T = typename Out::value_type;
      for (index_t c = 0; c < width_; ++c) {
        const T* x = in.pointer(b, t, k + c);
        T* y = out.pointer(b, t, k + c);
        const State* weight = weights_ + c * height_;
        const index_t x_stride = in.step_stride();
        State h = state_[c];
        for (index_t i = 0; i < count; ++i) {
          const index_t row = order == direction::forward ? i : count - 1 - i;
          h = detail::advance<Decay::form>(weight[Decay::kind == decay_kind::constant ? 0 : row], h,
                                           static_cast<State>(x[row * x_stride]));
          y[row] = static_cast<T>(h);
        }
        state_[c] = h;
      }
    }

    index_t width_, height_;
    State state_[static_cast<std::size_t>(tile_width<Axis>)];
    State weights_[static_cast<std::size_t>(block_elements)];
  };
};

}  // namespace ebb::inline EBB_ABI
