// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/exponential.hpp
/// @brief  Exponentials of float and double without branches and calls, so that loops over them
///   become vectors. Products that meet a sum are fused by name (multiply_add): the bits must not
///   depend on the loop.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <ebb/core/scalar.hpp>

namespace ebb::inline EBB_ABI::detail {

/// e^r - 1 for |r| <= log(2)/2, within 1.5 u relatively: the Taylor series to r^7 (float) or r^13,
/// whose remainder is below u/4. Straight-line, so that loops over it become vectors.
template <class Real>
[[gnu::always_inline]] inline constexpr Real reduced_expm1(const Real& r) {
  constexpr bool narrow = std::same_as<Real, float>;
  Real p = narrow ? Real(1.0 / 5040) : Real(1.0 / 6227020800.0);
  if constexpr (!narrow) {
    p = multiply_add(p, r, Real(1.0 / 479001600.0));
    p = multiply_add(p, r, Real(1.0 / 39916800.0));
    p = multiply_add(p, r, Real(1.0 / 3628800.0));
    p = multiply_add(p, r, Real(1.0 / 362880.0));
    p = multiply_add(p, r, Real(1.0 / 40320.0));
    p = multiply_add(p, r, Real(1.0 / 5040.0));
  }
  p = multiply_add(p, r, Real(1.0 / 720));
  p = multiply_add(p, r, Real(1.0 / 120));
  p = multiply_add(p, r, Real(1.0 / 24));
  p = multiply_add(p, r, Real(1.0 / 6));
  p = multiply_add(p, r, Real(0.5));
  return multiply_add(Real(p * r), r, r);
}

/// The nearest integer to a b, below 2^31 in size.
inline double nearest_product(double a, double b) {
#if defined(__SSE4_1__) || defined(__aarch64__) || defined(__FAST_MATH__)
  return __builtin_rint(a * b);
#else
  // Without an instruction for it: by adding what leaves no room for fractions. -ffast-math would
  // see through this.
  constexpr double magic = 0x1.8p52;
  return multiply_add(a, b, magic) - magic;
#endif
}

/// c ? a : b without a branch: g++ makes no vectors of loops in which it might have to skip the
/// arithmetic behind a or b.
template <class Real>
[[gnu::always_inline]] inline Real choose(bool c, Real a, Real b) {
  using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  const Bits mask = Bits(0) - static_cast<Bits>(c);
  return std::bit_cast<Real>((std::bit_cast<Bits>(a) & mask) | (std::bit_cast<Bits>(b) & ~mask));
}

/// x - k log 2, the logarithm in two parts, of which k times the first is exact.
constexpr double reduced(double x, double k) {
  return multiply_add(-k, 0x1.cf79abc9e3b3ap-40, multiply_add(-k, 0x1.62e42fefap-1, x));
}

/// 2^k for an integral k in -1022 .. 1023.
[[gnu::always_inline]] inline double power_of_two(double k) {
  // The integer stands in the low bits of k + 1.5 * 2^52.
  const auto bits = std::bit_cast<std::int64_t>(k + 0x1.8p52);
  return std::bit_cast<double>((bits + 1023) << 52);
}

/// exp(-x) and 1 - exp(-x).
template <class Real>
struct decayed {
  Real a, m;
};

/// From here on exp(-x) is 0.
template <class Real>
inline constexpr double largest_exponent = std::same_as<Real, float> ? 104 : 746;

/// For -700 <= x <= inf: a and m within 3u relatively (docs/accuracy.md); a below the
/// smallest normal number within the smallest subnormal. Straight-line.
template <class Real>
[[gnu::always_inline]] inline decayed<Real> decay_of(double x) {
  const bool gone = !(x < largest_exponent<Real>);
  const double kept = choose(gone, largest_exponent<Real>, x);
  const double k = nearest_product(kept, -0x1.71547652b82fep0), half = nearest_product(0.5, k);
  const auto r = static_cast<Real>(reduced(-kept, k));
  const Real e = reduced_expm1(r);
  // Exact, subnormal powers included.
  const auto scale = static_cast<Real>(power_of_two(half) * power_of_two(k - half));
  const Real a = multiply_add(scale, e, scale);
  const Real m = -multiply_add(scale, e, Real(scale - Real(1)));
  return {choose(gone, Real(0), a), choose(gone, Real(1), m)};
}

/// exp(x) for -708 <= x <= 709, within 3u relatively, 2.2u of double; within 500u up to 709.78, the
/// logarithm of the largest double. Straight-line.
template <class Real>
[[gnu::always_inline]] inline double tapered(double x) {
  const double nearest = nearest_product(x, 0x1.71547652b82fep0);
  const double k = choose(nearest < 1023, nearest, 1023.0);
  const auto e = static_cast<double>(reduced_expm1(static_cast<Real>(reduced(x, k))));
  const double scale = power_of_two(k);
  return multiply_add(scale, e, scale);
}

/// log(x) for whole numbers 1 <= x < 2^64, within 2u relatively (docs/accuracy.md). Straight-line.
[[gnu::always_inline]] inline double log_of_whole(double x) {
  // x = 2^k m, 3/4 <= m < 3/2; m - 1 is exact.
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t power = (bits - std::bit_cast<std::uint64_t>(0.75)) >> 52;
  const double k = std::bit_cast<double>(power | std::bit_cast<std::uint64_t>(0x1p52)) - 0x1p52;
  const auto m = std::bit_cast<double>(bits - (power << 52));
  // 2 atanh(s), whose series leaves less than u/5 behind 10 terms.
  const double s = (m - 1) / (m + 1), square = s * s;
  double p = 2.0 / 21;
  for (int j = 9; j >= 1; --j) p = multiply_add(p, square, 2.0 / static_cast<double>(2 * j + 1));
  const double log_m = multiply_add(p * square, s, s + s);
  return multiply_add(k, 0x1.62e42fefap-1, multiply_add(k, 0x1.cf79abc9e3b3ap-40, log_m));
}

/// log(1 + z) for 0 <= z <= 1, within 4u relatively: 2 atanh(z / (2 + z)), |z / (2 + z)| <= 1/3, whose
/// series leaves less than u/8 behind 7 (float) or 16 terms. Straight-line.
template <class Real>
[[gnu::always_inline]] inline Real reduced_log1p(const Real& z) {
  constexpr int terms = std::same_as<Real, float> ? 7 : 16;
  const Real s = z / (Real(2) + z), square = s * s;
  Real p = Real(2) / Real(2 * terms + 1);
  for (int j = terms - 1; j >= 1; --j)
    p = multiply_add(p, square, Real(2) / static_cast<Real>(2 * j + 1));
  return multiply_add(Real(p * square), s, Real(s + s));
}

/// log(1 + e^x) within 8u (docs/accuracy.md) for every x; where e^x is no normal number, within the
/// smallest one. NaN stays NaN. Straight-line.
template <class Real>
[[gnu::always_inline]] inline Real softplus_of(const Real& x) {
  const Real z = decay_of<Real>(static_cast<double>(choose(x < 0, Real(-x), x))).a;
  const Real sum = choose(x > 0, x, Real(0)) + reduced_log1p(z);
  return choose(x == x, sum, x);  // NOLINT(misc-redundant-expression)
}

}  // namespace ebb::inline EBB_ABI::detail
