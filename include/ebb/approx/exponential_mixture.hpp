// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/exponential_mixture.hpp
/// @brief  A target memory that is itself a mixture of many exponentials.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>

#include <ebb/approx/exponential_sum.hpp>
#include <ebb/approx/target.hpp>
#include <ebb/core/decaying_exp.hpp>
#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// The target f(tau) = sum_j w_j exp(-r_j tau) with positive weights, to be replaced by a sum of
/// fewer terms.
///
/// With many terms it stands for a Laplace integral, and so for any completely monotone function:
///
///   f(tau) = integral over r > 0 of density(r) exp(-r tau) dr
///
/// Shapes: M terms. Units: rates 1/step.
class exponential_mixture {
 public:
  /// @throws as exponential_sum::check, and domain_error unless there is a term and every weight
  ///   is > 0.
  explicit exponential_mixture(exponential_sum terms) : terms_(std::move(terms)) {
    terms_.check("exponential_mixture");
    ebb::detail::require_shape(terms_.channels() > 0, "exponential_mixture", "need a term");
    for (const double w : terms_.weights)
      ebb::detail::require_domain(w > 0, "exponential_mixture", "need weights > 0", w);
  }

  /// The Laplace integral by the trapezoidal rule in log r:
  ///
  ///   r_j = slowest e^(j step) <= fastest,   w_j = step r_j density(r_j)
  ///
  /// Terms of weight 0 are left out. For a density that is analytic in the right half plane and
  /// grows no faster than a power there, the rule is off by about exp(-pi^2 / step) f(tau), 7e-18
  /// for a step of 1/4, and by what the integral has outside [slowest, fastest]. The target is the
  /// sum, and bounds are about the sum.
  /// @param density  callable, double to double, >= 0
  /// @param slowest, fastest  0 < slowest < fastest < inf    @param step  > 0
  /// @throws domain_error otherwise, or for more than 10^5 terms.
  template <class Density>
  static exponential_mixture of_density(const Density& density, double slowest, double fastest,
                                        double step) {
    using ebb::detail::require_domain;
    constexpr const char* where = "exponential_mixture::of_density";
    require_domain(slowest > 0 && slowest < fastest && fastest < HUGE_VAL, where,
                   "need 0 < slowest < fastest < inf", slowest, fastest);
    const double span = std::log(fastest) - std::log(slowest);
    require_domain(step > 0 && span / step < 1e5, where,
                   "need a step > 0 that gives at most 1e5 terms", step);
    exponential_sum terms;
    for (double j = 0; j * step <= span; ++j) {
      const double rate = slowest * std::exp(j * step), weight = step * rate * density(rate);
      require_domain(weight >= 0 && weight < HUGE_VAL, where, "need 0 <= density < inf", rate,
                     weight);
      if (weight == 0) continue;
      terms.rates.push_back(rate);
      terms.weights.push_back(weight);
    }
    ebb::detail::require_shape(terms.channels() > 0, where,
                               "need a density that is not 0 at all rates (slowest, fastest)",
                               slowest, fastest);
    return exponential_mixture(std::move(terms));
  }

  const exponential_sum& terms() const { return terms_; }

  template <real_scalar Real>
  Real operator()(const Real& lag) const {
    return terms_(lag);
  }

  /// f and its derivatives by u at tau = e^u. Cost: M exponentials.
  template <real_scalar Real>
  log_lag_jet<Real> jet(const Real& log_lag) const {
    const Real lag = Real(Real(1) / decaying_exp(log_lag));
    log_lag_jet<Real> f{Real(0), Real(0), Real(0)};
    for (std::size_t j = 0; j < terms_.rates.size(); ++j) {
      const Real x = Real(Real(terms_.rates[j]) * lag);
      const Real term = Real(Real(terms_.weights[j]) * decaying_exp(x));
      if (!(term > Real(0))) continue;  // x may be infinite
      f.value += term;
      f.first -= Real(x * term);
      f.second += Real((x * x - x) * term);
    }
    return f;
  }

  /// A bound of the relative rounding error of the value of a jet, in units of the unit roundoff.
  double roundoffs(double log_lag) const {
    const double lag = std::exp(log_lag);
    double sum = 0, moved = 0;
    for (std::size_t j = 0; j < terms_.rates.size(); ++j) {
      const double x = terms_.rates[j] * lag, term = terms_.weights[j] * std::exp(-x);
      if (!(term > 0)) continue;
      sum += term;
      moved += x * term;
    }
    return 140 + static_cast<double>(terms_.rates.size()) + (sum > 0 ? 5 * moved / sum : 0);
  }

 private:
  exponential_sum terms_;
};

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
