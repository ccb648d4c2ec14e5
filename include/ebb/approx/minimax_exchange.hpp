// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/minimax_exchange.hpp
/// @brief  The extrema of an alternating error, and the bounds that they give.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include <ebb/approx/minimax_error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// Bounds of the best error, from the 2N + 1 extrema of the error of one sum.
struct minimax_bounds {
  double lower = 0, upper = HUGE_VAL;  ///< with the rounding of the evaluation
  double gap = HUGE_VAL;               ///< (largest - smallest) / largest, as evaluated
};

/// Whether the extrema of a relative error between neighbouring zeros are known to be single.
template <class Target>
inline constexpr bool counts_relative_extrema = [] {
  if constexpr (requires { Target::counts_relative_extrema; })
    return Target::counts_relative_extrema;
  else
    return false;
}();

/// The extremum of e in (low, high), where sign e' falls through 0: Newton's method on e', and
/// bisection where that leaves the bracket.
template <class Target, real_scalar Real>
Real extremum_between(const minimax_error<Target, Real>& error, Real low, Real high, Real start,
                      const Real& sign) {
  using ebb::detail::abs;
  Real u = start > low && start < high ? start : Real((low + high) / Real(2));
  for (int step = 0; step < 400; ++step) {
    const log_lag_jet<Real> e = error.jet(u);
    (sign * e.first > Real(0) ? low : high) = u;
    Real du = Real(0);
    if (sign * e.second < Real(0)) {
      du = Real(-e.first / e.second);
      // What is left of the extremum's height: |e''| du^2 / 2.
      if (abs(e.second) * du * du < Real(1e-14) * abs(e.value)) {
        const Real at = Real(u + du);
        return at > low && at < high ? at : u;
      }
    }
    const Real next = Real(u + du);
    u = du != Real(0) && next > low && next < high ? next : Real((low + high) / Real(2));
    if (!(low < u && u < high)) break;
  }
  return u;
}

/// Moves the reference to the extrema of the error, which must alternate there, and bounds the best
/// error.
///
/// Between neighbouring zeros there is one extremum. An absolute error has one more, behind the
/// last zero, inside or, cut off, at T. A relative error has both ends besides.
/// @return false, with the reference unchanged, if the error does not alternate.
template <class Target, real_scalar Real>
bool exchange_points(const minimax_problem<Target, Real>& problem, minimax_state<Real>& state,
                     minimax_bounds& bounds) {
  using ebb::detail::abs;
  const minimax_error<Target, Real> error(problem, state);
  const std::vector<Real>& t = state.reference;
  const std::size_t count = t.size();
  const auto sign = [](std::size_t i) { return Real(i % 2 == 0 ? 1 : -1); };
  for (std::size_t i = 0; i < count; ++i)
    if (!(sign(i) * error(t[i]) > Real(0)) || (i > 0 && !(t[i - 1] < t[i]))) return false;

  // Points of descent between neighbours.
  std::vector<Real> between;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    Real low = t[i], high = t[i + 1], middle;
    for (int step = 0;; ++step) {
      middle = Real((low + high) / Real(2));
      const log_lag_jet<Real> e = error.jet(middle);
      if (sign(i) * e.first < Real(0)) break;
      (sign(i) * e.value > Real(0) ? low : high) = middle;
      if (step == 200) return false;
    }
    between.push_back(middle);
  }

  std::vector<Real> found(count);
  found[0] = Real(0);
  for (std::size_t i = 1; i + 1 < count; ++i)
    found[i] = extremum_between(error, between[i - 1], between[i], t[i], sign(i));
  Real right = problem.last;
  bool inside = !problem.relative();
  if (inside && problem.infinite) {
    right = t[count - 1];
    Real step(0.25);
    for (int i = 0; error.jet(right).first >= Real(0); ++i, step *= Real(2)) {
      if (i == 40) return false;
      right += step;
    }
  } else if (inside) {
    inside = error.jet(right).first < Real(0);
  }
  found[count - 1] =
      inside ? extremum_between(error, between[count - 2], right, t[count - 1], Real(1)) : right;

  // The error falls from its first point; otherwise there is an extremum that was not counted.
  double lower = HUGE_VAL, upper = 0, smallest = HUGE_VAL, largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(Real(sign(i) * error(found[i])));
    const double noise = error.noise(found[i]);
    if (!(value > 0) || (i > 0 && !(found[i - 1] < found[i]))) return false;
    smallest = std::min(smallest, value);
    largest = std::max(largest, value);
    lower = std::min(lower, value - noise);
    upper = std::max(upper, value + noise);
  }
  const bool falls = error.jet(Real(0)).first < Real(0);
  if (!falls) upper = HUGE_VAL;
  if (problem.relative() && !counts_relative_extrema<Target>) {
    // More extrema are possible: look.
    for (std::size_t i = 0; i + 1 < count; ++i)
      for (int j = 1; j < 16; ++j) {
        const Real u = Real(found[i] + (found[i + 1] - found[i]) * Real(j / 16.0));
        const double value = static_cast<double>(Real(abs(error(u))));
        largest = std::max(largest, value);
        upper = std::max(upper, value + error.noise(u));
      }
  }
  state.reference = std::move(found);
  // The extrema are found, and made doubles, to within 1e-14 of their height.
  bounds.lower = std::max(0.0, lower * (1 - 2e-14));
  bounds.upper = upper * (1 + 2e-14);
  bounds.gap = falls ? (largest - smallest) / largest : 1;
  return true;
}

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
