// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/taper_gate.hpp
/// @brief  Position-adaptive decays made in the kernels.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <ebb/decay/post.hpp>
#include <ebb/recurrence/backend/cuda/gate.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// log2((t + t_0) / t_ref), high + low, and an exponent alpha of a channel. In float both are
/// pairs: a logarithm of 60 times 2^-24 would already be 36 units of log a.
template <class Real>
struct split_number;
template <>
struct split_number<float> {
  float high, low;
  static EBB_DEVICE split_number of(double x) {
    const auto high = static_cast<float>(x);
    return {high, static_cast<float>(x - static_cast<double>(high))};
  }
};
template <>
struct split_number<double> {
  double high;
  static EBB_DEVICE split_number of(double x) { return {x}; }
};

/// The factor ((t + t_0) / t_ref)^-alpha.
///
/// Accuracy, u that of Real: float: 5u (exp2 within 4u, its argument within 2^-25 + 2^-27),
/// whatever the position; after `times` 6u. double: (4 + 3 L) u, L as in decay/post.hpp.
template <class Real>
struct taper_clock {
  using time_part = split_number<Real>;

  index_t offset;
  double log2_reference;

  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE time_part time(Context& c, index_t position) const {
    return time_part::of(c.log2(static_cast<double>(position + offset)) - log2_reference);
  }
  /// Of position .. position + N - 1. In float one logarithm in double serves them all:
  /// log2(p + i) = log2 p + log1p(i / p) / log 2, with i / p < 1/8.
  EBB_NO_EXEC_CHECK template <class Context, int N>
  EBB_DEVICE void times(Context& c, index_t position, time_part (&parts)[N]) const {
    static_assert(N <= 8);
    if constexpr (sizeof(Real) == sizeof(float)) {
      if (position + offset >= 64) {
        parts[0] = time(c, position);
        const float step = 1.0f / static_cast<float>(position + offset);
        EBB_UNROLL for (int i = 1; i < N; ++i) {
          parts[i] = parts[0];
          parts[i].low += 1.442695041f * c.log1p(static_cast<float>(i) * step);
        }
        return;
      }
    }
    EBB_UNROLL for (int i = 0; i < N; ++i) parts[i] = time(c, position + i);
  }

  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE Real taper(Context& c, const split_number<Real>& alpha, const time_part& l) const {
    if constexpr (sizeof(Real) == sizeof(float)) {
      const float product = alpha.high * l.high;
      float rest = c.multiply_add(alpha.high, l.high, -product);
      rest = c.multiply_add(alpha.high, l.low, rest);
      rest = c.multiply_add(alpha.low, l.high, rest);
      int whole = static_cast<int>(product + (product < 0 ? -0.5f : 0.5f));
      const float part = (product - static_cast<float>(whole)) + rest;
      whole = whole < -127 ? -127 : whole;
      const auto power = std::bit_cast<float>(static_cast<std::uint32_t>(127 - whole) << 23);
      return c.exp2(-part) * power;
    } else {
      return c.exp2(-(alpha.high * l.high));
    }
  }

  taper_clock moved(index_t later) const { return {offset + later, log2_reference}; }
  /// Of a bound post_taper.
  template <class Bound>
  static taper_clock of(const Bound& taper) {
    constexpr double log2_e = 0x1.71547652b82fep+0;
    return {taper.offset(), static_cast<double>(taper.log_reference()) * log2_e};
  }
};

/// Position-adaptive taper: log a = -r ((t + t_0) / t_ref)^-alpha.
///
/// Accuracy: relative error of log a within that of the factor and 2u.
template <class State>
struct taper_gate {
  using Real = real_of_t<State>;
  static constexpr decay_form form = decay_form::log_factor;
  static constexpr bool keeps_time = true;
  using value = no_values;
  using time_part = typename taper_clock<Real>::time_part;
  struct channel_part {
    Real minus_rate;
    split_number<Real> alpha;
  };

  taper_clock<Real> clock;
  const channel_part* channels;

  EBB_DEVICE index_t column(index_t k) const { return k; }
  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE channel_part channel(Context& c, index_t k) const {
    return c.load_cached(channels + k);
  }
  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE time_part time(Context& c, index_t position) const {
    return clock.time(c, position);
  }
  EBB_NO_EXEC_CHECK template <class Context, int N>
  EBB_DEVICE void times(Context& c, index_t position, time_part (&parts)[N]) const {
    clock.times(c, position, parts);
  }
  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE step_weight_t<State, form> weight(Context& c, const channel_part& channel,
                                               const time_part& time, no_values) const {
    return weight_of_log(
        c, scalar_as<State>(channel.minus_rate * clock.taper(c, channel.alpha, time)));
  }
  taper_gate moved(const block_origin& first, index_t later) const {
    return {clock.moved(later), channels + first.channel};
  }
};

template <class State>
struct gate_maker<post_taper::bound<double>, State> {
  using gate = taper_gate<State>;
  template <class Launcher>
  static gate make(Launcher& launcher, const post_taper::bound<double>& decay) {
    using Real = real_of_t<State>;
    std::vector<typename gate::channel_part> channels;
    for (std::size_t k = 0; k < decay.rates().size(); ++k)
      channels.push_back(
          {static_cast<Real>(-decay.rates()[k]), split_number<Real>::of(decay.alpha()[k])});
    return {taper_clock<Real>::of(decay),
            launcher.upload(std::span<const typename gate::channel_part>(channels))};
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
