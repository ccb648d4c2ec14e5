// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/full_exchange.hpp
/// @brief  The exchange in the digits of the samples, for the rare case that double cannot finish.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <ebb/approx/elimination.hpp>
#include <ebb/approx/exchange.hpp>
#include <ebb/approx/weights_problem.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

inline void sort_by_lag(std::vector<location>& list) {
  std::sort(list.begin(), list.end(),
            [](const location& a, const location& b) { return a.lag < b.lag; });
}

/// Go on from `problem.reference` and `problem.weights` until the error is levelled to `tolerance`.
///
/// Where few lags decide about the level, the multipliers of all others are smaller than the
/// rounding of double, and so are the signs that their errors should have; PoST on all lags up to t
/// is the example. In the digits of the samples the signs are certain and the textbook method does.
///
/// Where the multipliers of the others are exactly 0 (two lags see proportional functions, say),
/// exchanging lags no longer raises the level. Then the errors at the lags that decide are pinned
/// to the level, and the rest is exchanged for the freedom that is left until no other error is
/// above it.
///
/// @param row_at  gives [phi_0 .. phi_{N-1} f] at a lag
/// Cost: O(N^3 + rows N) operations in Real for each round.
template <real_scalar Real, class RowAt>
void full_exchange(weights_problem<Real>& problem, RowAt&& row_at, double tolerance,
                   const std::function<bool()>& interrupted) {
  using ebb::detail::abs;
  const std::size_t n = problem.weights.size();
  std::vector<location> reference = problem.reference;
  if (reference.size() != n + 1) return;
  // Lags return from round to round, and a row costs as much as a round.
  std::map<double, std::vector<Real>> known;
  const auto row_of = [&](double lag) -> const std::vector<Real>& {
    const auto at = known.find(lag);
    return at != known.end() ? at->second : known.emplace(lag, row_at(lag)).first->second;
  };
  double best = HUGE_VAL, level_before = 0;
  bool one_at_a_time = false;
  int rounds_at_level = 0;
  std::map<double, Real> pinned;  // lag -> error there
  double goal = 0;                // the level that decided, once lags are pinned
  for (int round = 0; round < 200; ++round) {
    if (interrupted && interrupted()) return;
    std::vector<std::vector<Real>> rows;
    std::vector<Real> target, last(n + 1, Real(0));
    last[n] = Real(1);
    std::vector<char> fixed;
    for (const location& where : reference) {
      rows.push_back(row_of(where.lag));
      target.push_back(rows.back()[n]);
      const auto pin = pinned.find(where.lag);
      fixed.push_back(pin != pinned.end());
      if (fixed.back()) target.back() -= pin->second;
    }
    const auto bordered = [&](const std::vector<Real>& border) {
      auto result = rows;
      for (std::size_t i = 0; i <= n; ++i) result[i][n] = border[i];
      return elimination<Real>(std::move(result));
    };
    // Multipliers first with any border, then the signs they have, at which the error is levelled.
    std::vector<Real> signs(n + 1);
    for (std::size_t i = 0; i <= n; ++i) signs[i] = Real(fixed[i] ? 0 : (i % 2 == 0 ? 1 : -1));
    elimination<Real> solver = bordered(signs);
    if (solver.smallest_pivot() == Real(0)) return;
    std::vector<Real> lambda = solver.solve_transposed(last);
    bool alternates = true;
    for (std::size_t i = 0; i <= n; ++i) {
      const Real sign = Real(lambda[i] < Real(0) ? -1 : 1);
      alternates = alternates && (i == 0 || sign != (lambda[i - 1] < Real(0) ? Real(-1) : Real(1)));
      signs[i] = fixed[i] ? Real(0) : sign;
    }
    solver = bordered(signs);
    if (solver.smallest_pivot() == Real(0)) return;
    std::vector<Real> solution = solver.solve(target);
    lambda = solver.solve_transposed(last);  // now of unit sum of absolute values
    const Real level = abs(solution[n]);
    // Towards the level's own sign: errors at the reference are s_i h.
    if (solution[n] < Real(0))
      for (std::size_t i = 0; i <= n; ++i) signs[i] = Real(-signs[i]);

    const std::vector<Real> kept =
        std::exchange(problem.weights, std::vector<Real>(solution.begin(), solution.end() - 1));
    Real scale(0);
    double noise = 0;
    std::vector<location> extrema = problem.residual(scale, noise).alternating_extrema();
    const location worst = *std::max_element(
        extrema.begin(), extrema.end(),
        [](const location& a, const location& b) { return std::abs(a.value) < std::abs(b.value); });
    const double largest = static_cast<double>(scale) * std::abs(worst.value);
    if (largest < best) {
      best = largest;
      if (pinned.empty()) problem.reference = reference;
    } else {
      problem.weights = kept;
    }
    const double height = static_cast<double>(level);
    if (largest <= std::max(height, goal) * (1 + tolerance)) return;
    if (height <= level_before * (1 + 1e-12)) {
      one_at_a_time = true;
      ++rounds_at_level;
    } else {
      rounds_at_level = 0;
    }
    level_before = height;
    if (rounds_at_level >= 6 && pinned.empty()) {
      // Which lags decide? Pin all of them but one, whose error follows, and let the worst lag in.
      Real most(0);
      for (const Real& l : lambda) most = std::max(most, Real(abs(l)));
      std::size_t dropped = n + 1;
      for (std::size_t i = 0; i <= n; ++i) {
        if (!(abs(lambda[i]) > Real(most * Real(1e-12)))) continue;
        if (dropped > n)
          dropped = i;
        else
          pinned[reference[i].lag] = Real(signs[i] * level);
      }
      if (pinned.size() == n) return;  // all of them: an ordinary level, only slow to rise
      goal = height;
      best = HUGE_VAL;
      level_before = 0;
      problem.reference = reference;  // the duality bound needs the lags that decide
      reference[dropped] = worst;
      sort_by_lag(reference);
      continue;
    }

    if (!one_at_a_time && alternates && extrema.size() >= n + 1) {
      thin(extrema, n + 1);
      reference = std::move(extrema);
      continue;
    }
    // The simplex rule: diag(s) [Phi s] transposed takes the multipliers to the entering row.
    std::vector<Real> entering = row_of(worst.lag);
    const Real side = Real(worst.value < 0 ? -1 : 1);
    for (std::size_t k = 0; k < n; ++k) entering[k] = Real(side * entering[k]);
    entering[n] = Real(solution[n] < Real(0) ? -1 : 1);
    const std::vector<Real> step = solver.solve_transposed(entering);
    std::size_t leaving = n + 1;
    Real smallest(0);
    for (std::size_t i = 0; i <= n; ++i) {
      const Real along = Real(step[i] * signs[i]);
      if (fixed[i] || !(along > Real(0))) continue;
      const Real ratio = Real(abs(lambda[i]) / along);
      if (leaving > n || ratio < smallest) {
        smallest = ratio;
        leaving = i;
      }
    }
    if (leaving > n) return;
    reference[leaving] = worst;
    sort_by_lag(reference);
  }
}

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
