// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/minimax_follow.hpp
/// @brief  The first best sums of a target, and best sums followed from one horizon to another.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

#include <ebb/approx/minimax_predict.hpp>
#include <ebb/approx/minimax_remez.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// The same problem on another interval [1, e^last].
template <class Target, real_scalar Real>
minimax_problem<Target, Real> until(const minimax_problem<Target, Real>& problem, double last) {
  auto result = problem;
  result.infinite = false;
  result.last = Real(last);
  return result;
}

/// From the best sum on [1, e^from] to that on [1, e^to], in steps of the logarithm of the horizon
/// that grow while they succeed; each guess is a secant through the last two sums.
///
/// An absolute error whose last extremum is inside has nothing more to change on longer intervals.
template <class Target, real_scalar Real>
minimax_solution<Real> follow_horizon(const minimax_problem<Target, Real>& problem,
                                      minimax_solution<Real> solution, double from, double to) {
  double step = std::min(0.35, std::abs(to - from)), before = 0;
  minimax_state<double> previous;
  for (int steps = 0; steps < 300 && from != to && solution.usable() && !problem.stop(); ++steps) {
    const minimax_state<double> now = solution.state.template to<double>();
    if (!problem.relative() && to > from && now.reference.back() < from - 1e-9) return solution;
    step = std::min(step, std::abs(to - from));
    const double next = step == std::abs(to - from) ? to : from + std::copysign(step, to - from);
    minimax_state<double> guess = now;
    if (previous.size() > 0) {
      const double part = (next - from) / (from - before);
      guess = combine({now, previous}, {1 + part, -part});
    }
    repair(guess, next);
    auto there = until(problem, next);
    if (next != to)
      there.tolerance = std::max(there.tolerance, 1e-5);
    else if (!problem.infinite)
      there.last = problem.last;
    auto found = level_and_exchange(there, guess.template to<Real>());
    if (found.usable()) {
      previous = now;
      before = std::exchange(from, next);
      solution = std::move(found);
      step *= 1.6;
    } else {
      step /= 2;
      if (step < 1e-3) break;
    }
  }
  if (from != to) solution.bounds = {};
  return solution;
}

/// The best sum of a few terms on [1, e^last], from nothing: interpolation at 2N points, reached
/// from a sum of about the right size on a path of interpolation problems, all of which have a
/// solution; then the exchange from the extrema between these points.
template <class Target, real_scalar Real>
minimax_solution<Real> from_interpolation(const minimax_problem<Target, Real>& anywhere,
                                          std::size_t n, double last) {
  auto problem = until(anywhere, last);
  const auto count = static_cast<double>(2 * n);
  minimax_state<Real> state;
  for (std::size_t k = n; k-- > 0;) {
    // The rate at which f decays around tau, and the weight that it would have alone.
    const double u = last * (static_cast<double>(k) + 0.5) / static_cast<double>(n);
    const auto f = problem.target.jet(Real(u));
    const double slope = -static_cast<double>(f.first) / static_cast<double>(f.value);
    double rate = std::log(slope) - u;
    if (!state.log_rates.empty())
      rate = std::max(rate, static_cast<double>(state.log_rates.back()) + 0.3);
    state.log_rates.push_back(Real(rate));
    state.log_weights.push_back(Real(
        std::log(static_cast<double>(f.value) / static_cast<double>(n)) + std::min(slope, 3.0)));
  }
  for (std::size_t i = 0; i < 2 * n; ++i) {
    const double x = (static_cast<double>(i) + 0.5) / count;
    state.reference.push_back(
        Real(last * (0.6 * 0.5 * (1 - std::cos(std::numbers::pi * x)) + 0.4 * x)));
  }
  const minimax_error<Target, Real> error(problem, state);
  std::vector<Real> start;
  for (std::size_t i = 0; i < 2 * n; ++i) {
    start.push_back(error(state.reference[i]));
    if (i % 2 == 1) start.back() = Real(-start.back());
  }
  const double tolerance = 1e-12 * problem.scale();
  double done = 0, step = 0.25;
  while (done < 1 && step > 1e-4 && !problem.stop()) {
    const double next = std::min(1.0, done + step);
    std::vector<Real> offsets = start;
    for (Real& h : offsets) h = Real(h * Real(1 - next));
    auto trial = state;
    if (level_system<Target, Real>(problem, trial, std::move(offsets), 0).solve(tolerance)) {
      state = std::move(trial);
      done = next;
      step *= 2;
    } else {
      step /= 2;
    }
  }
  if (done < 1) return {};
  const std::vector<Real> zeros = std::exchange(state.reference, {Real(0)});
  for (std::size_t i = 1; i < zeros.size(); ++i)
    state.reference.push_back(Real((zeros[i - 1] + zeros[i]) / Real(2)));
  state.reference.push_back(problem.last);
  minimax_bounds bounds;
  if (!exchange_points(problem, state, bounds)) return {};
  return level_and_exchange(problem, std::move(state));
}

/// The best sum of a few terms from nothing. Where the horizon is too long for that, it is followed
/// from a short one.
template <class Target, real_scalar Real>
minimax_solution<Real> first_sums(const minimax_problem<Target, Real>& problem, std::size_t n) {
  const double longest = problem.infinite ? 250.0 : static_cast<double>(problem.last);
  if (!problem.infinite) {
    auto found = from_interpolation(problem, n, longest);
    if (found.usable()) return found;
  }
  // Too short: the error is below the rounding. Too long: the path is too far.
  for (const double share : {1.5, 3.0, 6.0, 12.0, 0.9, 0.5, 0.3, 0.2}) {
    const double start = std::min(longest, share * std::sqrt(static_cast<double>(n)));
    auto found = from_interpolation(problem, n, start);
    if (!found.usable()) continue;
    found = follow_horizon(problem, std::move(found), start, longest);
    if (!found.usable()) continue;
    if (!problem.infinite) return found;
    found = level_and_exchange(problem, std::move(found.state));
    if (found.usable()) return found;
  }
  return {};
}

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
