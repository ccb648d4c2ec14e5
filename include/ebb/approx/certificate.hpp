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

/// A lower bound of the best error by duality, in precision Real:
///
///   max |f - Phi c| >= |lambda . f| / |lambda|_1   for every lambda with lambda^T Phi = 0.
///
/// Shapes: rows (N + 1 x N + 1), row i = [phi(x_i) f(x_i)]. What rounding leaves of lambda^T Phi is
/// charged with `most_l1`, a bound of |c|_1 for the best c; so is the rounding of Phi and of the
/// sums.
template <real_scalar Real>
double dual_bound(const std::vector<std::vector<Real>>& rows, double most_l1) {
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
  Real norm(0), value(0), left(0);
  for (std::size_t i = 0; i <= n; ++i) {
    norm += abs(lambda[i]);
    value += Real(lambda[i] * rows[i][n]);
  }
  for (std::size_t k = 0; k < n; ++k) {
    Real sum(0), size(0);
    for (std::size_t i = 0; i <= n; ++i) {
      const Real product = Real(lambda[i] * rows[i][k]);
      sum += product, size += abs(product);
    }
    const Real most =
        Real(abs(sum) + Real(static_cast<double>(n + 64)) * unit_roundoff<Real> * size);
    if (most > left) left = most;
  }
  return static_cast<double>(Real((abs(value) - Real(most_l1) * left) / norm));
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
    }
    const double size = std::exp(log_target) + weights_l1 * std::exp(log_scale);
    const double decay = std::pow(rho, -static_cast<double>(piece.nodes));
    worst.size = std::max(worst.size, size);
    worst.remainder = std::max(worst.remainder, 4 * size * decay / (rho - 1));
  }
  return worst;
}

/// The largest of min |e| over N + 1 alternating places of the error: a lower bound of the best
/// error in a Chebyshev system (de la Vallee Poussin).
inline double alternation_bound(const sampled_functions& error, index_t channels) {
  std::vector<location> extrema = error.alternating_extrema();
  const auto wanted = static_cast<std::size_t>(channels + 1);
  if (extrema.size() < wanted) return 0;
  thin(extrema, wanted);
  double smallest = HUGE_VAL;
  for (const location& e : extrema) smallest = std::min(smallest, std::abs(e.value));
  return smallest;
}

/// A bound of |c*|_1 for the best weights c*, from ours, c: the two errors differ by Phi (c* - c),
/// at most 2 E on the lags of the set and not more than twice that on the nodes between them, so
/// that
/// |c* - c|_1 <= sqrt(N) |R^-1|_F sqrt(rows) 4 E.
template <real_scalar Real>
double most_weights(const sampled_basis<Real>& samples, double weights_l1, double error) {
  using ebb::detail::sqrt;
  const std::size_t n = static_cast<std::size_t>(samples.size);
  Real squares(0);
  for (std::size_t column = 0; column < n; ++column) {
    std::vector<Real> x(column + 1, Real(0));
    for (std::size_t k = column + 1; k-- > 0;) {
      Real sum(k == column ? 1 : 0);
      for (std::size_t j = k + 1; j <= column; ++j) sum -= Real(samples.r[k * n + j] * x[j]);
      x[k] = Real(sum / samples.r[k * n + k]);
      squares += Real(x[k] * x[k]);
    }
  }
  return weights_l1 + 4 * error * std::sqrt(static_cast<double>(n * samples.lags.size())) *
                          static_cast<double>(Real(sqrt(squares)));
}

/// Finished weights with both bounds of the best error.
struct certified_weights {
  approximation result;
  bool quiet = false;  ///< rounding and interpolation stay below a quarter of the tolerance
  double digits_to_resolve = 0;  ///< decimal digits that samples of such weights and errors need

  bool meets(double tolerance) const {
    return result.error_upper - result.error_lower <= tolerance * result.error_upper;
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
  const double unit = static_cast<double>(scale);
  found.weights_l1 = static_cast<double>(problem.weights_l1());
  const ellipse_bound outside =
      interpolation_bound(samples.plan, target, options.kind, found.weights_l1);
  noise += outside.remainder;
  const double seen = unit * error.maximum(0.02 * options.tolerance).second;
  found.error_upper = seen + noise;
  checked.digits_to_resolve = 8 + std::log10(std::max(outside.size, 1 + found.weights_l1) / seen);
  checked.quiet = noise <= 0.25 * options.tolerance * found.error_upper;
  if constexpr (ChebyshevSystem)
    found.raise_lower(unit * alternation_bound(error, samples.size) - noise);
  // Without that property, or where multipliers below the rounding of double hide the alternation:
  if (checked.quiet && !checked.meets(options.tolerance) && !problem.reference.empty()) {
    std::vector<std::vector<Real>> rows;
    for (const location& where : problem.reference) rows.push_back(row_at(where.lag));
    const double most_l1 = most_weights(samples, found.weights_l1, found.error_upper);
    found.raise_lower(dual_bound(rows, most_l1));
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
