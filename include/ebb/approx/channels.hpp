// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/channels.hpp
/// @brief  How many of N channels do distinct work within t steps.
#pragma once

#include <cmath>
#include <limits>
#include <span>

#include <Eigen/Eigenvalues>

#include <ebb/approx/coherence.hpp>
#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// The number of channels whose timescale 1/r is at most t steps.
///
/// For rates geometric on [1/T, 1] this is N log t / log T, to within one.
///
/// Units: rates 1/step, t steps.
/// @param rates  > 0    @param t  > 0    @throws domain_error otherwise.
/// Cost: O(N). Accuracy: a timescale within 64 u of t, u the unit roundoff, counts as at most t, so
/// that the rounding of the rates does not decide about a channel that sits on t.
inline index_t count_within(std::span<const double> rates, double t) {
  ebb::detail::require_domain(t > 0, "count_within", "need t > 0", t);
  constexpr double slack = 32 * std::numeric_limits<double>::epsilon();
  index_t count = 0;
  for (const double r : rates) {
    ebb::detail::require_domain(r > 0, "count_within", "need rates > 0", r);
    if (r * t >= 1 - slack) ++count;
  }
  return count;
}

/// The number of directions in which the channels differ noticeably on lags [0, t]: the number of
/// eigenvalues of their normalised Gram matrix above threshold times the largest.
///
/// Units: rates 1/step, t steps.
/// @param rates      finite, > 0    @param t  > 0, infinity allowed
/// @param threshold  in [1e-13, 1): below that, rounding of the eigenvalues would be counted
/// @throws domain_error otherwise.
/// Cost: O(N^3). Accuracy: exact unless an eigenvalue lies within N u of the threshold's, u the
/// unit roundoff.
inline index_t numerical_rank(std::span<const double> rates, double t, double threshold) {
  ebb::detail::require_domain(threshold >= 1e-13 && threshold < 1, "numerical_rank",
                              "need 1e-13 <= threshold < 1", threshold);
  ebb::detail::require_domain(t > 0, "numerical_rank", "need t > 0", t);
  for (const double r : rates)
    ebb::detail::require_domain(r > 0 && std::isfinite(r), "numerical_rank",
                                "need finite rates > 0", r);
  if (rates.empty()) return 0;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(normalised_gram_matrix(rates, t),
                                                              Eigen::EigenvaluesOnly);
  const auto& values = solver.eigenvalues();
  index_t rank = 0;
  for (Eigen::Index k = 0; k < values.size(); ++k)
    if (values[k] > threshold * values[values.size() - 1]) ++rank;
  return rank;
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
