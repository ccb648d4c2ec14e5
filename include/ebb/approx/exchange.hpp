// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/exchange.hpp
/// @brief  Best uniform approximation in well-conditioned functions, by exchange of the reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include <Eigen/Dense>

#include <ebb/approx/residual.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// Where an exchange ended; whether that is good enough is for the certificate to say.
struct exchange_result {
  Eigen::VectorXd coefficients;     ///< d of the best iterate
  double level = 0;                 ///< |h|: the largest levelled error met, a lower estimate
  double largest = HUGE_VAL;        ///< max |g - Q d| at the extrema, an upper estimate
  std::vector<location> reference;  ///< N + 1 lags of the last levelled error
  int iterations = 0;
};

namespace detail {

/// d and h with g(x_i) - Q(x_i) d = h s_i on a reference of N + 1 lags, s the signs of the
/// multipliers lambda that annihilate Q there.
struct levelled_error {
  Eigen::VectorXd coefficients;
  Eigen::VectorXd multipliers;  ///< lambda, |lambda|_1 = 1
  Eigen::MatrixXd rows;         ///< (N + 1 x N + 1) of [Q g]
  double level = 0;             ///< h >= 0

  explicit levelled_error(const sampled_functions& functions,
                          const std::vector<location>& reference) {
    const Eigen::Index n = static_cast<Eigen::Index>(reference.size()) - 1;
    rows.resize(n + 1, n + 1);
    for (Eigen::Index i = 0; i <= n; ++i)
      rows.row(i) = functions.row(reference[static_cast<std::size_t>(i)]);
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(rows.leftCols(n));
    // The last column of the full orthogonal factor is orthogonal to every function.
    multipliers = qr.householderQ() * Eigen::VectorXd::Unit(n + 1, n);
    multipliers /= multipliers.lpNorm<1>();
    level = multipliers.dot(rows.col(n));
    if (level < 0) {
      level = -level;
      multipliers = -multipliers;
    }
    const Eigen::VectorXd levelled = rows.col(n) - level * signs();
    coefficients = qr.solve(levelled);
  }

  Eigen::VectorXd signs() const {
    return multipliers.unaryExpr([](double l) { return l < 0 ? -1.0 : 1.0; });
  }
};

/// Thin an alternating list to `size` entries, keeping the largest one and the alternation.
inline void thin(std::vector<location>& list, std::size_t size) {
  const auto magnitude = [&](std::size_t i) { return std::abs(list[i].value); };
  while (list.size() > size) {
    std::size_t smallest = 0;
    for (std::size_t i = 1; i < list.size(); ++i)
      if (magnitude(i) < magnitude(smallest)) smallest = i;
    const std::size_t last = list.size() - 1;
    if (smallest != 0 && smallest != last && list.size() == size + 1)
      smallest = magnitude(0) < magnitude(last) ? 0 : last;
    if (smallest == 0 || smallest == last) {
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(smallest));
      continue;
    }
    // An inner entry goes with its smaller neighbour, so that the signs still alternate.
    const std::size_t other =
        magnitude(smallest - 1) < magnitude(smallest + 1) ? smallest - 1 : smallest;
    const auto from = list.begin() + static_cast<std::ptrdiff_t>(other);
    list.erase(from, from + 2);
  }
}

/// Replace one lag of the reference by `entering` so that the level rises (the simplex rule).
inline void replace_one(std::vector<location>& reference, const levelled_error& levelled,
                        const Eigen::RowVectorXd& entering_row, const location& entering) {
  const Eigen::Index n = static_cast<Eigen::Index>(reference.size()) - 1;
  const double sign = entering.value < 0 ? -1 : 1;
  const Eigen::VectorXd signs = levelled.signs();
  Eigen::MatrixXd columns(n + 1, n + 1);
  columns.topRows(n) = (signs.asDiagonal() * levelled.rows.leftCols(n)).transpose();
  columns.row(n).setOnes();
  Eigen::VectorXd target(n + 1);
  target.head(n) = sign * entering_row.head(n).transpose();
  target(n) = 1;
  const Eigen::VectorXd step = columns.partialPivLu().solve(target);
  Eigen::Index leaving = -1;
  double smallest = HUGE_VAL;
  for (Eigen::Index i = 0; i <= n; ++i) {
    if (!(step(i) > 1e-14)) continue;
    const double ratio = std::abs(levelled.multipliers(i)) / step(i);
    if (ratio < smallest) {
      smallest = ratio;
      leaving = i;
    }
  }
  if (leaving < 0) return;
  reference[static_cast<std::size_t>(leaving)] = entering;
  std::sort(reference.begin(), reference.end(),
            [](const location& a, const location& b) { return a.lag < b.lag; });
}

/// N + 1 rows of the samples on which [Q g] is well conditioned (approximate Fekete points).
inline std::vector<location> first_reference(const sample_plan& plan,
                                             const Eigen::MatrixXd& values) {
  std::vector<location> places;
  for (const auto& run : plan.runs)
    for (index_t i = 0; i < run.count; ++i)
      places.push_back(
          {-1, static_cast<index_t>(places.size()), 0, static_cast<double>(run.first + i), 0});
  for (std::size_t p = 0; p < plan.pieces.size(); ++p)
    for (index_t i = 0; i < plan.pieces[p].nodes; ++i) {
      const double x = chebyshev_node(i, plan.pieces[p].nodes);
      places.push_back({static_cast<index_t>(p), 0, x, plan.pieces[p].interval.lag_of(x), 0});
    }
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(values.transpose());
  std::vector<location> reference;
  for (Eigen::Index i = 0; i < values.cols(); ++i)
    reference.push_back(places[static_cast<std::size_t>(qr.colsPermutation().indices()(i))]);
  std::sort(reference.begin(), reference.end(),
            [](const location& a, const location& b) { return a.lag < b.lag; });
  return reference;
}

}  // namespace detail

/// Minimise max |g - Q d| over d by exchange (Remez; one lag at a time where signs do not
/// alternate).
///
/// Shapes: values (rows x N + 1), the columns of Q and then g, on the plan's samples; rows > N.
/// Each round levels the error on N + 1 lags and moves them to the extrema of the result. For a
/// Chebyshev system this converges quadratically; the one-lag rule raises the level for any
/// functions.
/// Cost: O(rounds (N^3 + N^2 nodes)), about 5 to 15 rounds.
/// Source: E. W. Cheney, Introduction to Approximation Theory, chapters 2 and 3.
inline exchange_result exchange(const sampled_functions& functions, const Eigen::MatrixXd& values) {
  const Eigen::Index n = values.cols() - 1;
  exchange_result result;
  result.coefficients = Eigen::VectorXd::Zero(n);  // where no round arrives at numbers
  std::vector<location> reference = detail::first_reference(functions.plan(), values);
  bool one_at_a_time = false;
  double previous_level = 0, best_gap = HUGE_VAL;
  int since_better = 0;
  for (result.iterations = 1; result.iterations <= 400; ++result.iterations) {
    const detail::levelled_error levelled(functions, reference);
    Eigen::VectorXd combination(n + 1);
    combination << -levelled.coefficients, 1;
    std::vector<location> extrema = functions.combined(combination).alternating_extrema();
    if (!combination.allFinite() || extrema.empty()) break;
    const auto worst = std::max_element(
        extrema.begin(), extrema.end(),
        [](const location& a, const location& b) { return std::abs(a.value) < std::abs(b.value); });
    const double largest = std::abs(worst->value);
    if (largest < result.largest) {
      result.largest = largest;
      result.coefficients = levelled.coefficients;
      result.reference = reference;
    }
    result.level = std::max(result.level, levelled.level);
    if (result.largest <= result.level * (1 + 1e-9)) break;
    const double gap = (result.largest - result.level) / result.largest;
    since_better = gap < 0.999 * best_gap ? 0 : since_better + 1;
    best_gap = std::min(best_gap, gap);
    // Down to rounding, or where rounding decides about signs (full_exchange.hpp).
    if (since_better >= (best_gap < 1e-6 ? 8 : 40)) break;
    // A level that does not rise means that the many-lag step is not sound here.
    if (!one_at_a_time && result.iterations > 3 && levelled.level <= previous_level)
      one_at_a_time = true;
    previous_level = levelled.level;
    if (!one_at_a_time && extrema.size() >= static_cast<std::size_t>(n + 1)) {
      detail::thin(extrema, static_cast<std::size_t>(n + 1));
      reference = extrema;
    } else {
      const location entering = *worst;
      detail::replace_one(reference, levelled, functions.row(entering), entering);
    }
  }
  return result;
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
