// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/power_sum.hpp
/// @brief  Sums of s^-alpha over the most recent positions, in constant time.
#pragma once

#include <vector>

#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace detail {

/// (e^x - 1) / x with its limit 1 at x = 0.
template <real_scalar Real>
Real expm1_over(const Real& x) {
  return x == Real(0) ? Real(1) : Real(expm1(x) / x);
}

/// Bernoulli numbers over factorials, B_2k / (2k)! for k = 1, 2, ..., enough of them for `Real`.
///
/// The power series of y cosh y = sinh y * sum_k 4^k B_2k/(2k)! y^2k, compared term by term; the
/// sum in each step is at most sinh(pi) times the result, so about one digit is lost.
template <real_scalar Real>
const std::vector<Real>& bernoulli_over_factorial() {
  static const std::vector<Real> table = [] {
    const int terms = 12 + std::numeric_limits<Real>::digits10 / 2;
    std::vector<Real> reciprocal(static_cast<std::size_t>(2 * terms + 2), Real(1));  // 1 / n!
    for (std::size_t n = 2; n < reciprocal.size(); ++n)
      reciprocal[n] = Real(reciprocal[n - 1] / Real(static_cast<double>(n)));
    std::vector<Real> scaled{Real(1)};  // 4^k B_2k / (2k)!
    std::vector<Real> result;
    Real quarter_power(1);
    for (std::size_t k = 1; k <= static_cast<std::size_t>(terms); ++k) {
      Real sum = reciprocal[2 * k];
      for (std::size_t j = 0; j < k; ++j)
        sum = Real(sum - scaled[j] * reciprocal[2 * (k - j) + 1]);
      scaled.push_back(sum);
      quarter_power = Real(quarter_power / Real(4));
      result.push_back(Real(sum * quarter_power));
    }
    return result;
  }();
  return table;
}

/// zeta(alpha, z) - zeta(alpha, w), w = z + lag, by Euler-Maclaurin; needs z above a few digits10.
template <real_scalar Real>
Real power_sum_tail(const Real& alpha, const Real& z, const Real& lag) {
  const Real w = Real(z + lag);
  // log(w / z), from whichever of lag / w and z / w is the small one.
  const Real log_ratio = Real(z < lag ? log(Real(w / z)) : Real(-log1p(Real(-lag / w))));
  const Real beta = Real(Real(1) - alpha);
  const Real at_w = Real(pow(w, Real(-alpha)));
  const Real at_z = Real(pow(z, Real(-alpha)));
  // Integral of x^-alpha over [z, w]: every factor has a small relative error, also for lag << w.
  Real sum = Real(w * at_w * log_ratio * expm1_over(Real(-beta * log_ratio)));
  sum += Real(at_w * expm1(Real(alpha * log_ratio)) / Real(2));
  Real factor = alpha;  // alpha (alpha + 1) ... (alpha + 2k - 2)
  Real power_z = Real(at_z / z), power_w = Real(at_w / w);
  const Real z_squared = Real(z * z), w_squared = Real(w * w);
  const Real enough = Real(unit_roundoff<Real> * sum / Real(8));
  for (std::size_t k = 0; k < bernoulli_over_factorial<Real>().size(); ++k) {
    const Real term =
        Real(bernoulli_over_factorial<Real>()[k] * factor * Real(power_z - power_w));
    sum += term;
    if (abs(term) < enough) break;
    const double n = 2.0 * static_cast<double>(k) + 1.0;
    factor = Real(factor * (alpha + Real(n)) * (alpha + Real(n + 1)));
    power_z = Real(power_z / z_squared);
    power_w = Real(power_w / w_squared);
  }
  return sum;
}

}  // namespace detail

/// The sum of s^-alpha over the last `lag` positions up to t, in constant time.
///
///   power_sum(alpha, t, lag) = sum_{s = t-lag+1}^{t} s^-alpha = zeta(alpha, t-lag+1) - zeta(alpha, t+1)
///
/// The right side defines it for real t and lag too. It is how much a tapered channel has decayed
/// between an impulse `lag` steps ago and position t (decay/post.hpp); alpha = 0 gives lag itself,
/// alpha = 1 a difference of harmonic numbers.
///
/// @param alpha  exponent, dimensionless, 0 <= alpha <= 1
/// @param t      position in steps, t > -1 + lag
/// @param lag    lag in steps, 0 <= lag < t + 1
/// @throws domain_error unless the three are in their domains.
/// Cost: O(digits of Real): at most about digits10 direct terms, then an Euler-Maclaurin tail;
///   allocates once per type, on first use.
/// Accuracy: relative error below (8 + log(t + 1)) u for lag >= 1, also when
///   lag << t or alpha is near 1 (tested against direct sums).
/// Source: Euler-Maclaurin summation of the Hurwitz zeta function, DLMF 2.10.1 and 25.11.
template <real_scalar Real>
Real power_sum(const Real& alpha, const Real& t, const Real& lag) {
  using detail::pow;
  detail::require_domain(alpha >= Real(0) && alpha <= Real(1), "power_sum",
                         "need 0 <= alpha <= 1", alpha);
  detail::require_domain(lag >= Real(0) && lag < Real(t + Real(1)), "power_sum",
                         "need 0 <= lag < t + 1", lag, t);
  if (lag == Real(0)) return Real(0);
  if (alpha == Real(0)) return lag;
  const auto power = [&](const Real& s) { return Real(pow(s, Real(-alpha))); };

  // Euler-Maclaurin reaches full accuracy only from `settled` on; positions before it are summed.
  const int settled = 4 + (4 * std::numeric_limits<Real>::digits10) / 5;
  Real sum(0);
  if (lag <= Real(settled) && Real(static_cast<double>(static_cast<int>(lag))) == lag) {
    for (Real s = t; s > Real(t - lag + Real(0.5)); s = Real(s - Real(1))) sum += power(s);
    return sum;
  }
  Real first = Real(t - lag + Real(1)), rest = lag;
  for (; first < Real(settled) && rest >= Real(1); first += Real(1)) {
    sum += power(first);
    rest = Real(rest - Real(1));
  }
  // A fractional rest near the origin: move both ends of it up by whole steps.
  for (; first < Real(settled) && rest > Real(0); first += Real(1))
    sum += Real(power(first) - power(Real(first + rest)));
  if (rest > Real(0)) sum += detail::power_sum_tail(alpha, first, rest);
  return sum;
}

}  // namespace ebb::inline EBB_ABI
