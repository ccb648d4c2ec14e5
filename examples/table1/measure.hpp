// SPDX-License-Identifier: Apache-2.0
/// @file   table1/measure.hpp
/// @brief  One measurement: the best errors a spectrum reaches, with certified bounds.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace table1 {

/// Spectra whose rates change with the position, and those of them with a channel of rate 0.
inline bool is_tapered(std::string_view s) { return s.starts_with("post") || s == "two_ended"; }
inline bool has_sum_channel(std::string_view s) { return s == "post_sum" || s == "two_ended"; }

/// Most terms of a best exponential sum that this program asks for.
inline constexpr int most_optimum_terms = 30;

/// Everything that fixes the basis functions and the lags.
struct basis_cell {
  /// geometric, linear_ends, linear_k, linear_k_over_N, linear_k_over_T, random_log_uniform,
  /// random_uniform, minimax (free rates), post, post_sum, two_ended, static_T or static_t
  std::string spectrum;
  double fast_end_extension = 0, slow_end_extension = 0;  ///< A and B
  int channels = 0;                                       ///< N
  double horizon = 0;                                     ///< T, steps
  std::optional<double> position;      ///< t, steps: tapered and static rows only
  std::optional<double> lag_fraction;  ///< of t: likewise
  bool integer_lags = false;           ///< always true for rows with a position
  bool relative_error = false;
  std::optional<double> weights_bound;  ///< C: ||c||_1 <= C
  std::optional<std::uint64_t> seed;    ///< random spectra only

  bool operator==(const basis_cell&) const = default;
};

/// What was measured for one beta.
struct outcome {
  double beta = 0, error_lower = 0, error_upper = 0, weights_l1 = 0;
  /// NaN where there are no two channels to compare.
  double min_gap_rate = 0, min_gap_log_rate = 0, max_gap_log_rate = 0;
  int digits = 0;  ///< decimal digits of the arithmetic that was needed (16, 19, 50, ...)
  double seconds = 0;
  bool certified = false;  ///< lower and upper agree to 4 digits (1e-3 for integer lags)
};

/// `stop` became true before the measurement was finished.
class cancelled : public std::exception {
 public:
  const char* what() const noexcept override { return "cancelled"; }
};

/// The best errors of one basis, one outcome for each beta. All betas share the basis.
/// @throws cancelled when `stop` becomes true.
std::vector<outcome> measure(const basis_cell& cell, std::span<const double> betas,
                             const std::atomic<bool>& stop);

/// 1/rate of each channel at the cell's position (a channel that only sums has infinity), slowest
/// first. Not for minimax, whose rates depend on beta.
std::vector<double> timescales(const basis_cell& cell);

}  // namespace table1
