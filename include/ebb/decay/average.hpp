// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/average.hpp
/// @brief  Any decay as an exponential average: what is lost of the state is taken from the input.
#pragma once

#include <complex>
#include <span>
#include <type_traits>
#include <utility>

#include <ebb/decay/concept.hpp>

namespace ebb::inline EBB_ABI {

/// A bound decay whose input enters as (1 - a) b:  h_t = a_t h_{t-1} + (1 - a_t) b_t.
///
/// With 0 <= a <= 1 the state is an average of h_0 and the inputs so far, by weights >= 0 that sum
/// to 1.
/// Values, gradients, shapes and costs are those of the decay inside. The scan forms 1 - a from
/// log a without cancellation (recurrence/update.hpp).
template <class Decay>
class normalised_decay {
 public:
  static constexpr decay_kind kind = Decay::kind;
  static constexpr decay_form form = Decay::form;
  static constexpr input_gain gain = input_gain::one_minus_decay;
  using gradients = typename Decay::gradients;

  explicit constexpr normalised_decay(Decay decay) : decay_(std::move(decay)) {}

  /// The decay inside.
  const Decay& decay() const { return decay_; }
  Decay& decay() { return decay_; }

  template <class Real, class Axis>
  void fill(const block_origin& where, const strided_view<Real, Axis>& block) const {
    decay_.fill(where, block);
  }

  /// What the decay inside stores or has made before, and its polynomials in log-time.
  template <class Where>
  auto rows_at(const Where& where) const requires requires(const Decay& decay) {
    decay.rows_at(where);
  }
  { return decay_.rows_at(where); }
  template <class State>
  auto weights(index_t channel) const requires requires(const Decay& decay) {
    decay.template weights<State>(channel);
  }
  { return decay_.template weights<State>(channel); }
  template <class State>
  auto log_time_block_at(index_t position) const requires requires(const Decay& decay) {
    decay.template log_time_block_at<State>(position);
  }
  { return decay_.template log_time_block_at<State>(position); }
  template <class Block>
  auto log_time_channels_at(const Block& block, index_t channel) const {
    return decay_.log_time_channels_at(block, channel);
  }

  /// The cotangent is that of the filled values, in which the scan counts the gain.
  template <class Block, class Cotangent>
  void vjp(const block_origin& where, const Block& block, const Cotangent& cotangent,
           gradients& sums) const requires(!std::is_empty_v<gradients>) {
    decay_.vjp(where, block, cotangent, sums);
  }

  /// @throws as the decay inside.
  void check(const extents& size) const requires requires(const Decay& decay, const extents& data) {
    decay.check(data);
  }
  { decay_.check(size); }

  void check(const extents& size, const gradients& sums) const requires
      requires(const Decay& decay, const extents& data, const gradients& given) {
    decay.check(data, given);
  }
  { decay_.check(size, sums); }

  /// The caller's memory that the decay inside reads.
  auto view() const requires requires(const Decay& decay) { decay.view(); }
  { return decay_.view(); }

 private:
  Decay decay_;
};

/// A policy whose bound decays are normalised.
template <class Policy>
class normalised_policy {
 public:
  static constexpr decay_kind kind = Policy::kind;

  explicit constexpr normalised_policy(Policy policy) : policy_(std::move(policy)) {}

  /// @throws as the policy inside.
  template <class Real>
  requires detail::binds<Policy, Real>
  auto bind(std::span<const Real> rates) const { return normalised_decay(policy_.bind(rates)); }

 private:
  Policy policy_;
};

/// Exponential averages of a decay: of a policy (anything with `bind`) the policy, of a bound decay
/// the bound decay.
///
///   const auto averages = normalised(constant_decay()).bind(rates);
template <class Decay>
auto normalised(Decay decay) {
  if constexpr (detail::binds_some<Decay>) {
    return normalised_policy<Decay>(std::move(decay));
  } else {
    static_assert(
        requires { typename Decay::gradients; },
        "ebb::normalised: the argument is neither a policy nor a bound decay");
    return normalised_decay(std::move(decay));  // of a normalised one a copy
  }
}

}  // namespace ebb::inline EBB_ABI
