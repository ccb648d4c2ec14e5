// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/phasor.hpp
/// @brief  Sines and cosines of float and double without branches and calls, and with them the
///   exponential of a complex number, so that loops over them become vectors. Products that meet a
///   sum are fused by name (multiply_add): the bits must not depend on the loop.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <ebb/core/exponential.hpp>
#include <ebb/core/scalar.hpp>

namespace ebb::inline EBB_ABI::detail {

/// sin r for |r| <= 0.7854, within 1.6 u relatively: the Taylor series to r^11 (float) or r^17,
/// whose remainder is below u/16.
template <class Real>
[[gnu::always_inline]] inline constexpr Real reduced_sine(const Real& r) {
  constexpr bool narrow = std::same_as<Real, float>;
  const Real s = r * r;
  Real p = narrow ? Real(-1.0 / 39916800) : Real(1.0 / 355687428096000.0);
  if constexpr (!narrow) {
    p = multiply_add(p, s, Real(-1.0 / 1307674368000.0));
    p = multiply_add(p, s, Real(1.0 / 6227020800.0));
    p = multiply_add(p, s, Real(-1.0 / 39916800));
  }
  p = multiply_add(p, s, Real(1.0 / 362880));
  p = multiply_add(p, s, Real(-1.0 / 5040));
  p = multiply_add(p, s, Real(1.0 / 120));
  p = multiply_add(p, s, Real(-1.0 / 6));
  return multiply_add(Real(p * s), r, r);
}

/// (cos r - 1)/r^2 in s = r^2 for |r| <= 0.7854, within 1.2 u relatively: the Taylor series to r^10
/// (float) or r^16 of the cosine, whose remainder is below u/8.
template <class Real>
[[gnu::always_inline]] inline constexpr Real reduced_cosine(const Real& s) {
  constexpr bool narrow = std::same_as<Real, float>;
  Real p = narrow ? Real(-1.0 / 3628800) : Real(1.0 / 20922789888000.0);
  if constexpr (!narrow) {
    p = multiply_add(p, s, Real(-1.0 / 87178291200.0));
    p = multiply_add(p, s, Real(1.0 / 479001600));
    p = multiply_add(p, s, Real(-1.0 / 3628800));
  }
  p = multiply_add(p, s, Real(1.0 / 40320));
  p = multiply_add(p, s, Real(-1.0 / 720));
  p = multiply_add(p, s, Real(1.0 / 24));
  return multiply_add(p, s, Real(-0.5));
}

/// The largest phase that `turned` takes, in size: 2^13 quarter turns and a little.
inline constexpr double largest_phase = 12868;

/// y - k pi/2 for |y| <= largest_phase and k the integer nearest to y 2/pi. The first two parts of
/// pi/2 have 40 bits, so that k times them is exact; the third has all of a double.
constexpr double reduced_phase(double y, double k) {
  const double near = multiply_add(-k, 0x1.921fb54442p+0, y);
  return multiply_add(-k, 0x1.8a2e03707344ap-81, multiply_add(-k, 0x1.a308d31318p-41, near));
}

/// What a phase turns by.
template <class Real>
struct phasor {
  Real sine, cosine;
  Real cosine_minus_one;  ///< of use where `ahead`
  Real ahead;             ///< 1 within an eighth of a turn of 0, else 0
};

/// For |y| <= largest_phase: sine and cosine within 4u relatively, cosine_minus_one within 7.3u
/// (docs/accuracy.md). NaN for NaN; beyond anything. Straight-line.
template <class Real>
[[gnu::always_inline]] inline phasor<Real> turned(const Real& y) {
  using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  constexpr int sign = 8 * static_cast<int>(sizeof(Real)) - 1;
  constexpr Real magic = sizeof(Real) == 4 ? Real(0x1.8p23) : Real(0x1.8p52);
  const auto wide = static_cast<double>(y);
  const double k = nearest_product(wide, 0x1.45f306dc9c883p-1);
  const auto r = static_cast<Real>(reduced_phase(wide, k));
  const Real square = r * r, p = reduced_cosine(square);
  const Real s = reduced_sine(r), c = multiply_add(p, square, Real(1)), q = p * square;
  // The quarter turns stand in the low bits.
  const auto quarter = std::bit_cast<Bits>(Real(static_cast<Real>(k) + magic));
  const Bits odd = Bits(0) - (quarter & 1);
  const auto s_bits = std::bit_cast<Bits>(s), c_bits = std::bit_cast<Bits>(c);
  const Bits sine = ((c_bits & odd) | (s_bits & ~odd)) ^ ((quarter >> 1) << sign);
  const Bits cosine = ((s_bits & odd) | (c_bits & ~odd)) ^ (((quarter + 1) >> 1) << sign);
  const Bits turning = Bits(0) - ((quarter | (quarter >> 1)) & 1);
  const Bits ahead = std::bit_cast<Bits>(Real(1)) & ~turning;
  return {std::bit_cast<Real>(sine), std::bit_cast<Real>(cosine), q, std::bit_cast<Real>(ahead)};
}

/// A complex number a = whole + value, where whole is 1 or 0.
template <class Real>
struct parted {
  Real re, im, whole;
};

/// exp(x + iy) as a - 1 where that is at most 1/2 in size, and a elsewhere; for x <= 700 (-inf
/// gives 0, whatever the phase) and |y| <= largest_phase. Straight-line.
///
///   a - 1 = expm1(x) cos y + (cos y - 1) + i e^x sin y
///
/// Accuracy: each component of a within 8u, of a - 1 within 8.3u relatively (docs/accuracy.md).
template <class Real>
[[gnu::always_inline]] inline parted<Real> complex_decay_of(const Real& x, const Real& y) {
  const decayed<Real> d = decay_of<Real>(-static_cast<double>(x));
  const phasor<Real> p = turned(y);
  const Real minus = multiply_add(Real(-d.m), p.cosine, p.cosine_minus_one);
  const Real im = d.a * p.sine, re = d.a * p.cosine;
  const Real size = multiply_add(minus, minus, Real(im * im));
  const Real whole = choose(size <= Real(0.25), p.ahead, Real(0));
  const Real part = choose(whole > 0, minus, re);
  const bool gone = x < -largest_exponent<Real>;
  const auto is_number = x == x;  // NOLINT(misc-redundant-expression)
  return {choose(is_number, choose(gone, Real(0), part), x),
          choose(is_number, choose(gone, Real(0), im), x), whole};
}

}  // namespace ebb::inline EBB_ABI::detail
