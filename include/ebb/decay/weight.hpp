// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/weight.hpp
/// @brief  A decay as the kernels keep it: without losing slow timescales.
#pragma once

#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <ebb/core/exponential.hpp>
#include <ebb/core/phasor.hpp>
#include <ebb/core/scalar.hpp>
#include <ebb/decay/concept.hpp>

namespace ebb::inline EBB_ABI {

/// A complex log-decay as the kernels keep it, in two parts:
///
///   a = whole + value:  whole = 1 where |a - 1| <= 1/2, else 0
template <class Real>
struct complex_weight {
  std::complex<Real> value;
  Real whole = 0;
};

/// A decay as the kernels keep it. Factors: the factor. Complex log-decays: see above. Real ones:
/// one number w for both regimes,
///
///   w >= 0:  the factor a;    w < 0:  a - 1 = expm1(log a), for 1/2 <= a < 1
///
/// Next to 1 a float holds no more of the timescale than a's distance from 1 in units of 2^-24,
/// while a - 1 keeps all digits; below 1/2 it is the other way round.
template <class State, decay_form Form>
struct step_weight {
  using type = State;
};
template <class Real>
struct step_weight<std::complex<Real>, decay_form::log_factor> {
  using type = complex_weight<Real>;
};
template <class State, decay_form Form>
using step_weight_t = typename step_weight<State, Form>::type;

namespace detail {
/// The weight of a log-decay of float or double, straight-line: exp and expm1 within 3u.
template <class Real>
[[gnu::always_inline]] inline Real log_weight(const Real& filled) {
  const decayed<Real> d = decay_of<Real>(-static_cast<double>(filled));
  const Real slow = choose(d.m > 0, -d.m, Real(1) - d.m);
  const Real weight = choose(filled >= Real(-0x1.62e42fefa39efp-1), slow, d.a);
  return choose(filled == filled, weight, filled);  // NaN stays NaN. NOLINT(misc-redundant*)
}

template <class Real>
inline constexpr bool has_exponential = std::same_as<Real, float> || std::same_as<Real, double>;

/// The weight of a complex log-decay by the library's functions: for every phase and type.
template <class Real>
complex_weight<Real> library_weight(const Real& x, const Real& y) {
  const Real half_sine = std::sin(y / 2), growth = std::expm1(x), size = std::exp(x);
  // a - 1 = expm1(x) cos y - 2 sin^2(y/2) + i e^x sin y: both real terms have one sign here.
  const std::complex<Real> minus(growth * std::cos(y) - 2 * half_sine * half_sine,
                                 size * std::sin(y));
  if (minus.real() * minus.real() + minus.imag() * minus.imag() <= Real(0.25)) return {minus, 1};
  if (size == Real(0)) return {0, 0};  // -inf, whatever the phase
  return {{size * std::cos(y), minus.imag()}, 0};
}

/// Whether a phase is one that `turned` (core/phasor.hpp) does not take; of NaN it makes NaN.
template <class Real>
bool turns_far(const Real& y) {
  return std::abs(y) > Real(largest_phase);
}

/// The weights of a block of at most `longest` complex log-decays, in parts: loops over each part
/// become vectors. What `turned` does not take is done over.
template <class Real>
struct complex_weights_block {
  static constexpr index_t longest = 64;
  Real re[longest] = {}, im[longest] = {}, whole[longest];

  void set(const std::complex<Real>* filled, index_t count) {
    for (index_t i = 0; i < count; ++i) re[i] = filled[i].real(), im[i] = filled[i].imag();
    using Count = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
    Count far = 0;
    for (index_t i = 0; i < longest; ++i) {
      far += static_cast<Count>(turns_far(im[i]));
      const parted<Real> a = complex_decay_of(re[i], im[i]);
      re[i] = a.re, im[i] = a.im, whole[i] = a.whole;
    }
    if (far > 0) set_far(filled, count);
  }

 private:
  void set_far(const std::complex<Real>* filled, index_t count) {
    for (index_t i = 0; i < count; ++i) {
      if (!turns_far(filled[i].imag())) continue;
      const complex_weight<Real> a = library_weight(filled[i].real(), filled[i].imag());
      re[i] = a.value.real(), im[i] = a.value.imag(), whole[i] = a.whole;
    }
  }
};

/// store(i, re, im, whole) for the weights of many complex log-decays; each is read before it is
/// stored.
template <class Real, class Store>
void complex_weights_of(const std::complex<Real>* filled, index_t count, const Store& store) {
  complex_weights_block<Real> block;
  const auto go = [&](index_t first, index_t here) __attribute__((always_inline)) {
    block.set(filled + first, here);
    for (index_t i = 0; i < here; ++i) store(first + i, block.re[i], block.im[i], block.whole[i]);
  };
  index_t first = 0;
  for (; first + block.longest <= count; first += block.longest) go(first, block.longest);
  if (first < count) go(first, count - first);
}
}  // namespace detail

/// The weight of a filled value of a decay of this form.
///
/// Cost: none for factors; one exponential for log-decays, complex ones a sine and a cosine more.
/// In loops over float and double an exponential takes the time of some 30 operations of vectors, a
/// complex one of some 70; phases beyond 12868 go to the library one by one.
/// Accuracy: real: exp and expm1 within 3u; complex: each component of a within 8u, of a - 1 within
/// 8.3u (of other types than float and double, as the library's). docs/accuracy.md
template <decay_form Form, class State>
step_weight_t<State, Form> weight_of(const State& filled) {
  if constexpr (Form == decay_form::factor) {
    return filled;
  } else if constexpr (is_complex<State>) {
    using Real = real_of_t<State>;
    const Real x = filled.real(), y = filled.imag();
    if constexpr (detail::has_exponential<Real>) {
      if (!detail::turns_far(y)) {
        const detail::parted<Real> a = detail::complex_decay_of(x, y);
        return {{a.re, a.im}, a.whole};
      }
    }
    return detail::library_weight(x, y);
  } else if constexpr (detail::has_exponential<State>) {
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
void weights_of(const State* filled, step_weight_t<State, Form>* w, index_t count) {
  if constexpr (Form == decay_form::log_factor && is_complex<State> &&
                detail::has_exponential<real_of_t<State>>) {
    using Real = real_of_t<State>;
    detail::complex_weights_of(filled, count,
                               [w](index_t i, const Real& re, const Real& im, const Real& whole) {
                                 w[i] = {{re, im}, whole};
                               });
  } else if constexpr (Form == decay_form::log_factor && detail::has_exponential<State>) {
    for (index_t i = 0; i < count; ++i) w[i] = detail::log_weight(filled[i]);
  } else {
    for (index_t i = 0; i < count; ++i) w[i] = weight_of<Form>(filled[i]);
  }
}

}  // namespace ebb::inline EBB_ABI
