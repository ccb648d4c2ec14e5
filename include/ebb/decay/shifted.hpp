// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/shifted.hpp
/// @brief  A decay as a part of the data sees it.
#pragma once

#include <ebb/decay/concept.hpp>

namespace ebb::inline EBB_ABI {

/// Another decay for a part of its data that begins at a batch entry and a channel.
///
///   fill({b, t, k, position}) = decay.fill({b + first.batch, t + first.step, k + first.channel,
///                                           position + later})
///
/// Positions are absolute and stay (`later` is 0), but for the way back through a scan, on which a
/// step has the decay of its neighbour. The decay must outlive this object.
/// Cost and accuracy: those of the decay.
template <class Decay>
class shifted_decay {
 public:
  static constexpr decay_kind kind = Decay::kind;
  static constexpr decay_form form = Decay::form;
  static constexpr input_gain gain = gain_of<Decay>;
  using gradients = typename Decay::gradients;

  /// @param first  where the part begins in the decay's own data; its position is not used
  /// @param later  added to positions
  shifted_decay(const Decay& decay, const block_origin& first, index_t later = 0)
      : decay_(&decay), first_(first), later_(later) {}

  const Decay& decay() const { return *decay_; }
  const block_origin& first() const { return first_; }
  index_t later() const { return later_; }

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
    auto block = decay_->template log_time_block_at<State>(position + later_);
    block.first -= later_, block.end -= later_, block.offset += later_;
    return block;
  }
  template <class Block>
  auto log_time_channels_at(const Block& block, index_t channel) const {
    return decay_->log_time_channels_at(block, first_.channel + channel);
  }

  template <class Real, class Axis, class CotangentAxis>
  void vjp(const block_origin& where, const strided_view<const Real, Axis>& block,
           const strided_view<const Real, CotangentAxis>& cotangent, gradients& sums) const {
    decay_->vjp(moved(where), block, cotangent, sums);
  }

 private:
  block_origin moved(const block_origin& where) const {
    return {where.batch + first_.batch, where.step + first_.step, where.channel + first_.channel,
            where.position + later_};
  }

  const Decay* decay_;
  block_origin first_;
  index_t later_;
};

}  // namespace ebb::inline EBB_ABI
