// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/target.hpp
/// @brief  The memory that a spectrum is asked to represent: a function of the lag.
#pragma once

#include <cmath>
#include <concepts>

#include <ebb/core/decaying_exp.hpp>
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

/// A function of the lag and its first two derivatives with respect to u = log tau.
template <real_scalar Real>
struct log_lag_jet {
  Real value, first, second;  ///< f, df/du, d^2f/du^2

  /// The same from f, df/dtau and d^2f/dtau^2 at tau:  df/du = tau f',  d^2f/du^2 = tau f' +
  /// tau^2 f''.
  static log_lag_jet from_lag(const Real& lag, const Real& f, const Real& df, const Real& ddf) {
    const Real first = Real(lag * df);
    return {f, first, Real(first + lag * lag * ddf)};
  }
};

/// A target with derivatives, for the search of rates.
///
///   f.jet(u)   log_lag_jet of f at tau = e^u, u >= 0, in the precision of u
template <class F, class Real>
concept smooth_target_for = target_for<F, Real> && requires(const F& f, const Real& log_lag) {
  { f.jet(log_lag) } -> std::convertible_to<log_lag_jet<Real>>;
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

  /// (f, -beta f, beta^2 f) at tau = e^u, u >= 0.
  template <real_scalar Real>
  log_lag_jet<Real> jet(const Real& log_lag) const {
    const Real beta(beta_), f = decaying_exp(Real(beta * log_lag));
    const Real first = Real(-beta * f);
    return {f, first, Real(-beta * first)};
  }

  /// tau^beta times a sum of N exponentials has at most 2N - 1 extrema, so that those of a relative
  /// error can be counted.
  static constexpr bool counts_relative_extrema = true;

  double log_sup(double smallest, double) const { return -beta_ * std::log(smallest); }
  double log_inf(double, double largest) const { return -beta_ * std::log(largest); }

 private:
  double beta_;
};

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
