// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/target.hpp
/// @brief  The memory that a spectrum is asked to represent: a function of the lag.
#pragma once

#include <cmath>

#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// A function f(tau) of the lag, evaluated in whatever precision the approximation turns out to
/// need.
///
///   f(tau)   for any real_scalar tau > 0: a copyable callable, usually with a template operator()
///
/// Evaluate in the precision of the argument: a double inside f limits every error to about 1e-16.
template <class F, class Real>
concept target_for = real_scalar<Real> && requires(const F& f, const Real& lag) {
  { f(lag) } -> std::convertible_to<Real>;
};

/// A target that is analytic in the right half plane and knows its size there.
///
///   f.log_sup(p, q) >= log |f(z)| >= f.log_inf(p, q)   whenever Re z > 0 and p <= |z| <= q
///
/// With it the error is bounded on the whole interval of lags; without it only where it was looked
/// at, and the result says so.
template <class F>
concept analytic_target = requires(const F& f, double lag) {
  { f.log_sup(lag, lag) } -> std::convertible_to<double>;
  { f.log_inf(lag, lag) } -> std::convertible_to<double>;
};

/// The power law f(tau) = tau^-beta, the long memory of the paper's Table 1.
///
/// Units: tau in steps, f dimensionless. For beta > 0 it is completely monotone: a mixture of
/// exponentials with density r^(beta-1) / Gamma(beta).
class power_law {
 public:
  /// @param beta  exponent, finite, > 0
  /// @throws domain_error unless 0 < beta < inf.
  explicit power_law(double beta) : beta_(beta) {
    ebb::detail::require_domain(beta > 0 && beta < HUGE_VAL, "power_law", "need 0 < beta < inf",
                                beta);
  }

  double beta() const { return beta_; }

  template <real_scalar Real>
  Real operator()(const Real& lag) const {
    using ebb::detail::pow;
    return Real(pow(lag, Real(-beta_)));
  }

  double log_sup(double smallest, double) const { return -beta_ * std::log(smallest); }
  double log_inf(double, double largest) const { return -beta_ * std::log(largest); }

 private:
  double beta_;
};

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
