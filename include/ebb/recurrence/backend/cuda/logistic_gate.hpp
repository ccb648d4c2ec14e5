// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/logistic_gate.hpp
/// @brief  Sigmoid gates made in the kernels.
#pragma once

#include <span>
#include <vector>

#include <ebb/decay/sigmoid_gate.hpp>
#include <ebb/recurrence/backend/cuda/steps_gate.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// Sigmoid gate: log a = -c sigma(w + raw - alpha log((t + t_0) / t_ref)).
///
/// Accuracy, u that of the states' type, x the argument of sigma, y the taper's part of it: log a
/// relatively within (12 + |w| + |raw| + |x| + 3 |y|) u: x by u of w, of raw where wider, of each
/// sum and of y, three times; exp within 4u, a sum, a quotient, c and its product.
template <class D, class State, bool Tapered>
struct logistic_gate {
  using Real = real_of_t<State>;
  static constexpr decay_form form = decay_form::log_factor;
  static constexpr bool keeps_time = Tapered;
  using value = D;
  struct channel_part {
    Real logit, alpha;
  };
  using time_part = std::conditional_t<Tapered, split_number<Real>, no_part>;

  operand<const D> values;
  const channel_part* channels;
  taper_clock<Real> clock;
  bool one_column;

  bool own_columns() const { return !one_column; }
  EBB_DEVICE index_t column(index_t k) const { return one_column ? 0 : k; }
  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE channel_part channel(Context& c, index_t k) const {
    return c.load_cached(channels + k);
  }
  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE time_part time(Context& c, index_t position) const {
    if constexpr (Tapered)
      return clock.time(c, position);
    else
      return {};
  }
  EBB_NO_EXEC_CHECK template <class Context, int N>
  EBB_DEVICE void times(Context& c, index_t position, time_part (&parts)[N]) const {
    if constexpr (Tapered) clock.times(c, position, parts);
  }
  /// The argument of sigma.
  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE Real argument(Context& c, const channel_part& channel, const time_part& time,
                           const D& raw) const {
    Real x = channel.logit + static_cast<Real>(loaded(raw));
    if constexpr (Tapered) {
      constexpr auto log_2 = static_cast<Real>(0.693147180559945309);
      Real log_time = time.high;
      if constexpr (sizeof(Real) == sizeof(float)) log_time += time.low;
      x = c.multiply_add(-channel.alpha, log_2 * log_time, x);
    }
    return x;
  }
  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE step_weight_t<State, form> weight(Context& c, const channel_part& channel,
                                               const time_part& time, const D& raw) const {
    constexpr auto largest = static_cast<Real>(0.606530659712633424);  // e^(-1/2)
    const Real x = argument(c, channel, time, raw);
    const Real z = c.exp(x < 0 ? x : -x);
    const Real sigma = (x < 0 ? z : Real(1)) / (1 + z);
    return weight_of_log(c, scalar_as<State>(-largest * sigma));
  }
  logistic_gate moved(const block_origin& first, index_t later) const {
    logistic_gate result = *this;
    result.values.data = values.at(first.batch, first.step, one_column ? 0 : first.channel);
    result.channels += first.channel;
    result.clock = clock.moved(later);
    return result;
  }
};

/// Whether a type is a sigmoid gate bound to logits.
template <class Decay>
concept logistic_bound = requires(const Decay& decay) {
  decay.logits();
  decay.taper();
  decay.view();
};

template <logistic_bound Decay, class State>
struct gate_maker<Decay, State> {
  using gate = logistic_gate<viewed_value<Decay>, State, false>;
  template <class Launcher, class Body>
  static void choose(Launcher& launcher, const Decay& decay, const Body& body) {
    if (decay.taper())
      body(made<true>(launcher, decay));
    else
      body(made<false>(launcher, decay));
  }

 private:
  template <bool Tapered, class Launcher>
  static auto made(Launcher& launcher, const Decay& decay) {
    using result = logistic_gate<viewed_value<Decay>, State, Tapered>;
    using Real = real_of_t<State>;
    std::vector<typename result::channel_part> channels(decay.logits().size());
    for (std::size_t k = 0; k < channels.size(); ++k) {
      channels[k].logit = static_cast<Real>(decay.logits()[k]);
      if constexpr (Tapered) channels[k].alpha = static_cast<Real>(decay.alpha()[k]);
    }
    result g{};
    g.values = operand_of(decay.view());
    g.one_column = decay.view().channels() == 1;
    if constexpr (Tapered) g.clock = taper_clock<Real>::of(*decay.taper());
    g.channels = launcher.upload(std::span<const typename result::channel_part>(channels));
    return g;
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
