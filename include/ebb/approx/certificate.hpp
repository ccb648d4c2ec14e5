// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/certificate.hpp
/// @brief  Bounds that an approximation error is checked with, once the weights are there.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <ebb/approx/approximation.hpp>
#include <ebb/approx/exchange.hpp>
#include <ebb/approx/residual.hpp>
#include <ebb/approx/sampling.hpp>
#include <ebb/approx/target.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// A lower bound of the best error by duality, in precision Real:
///
///   max |f - Phi c| >= |lambda . f| / |lambda|_1   for every lambda with lambda^T Phi = 0.
///
/// Shapes: rows (N + 1 x N + 1), row i = [phi(x_i) f(x_i)]. lambda comes from elimination with row
/// pivoting; what rounding leaves of lambda^T Phi is charged with `most_l1`, a bound of |c|_1 for the
/// best c.
template <real_scalar Real>
double dual_bound(std::vector<std::vector<Real>> rows, double most_l1) {
  using ebb::detail::abs;
  const std::size_t n = rows.size() - 1;
  const std::vector<std::vector<Real>> original = rows;
  std::vector<std::size_t> order(n + 1);
  for (std::size_t i = 0; i <= n; ++i) order[i] = i;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i <= n; ++i)
      if (abs(rows[i][k]) > abs(rows[pivot][k])) pivot = i;
    std::swap(rows[k], rows[pivot]);
    std::swap(order[k], order[pivot]);
    if (rows[k][k] == Real(0)) return 0;
    for (std::size_t i = k + 1; i <= n; ++i) {
      const Real factor = Real(rows[i][k] / rows[k][k]);
      rows[i][k] = factor;  // the multipliers of L, below the diagonal
      for (std::size_t j = k + 1; j < n; ++j) rows[i][j] -= Real(factor * rows[k][j]);
    }
  }
  // The last row was eliminated: lambda^T L = e_n, solved upwards.
  std::vector<Real> lambda(n + 1, Real(0));
  lambda[n] = Real(1);
  for (std::size_t k = n; k-- > 0;)
    for (std::size_t i = k + 1; i <= n; ++i) lambda[k] -= Real(rows[i][k] * lambda[i]);
  Real norm(0), value(0), left(0);
  for (std::size_t i = 0; i <= n; ++i) {
    norm += abs(lambda[i]);
    value += Real(lambda[i] * original[order[i]][n]);
  }
  for (std::size_t k = 0; k < n; ++k) {
    Real sum(0);
    for (std::size_t i = 0; i <= n; ++i) sum += Real(lambda[i] * original[order[i]][k]);
    if (abs(sum) > left) left = abs(sum);
  }
  return static_cast<double>(Real((abs(value) - Real(most_l1) * left) / norm));
}

/// Bound of |interpolant - function| in the intervals of the plan for f - sum c_k phi_k.
template <class Target>
double interpolation_remainder(const sample_plan& plan, const Target& target, error_kind kind,
                               double weights_l1) {
  double worst = 0;
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
    worst =
        std::max(worst, 4 * size * std::pow(rho, -static_cast<double>(piece.nodes)) / (rho - 1));
  }
  return worst;
}

/// The largest of min |e| over N + 1 alternating places of the error: a lower bound of the best error
/// in a Chebyshev system (de la Vallee Poussin).
inline double alternation_bound(const sampled_functions& error, index_t channels) {
  std::vector<location> extrema = error.alternating_extrema();
  const auto wanted = static_cast<std::size_t>(channels + 1);
  if (extrema.size() < wanted) return 0;
  thin(extrema, wanted);
  double smallest = HUGE_VAL;
  for (const location& e : extrema) smallest = std::min(smallest, std::abs(e.value));
  return smallest;
}

/// A bound of |c*|_1 for the best weights c*, from ours, c: the two errors differ by Phi (c* - c), at
/// most 2 E on the lags of the set and not more than twice that on the nodes between them, so that
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

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
