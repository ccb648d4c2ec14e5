// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/residual.hpp
/// @brief  An error function known from its samples: its extrema, and a bound of its maximum.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <ebb/approx/chebyshev.hpp>
#include <ebb/approx/sampling.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// One place where an error function may be looked at: a listed point, or x in an interval.
struct location {
  index_t part;  ///< -1 for the listed points, otherwise the index of the interval
  index_t row;   ///< of a listed point
  double x;      ///< in [-1, 1], of an interval
  double lag;    ///< steps
  double value;  ///< of the function there
};

/// One or more functions on a sample plan, in double: values at the listed lags, Chebyshev
/// coefficients in the intervals.
class sampled_functions {
 public:
  /// Shapes: values (plan.rows() x functions).
  sampled_functions(const sample_plan& plan, const Eigen::MatrixXd& values) : plan_(plan) {
    Eigen::Index row = 0;
    for (const auto& run : plan.runs) {
      for (index_t i = 0; i < run.count; ++i)
        point_lags_.push_back(static_cast<double>(run.first + i));
      row += run.count;
    }
    points_ = values.topRows(row);
    for (const auto& piece : plan.pieces) {
      coefficients_.push_back(chebyshev_coefficients(values.middleRows(row, piece.nodes)));
      row += piece.nodes;
    }
  }

  const sample_plan& plan() const { return plan_; }

  /// All functions at one location. Cost: O(nodes x functions) in an interval.
  Eigen::RowVectorXd row(const location& where) const {
    if (where.part < 0) return points_.row(where.row);
    const by_degree& c = coefficients_[static_cast<std::size_t>(where.part)];
    Eigen::RowVectorXd b1 = Eigen::RowVectorXd::Zero(c.cols()), b2 = b1, b;
    for (Eigen::Index m = c.rows() - 1; m >= 1; --m) {
      b = c.row(m) + 2 * where.x * b1 - b2;
      b2.swap(b1);
      b1.swap(b);
    }
    return c.row(0) + where.x * b1 - b2;
  }

  /// The combination sum_j weights_j function_j.
  sampled_functions combined(const Eigen::VectorXd& weights) const {
    sampled_functions out;
    out.plan_ = plan_;
    out.point_lags_ = point_lags_;
    out.points_ = points_ * weights;
    for (const auto& c : coefficients_) out.coefficients_.push_back(c * weights);
    return out;
  }

  /// The local extrema of |function 0|, ascending by lag, one for every run of equal signs.
  ///
  /// For whole lags an extremum inside an interval is moved to the better of its two neighbours.
  std::vector<location> alternating_extrema() const {
    std::vector<location> found;
    for (std::size_t i = 0; i < point_lags_.size(); ++i)
      found.push_back({-1, static_cast<index_t>(i), 0, point_lags_[i],
                       points_(static_cast<Eigen::Index>(i), 0)});
    for (std::size_t p = 0; p < coefficients_.size(); ++p) add_extrema(p, found);
    std::sort(found.begin(), found.end(),
              [](const location& a, const location& b) { return a.lag < b.lag; });
    std::vector<location> alternating;
    for (const location& here : found) {
      if (!alternating.empty() && (alternating.back().value > 0) == (here.value > 0)) {
        if (std::abs(here.value) > std::abs(alternating.back().value)) alternating.back() = here;
      } else {
        alternating.push_back(here);
      }
    }
    return alternating;
  }

  /// Bounds {low, high} of max |function 0| over the lags of the plan; high <= (1 + slack) low but
  /// for rounding. The interpolants count, not what they interpolate.
  std::pair<double, double> maximum(double slack) const {
    double largest = 0, bound = 0;
    for (Eigen::Index i = 0; i < points_.rows(); ++i)
      largest = std::max(largest, std::abs(points_(i, 0)));
    for (std::size_t p = 0; p < coefficients_.size(); ++p) bound_piece(p, slack, largest, bound);
    return {largest, std::max(largest, bound)};
  }

 private:
  // A row holds the same degree of all functions: that is how they are read.
  using by_degree = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  sampled_functions() = default;

  std::span<const double> series(std::size_t p) const {
    return {coefficients_[p].data(), static_cast<std::size_t>(coefficients_[p].rows())};
  }

  /// Values at theta = pi i / steps, i = 0 .. steps.
  static std::vector<double> values_on_grid(std::span<const double> c, int steps) {
    std::vector<double> x, values(static_cast<std::size_t>(steps) + 1);
    for (int i = 0; i <= steps; ++i) x.push_back(-std::cos(std::numbers::pi * i / steps));
    chebyshev_values(c, x, values);
    return values;
  }

  /// The nearest whole lags around x, or x itself when every lag counts.
  template <class Visit>
  void admissible(std::size_t p, double x, Visit&& visit) const {
    const lag_interval& interval = plan_.pieces[p].interval;
    const double lag = interval.lag_of(x);
    if (plan_.kind == lag_kind::continuous) return visit(x, lag);
    for (const double whole : {std::floor(lag), std::ceil(lag)}) {
      const double at = interval.x_of(whole);
      if (at >= -1 - 1e-12 && at <= 1 + 1e-12) visit(std::clamp(at, -1.0, 1.0), whole);
    }
  }

  void add_extrema(std::size_t p, std::vector<location>& found) const {
    const auto c = series(p);
    const auto value = [&](double theta) { return chebyshev_value(c, -std::cos(theta)); };
    const int steps = 6 * static_cast<int>(c.size());
    const double width = std::numbers::pi / steps;
    const std::vector<double> values = values_on_grid(c, steps);
    for (int i = 0; i <= steps; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double here = values[at];
      const double before = i > 0 ? values[at - 1] : 0, after = i < steps ? values[at + 1] : 0;
      const bool rises = i == 0 || std::abs(here) >= std::abs(before);
      const bool falls = i == steps || std::abs(here) >= std::abs(after);
      if (!rises || !falls) continue;
      double theta = i * width;
      if (i > 0 && i < steps) {  // two parabolas through shrinking triples: error about width^6
        double h = width, l = before, m = here, r = after;
        for (int round = 0; round < 2; ++round) {
          const double curvature = l - 2 * m + r;
          if (curvature != 0) theta += h * std::clamp(0.5 * (l - r) / curvature, -1.0, 1.0);
          if (round == 1) break;
          h *= 0.05;
          l = value(theta - h), m = value(theta), r = value(theta + h);
        }
      }
      location best{static_cast<index_t>(p), 0, 0, 0, 0};
      admissible(p, -std::cos(theta), [&](double x, double lag) {
        const double v = chebyshev_value(c, x);
        if (best.lag == 0 || std::abs(v) > std::abs(best.value))
          best = {static_cast<index_t>(p), 0, x, lag, v};
      });
      if (best.lag != 0) found.push_back(best);
    }
  }

  /// Branch and bound in theta, x = -cos(theta), where the interpolant is a trigonometric
  /// polynomial of degree < n: |p''| <= n^2 max|p| (Bernstein) bounds it between two values.
  void bound_piece(std::size_t p, double slack, double& largest, double& bound) const {
    const auto c = series(p);
    const lag_interval& interval = plan_.pieces[p].interval;
    const bool whole = plan_.kind == lag_kind::integer;
    const double n = static_cast<double>(c.size());
    struct stretch {
      double left, right, at_left, at_right;
    };
    const auto value = [&](double theta) { return std::abs(chebyshev_value(c, -std::cos(theta))); };
    const auto look = [&](double theta) {
      admissible(p, -std::cos(theta), [&](double x, double) {
        largest = std::max(largest, std::abs(chebyshev_value(c, x)));
      });
    };
    const auto whole_lags_in = [&](const stretch& s) {
      const double a = interval.lag_of(-std::cos(s.left)), b = interval.lag_of(-std::cos(s.right));
      return std::floor(std::max(a, b)) - std::ceil(std::min(a, b)) + 1;
    };
    std::vector<stretch> open;
    const int count = 4 * static_cast<int>(c.size());
    double everywhere = 0;
    const std::vector<double> values = values_on_grid(c, count);
    for (int i = 0; i <= count; ++i) {
      const double here = std::abs(values[static_cast<std::size_t>(i)]);
      everywhere = std::max(everywhere, here);
      if (!whole) largest = std::max(largest, here);
      if (i > 0)
        open.push_back({std::numbers::pi * (i - 1) / count, std::numbers::pi * i / count,
                        std::abs(values[static_cast<std::size_t>(i - 1)]), here});
    }
    // Between 4n values: max|p| <= largest value / (1 - (pi / 4)^2 / 8).
    everywhere /= 1 - std::numbers::pi * std::numbers::pi / 128;
    if (whole)
      for (const stretch& s : open)
        if (std::max(s.at_left, s.at_right) > largest) look(0.5 * (s.left + s.right));
    while (!open.empty()) {
      const stretch s = open.back();
      open.pop_back();
      const double width = s.right - s.left;
      const double here = std::max(s.at_left, s.at_right) + width * width / 8 * n * n * everywhere;
      if (here <= largest * (1 + slack)) {
        bound = std::max(bound, here);
        continue;
      }
      const double middle = 0.5 * (s.left + s.right);
      if (whole && whole_lags_in(s) < 1.5) {  // at most one lag left: look at it
        look(middle);
        continue;
      }
      const double at_middle = value(middle);
      if (whole)
        look(middle);
      else
        largest = std::max(largest, at_middle);
      open.push_back({s.left, middle, s.at_left, at_middle});
      open.push_back({middle, s.right, at_middle, s.at_right});
    }
  }

  sample_plan plan_;
  std::vector<double> point_lags_;
  Eigen::MatrixXd points_;
  std::vector<by_degree> coefficients_;
};

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
