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

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ && !defined(EBB_ALLOW_FAST_MATH)
#error "ebb needs IEEE arithmetic: drop -ffast-math (or EBB_ALLOW_FAST_MATH: docs/backends.md)"
#endif

namespace ebb::inline EBB_ABI {

/// A complex decay as the kernels keep it: a itself, or a - 1 where that is at most 1/2 in size.
template <class Real>
struct complex_weight {
  std::complex<Real> value;
  bool slow = false;  ///< value is a - 1
};

/// A decay as the kernels keep it. Complex: see above. Real: one number w for both regimes,
///
///   w >= 0:  the factor a;    w < 0:  a - 1 = expm1(log a), for 1/2 <= a < 1
///
/// (of the form `factor` always a itself). Next to 1 a float holds no more of the timescale than
/// a's distance from 1 in units of 2^-24, while a - 1 keeps all digits; below 1/2 it is the other
/// way round.
template <class State>
struct step_weight {
  using type = State;
};
template <class Real>
struct step_weight<std::complex<Real>> {
  using type = complex_weight<Real>;
};
template <class State>
using step_weight_t = typename step_weight<State>::type;

/// The weight of a filled value of a decay of this form.
///
/// Cost: none for factors; one exp or expm1 for log-decays, complex ones a sine and two cosines
/// more.
template <decay_form Form, class State>
step_weight_t<State> weight_of(const State& filled) {
  if constexpr (Form == decay_form::factor) {
    return {filled};
  } else if constexpr (is_complex<State>) {
    using Real = real_of_t<State>;
    const Real x = filled.real(), y = filled.imag();
    const Real half_sine = std::sin(y / 2), growth = std::expm1(x), size = std::exp(x);
    // a - 1 = expm1(x) cos y - 2 sin^2(y/2) + i e^x sin y: both real terms have one sign here.
    const State minus(growth * std::cos(y) - 2 * half_sine * half_sine, size * std::sin(y));
    if (minus.real() * minus.real() + minus.imag() * minus.imag() <= Real(0.25))
      return {minus, true};
    if (size == Real(0)) return {State(0), false};  // -inf, whatever the phase
    return {State(size * std::cos(y), minus.imag()), false};
  } else {
    constexpr auto half = static_cast<State>(-0.693147180559945309417232121458L);
    // A NaN takes the second branch and stays one.
    if (!(filled >= half)) return std::exp(filled);
    const State minus = std::expm1(filled);
    return minus < 0 ? minus : 1 + minus;
  }
}

/// The state after one step of a decay of this form and gain:
///
///   one: a h + b    one_minus_decay: a h + (1 - a) b
///
/// evaluated as h + (b + (a - 1) h), or h + (a - 1)(h - b), where the weight holds a - 1.
template <decay_form Form, input_gain Gain, class State>
State advance(const step_weight_t<State>& weight, const State& h, const State& b) {
  constexpr bool average = Gain == input_gain::one_minus_decay;
  if constexpr (is_complex<State>) {
    const State& w = weight.value;
    if constexpr (average) {
      if (weight.slow) return h + detail::product(w, State(h - b));
      return detail::product(w, h) + detail::product(State(State(1) - w), b);
    } else {
      const State change = detail::product(w, h) + b;
      return weight.slow ? State(h + change) : change;
    }
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
State factor_of(const step_weight_t<State>& weight) {
  if constexpr (is_complex<State>)
    return weight.slow ? State(State(1) + weight.value) : weight.value;
  else if constexpr (Form == decay_form::factor)
    return weight;
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

/// How many roundings `weight_of` and `advance` count for in a step, elementary functions taken
/// within 1 ulp: |computed - exact| <= ((1 + u)^n - 1)(|a| |h| + |gain b|). docs/accuracy.md
constexpr double step_roundings(const step_kind& kind) {
  if (kind.complex) return kind.form == decay_form::factor ? 6 : 16;
  if (kind.form == decay_form::log_factor) return 5;
  return kind.gain == input_gain::one ? 2 : 3;
}

}  // namespace ebb::inline EBB_ABI
