// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/approximation.hpp
/// @brief  The result of an approximation: an error between two bounds, and what they rest on.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include <ebb/core/config.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// Absolute error |f - sum c_k phi_k| or relative error |f - sum c_k phi_k| / |f|.
enum class error_kind { absolute, relative };

/// What the upper bound of an error rests on.
enum class evidence {
  proved,   ///< holds on every lag of the set (up to the rounding of its evaluation)
  sampled,  ///< holds on the sampled lags only: the target gives no bound between them
  none      ///< the digits at hand did not suffice: no bound
};

/// How an approximation is to be found.
struct approximation_options {
  error_kind kind = error_kind::absolute;
  double tolerance = 2e-5;              ///< wanted (upper - lower) / upper, >= 1e-6
  double least_error = 0;               ///< an error that is known to be this small, or larger
  double most_error = HUGE_VAL;         ///< than this, need not be known better: >= 0 both
  int most_digits = 400;                ///< of the arithmetic; more is refused, not tried
  std::function<bool()> interrupted{};  ///< asked now and then; true ends the work early
};

/// A best approximation with two-sided bounds of its error.
///
///   0 <= error_lower <= min over c of max over lags |f - sum_k c_k phi_k| <= error_upper
///
/// The weights reach error_upper when they are summed with `digits` decimal digits; in double they
/// do so only while weights_l1 * 1e-16 is well below it.
struct [[nodiscard]] approximation {
  double error_lower = 0;
  double error_upper = HUGE_VAL;
  std::vector<double> weights;  ///< c, rounded to double, one a channel
  double weights_l1 = 0;        ///< sum |c_k|
  int digits = 0;               ///< decimal digits of the arithmetic that was needed
  evidence basis = evidence::none;
  std::vector<double> reference;  ///< lags at which the error is levelled, ascending
  bool interrupted = false;       ///< ended early: nothing else in here counts

  /// Takes a lower bound if it is the better one. Each bound is rounded about 1e-12 relatively, so
  /// that they may cross by that much where they meet; farther apart they contradict each other,
  /// and the one that is new counts for nothing.
  void raise_lower(double bound) {
    if (bound > error_upper) bound = bound <= error_upper * (1 + 1e-10) ? error_upper : 0;
    if (bound > error_lower) error_lower = bound;
  }

  /// Whether the error is outside what the options want to know well.
  bool beyond(const approximation_options& options) const {
    return error_upper <= options.least_error || error_lower > options.most_error;
  }

  /// Whether both bounds hold everywhere and agree to the given relative width.
  bool certified(double relative_width) const {
    return basis == evidence::proved && std::isfinite(error_upper) &&
           error_upper - error_lower <= relative_width * error_upper;
  }
};

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
