// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/decaying_exp.hpp
/// @brief  e^-x, quickly also for multiprecision numbers.
#pragma once

#include <cmath>
#include <vector>

#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {

/// e^-x for x >= 0.
///
/// Built-in types use the standard library. Multiprecision: e^-x = 2^-q (1 + y), with y = expm1 of
/// the rest over 2^m by its Taylor series and m doublings y <- y (2 + y). Boost's own exp took
/// 2.5 to 9 times as long at 50 to 200 digits (bench/approx.cpp), and the samples are most of the
/// cost of a certificate.
/// Accuracy: relative error below (64 + 2 x) u: one or two roundings a doubling, and those of x.
template <real_scalar Real>
Real decaying_exp(const Real& x) {
  if constexpr (!many_digits<Real>) {
    return std::exp(-x);
  } else {
    constexpr int bits = std::numeric_limits<Real>::digits;
    static const int halvings = static_cast<int>(0.6 * std::sqrt(static_cast<double>(bits)));
    static const Real log_two = log(Real(2));
    static const std::vector<Real> reciprocals = [] {  // 1 / n!, as many as reach 2^-bits
      std::vector<Real> result{Real(1)};
      for (int n = 1; result.back() > ldexp(Real(1), (halvings + 1) * n - bits - 8); ++n)
        result.push_back(Real(result.back() / Real(n)));
      return result;
    }();
    if (x != x) return x;               // no number has no whole part
    if (x > Real(1e9)) return Real(0);  // far below anything that is added to it
    const int q = static_cast<int>(Real(x / log_two));
    const Real rest = ldexp(Real(Real(q) * log_two - x), -halvings);
    Real y(0);
    for (std::size_t n = reciprocals.size(); n-- > 1;) y = Real((y + reciprocals[n]) * rest);
    for (int i = 0; i < halvings; ++i) y = Real(y * (y + Real(2)));
    return ldexp(Real(y + Real(1)), -q);
  }
}

}  // namespace ebb::inline EBB_ABI
