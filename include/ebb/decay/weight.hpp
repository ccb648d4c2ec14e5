// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/weight.hpp
/// @brief  A decay as the kernels keep it: without losing slow timescales.
#pragma once

#include <cmath>
#include <complex>
#include <concepts>

#include <ebb/core/exponential.hpp>
#include <ebb/core/scalar.hpp>
#include <ebb/decay/concept.hpp>

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

namespace detail {
/// The weight of a log-decay of float or double, straight-line: exp and expm1 within 3u.
template <class Real>
[[gnu::always_inline]] inline Real log_weight(const Real& filled) {
  const decayed<Real> d = decay_of<Real>(-static_cast<double>(filled));
  const Real slow = choose(d.m > 0, -d.m, Real(1) - d.m);
  const Real weight = choose(filled >= Real(-0x1.62e42fefa39efp-1), slow, d.a);
  return choose(filled == filled, weight, filled);  // NaN stays NaN. NOLINT(misc-redundant*)
}
}  // namespace detail

/// The weight of a filled value of a decay of this form.
///
/// Cost: none for factors; one exponential for log-decays, complex ones a sine and two cosines
/// more. In loops over float and double an exponential takes the time of some 30 operations of
/// vectors.
/// Accuracy: exp and expm1 within 3u, of other types than float and double as the library's.
template <decay_form Form, class State>
step_weight_t<State> weight_of(const State& filled) {
  if constexpr (Form == decay_form::factor) {
    return {filled};
  } else if constexpr (is_complex<State>) {
    using Real = real_of_t<State>;
    const Real x = filled.real(), y = filled.imag();
    if (y == Real(0)) {  // a real decay of complex data
      const Real w = weight_of<Form>(x);
      return {State(w), w < 0};
    }
    const Real half_sine = std::sin(y / 2), growth = std::expm1(x), size = std::exp(x);
    // a - 1 = expm1(x) cos y - 2 sin^2(y/2) + i e^x sin y: both real terms have one sign here.
    const State minus(growth * std::cos(y) - 2 * half_sine * half_sine, size * std::sin(y));
    if (minus.real() * minus.real() + minus.imag() * minus.imag() <= Real(0.25))
      return {minus, true};
    if (size == Real(0)) return {State(0), false};  // -inf, whatever the phase
    return {State(size * std::cos(y), minus.imag()), false};
  } else if constexpr (std::same_as<State, float> || std::same_as<State, double>) {
    return detail::log_weight(filled);
  } else {
    constexpr auto half = static_cast<State>(-0.693147180559945309417232121458L);
    // A NaN takes the second branch and stays one.
    if (!(filled >= half)) return std::exp(filled);
    const State minus = std::expm1(filled);
    return minus < 0 ? minus : 1 + minus;
  }
}

/// The same for many values; w may be `filled` itself.
template <decay_form Form, class State>
void weights_of(const State* filled, step_weight_t<State>* w, index_t count) {
  if constexpr (Form == decay_form::log_factor &&
                (std::same_as<State, float> || std::same_as<State, double>)) {
    for (index_t i = 0; i < count; ++i) w[i] = detail::log_weight(filled[i]);
  } else {
    for (index_t i = 0; i < count; ++i) w[i] = weight_of<Form>(filled[i]);
  }
}

}  // namespace ebb::inline EBB_ABI
