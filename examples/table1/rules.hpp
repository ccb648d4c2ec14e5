// SPDX-License-Identifier: Apache-2.0
/// @file   table1/rules.hpp
/// @brief  The rules of the ledger, one function a claim. Used by claims.cpp alone.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "table1/claims.hpp"
#include "table1/evidence.hpp"

namespace table1::rules {

using rows_view = std::span<const row>;

// Gaps (claims_gaps.cpp).
claim random_gap(rows_view rows, const observations& seen);
claim linear_gap(rows_view rows);
claim geometric_gap(rows_view rows);
claim post_gap(rows_view rows);

// Errors (claims_errors.cpp, claims_linear.cpp).
claim random_error(rows_view rows);
claim linear_error(rows_view rows);
claim geometric_error(rows_view rows);
claim geometric_minimax(rows_view rows);
claim post_error(rows_view rows);

// Free rates, and how near two-ended spectra come (claims_optimum.cpp).
claim optimum_law(rows_view rows);
claim two_ended_static(rows_view rows);
claim two_ended_post(rows_view rows);

// Memory at a position (claims_memory.cpp).
claim effective_channels(rows_view rows, const observations& seen);
claim scale_free(const observations& seen);
claim no_overhead(const observations& seen);

/// An exponential law in x is read off between two regimes: below one channel for each unit of
/// log(steps) the spectrum is too coarse for any law, and over less than 1000 steps the law of
/// short horizons (2/sqrt(T) a channel) takes over.
inline double least_channels(double steps) {
  return steps >= 1000 ? std::log(steps) : std::numeric_limits<double>::infinity();
}

/// What an exponential law has to show: errors fall at a rate c of 0.1 or more, they never stall
/// (no local rate below c / 10), and the power q of x in -log E reaches 1, all with 95 % intervals.
/// The law is open while q is not known to +-0.5.
enum class law_test { passes, refuted, open };
law_test test_exponential(const std::optional<fall>& f);

/// "c = 0.72 +- 0.05, q = 0.66 +- 0.10", or why there is no fit.
std::string describe(const std::optional<fall>& f);

bool is_bare(const row& r);  ///< no extension at either end
bool is_free(const row& r);  ///< weights without a bound

/// The fall of errors of the rows that pass, from least_channels on.
std::optional<fall> fit(rows_view rows, const row_filter& passes, const coordinate& x, pick choice);

}  // namespace table1::rules
