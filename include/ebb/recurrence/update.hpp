// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/update.hpp
/// @brief  One step of the recurrence, without losing slow timescales. Every backend is built on
///   it.
#pragma once

#include <cmath>
#include <complex>
#include <type_traits>

#include <ebb/core/scalar.hpp>
#include <ebb/decay/concept.hpp>
#include <ebb/decay/weight.hpp>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ && !defined(EBB_ALLOW_FAST_MATH)
#error "ebb needs IEEE arithmetic: drop -ffast-math (or EBB_ALLOW_FAST_MATH: docs/backends.md)"
#endif

namespace ebb::inline EBB_ABI {

namespace detail {
/// The parts of a complex number, each by itself: what loops over them become vectors of.
template <class Real>
struct parts {
  Real re, im;
};

/// w h + b by components, the imaginary part of w first: two fused operations a component.
template <class Real>
[[gnu::always_inline]] inline parts<Real> multiply_add(const parts<Real>& w, const parts<Real>& h,
                                                       const parts<Real>& b) {
  return {multiply_add(w.re, h.re, multiply_add(Real(-w.im), h.im, b.re)),
          multiply_add(w.re, h.im, multiply_add(w.im, h.re, b.im))};
}

/// The step of a complex state, a = whole + w; whole is 1 or 0.
///
/// In loops over channels a choice without branches makes vectors; where each step waits for the
/// one before, what the compiler makes of ?: is faster.
template <decay_form Form, input_gain Gain, class Real, bool Loops = has_exponential<Real>>
[[gnu::always_inline]] inline parts<Real> advance_parts(const parts<Real>& w, const Real& whole,
                                                        const parts<Real>& h,
                                                        const parts<Real>& b) {
  parts<Real> fast, slow;
  if constexpr (Gain == input_gain::one) {
    fast = multiply_add(w, h, b);
    slow = {h.re + fast.re, h.im + fast.im};
  } else {
    const parts<Real> gain{Real(1) - w.re, -w.im};
    fast = multiply_add(w, h,
                        {multiply_add(gain.re, b.re, Real(Real(-gain.im) * b.im)),
                         multiply_add(gain.re, b.im, Real(gain.im * b.re))});
    slow = multiply_add(w, {h.re - b.re, h.im - b.im}, h);
  }
  if constexpr (Form == decay_form::factor)
    return fast;
  else if constexpr (Loops)
    return {choose(whole > 0, slow.re, fast.re), choose(whole > 0, slow.im, fast.im)};
  else
    return {whole > 0 ? slow.re : fast.re, whole > 0 ? slow.im : fast.im};
}
}  // namespace detail

/// The state after one step of a decay of this form and gain:
///
///   one: a h + b    one_minus_decay: a h + (1 - a) b
///
/// evaluated as h + (b + (a - 1) h), or h + (a - 1)(h - b), where the weight holds a - 1.
template <decay_form Form, input_gain Gain, class State>
State advance(const step_weight_t<State, Form>& weight, const State& h, const State& b) {
  constexpr bool average = Gain == input_gain::one_minus_decay;
  if constexpr (is_complex<State>) {
    using Real = real_of_t<State>;
    const auto next = [&](const State& w, const Real& whole) {
      const auto to = detail::advance_parts<Form, Gain, Real, false>(
          {w.real(), w.imag()}, whole, {h.real(), h.imag()}, {b.real(), b.imag()});
      return State(to.re, to.im);
    };
    if constexpr (Form == decay_form::factor)
      return next(weight, Real(0));
    else
      return next(weight.value, weight.whole);
  } else {
    const State fast = detail::multiply_add(weight, h, average ? State((1 - weight) * b) : b);
    if constexpr (Form == decay_form::factor) return fast;
    const State slow = average ? detail::multiply_add(weight, State(h - b), h) : State(h + fast);
    // An infinite state would meet its own decrement, inf - inf; its decay is infinite again.
    const State slow_or_infinite = std::isnan(slow) ? h + b : slow;
    return weight < 0 ? slow_or_infinite : fast;
  }
}

/// The decay a that a weight stands for, rounded.
template <decay_form Form, class State>
State factor_of(const step_weight_t<State, Form>& weight) {
  if constexpr (Form == decay_form::factor)
    return weight;
  else if constexpr (is_complex<State>)
    return State(weight.whole + weight.value.real(), weight.value.imag());
  else
    return weight < 0 ? 1 + weight : weight;
}

/// What the rounding of a step depends on.
struct step_kind {
  decay_form form = decay_form::log_factor;
  input_gain gain = input_gain::one;
  bool complex = false;
};

/// The kind of steps that a decay makes in states of a type.
template <class Decay, class State>
inline constexpr step_kind step_kind_of{Decay::form, gain_of<Decay>, is_complex<State>};

/// How many roundings `weight_of` and `advance` count for in a step, exponentials taken within 3u:
/// |computed - exact| <= ((1 + u)^n - 1)(|a| |h| + |gain b|). docs/accuracy.md
constexpr double step_roundings(const step_kind& kind) {
  if (kind.complex) {
    const bool average = kind.gain == input_gain::one_minus_decay;
    return kind.form == decay_form::factor ? (average ? 6 : 4) : (average ? 22 : 13);
  }
  if (kind.form == decay_form::log_factor) return 6;
  return kind.gain == input_gain::one ? 2 : 3;
}

}  // namespace ebb::inline EBB_ABI
