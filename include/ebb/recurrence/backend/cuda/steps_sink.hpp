// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/steps_sink.hpp
/// @brief  The way back through input-dependent decays in a kernel: step sizes, rates and the rest.
#pragma once

#include <type_traits>

#include <ebb/recurrence/backend/cuda/decay_sink.hpp>
#include <ebb/recurrence/backend/cuda/logistic_gate.hpp>
#include <ebb/recurrence/backend/cuda/steps_gate.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// Selective decays: with x = raw + bias (negated: minus that), s the taper's factor,
///
///   d r -= dt s d,   d raw, d bias -= r s dt'(x) d,   d alpha += r dt s log((t + t_0) / t_ref) d
///
/// dt' = sigma(x), 1 without softplus, 0 where a limit acts; negated, d raw changes its sign.
///
/// Accuracy, u that of the type of states: d r, d alpha within that of dt and 3 u; dt'(x) within
/// (8 + |raw| + |bias| + |x|) u (exp 4u, a sum, a quotient, and x as in selective_gate).
/// @tparam Element  what the gradients of raw steps are added up in
template <class Element>
struct selective_sink {
  using element = Element;
  using sum = double;
  static constexpr int sums = 3;  // rates, bias, alpha

  EBB_NO_EXEC_CHECK template <class Context, class Gate, class State>
  EBB_DEVICE void take(Context& c, const Gate& gate, const typename Gate::channel_part& channel,
                       const typename Gate::time_part& time, const typename Gate::value& raw,
                       const State& d, sum (&to)[3], element& each) const {
    using Real = typename Gate::Real;
    if (d == State(0)) return;  // behind a = 0, whose dt is inf: not inf * 0
    double scaled = cotangent_on_device<double>(d);
    if constexpr (Gate::keeps_time)
      scaled *= static_cast<double>(gate.clock.taper(c, channel.alpha, time));
    const auto dt = static_cast<double>(gate.step(c, channel, raw));
    to[0] -= dt * scaled;
    if constexpr (Gate::keeps_time)
      to[2] -= static_cast<double>(channel.minus_rate) * dt * (log_time_of(time) * scaled);
    Real x = static_cast<Real>(loaded(raw)) + channel.bias;
    if (gate.negated) x = -x;
    Real free = x, slope(1);
    if (gate.softplus) {
      const Real z = c.exp(x < 0 ? x : -x);
      free = (x > 0 ? x : Real(0)) + c.log1p(z);
      slope = (x < 0 ? z : Real(1)) / (1 + z);
    }
    if (free < gate.lowest || free > gate.highest) slope = Real(0);
    double part = static_cast<double>(channel.minus_rate) * (static_cast<double>(slope) * scaled);
    if (gate.negated) part = -part;
    to[1] += part;
    each = static_cast<element>(part);
  }
};

template <selective_bound Decay, class State>
struct sink_maker<Decay, State> {
  using sink =
      selective_sink<typename std::remove_cvref_t<decltype(Decay::gradients::raw)>::value_type>;
  static sink make(const Decay&) { return {}; }
  template <class Sums, class To>
  static void each(const Decay& decay, const Sums& sums, const To& to) {
    const auto channels = static_cast<index_t>(decay.rates().size());
    to.sums(0, sums.rates, 1);
    to.sums(
        1, sums.bias,
        sums.bias.size() == 1 ? channels : static_cast<index_t>(decay.step_options().steps_for));
    to.sums(2, sums.alpha, 1);
    to.elements(sums.raw);
  }
};

/// Irregular decays: d r -= dt d, d dt -= Re(conj(r) d).
template <class Element, class Param>
struct irregular_sink {
  using element = Element;
  using sum = Param;
  static constexpr int sums = 1;

  template <class Context, class Gate, class State>
  EBB_DEVICE void take(Context&, const Gate&, const typename Gate::channel_part& minus_rate,
                       const typename Gate::time_part&, const typename Gate::value& dt,
                       const State& d, sum (&to)[1], element& each) const {
    if (d == State(0)) return;  // behind a = 0, whose dt is inf: not inf * 0
    const Param part = cotangent_on_device<Param>(d);
    to[0] = plus(to[0], by_real(part, -static_cast<double>(loaded(dt))));
    if constexpr (is_complex<Param>)
      each =
          static_cast<element>(minus_rate.real() * part.real() + minus_rate.imag() * part.imag());
    else
      each = static_cast<element>(minus_rate * part);
  }
};

template <irregular_bound Decay, class State>
struct sink_maker<Decay, State> {
  using sink =
      irregular_sink<typename std::remove_cvref_t<decltype(Decay::gradients::dt)>::value_type,
                     typename gate_maker<Decay, State>::param>;
  static sink make(const Decay&) { return {}; }
  template <class Sums, class To>
  static void each(const Decay&, const Sums& sums, const To& to) {
    to.sums(0, sums.rates, 1);
    to.elements(sums.dt);
  }
};

/// Sigmoid gates: with p = c sigma'(x) d, d logit, d raw -= p, d alpha += log((t + t_0) / t_ref) p.
///
/// Accuracy, u that of the type of states: sigma'(x) within (16 + |w| + |raw| + |x| + 3 |y|) u, as
/// in logistic_gate.
template <class Element>
struct logistic_sink {
  using element = Element;
  using sum = double;
  static constexpr int sums = 2;  // logits, alpha

  EBB_NO_EXEC_CHECK template <class Context, class Gate, class State>
  EBB_DEVICE void take(Context& c, const Gate& gate, const typename Gate::channel_part& channel,
                       const typename Gate::time_part& time, const typename Gate::value& raw,
                       const State& d, sum (&to)[2], element& each) const {
    constexpr double minus_largest = -0.606530659712633424;  // e^(-1/2)
    const auto x = gate.argument(c, channel, time, raw);
    const auto z = c.exp(x < 0 ? x : -x);
    const double part = minus_largest * static_cast<double>(z / ((1 + z) * (1 + z))) *
                        cotangent_on_device<double>(d);
    to[0] += part;
    if constexpr (Gate::keeps_time) to[1] -= log_time_of(time) * part;
    each = static_cast<element>(part);
  }
};

template <logistic_bound Decay, class State>
struct sink_maker<Decay, State> {
  using sink =
      logistic_sink<typename std::remove_cvref_t<decltype(Decay::gradients::raw)>::value_type>;
  static sink make(const Decay&) { return {}; }
  template <class Sums, class To>
  static void each(const Decay&, const Sums& sums, const To& to) {
    to.sums(0, sums.logits, 1);
    to.sums(1, sums.alpha, 1);
    to.elements(sums.raw);
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
