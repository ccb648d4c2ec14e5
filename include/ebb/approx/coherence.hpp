// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/coherence.hpp
/// @brief  How alike exponentials are: coherence, Gram matrix, gaps between rates.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include <Eigen/Core>

#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// Cosine of the angle between exp(-r tau) and exp(-s tau) in L2[0, infinity).
///
///   2 sqrt(r s) / (r + s) = sech(|log r - log s| / 2)
///
/// So the distance in log-rate, not in rate, says how alike two channels are.
///
/// Units: rates 1/step; the result has none, in (0, 1].
/// @param r, s  finite, > 0    @throws domain_error otherwise.
/// Accuracy: 1 - result to about (|log r| + |log s| + 4) u absolutely, u the unit roundoff.
template <real_scalar Real>
Real coherence(const Real& r, const Real& s) {
  using ebb::detail::abs, ebb::detail::exp, ebb::detail::isfinite, ebb::detail::log;
  ebb::detail::require_domain(r > Real(0) && s > Real(0) && isfinite(r) && isfinite(s), "coherence",
                              "need finite rates > 0", r, s);
  const Real e = exp(Real(-abs(Real(log(r) - log(s))) / Real(2)));
  return Real(Real(2) * e / (Real(1) + e * e));
}

/// Gram matrix of the exponentials on lags [0, horizon], each scaled to norm one.
///
///   G_ij = g_ij / sqrt(g_ii g_jj),   g_ij = (1 - exp(-(r_i + r_j) horizon)) / (r_i + r_j)
///
/// An infinite horizon gives the normalised Cauchy matrix 2 sqrt(r_i r_j) / (r_i + r_j).
///
/// Shapes: rates (N), result (N x N), symmetric, unit diagonal.
/// Units: rates 1/step, horizon steps.
/// @param rates    finite, > 0    @param horizon  > 0, infinity allowed
/// @throws domain_error otherwise.
/// Cost: O(N^2). Accuracy: every entry within 16 u relatively, u the unit roundoff.
inline Eigen::MatrixXd normalised_gram_matrix(
    std::span<const double> rates, double horizon = std::numeric_limits<double>::infinity()) {
  ebb::detail::require_domain(horizon > 0, "normalised_gram_matrix", "need horizon > 0", horizon);
  for (const double r : rates)
    ebb::detail::require_domain(r > 0 && std::isfinite(r), "normalised_gram_matrix",
                                "need finite rates > 0", r);
  const auto inner = [horizon](double sum) { return -std::expm1(-sum * horizon) / sum; };
  const auto n = static_cast<Eigen::Index>(rates.size());
  Eigen::MatrixXd gram(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const double ri = rates[static_cast<std::size_t>(i)];
    gram(i, i) = 1;
    for (Eigen::Index j = 0; j < i; ++j) {
      const double rj = rates[static_cast<std::size_t>(j)];
      gram(i, j) = gram(j, i) = inner(ri + rj) / std::sqrt(inner(2 * ri) * inner(2 * rj));
    }
  }
  return gram;
}

/// The smallest and largest distances between neighbouring rates.
struct rate_gaps {
  double min_rate = 0;      ///< smallest r_{k+1} - r_k, 1/step
  double min_log_rate = 0;  ///< smallest log r_{k+1} - log r_k
  double max_log_rate = 0;  ///< largest  log r_{k+1} - log r_k
};

/// The gaps of a spectrum.
///
/// @param rates  at least two, ascending, finite, > 0    @throws domain_error otherwise.
/// Cost: O(N). Accuracy: 4 u relatively in each gap of the given rates, u the unit roundoff.
inline rate_gaps gaps(std::span<const double> rates) {
  ebb::detail::require_domain(rates.size() >= 2, "gaps", "need two channels or more", rates.size());
  rate_gaps found{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
                  0};
  for (std::size_t k = 1; k < rates.size(); ++k) {
    const double low = rates[k - 1], high = rates[k];
    ebb::detail::require_domain(low > 0 && high >= low && std::isfinite(high), "gaps",
                                "need finite ascending rates > 0", low, high);
    const double gap = high - low;
    // log1p keeps the leading digits of tiny gaps, where the two logarithms would cancel.
    const double log_gap = gap < low ? std::log1p(gap / low) : std::log(high) - std::log(low);
    found.min_rate = std::min(found.min_rate, gap);
    found.min_log_rate = std::min(found.min_log_rate, log_gap);
    found.max_log_rate = std::max(found.max_log_rate, log_gap);
  }
  return found;
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
