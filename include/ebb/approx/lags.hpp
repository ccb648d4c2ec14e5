// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/lags.hpp
/// @brief  The lags on which an approximation is judged, and how they are covered by intervals.
#pragma once

#include <cmath>
#include <vector>

#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// Whether every real lag counts or whole steps only.
enum class lag_kind { continuous, integer };

/// The lags tau in [1, last], in steps: all of them, or the whole ones 1 .. floor(last).
class lag_set {
 public:
  /// Every real tau in [1, last].
  /// @throws domain_error unless 1 < last < 2^53.
  static lag_set continuous(double last) {
    ebb::detail::require_domain(last > 1 && last < 0x1p53, "lag_set::continuous",
                                "need 1 < last < 2^53", last);
    return lag_set(last, lag_kind::continuous);
  }

  /// The whole lags 1 .. floor(last).
  /// @throws domain_error unless 1 <= last < 2^53.
  static lag_set integer(double last) {
    ebb::detail::require_domain(last >= 1 && last < 0x1p53, "lag_set::integer",
                                "need 1 <= last < 2^53", last);
    return lag_set(std::floor(last), lag_kind::integer);
  }

  double last() const { return last_; }
  lag_kind kind() const { return kind_; }

 private:
  lag_set(double last, lag_kind kind) : last_(last), kind_(kind) {}

  double last_;
  lag_kind kind_;
};

/// An interval of lags in a logarithmic coordinate u, mapped to x in [-1, 1].
///
///   tau = e^u                 counted back from now    (anchor = 0)
///   tau = anchor - e^u        counted from the start   (anchor > 0; u falls as the lag grows)
///
/// `half_width` promises that the basis functions are analytic and at most 1 in absolute value
/// where |Im u| <= half_width and u lies in the ellipse that `semi_minor_axis` describes.
struct lag_interval {
  double low, high;   ///< ends of u, low < high
  double anchor;      ///< 0, or position + 1 in steps
  double half_width;  ///< of the strip of analyticity in u, > 0

  double u_of(double x) const { return 0.5 * (low + high) + 0.5 * (high - low) * x; }
  double lag_of(double x) const {
    return anchor == 0 ? std::exp(u_of(x)) : anchor - std::exp(u_of(x));
  }
  double x_of(double lag) const {
    const double u = std::log(anchor == 0 ? lag : anchor - lag);
    return (2 * u - low - high) / (high - low);
  }
  template <real_scalar Real>
  Real lag_in(double x) const {
    using ebb::detail::exp;
    const Real distance = exp(Real(u_of(x)));
    return anchor == 0 ? distance : Real(Real(anchor) - distance);
  }

  /// Semi-minor axis, in units of x, of the ellipse in which the functions are bounded.
  double semi_minor_axis() const { return 2 * half_width / (high - low); }
  /// How far, in u, that ellipse reaches beyond the two ends.
  double overshoot() const {
    const double b = semi_minor_axis();
    return 0.5 * (high - low) * (b * b / (1 + std::sqrt(1 + b * b)));
  }
};

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
