// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/log_time_weights.hpp
/// @brief  The weights of decays that are polynomials in log-time, for tiles of channels.
#pragma once

#include <concepts>
#include <cstddef>

#include <ebb/decay/concept.hpp>
#include <ebb/decay/log_time.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Whether a decay gives its weights, which are real ones, as polynomials in log-time.
template <class Decay, class State>
concept in_log_time =
    (std::same_as<real_of_t<State>, float> ||
     std::same_as<real_of_t<State>, double>)&&requires(const Decay& decay,
                                                       const log_time_block& block) {
  decay.template log_time_block_at<real_of_t<State>>(index_t{1});
  decay.log_time_channels_at(block, index_t{0});
};

/// The polynomials of some channels over a block, and the weights they give (`step_weight`).
template <class State>
class log_time_weights {
 public:
  /// Channels whose coefficients stay near, steps that share their y; a strip leaves no narrow
  /// rest.
  static constexpr index_t strip = 4096 / sizeof(State), widest = strip + 16, longest = 256;

  /// The steps from a position on, count <= longest; all in one block.
  void set_steps(const log_time_block& block, index_t position, index_t count) {
    block_ = block;
    log_times(block, position, static_cast<int>(count), y_);
  }

  template <class Decay>
  void set_channels(const Decay& decay, index_t channel, index_t width) {
    // A long block is walked in several parts, which have the same polynomials.
    if (channel == channel_ && width == width_ && block_.first == has_) return;
    channel_ = channel, width_ = width, has_ = block_.first;
    with_log_time_degree<State>(block_, [&]<int Degree>() {
      log_time_coefficients<State, Degree>(decay.log_time_channels_at(block_, channel), block_,
                                           width, c_, widest);
    });
  }

  const log_time_block& block() const { return block_; }
  const State* coefficients() const { return c_; }
  const State* y() const { return y_; }

  /// The weights of the channels at step i, w[k * stride].
  template <int Degree>
  void row(index_t i, State* w, index_t stride) const {
    const State y = y_[i];
    for (index_t k = 0; k < width_; ++k) {
      State p = c_[Degree * widest + k];
      for (int d = Degree - 1; d >= 0; --d) p = multiply_add(p, y, c_[d * widest + k]);
      w[k * stride] = weight(p, c_[(Degree + 1) * widest + k]);
    }
  }
  /// The weights of a channel at steps first .. first + count - 1.
  template <int Degree>
  void column(index_t k, index_t first, index_t count, State* w) const {
    const State kept = c_[(Degree + 1) * widest + k];
    for (index_t i = 0; i < count; ++i) {
      State p = c_[Degree * widest + k];
      for (int d = Degree - 1; d >= 0; --d) p = multiply_add(p, y_[first + i], c_[d * widest + k]);
      w[i] = weight(p, kept);
    }
  }

 private:
  // Kept: a - 1, or a = 1 where that is 0. The others: a, or 0 where subnormal terms fall below.
  static State weight(const State& p, const State& kept) {
    const State fast = choose(p < 0, State(0), p);
    return choose(kept > 0, choose(p < 0, p, State(kept + p)), fast);
  }

  log_time_block block_{};
  index_t channel_ = 0, width_ = 0, has_ = 0;  // has_: first position of the block of c_
  State y_[longest];
  alignas(64) State c_[(log_time_highest + 2) * widest];
};

}  // namespace ebb::inline EBB_ABI::detail
