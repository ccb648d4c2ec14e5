// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/following.hpp
/// @brief  A decay as the way back through a scan sees it: one step on.
#pragma once

#include <ebb/decay/concept.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Another decay one step on, for a part of its data:
///
///   fill({b, t, k, p}) = decay.fill({b + first.batch, t + first.step + by, k + first.channel, p + by})
///
/// The decay must outlive this object. Cost and accuracy: those of the decay.
template <class Decay>
class following_decay {
 public:
  static constexpr decay_kind kind = Decay::kind;
  static constexpr decay_form form = Decay::form;
  static constexpr input_gain gain = input_gain::one;
  using gradients = no_gradients;

  /// @param first  where the part begins in the decay's own data; its position is not used
  /// @param by     1 or -1
  following_decay(const Decay& decay, const block_origin& first, index_t by)
      : decay_(&decay), first_(first), by_(by) {}

  template <class Real, class Axis>
  void fill(const block_origin& where, const strided_view<Real, Axis>& block) const {
    decay_->fill(moved(where), block);
  }

  /// What the decay stores or has made before, and its polynomials in log-time, where it has them.
  template <class Where>
  auto rows_at(const Where& where) const requires requires(const Decay& decay) {
    decay.rows_at(where);
  }
  { return decay_->rows_at(moved(where)); }
  template <class State>
  auto weights(index_t channel) const requires requires(const Decay& decay) {
    decay.template weights<State>(channel);
  }
  { return decay_->template weights<State>(first_.channel + channel); }
  template <class State>
  auto log_time_block_at(index_t position) const requires requires(const Decay& decay) {
    decay.template log_time_block_at<State>(position);
  }
  {
    auto block = decay_->template log_time_block_at<State>(position + by_);
    block.first -= by_, block.end -= by_, block.offset += by_;
    return block;
  }
  template <class Block>
  auto log_time_channels_at(const Block& block, index_t channel) const {
    return decay_->log_time_channels_at(block, first_.channel + channel);
  }

 private:
  block_origin moved(const block_origin& where) const {
    return {where.batch + first_.batch, where.step + first_.step + by_,
            where.channel + first_.channel, where.position + by_};
  }

  const Decay* decay_;
  block_origin first_;
  index_t by_;
};

}  // namespace ebb::inline EBB_ABI::detail
