// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/certificate.hpp
/// @brief  Bounds that an approximation error is checked with, once the weights are there.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <ebb/approx/approximation.hpp>
#include <ebb/approx/elimination.hpp>
#include <ebb/approx/exchange.hpp>
#include <ebb/approx/residual.hpp>
#include <ebb/approx/sampling.hpp>
#include <ebb/approx/target.hpp>
#include <ebb/approx/weights_problem.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// Roundoffs that a value of size at most `scale`, times 1 - or a value e^-x, x e^-x <= 0.37 - may
/// have lost, beside those of n sums: relative ones, and absolute ones.
struct row_roundoffs {
  double relative = 70, absolute = 0;
};

/// A lower bound of the best error by duality, in precision Real:
///
///   max |f - Phi c| >= |lambda . f| / |lambda|_1   for every lambda with lambda^T Phi = 0.
///
/// Shapes: rows (N + 1 x N + 1), row i = [phi(x_i) f(x_i)]. What rounding leaves of lambda^T Phi is
/// charged with `most_l1`, a bound of |c|_1 for the best c; so is the rounding of Phi, of f and of
/// all sums.
template <real_scalar Real>
double dual_bound(const std::vector<std::vector<Real>>& rows, double most_l1,
                  const row_roundoffs& lost = {}) {
  using ebb::detail::abs;
  const std::size_t n = rows.size() - 1;
  // A last column of alternating signs in place of f: lambda is orthogonal to all others.
  std::vector<std::vector<Real>> bordered = rows;
  for (std::size_t i = 0; i <= n; ++i) bordered[i][n] = Real(i % 2 == 0 ? 1 : -1);
  const elimination<Real> solver(std::move(bordered));
  if (solver.smallest_pivot() == Real(0)) return 0;
  std::vector<Real> last(n + 1, Real(0));
  last[n] = Real(1);
  const std::vector<Real> lambda = solver.solve_transposed(std::move(last));
  const Real relative(Real(static_cast<double>(n) + lost.relative) * unit_roundoff<Real>);
  Real norm(0);
  for (const Real& multiplier : lambda) norm += abs(multiplier);
  const Real absolute(Real(lost.absolute) * unit_roundoff<Real> * norm);
  // |sum_i lambda_i rows_ik| and what rounding may hide of it.
  const auto column = [&](std::size_t k) {
    Real sum(0), size(0);
    for (std::size_t i = 0; i <= n; ++i) {
      const Real product = Real(lambda[i] * rows[i][k]);
      sum += product, size += abs(product);
    }
    return std::pair<Real, Real>(abs(sum), Real(relative * size + absolute));
  };
  Real left(0);
  for (std::size_t k = 0; k < n; ++k) {
    const auto [sum, hidden] = column(k);
    if (Real(sum + hidden) > left) left = Real(sum + hidden);
  }
  const auto [value, hidden] = column(n);
  return static_cast<double>(Real((value - hidden - Real(most_l1) * left) / norm));
}

/// A bound of |c|_1 for every c with |sum_k c_k phi_k(x_i)| <= most at the first N of N + 1 rows
/// [phi(x_i) f(x_i)]: with X near P^-1, P the N x N matrix, and e = |I - P X|_inf < 1,
///
///   c = X (P X)^-1 P c,   |c|_1 <= most sum |X_ki| / (1 - e).   Infinite when e >= 1/2.
///
/// e contains what rounding may hide, of P too.
template <real_scalar Real>
double most_weights_below(const std::vector<std::vector<Real>>& rows, double most,
                          const row_roundoffs& lost = {}) {
  using ebb::detail::abs;
  const std::size_t n = rows.size() - 1;
  std::vector<std::vector<Real>> square(n);
  Real largest(0);
  for (std::size_t i = 0; i < n; ++i) {
    square[i].assign(rows[i].begin(), rows[i].end() - 1);
    for (const Real& v : square[i])
      if (abs(v) > largest) largest = abs(v);
  }
  const elimination<Real> solver(square);
  if (solver.smallest_pivot() == Real(0)) return HUGE_VAL;
  Real size(0);
  std::vector<Real> off(n, Real(0));  // row sums of |I - P X|
  for (std::size_t column = 0; column < n; ++column) {
    std::vector<Real> unit(n, Real(0));
    unit[column] = Real(1);
    const std::vector<Real> x = solver.solve(unit);
    for (const Real& v : x) size += abs(v);
    for (std::size_t i = 0; i < n; ++i) {
      Real left = unit[i];
      for (std::size_t k = 0; k < n; ++k) left -= Real(square[i][k] * x[k]);
      off[i] += abs(left);
    }
  }
  const double units = static_cast<double>(n) + lost.relative;
  const Real hidden =
      Real(size * unit_roundoff<Real> * Real(Real(units) * largest + Real(lost.absolute)));
  const double e = static_cast<double>(Real(*std::max_element(off.begin(), off.end()) + hidden));
  return e < 0.5 ? most * static_cast<double>(size) / (1 - e) : HUGE_VAL;
}

/// Bounds of |f - sum c_k phi_k| in the ellipses of the plan's intervals, and of what its
/// interpolants miss.
struct ellipse_bound {
  double size = 0, remainder = 0;
};

template <class Target>
ellipse_bound interpolation_bound(const sample_plan& plan, const Target& target, error_kind kind,
                                  double weights_l1) {
  ellipse_bound worst;
  for (const auto& piece : plan.pieces) {
    const lag_interval& i = piece.interval;
    const double rho = bernstein_ellipse(i.semi_minor_axis());
    double log_target = 0, log_scale = 0;
    if constexpr (analytic_target<Target>) {
      const double reach = i.overshoot();
      double nearest = std::exp(i.low - reach), farthest = std::exp(i.high + reach);
      if (i.anchor != 0) {
        const double swap = i.anchor - farthest;
        farthest = i.anchor + farthest;
        nearest = swap;
      }
      if (kind == error_kind::absolute)
        log_target = target.log_sup(nearest, farthest);
      else
        log_scale = -target.log_inf(nearest, farthest);
    } else {
      // As large as at the ends of the interval, for want of better: the result is `sampled`.
      const double low = std::abs(static_cast<double>(target(i.lag_of(-1)))),
                   high = std::abs(static_cast<double>(target(i.lag_of(1))));
      if (kind == error_kind::absolute)
        log_target = std::log(std::max(low, high));
      else
        log_scale = -std::log(std::min(low, high));
    }
    const double size = std::exp(log_target) + weights_l1 * std::exp(log_scale);
    const double decay = std::pow(rho, -static_cast<double>(piece.nodes));
    worst.size = std::max(worst.size, size);
    worst.remainder = std::max(worst.remainder, 2 * size * decay * (rho + 1) / (rho - 1));
  }
  return worst;
}

/// N + 1 places where the error alternates in sign, as large there as can be; none where it does
/// not alternate so often.
inline std::vector<location> alternation(const sampled_functions& error, index_t channels) {
  std::vector<location> extrema = error.alternating_extrema();
  const auto wanted = static_cast<std::size_t>(channels + 1);
  if (extrema.size() < wanted) return {};
  thin(extrema, wanted);
  return extrema;
}

/// The smallest |e| of an alternation, or 0 where its signs do not alternate: a lower bound of the
/// best error in a Chebyshev system (de la Vallee Poussin).
inline double alternation_bound(const std::vector<location>& places) {
  double smallest = places.empty() ? 0 : HUGE_VAL;
  for (std::size_t i = 0; i < places.size(); ++i) {
    smallest = std::min(smallest, std::abs(places[i].value));
    if (i > 0 && (places[i].value > 0) == (places[i - 1].value > 0)) return 0;
  }
  return smallest;
}

/// Finished weights with both bounds of the best error.
struct certified_weights {
  approximation result;
  bool quiet = false;  ///< rounding and interpolation stay below a quarter of the tolerance
  double digits_to_resolve = 0;  ///< decimal digits that samples of such weights and errors need

  bool meets(const approximation_options& options) const {
    return result.error_upper - result.error_lower <= options.tolerance * result.error_upper;
  }
  /// Nothing more is to be found: the bounds are as close as they shall be, or close enough.
  bool settles(const approximation_options& options) const {
    return (quiet && meets(options)) || result.beyond(options);
  }
};

/// Check the weights of a problem; `row_at` gives [phi_0 .. phi_{N-1} f] at a lag.
template <bool ChebyshevSystem, real_scalar Real, class Target, class RowAt>
certified_weights certify(const weights_problem<Real>& problem, const sampled_basis<Real>& samples,
                          const Target& target, RowAt&& row_at,
                          const approximation_options& options) {
  certified_weights checked;
  approximation& found = checked.result;
  Real scale(0);
  double noise = 0;
  const sampled_functions error = problem.residual(scale, noise);
  const double unit = static_cast<double>(scale), rounding = noise;
  found.weights_l1 = static_cast<double>(problem.weights_l1());
  const ellipse_bound outside =
      interpolation_bound(samples.plan, target, options.kind, found.weights_l1);
  noise += outside.remainder;
  const double seen = unit * error.maximum(0.02 * options.tolerance).second;
  found.error_upper = seen + noise;
  const double size = static_cast<double>(problem.target_size()) + found.weights_l1;
  checked.digits_to_resolve = 8 + std::log10(std::max(outside.size, size) / seen);
  checked.quiet = noise <= 0.25 * options.tolerance * found.error_upper;
  if constexpr (ChebyshevSystem) {
    std::vector<location> places = alternation(error, samples.size);
    if constexpr (analytic_target<Target>) {
      found.raise_lower(unit * alternation_bound(places) - noise);
    } else {
      // Nothing bounds what the interpolants miss: the error itself, there.
      for (location& place : places) {
        const std::vector<Real> row = row_at(place.lag);
        Real at = row.back();
        for (std::size_t k = 0; k + 1 < row.size(); ++k) at -= Real(problem.weights[k] * row[k]);
        place.value = static_cast<double>(at);
      }
      found.raise_lower(alternation_bound(places) - rounding);
    }
  }
  // Without that property, or where multipliers below the rounding of double hide the alternation:
  if (checked.quiet && !checked.settles(options) && !problem.reference.empty()) {
    std::vector<std::vector<Real>> rows;
    for (const location& where : problem.reference) rows.push_back(row_at(where.lag));
    // The errors of the best weights and of ours are at most the upper bound each on these lags.
    const row_roundoffs lost{
        samples.errors.base + 4,
        0.37 * samples.errors.slope * static_cast<double>(samples.largest_factor)};
    const double most_l1 = found.weights_l1 + most_weights_below(rows, 2 * found.error_upper, lost);
    found.raise_lower(dual_bound(rows, most_l1, lost));
  }
  for (const Real& c : problem.weights) found.weights.push_back(static_cast<double>(c));
  for (const location& where : problem.reference) found.reference.push_back(where.lag);
  found.basis =
      samples.plan.pieces.empty() || analytic_target<Target> ? evidence::proved : evidence::sampled;
  return checked;
}

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
