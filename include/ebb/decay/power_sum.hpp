// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/power_sum.hpp
/// @brief  Sums of s^-alpha over the most recent positions, in constant time.
#pragma once

#include <vector>

#include <ebb/core/decaying_exp.hpp>
#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace detail {

/// (e^x - 1) / x with its limit 1 at x = 0.
template <real_scalar Real>
Real expm1_over(const Real& x) {
  if (x == Real(0)) return Real(1);
  // Away from 0 a difference loses nothing, and a multiprecision expm1 costs ten fast exponentials.
  if (many_digits<Real> && x < Real(-0.5)) return Real((decaying_exp(Real(-x)) - Real(1)) / x);
  return Real(expm1(x) / x);
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
      for (std::size_t j = 0; j < k; ++j) sum = Real(sum - scaled[j] * reciprocal[2 * (k - j) + 1]);
      scaled.push_back(sum);
      quarter_power = Real(quarter_power / Real(4));
      result.push_back(Real(sum * quarter_power));
    }
    return result;
  }();
  return table;
}

/// s^-alpha from s and log s: the library's pow is the more accurate for built-in types, and a
/// product under one fast exponential the cheaper for multiprecision ones.
template <real_scalar Real>
Real inverse_power(const Real& s, const Real& log_s, const Real& alpha) {
  if constexpr (!many_digits<Real>) {
    return std::pow(s, -alpha);
  } else {
    return log_s >= Real(0) ? decaying_exp(Real(alpha * log_s)) : Real(exp(Real(-alpha * log_s)));
  }
}

}  // namespace detail

/// Sums of s^-alpha over the last `lag` positions up to t, for one t and lag and any number of
/// exponents.
///
///   power_sums(t, lag)(alpha) = sum_{s = t-lag+1}^{t} s^-alpha
///                             = zeta(alpha, t-lag+1) - zeta(alpha, t+1)
///
/// The right side defines it for real t and lag too. It is how much a tapered channel has decayed
/// between an impulse `lag` steps ago and position t (decay/post.hpp); alpha = 0 gives lag itself,
/// alpha = 1 a difference of harmonic numbers.
///
/// Units: t and lag in steps. The logarithms, which cost most in multiprecision, are taken once.
/// Cost: O(digits of Real) for each exponent: at most about digits10 direct terms, then an
///   Euler-Maclaurin tail; a built-in type allocates nothing but one table on first use.
/// Accuracy: relative error below (8 + log(t + 1)) u for lag >= 1, also when lag << t or alpha is
/// near 1
///   (tested against direct sums).
/// Source: Euler-Maclaurin summation of the Hurwitz zeta function, DLMF 2.10.1 and 25.11.
template <real_scalar Real>
class power_sums {
 public:
  /// @param t    position in steps, t > -1 + lag
  /// @param lag  in steps, 0 <= lag < t + 1
  /// @throws domain_error outside this domain.
  power_sums(const Real& t, const Real& lag) : lag_(lag) {
    ebb::detail::require_domain(lag >= Real(0) && lag < Real(t + Real(1)), "power_sums",
                                "need 0 <= lag < t + 1", lag, t);
    // Euler-Maclaurin reaches full accuracy only from `settled` on; positions before it are summed.
    const int settled = 4 + (4 * std::numeric_limits<Real>::digits10) / 5;
    const bool few =
        lag <= Real(settled) && Real(static_cast<double>(static_cast<int>(lag))) == lag;
    first_ = Real(t - lag + Real(1));
    rest_ = lag;
    for (; rest_ >= Real(1) && (few || Real(first_ + Real(direct_)) < Real(settled)); ++direct_)
      rest_ = Real(rest_ - Real(1));
    tail_ = Real(first_ + Real(direct_));
    // A fractional rest near the origin: both ends of it move up by whole steps.
    for (; tail_ < Real(settled) && rest_ > Real(0); ++moved_) tail_ = Real(tail_ + Real(1));
    end_ = Real(tail_ + rest_);
    if (many_digits<Real>) {
      using detail::log;
      for (int i = 0; i < direct_ + moved_; ++i) logs_.push_back(log(Real(first_ + Real(i))));
      if (rest_ > Real(0)) {
        log_tail_ = log(tail_);
        log_end_ = log(end_);
      }
    }
    if (rest_ > Real(0)) {
      using detail::log, detail::log1p;
      // log(end / tail), from whichever of rest / end and tail / end is the small one.
      log_ratio_ =
          Real(tail_ < rest_ ? log(Real(end_ / tail_)) : Real(-log1p(Real(-rest_ / end_))));
    }
  }

  /// @param alpha  exponent, dimensionless, 0 <= alpha <= 1
  /// @throws domain_error outside this domain.
  Real operator()(const Real& alpha) const {
    detail::require_domain(alpha >= Real(0) && alpha <= Real(1), "power_sums",
                           "need 0 <= alpha <= 1", alpha);
    using detail::pow;
    if (alpha == Real(0)) return lag_;
    Real sum(0);
    for (int i = 0; i < direct_ + moved_; ++i) {
      const Real s = Real(first_ + Real(i));
      sum += detail::inverse_power(s, log_of(i), alpha);
      if (i >= direct_) sum -= Real(pow(Real(s + rest_), Real(-alpha)));
    }
    if (rest_ > Real(0)) sum += tail(alpha);
    return sum;
  }

 private:
  Real log_of(int i) const { return logs_.empty() ? Real(0) : logs_[static_cast<std::size_t>(i)]; }

  /// zeta(alpha, tail) - zeta(alpha, end) by Euler-Maclaurin.
  Real tail(const Real& alpha) const {
    using detail::abs;
    const Real at_tail = detail::inverse_power(tail_, log_tail_, alpha);
    const Real at_end = detail::inverse_power(end_, log_end_, alpha);
    // Integral of x^-alpha over [tail, end]: every factor has a small relative error, also for a
    // short rest; the difference in the next term is small beside it for rest >= 1.
    Real sum =
        Real(end_ * at_end * log_ratio_ * detail::expm1_over(Real((alpha - Real(1)) * log_ratio_)));
    sum += Real((at_tail - at_end) / Real(2));
    Real factor = alpha;  // alpha (alpha + 1) ... (alpha + 2k - 2)
    Real power_tail = Real(at_tail / tail_), power_end = Real(at_end / end_);
    const Real step_tail = Real(Real(1) / (tail_ * tail_)),
               step_end = Real(Real(1) / (end_ * end_));
    const Real enough = Real(unit_roundoff<Real> * sum / Real(8));
    Real n(1);
    for (const Real& coefficient : detail::bernoulli_over_factorial<Real>()) {
      const Real term = Real(coefficient * factor * Real(power_tail - power_end));
      sum += term;
      if (abs(term) < enough) break;
      factor = Real(factor * (alpha + n) * (alpha + n + Real(1)));
      n += Real(2);
      power_tail = Real(power_tail * step_tail);
      power_end = Real(power_end * step_end);
    }
    return sum;
  }

  Real lag_, first_{0}, rest_{0}, tail_{0}, end_{0};
  Real log_tail_{0}, log_end_{0}, log_ratio_{0};
  int direct_ = 0, moved_ = 0;
  std::vector<Real> logs_;
};

/// The sum of s^-alpha over the last `lag` positions up to t: power_sums for a single exponent.
///
/// @throws domain_error unless 0 <= alpha <= 1 and 0 <= lag < t + 1.
template <real_scalar Real>
Real power_sum(const Real& alpha, const Real& t, const Real& lag) {
  return power_sums<Real>(t, lag)(alpha);
}

}  // namespace ebb::inline EBB_ABI
