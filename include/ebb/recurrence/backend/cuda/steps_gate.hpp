// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/steps_gate.hpp
/// @brief  Input-dependent decays made in the kernels: selective and irregular ones.
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include <ebb/decay/irregular.hpp>
#include <ebb/decay/selective.hpp>
#include <ebb/recurrence/backend/cuda/taper_gate.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// Selective decay: log a = -r clamp(softplus(raw + bias), low, high), and a taper's factor.
///
/// Accuracy, u that of the states' type: log a relatively within (11 + |raw| + |bias| + |x|) u,
/// x = raw + bias (the sum, its parts where wider, exp within 4u, log1p 2u, a sum, a limit, the
/// rate, a product), tapered the factor's error and u more.
template <class D, class State, bool Tapered>
struct selective_gate {
  using Real = real_of_t<State>;
  static constexpr decay_form form = decay_form::log_factor;
  static constexpr bool keeps_time = Tapered;
  using value = D;
  struct plain_channel {
    Real minus_rate, bias;
  };
  struct tapered_channel {
    Real minus_rate, bias;
    split_number<Real> alpha;
  };
  using channel_part = std::conditional_t<Tapered, tapered_channel, plain_channel>;
  using time_part = std::conditional_t<Tapered, split_number<Real>, no_part>;

  operand<const D> values;
  const channel_part* channels;
  taper_clock<Real> clock;
  Real lowest, highest;
  bool softplus, negated, one_column;
  index_t steps_for, first_channel;

  bool own_columns() const { return !one_column && steps_for == 1 && first_channel == 0; }
  EBB_DEVICE index_t column(index_t k) const {
    return one_column ? 0 : (k + first_channel) / steps_for;
  }
  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE channel_part channel(Context& c, index_t k) const {
    return c.load_cached(channels + (k + first_channel));
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
  /// dt.
  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE Real step(Context& c, const channel_part& channel, const D& raw) const {
    Real x = static_cast<Real>(loaded(raw)) + channel.bias;
    if (negated) x = -x;
    if (softplus) x = x > 0 ? x + c.log1p(c.exp(-x)) : c.log1p(c.exp(x));
    return x < lowest ? lowest : x > highest ? highest : x;
  }
  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE step_weight_t<State, form> weight(Context& c, const channel_part& channel,
                                               const time_part& time, const D& raw) const {
    Real log = channel.minus_rate * step(c, channel, raw);
    if constexpr (Tapered) log *= clock.taper(c, channel.alpha, time);
    return weight_of_log(c, scalar_as<State>(log));
  }
  selective_gate moved(const block_origin& first, index_t later) const {
    selective_gate result = *this;
    result.values.data = values.at(first.batch, first.step, 0);
    result.first_channel += first.channel;
    result.clock = clock.moved(later);
    return result;
  }
};

/// Whether a type is a selective decay bound to rates in double, and of what values.
template <class Decay>
concept selective_bound = requires(const Decay& decay) {
  decay.step_options();
  decay.taper();
  decay.view();
  decay.bias();
};

template <class Decay>
using viewed_value =
    typename std::remove_cvref_t<decltype(std::declval<const Decay&>().view())>::value_type;
template <selective_bound Decay, class State, bool Tapered>
using selective_gate_of = selective_gate<viewed_value<Decay>, State, Tapered>;

template <selective_bound Decay, class State>
struct gate_maker<Decay, State> {
  using gate = selective_gate_of<Decay, State, false>;
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
    using result = selective_gate_of<Decay, State, Tapered>;
    using Real = real_of_t<State>;
    const auto& options = decay.step_options();
    const auto bias = decay.bias();
    result g{};
    g.values = operand_of(decay.view());
    g.lowest = static_cast<Real>(options.lowest);
    g.highest = static_cast<Real>(options.highest);
    g.softplus = options.softplus, g.negated = options.negated;
    g.one_column = decay.view().channels() == 1;
    g.steps_for = options.steps_for;
    std::vector<typename result::channel_part> channels(decay.rates().size());
    for (std::size_t k = 0; k < channels.size(); ++k) {
      channels[k].minus_rate = static_cast<Real>(-decay.rates()[k]);
      const std::size_t column = k / static_cast<std::size_t>(options.steps_for);
      if (!bias.empty()) channels[k].bias = static_cast<Real>(bias[bias.size() == 1 ? 0 : column]);
      if constexpr (Tapered) channels[k].alpha = split_number<Real>::of(decay.alpha()[k]);
    }
    if constexpr (Tapered) g.clock = taper_clock<Real>::of(*decay.taper());
    g.channels = launcher.upload(std::span<const typename result::channel_part>(channels));
    return g;
  }
};

/// Irregular decay: log a = -r dt, as filled: a product in double, rounded once.
template <class D, class Param, class State>
struct irregular_gate : timeless {
  static constexpr decay_form form = decay_form::log_factor;
  using value = D;
  using channel_part = Param;

  operand<const D> values;
  const Param* minus_rates;
  bool one_column;

  bool own_columns() const { return !one_column; }
  EBB_DEVICE index_t column(index_t k) const { return one_column ? 0 : k; }
  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE Param channel(Context& c, index_t k) const {
    return c.load_cached(minus_rates + k);
  }
  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE step_weight_t<State, form> weight(Context& c, const Param& minus_rate, no_part,
                                               const D& dt) const {
    return weight_of_log(c, scalar_as<State>(by_real(minus_rate, static_cast<double>(loaded(dt)))));
  }
  irregular_gate moved(const block_origin& first, index_t) const {
    irregular_gate result = *this;
    result.values.data = values.at(first.batch, first.step, one_column ? 0 : first.channel);
    result.minus_rates += first.channel;
    return result;
  }
};

/// Whether a type is an irregular decay bound to rates.
template <class Decay>
concept irregular_bound = requires(const Decay& decay) {
  decay.intervals();
  decay.rates();
};

template <irregular_bound Decay, class State>
struct gate_maker<Decay, State> {
  using param = std::remove_cvref_t<decltype(std::declval<const Decay&>().rates()[0])>;
  using gate = irregular_gate<viewed_value<Decay>, param, State>;
  template <class Launcher>
  static gate make(Launcher& launcher, const Decay& decay) {
    std::vector<param> minus_rates;
    for (const param& rate : decay.rates()) minus_rates.push_back(-rate);
    return {{},
            operand_of(decay.view()),
            launcher.upload(std::span<const param>(minus_rates)),
            decay.intervals().shared()};
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
