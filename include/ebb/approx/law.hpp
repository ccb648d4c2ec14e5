// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/law.hpp
/// @brief  Laws fitted to measured errors and gaps, each with its confidence interval.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numbers>
#include <span>
#include <vector>

#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {
using ebb::detail::require_domain;
using ebb::detail::require_shape;

// P(|t| <= x) for Student's t with an integer number of degrees of freedom: a finite sum.
inline double student_inside(double x, index_t freedom) {
  const double angle = std::atan(x / std::sqrt(static_cast<double>(freedom)));
  const double c = std::cos(angle), s = std::sin(angle), c2 = c * c;
  const bool odd = freedom % 2 == 1;
  double term = odd ? c : 1.0, sum = freedom == 1 ? 0.0 : term;
  for (index_t k = odd ? 3 : 2; k <= freedom - 2; k += 2) {
    const auto m = static_cast<double>(k);
    term *= c2 * (m - 1) / m;
    sum += term;
  }
  return odd ? 2 / std::numbers::pi * (angle + s * sum) : s * sum;
}
}  // namespace detail

/// The x with P(|t| <= x) = confidence for Student's t: the two-sided quantile.
///
/// @param confidence  in (0, 1)
/// @param freedom     degrees of freedom, 0 <= freedom <= 10^6; none gives infinity
/// @throws domain_error outside these domains.
/// Cost: O(freedom), about 60 evaluations of the distribution.
/// Accuracy: relative error of x below 1e-9 for confidence in [0.5, 0.999].
/// Source: [AbramowitzStegun] 26.7.3 and 26.7.4, solved by bisection.
inline double student_quantile(double confidence, index_t freedom) {
  detail::require_domain(confidence > 0 && confidence < 1, "student_quantile",
                         "need 0 < confidence < 1", confidence);
  detail::require_domain(freedom >= 0 && freedom <= 1000000, "student_quantile",
                         "need 0 <= freedom <= 1e6", freedom);
  if (freedom == 0) return std::numeric_limits<double>::infinity();
  double low = 0, high = 1;
  while (detail::student_inside(high, freedom) < confidence) low = high, high *= 2;
  while (high - low > 1e-12 * high) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (detail::student_inside(middle, freedom) < confidence ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

/// A straight line y = intercept + slope x through measured points.
struct line_fit {
  double slope = 0, intercept = 0;
  double slope_half_width = 0;      ///< the slope's confidence interval is slope +- this
  double intercept_half_width = 0;  ///< likewise of the intercept at x = 0
  double residual = 0;              ///< root of (sum of squared residuals / degrees of freedom)
  index_t points = 0;
  index_t freedom = 0;  ///< degrees of freedom; with none the half widths are infinite

  double slope_low() const { return slope - slope_half_width; }
  double slope_high() const { return slope + slope_half_width; }
};

namespace detail {
inline line_fit common_slope(std::span<const double> x, std::span<const double> y,
                             std::span<const int> group, double confidence, const char* where) {
  require_shape(x.size() == y.size() && x.size() == group.size(), where,
                "need x, y and group of one length", x.size(), y.size(), group.size());
  require_domain(confidence > 0 && confidence < 1, where, "need 0 < confidence < 1", confidence);
  struct mean {
    double x = 0, y = 0, n = 0;
  };
  std::map<int, mean> means;
  mean all;
  for (std::size_t i = 0; i < x.size(); ++i) {
    require_domain(std::abs(x[i]) <= 1e150 && std::abs(y[i]) <= 1e150, where,
                   "need finite x and y, at most 1e150", x[i], y[i]);
    for (mean* m : {&means[group[i]], &all}) m->x += x[i], m->y += y[i], m->n += 1;
  }
  for (auto& [key, m] : means) m.x /= m.n, m.y /= m.n;
  const auto n = static_cast<double>(x.size());
  all.x /= n, all.y /= n;

  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const mean& m = means[group[i]];
    xx += (x[i] - m.x) * (x[i] - m.x);
    xy += (x[i] - m.x) * (y[i] - m.y);
  }
  require_domain(xx > 0, where, "need a group with two different x");

  line_fit fit;
  fit.points = static_cast<index_t>(x.size());
  fit.freedom = std::max<index_t>(0, fit.points - static_cast<index_t>(means.size()) - 1);
  fit.slope = xy / xx;
  fit.intercept = all.y - fit.slope * all.x;
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const mean& m = means[group[i]];
    const double rest = y[i] - m.y - fit.slope * (x[i] - m.x);
    squares += rest * rest;
  }
  const double quantile = student_quantile(confidence, fit.freedom);
  if (fit.freedom == 0) {
    fit.slope_half_width = fit.intercept_half_width = quantile;
    return fit;
  }
  fit.residual = std::sqrt(squares / static_cast<double>(fit.freedom));
  fit.slope_half_width = quantile * fit.residual / std::sqrt(xx);
  fit.intercept_half_width = quantile * fit.residual * std::sqrt(1 / n + all.x * all.x / xx);
  return fit;
}
}  // namespace detail

/// Least-squares lines of one common slope through several groups of points, each group with an
/// intercept of its own: the slope that remains when the groups' levels do not matter.
///
/// The half width is student_quantile(confidence, n - groups - 1) times the standard error, n the
/// number of points. The intercept is that of all points together, the mean of the groups'.
///
/// Shapes: x, y, group of one length n.
/// @param confidence  in (0, 1)
/// @throws shape_error unless the lengths agree; domain_error unless every value is at most 1e150
///         in size and some group holds two different x.
/// Cost: O(n log groups).
/// Accuracy: relative rounding error about n u, u the unit roundoff, times the spread |x| / sd(x).
[[nodiscard]] inline line_fit fit_common_slope(std::span<const double> x, std::span<const double> y,
                                               std::span<const int> group,
                                               double confidence = 0.95) {
  return detail::common_slope(x, y, group, confidence, "fit_common_slope");
}

/// The least-squares line through the points, with Student's confidence intervals.
///
/// Shapes, @throws, Accuracy: as fit_common_slope with a single group; n >= 2, and with n = 2 the
/// half widths are infinite.
[[nodiscard]] inline line_fit fit_line(std::span<const double> x, std::span<const double> y,
                                       double confidence = 0.95) {
  const std::vector<int> one_group(x.size(), 0);
  return detail::common_slope(x, y, one_group, confidence, "fit_line");
}

/// A fitted law  E = scale exp(-rate x)  or  E = scale N^-rate; both intervals in logarithms.
struct law_fit {
  double rate = 0, rate_half_width = 0;
  double scale = 0, log_scale_half_width = 0;
  double residual = 0;  ///< of log E
  index_t points = 0;

  double rate_low() const { return rate - rate_half_width; }
  double rate_high() const { return rate + rate_half_width; }
};

namespace detail {
inline std::vector<double> logarithms(std::span<const double> values, const char* where) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double v : values) {
    require_domain(v > 0 && std::isfinite(v), where, "need finite values > 0", v);
    logs.push_back(std::log(v));
  }
  return logs;
}

inline law_fit falling_law(const line_fit& line) {
  return {-line.slope,
          line.slope_half_width,
          std::exp(line.intercept),
          line.intercept_half_width,
          line.residual,
          line.points};
}
}  // namespace detail

/// The power law  E = scale N^-rate  that fits (N, E) best in logarithms.
///
/// @param channels  N > 0    @param errors  E > 0    @param confidence  in (0, 1)
/// @throws as fit_line, and domain_error unless every value is positive.
[[nodiscard]] inline law_fit fit_power_law(std::span<const double> channels,
                                           std::span<const double> errors,
                                           double confidence = 0.95) {
  constexpr const char* where = "fit_power_law";
  const std::vector<int> one_group(channels.size(), 0);
  return detail::falling_law(detail::common_slope(detail::logarithms(channels, where),
                                                  detail::logarithms(errors, where), one_group,
                                                  confidence, where));
}

/// The exponential law  E = scale exp(-rate x)  that fits (x, E) best in the logarithm of E.
///
/// @param x  finite, for instance N / log T    @param errors  E > 0    @param confidence  in (0, 1)
/// @throws as fit_line, and domain_error unless every error is positive.
[[nodiscard]] inline law_fit fit_exponential_law(std::span<const double> x,
                                                 std::span<const double> errors,
                                                 double confidence = 0.95) {
  constexpr const char* where = "fit_exponential_law";
  const std::vector<int> one_group(x.size(), 0);
  return detail::falling_law(
      detail::common_slope(x, detail::logarithms(errors, where), one_group, confidence, where));
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
