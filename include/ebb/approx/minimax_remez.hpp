// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/minimax_remez.hpp
/// @brief  Levelling and exchange in turn until the bounds of the best error meet.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <ebb/approx/minimax_exchange.hpp>
#include <ebb/approx/minimax_level.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// A sum with bounds of the best error; the upper one is its own.
template <real_scalar Real>
struct minimax_solution {
  minimax_state<Real> state;
  minimax_bounds bounds;

  /// Whether the error is levelled well enough to go on from.
  bool usable() const { return bounds.gap <= 1e-3; }
};

/// All errors at the reference made equal; where that is too far to go, they are made less unequal.
/// @param gap  how unequal they are, as a part
template <class Target, real_scalar Real>
bool level_errors(const minimax_problem<Target, Real>& problem, minimax_state<Real>& state,
                  double gap) {
  using ebb::detail::abs;
  const std::size_t count = state.reference.size();
  const double rounding = 8 * static_cast<double>(std::numeric_limits<Real>::epsilon());
  const double tolerance = std::max(problem.tolerance / 20, std::min(1e-2, 0.02 * gap * gap));
  minimax_state<Real> trial = state;
  const minimax_error<Target, Real> error(problem, state);
  std::vector<Real> heights(count);
  Real mean(0);
  bool alternates = true;
  for (std::size_t i = 0; i < count; ++i) {
    heights[i] = error(state.reference[i]);
    if (i % 2 == 1) heights[i] = Real(-heights[i]);
    alternates = alternates && heights[i] > Real(0);
    mean += Real(abs(heights[i]) / Real(static_cast<double>(count)));
  }
  const double floor = rounding * problem.scale() / std::max(static_cast<double>(mean), 1e-300);
  const auto attempt = [&](std::vector<Real> offsets, double share, double accuracy) {
    trial = state;
    const bool solved = level_system<Target, Real>(problem, trial, std::move(offsets), share)
                            .solve(std::max(accuracy, floor));
    if (solved) state = std::move(trial);
    return solved;
  };
  if (attempt(std::vector<Real>(count, Real(0)), 1, tolerance)) return true;
  if (!alternates) return false;
  for (double share = 1.0 / 3; share > 0.01; share /= 3) {
    if (problem.stop()) return false;
    std::vector<Real> offsets = heights;
    for (Real& h : offsets) h = Real(h * Real(1 - share));
    if (attempt(std::move(offsets), share, std::min(1e-2, 0.1 * share * gap))) return true;
  }
  return false;
}

/// From a first guess to the best sum.
///
/// @return the best sum met and the best bounds; `usable()` tells whether the method converged.
template <class Target, real_scalar Real>
minimax_solution<Real> level_and_exchange(const minimax_problem<Target, Real>& problem,
                                          minimax_state<Real> state) {
  minimax_solution<Real> best{state, {}};
  const double epsilon = static_cast<double>(std::numeric_limits<Real>::epsilon());
  double gap = 1;
  int stalled = 0;
  for (int round = 0; round < 40 && stalled < (best.usable() ? 2 : 6); ++round) {
    minimax_bounds bounds;
    if (problem.stop() || !level_errors(problem, state, gap) ||
        !exchange_points(problem, state, bounds))
      break;
    ++stalled;
    if (bounds.gap < 0.9 * best.bounds.gap) stalled = 0;
    best.bounds.lower = std::max(best.bounds.lower, bounds.lower);
    if (bounds.gap < best.bounds.gap) {
      best.bounds.upper = bounds.upper;
      best.bounds.gap = bounds.gap;
      best.state = state;
    }
    gap = bounds.gap;
    const double floor = 20 * epsilon * problem.scale() *
                         std::sqrt(static_cast<double>(state.reference.size())) / bounds.upper;
    if (gap <= std::max(problem.tolerance / 4, floor)) break;
  }
  if (best.bounds.lower > best.bounds.upper) best.bounds = {};  // they contradict each other
  return best;
}

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
