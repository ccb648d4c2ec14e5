// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/minimax_error.hpp
/// @brief  The error of an exponential sum as a function of log tau, with its derivatives.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include <ebb/approx/approximation.hpp>
#include <ebb/approx/target.hpp>
#include <ebb/core/decaying_exp.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// e^x for either sign, by the fast exponential.
template <real_scalar Real>
Real exp_of(const Real& x) {
  return x > Real(0) ? Real(Real(1) / decaying_exp(x)) : decaying_exp(Real(-x));
}

/// One problem: target, kind of error and horizon.
template <class Target, real_scalar Real>
struct minimax_problem {
  const Target& target;
  error_kind kind;
  bool infinite;     ///< no last lag
  Real last;         ///< log T; without a meaning if infinite
  double tolerance;  ///< wanted (upper - lower) / upper
  const std::function<bool()>& interrupted;

  bool relative() const { return kind == error_kind::relative; }
  /// The size of what the error is the difference of.
  double scale() const { return relative() ? 1.0 : static_cast<double>(target.jet(Real(0)).value); }
  bool stop() const { return interrupted && interrupted(); }
};

/// A sum by the logarithms of its rates (ascending) and weights, and the points u = log tau at
/// which its error is to be levelled: 2N + 1 of them, ascending, the first at 0.
template <real_scalar Real>
struct minimax_state {
  std::vector<Real> log_rates, log_weights, reference;

  std::size_t size() const { return log_rates.size(); }

  template <real_scalar Other>
  minimax_state<Other> to() const {
    const auto converted = [](const std::vector<Real>& from) {
      std::vector<Other> result;
      for (const Real& v : from) result.push_back(static_cast<Other>(v));
      return result;
    };
    return {converted(log_rates), converted(log_weights), converted(reference)};
  }
};

/// The error e(u) of one sum:  f - s  or  1 - s / f,  at tau = e^u.
template <class Target, real_scalar Real>
class minimax_error {
 public:
  minimax_error(const minimax_problem<Target, Real>& problem, const minimax_state<Real>& sum)
      : target_(problem.target), relative_(problem.relative()) {
    for (const Real& x : sum.log_rates) rates_.push_back(exp_of(x));
    for (const Real& x : sum.log_weights) weights_.push_back(exp_of(x));
  }

  /// e, e' and e''.
  log_lag_jet<Real> jet(const Real& u) const {
    const Real lag = exp_of(u);
    Real s(0), s1(0), s2(0);
    for (std::size_t k = 0; k < rates_.size(); ++k) {
      const Real x = Real(rates_[k] * lag), term = Real(weights_[k] * decaying_exp(x));
      s += term;
      s1 -= Real(x * term);
      s2 += Real((x * x - x) * term);
    }
    const log_lag_jet<Real> f = target_.jet(u);
    if (!relative_) return {Real(f.value - s), Real(f.first - s1), Real(f.second - s2)};
    const Real g = Real(f.first / f.value);  // (log f)', and f'' / f = (log f)'' + g^2
    return {Real((f.value - s) / f.value), Real((s * g - s1) / f.value),
            Real((Real(2) * g * s1 - s2 + s * (f.second / f.value - Real(2) * g * g)) / f.value)};
  }

  /// e, and in `row` its derivatives by log r_0 .. log r_{N-1}, log w_0 .. log w_{N-1}.
  Real row(const Real& u, std::vector<Real>& row) const {
    const Real lag = exp_of(u), f = target_.jet(u).value;
    const std::size_t n = rates_.size();
    Real s(0);
    for (std::size_t k = 0; k < n; ++k) {
      const Real x = Real(rates_[k] * lag);
      Real term = Real(weights_[k] * decaying_exp(x));
      s += term;
      if (relative_) term = Real(term / f);
      row[k] = Real(x * term);
      row[n + k] = Real(-term);
    }
    return relative_ ? Real((f - s) / f) : Real(f - s);
  }

  Real operator()(const Real& u) const {
    const Real lag = exp_of(u), f = target_.jet(u).value;
    Real s(0);
    for (std::size_t k = 0; k < rates_.size(); ++k)
      s += Real(weights_[k] * decaying_exp(Real(rates_[k] * lag)));
    return relative_ ? Real((f - s) / f) : Real(f - s);
  }

  /// A bound of the rounding error of e(u), in first order: each term is off by base + 3 x units,
  /// x = r tau (tau, the product and the exponential), the sum by N more, f by what it says or by
  /// base + 2 |log f|.
  double noise(const Real& u) const {
    constexpr double base = many_digits<Real> ? 140 : 8, slope = many_digits<Real> ? 5 : 3;
    const double log_lag = static_cast<double>(u), lag = std::exp(log_lag);
    const double f = static_cast<double>(target_.jet(u).value);
    double sum = base + 2 * std::abs(std::log(f));
    if constexpr (requires { target_.roundoffs(log_lag); }) sum = base + target_.roundoffs(log_lag);
    sum *= f;
    for (std::size_t k = 0; k < rates_.size(); ++k) {
      const double x = static_cast<double>(rates_[k]) * lag;
      sum += static_cast<double>(weights_[k]) * std::exp(-x) *
             (base + static_cast<double>(rates_.size()) + slope * x);
    }
    return sum * static_cast<double>(unit_roundoff<Real>) / (relative_ ? f : 1.0);
  }

 private:
  const Target& target_;
  bool relative_;
  std::vector<Real> rates_, weights_;
};

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
