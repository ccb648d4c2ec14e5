// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/exponential_sum.hpp
/// @brief  A kernel made of decaying exponentials: rates and their weights.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include <ebb/core/decaying_exp.hpp>
#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>
#include <ebb/spectrum/listed.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// A sum of N decaying exponentials:
///
///   s(tau) = sum_k c_k exp(-r_k tau)
///
/// In a recurrence: channels with the constant decay of `spectrum()`, fed with the same input x_t,
/// and y_t = sum_k c_k h_{t,k} = sum_{j <= t} s(t - j) x_j.
///
/// Shapes: rates and weights (N) each, slowest first. Units: rates 1/step, weights those of s.
struct exponential_sum {
  std::vector<double> rates;    ///< r_k, finite, > 0, ascending
  std::vector<double> weights;  ///< c_k, finite

  index_t channels() const { return static_cast<index_t>(rates.size()); }

  /// s(tau), tau >= 0. Cost: N exponentials. Accuracy: (66 + N) u sum |c_k| exp(-r_k tau) and one
  /// rounding of each r_k tau, u the unit roundoff of Real.
  template <real_scalar Real>
  Real operator()(const Real& lag) const {
    Real sum(0);
    for (std::size_t k = 0; k < rates.size(); ++k)
      sum += Real(Real(weights[k]) * decaying_exp(Real(Real(rates[k]) * lag)));
    return sum;
  }

  /// sum |c_k|
  double weights_l1() const {
    double sum = 0;
    for (const double c : weights) sum += std::abs(c);
    return sum;
  }

  /// The rates as a spectrum. @throws domain_error unless they are finite and > 0.
  listed_spectrum spectrum() const { return listed_spectrum::rates(rates); }

  /// @throws shape_error unless there is a weight for each rate; domain_error unless rates are
  ///   finite, > 0 and ascending, and weights finite.
  void check(const char* where) const {
    ebb::detail::require_shape(rates.size() == weights.size(), where,
                               "need as many weights as rates (got, rates)", weights.size(),
                               rates.size());
    for (std::size_t k = 0; k < rates.size(); ++k) {
      ebb::detail::require_domain(
          rates[k] > 0 && std::isfinite(rates[k]) && (k == 0 || rates[k - 1] < rates[k]), where,
          "need finite rates > 0, strictly ascending", rates[k]);
      ebb::detail::require_domain(std::isfinite(weights[k]), where, "need finite weights",
                                  weights[k]);
    }
  }
};

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
