// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/sum_size.hpp
/// @brief  Values of an exponential sum with their rounding, and its size in the complex plane.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>

#include <ebb/approx/precision.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// A value and a bound of its rounding error.
template <real_scalar Real>
struct rounded {
  Real value;
  double error;
};

/// Roundoffs of decaying_exp.
template <real_scalar Real>
inline constexpr double exp_roundoffs = many_digits<Real> ? 66 : 4;

inline double decay_of(double rate) { return rate; }
inline double decay_of(const std::complex<double>& rate) { return rate.real(); }

/// s(lag) with its rounding: (exp + N + x) u of each term e^-x.
template <real_scalar Real, class Sum>
rounded<Real> evaluate(const Sum& sum, double lag) {
  double error = 0;
  const double n = static_cast<double>(sum.rates.size()) + exp_roundoffs<Real> + 4;
  for (std::size_t k = 0; k < sum.rates.size(); ++k) {
    const double size = std::abs(sum.weights[k]) * std::exp(-decay_of(sum.rates[k]) * lag);
    if (size > 0) error += size * (n + 3 * std::abs(sum.rates[k]) * lag);
  }
  return {sum(Real(lag)), error * static_cast<double>(unit_roundoff<Real>)};
}

/// log of a bound of |s(z)| for p <= |z| <= q, |arg z| <= angle <= pi/2: of each term,
/// |exp(-r z)| <= exp(|z| (|Im r| sin angle - Re r cos angle)).
template <class Sum>
double log_size(const Sum& sum, double p, double q, double angle) {
  // cos(pi/2) in double is 6e-17, not 0.
  const double sine = std::sin(angle), cosine = std::max(0.0, std::cos(angle) - 1e-15);
  const auto exponent = [&](std::size_t k) {
    const double growth =
        std::abs(std::imag(sum.rates[k])) * sine - decay_of(sum.rates[k]) * cosine;
    return growth * (growth > 0 ? q : p);
  };
  double largest = -HUGE_VAL, total = 0;
  for (std::size_t k = 0; k < sum.rates.size(); ++k)
    if (sum.weights[k] != 0.0) largest = std::max(largest, exponent(k));
  if (largest == -HUGE_VAL) return largest;
  for (std::size_t k = 0; k < sum.rates.size(); ++k)
    total += std::abs(sum.weights[k]) * std::exp(exponent(k) - largest);
  return largest + std::log(total);
}

/// log(e^a + e^b)
inline double log_add(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  return high == -HUGE_VAL ? high : high + std::log1p(std::exp(low - high));
}

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
