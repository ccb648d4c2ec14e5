// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/sampling.hpp
/// @brief  Basis functions sampled in high precision and orthonormalised, ready for double.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include <ebb/approx/basis.hpp>
#include <ebb/approx/chebyshev.hpp>
#include <ebb/approx/lags.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// Where a set of lags is sampled: whole lags one by one, then Chebyshev nodes in log intervals.
///
/// Together they determine every function of the basis on the whole set: exactly at the listed
/// points, within the interpolation error of chebyshev.hpp in the intervals.
struct sample_plan {
  struct run {
    index_t first, count;  ///< lags first .. first + count - 1
  };
  struct piece {
    lag_interval interval;
    index_t nodes;
  };
  std::vector<run> runs;
  std::vector<piece> pieces;
  lag_kind kind = lag_kind::continuous;

  index_t rows() const {
    index_t total = 0;
    for (const run& r : runs) total += r.count;
    for (const piece& p : pieces) total += p.nodes;
    return total;
  }
};

/// Nodes that resolve `digits` decimal digits of functions of `channels` in an interval.
inline index_t nodes_for(const lag_interval& interval, index_t channels, double digits) {
  const double rho = bernstein_ellipse(interval.semi_minor_axis());
  const double nodes = (digits + 1 - std::log10((rho - 1) / 4)) / std::log10(rho) + 2;
  return std::max(static_cast<index_t>(std::ceil(nodes)), 2 * channels + 16);
}

/// Sampling that resolves `digits` decimal digits of every function in every interval.
///
/// Whole lags: the first 2N + 32 (and, for functions that change near the largest lag, the last as
/// many) are listed, because the nodes of an interval are no substitute for the few lags there.
template <basis_functions Basis>
sample_plan plan_samples(const Basis& basis, const lag_set& lags, double digits) {
  sample_plan plan;
  plan.kind = lags.kind();
  const auto add_intervals = [&](double first, double last) {
    for (const lag_interval& i : basis.intervals(first, last))
      plan.pieces.push_back({i, nodes_for(i, basis.size(), digits)});
  };
  if (lags.kind() == lag_kind::continuous) {
    add_intervals(1, lags.last());
    return plan;
  }
  const index_t last = static_cast<index_t>(lags.last()), edge = 2 * basis.size() + 32;
  if (last > 2 * edge + 2) {
    const bool anchored = basis.intervals(1, lags.last()).back().anchor != 0;
    plan.runs.push_back({1, edge});
    if (anchored) plan.runs.push_back({last - edge + 1, edge});
    add_intervals(static_cast<double>(edge + 1),
                  static_cast<double>(anchored ? last - edge : last));
    if (plan.rows() < last) return plan;
  }
  plan.pieces.clear();
  plan.runs.assign(1, {1, last});
  return plan;
}

/// The same plan with its intervals halved until a target varies by a factor of 1e3 at the most in
/// each: functions over such a target, as in a relative error, are resolved as well.
template <class Target>
void split_for(sample_plan& plan, const Target& target, index_t channels, double digits) {
  const auto log_size = [&](double u, const lag_interval& i) {
    const double lag = i.anchor == 0 ? std::exp(u) : i.anchor - std::exp(u);
    return std::log(std::abs(static_cast<double>(target(lag))));
  };
  const double most = std::log(1e3);
  std::vector<sample_plan::piece> open(plan.pieces.rbegin(), plan.pieces.rend());
  plan.pieces.clear();
  while (!open.empty()) {
    const sample_plan::piece piece = open.back();
    const lag_interval& i = piece.interval;
    open.pop_back();
    const double middle = i.u_of(0);
    const double at_low = log_size(i.low, i), at_high = log_size(i.high, i),
                 at_middle = log_size(middle, i);
    const double varies =
        std::max({at_low, at_high, at_middle}) - std::min({at_low, at_high, at_middle});
    if (!(varies > most) || i.high - i.low < 1e-3) {
      plan.pieces.push_back(piece);
      continue;
    }
    lag_interval lower = i, upper = i;
    lower.high = upper.low = middle;
    for (const lag_interval& half : {upper, lower})
      open.push_back({half, nodes_for(half, channels, digits + 3)});
  }
}

/// A basis on a sample plan in precision Real: Phi = Q R, Q with orthonormal columns.
///
/// Everything after it happens in the well-conditioned columns of Q in double; only the samples,
/// the factorisation and the check of the result need the digits.
template <real_scalar Real>
struct sampled_basis {
  sample_plan plan;
  index_t rows = 0, size = 0;
  std::vector<Real> lags;  ///< (rows), steps
  std::vector<Real> phi;   ///< (size x rows): one function after the other
  std::vector<Real> q;     ///< (size x rows)
  std::vector<Real> r;     ///< (size x size), r[j * size + k] = R_jk, upper triangular
  value_roundoffs errors;  ///< of the values of phi
  Real largest_factor{1};  ///< that a row was multiplied by

  /// Relative roundoffs of a value of phi that is at least e^-x.
  double roundoffs(double x) const {
    double longest = 0;
    if constexpr (many_digits<Real>)
      for (const auto& run : plan.runs) longest = std::max(longest, static_cast<double>(run.count));
    return errors.base + errors.run * longest + errors.slope * x;
  }

  std::span<const Real> function(index_t k) const {
    return std::span<const Real>(phi).subspan(static_cast<std::size_t>(k * rows),
                                              static_cast<std::size_t>(rows));
  }

  /// Sample the basis. `interrupted()` is asked now and then; true ends the work with `rows` = 0.
  template <basis_functions Basis>
  sampled_basis(const Basis& basis, const sample_plan& where,
                const std::function<bool()>& interrupted)
      : plan(where), size(basis.size()), errors(basis.roundoffs()) {
    const auto bound = basis.template bind<Real>();
    const index_t total = plan.rows();
    const std::size_t n = static_cast<std::size_t>(size);
    std::vector<Real> by_row(n * static_cast<std::size_t>(total));
    index_t row = 0;
    for (const auto& run : plan.runs) {
      bound.fill_run(run.first,
                     std::span<Real>(by_row).subspan(static_cast<std::size_t>(row) * n,
                                                     static_cast<std::size_t>(run.count) * n));
      for (index_t i = 0; i < run.count; ++i)
        lags.push_back(Real(static_cast<double>(run.first + i)));
      row += run.count;
    }
    for (const auto& piece : plan.pieces)
      for (index_t i = 0; i < piece.nodes; ++i, ++row) {
        if (interrupted && interrupted()) return;
        lags.push_back(piece.interval.template lag_in<Real>(chebyshev_node(i, piece.nodes)));
        bound.fill(lags.back(),
                   std::span<Real>(by_row).subspan(static_cast<std::size_t>(row) * n, n));
      }
    rows = total;
    phi.resize(by_row.size());
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i)
      for (std::size_t k = 0; k < n; ++k)
        phi[k * static_cast<std::size_t>(rows) + i] = by_row[i * n + k];
  }

  /// Multiply row i of Phi by factors[i] (relative error: 1 / f).
  void scale_rows(std::span<const Real> factors) {
    for (const Real& factor : factors)
      if (factor > largest_factor) largest_factor = factor;
    for (index_t k = 0; k < size; ++k)
      for (std::size_t i = 0; i < factors.size(); ++i)
        phi[static_cast<std::size_t>(k * rows) + i] *= factors[i];
  }

  /// Phi = Q R by modified Gram-Schmidt. Cost: O(rows N^2).
  ///
  /// Loss of orthogonality is harmless here (Q only has to be well conditioned), but a column that
  /// drowns in rounding is not.
  /// @return false as soon as R_kk / |phi_k| is below 2e4 u: more digits are needed (or when
  ///   interrupted).
  bool factorise(const std::function<bool()>& interrupted) {
    using ebb::detail::sqrt;
    q = phi;
    const std::size_t n = static_cast<std::size_t>(size), m = static_cast<std::size_t>(rows);
    r.assign(n * n, Real(0));
    for (std::size_t k = 0; k < n; ++k) {
      if (interrupted && interrupted()) return false;
      Real* const column = q.data() + k * m;
      const Real before = sqrt(dot(column, column));
      for (std::size_t j = 0; j < k; ++j) {
        const Real* const earlier = q.data() + j * m;
        const Real part = dot(earlier, column);
        r[j * n + k] = part;
        for (std::size_t i = 0; i < m; ++i) column[i] -= Real(part * earlier[i]);
      }
      const Real left = sqrt(dot(column, column));
      if (!(left > Real(Real(2e4) * unit_roundoff<Real> * before))) return false;
      r[k * n + k] = left;
      const Real inverse = Real(Real(1) / left);
      for (std::size_t i = 0; i < m; ++i) column[i] *= inverse;
    }
    return true;
  }

  /// Indices of functions, each independent of those before it: what is left of it exceeds
  /// `threshold` of its norm. Twice orthogonalised, so that the threshold may be far below the unit
  /// roundoff's root.
  std::vector<index_t> independent(const Real& threshold) const {
    using ebb::detail::sqrt;
    const std::size_t m = static_cast<std::size_t>(rows);
    std::vector<index_t> kept;
    std::vector<std::vector<Real>> directions;
    for (index_t k = 0; k < size && kept.size() < m; ++k) {
      const auto values = function(k);
      std::vector<Real> rest(values.begin(), values.end());
      const Real before = sqrt(dot(rest.data(), rest.data()));
      for (int pass = 0; pass < 2; ++pass)
        for (const auto& direction : directions) {
          const Real part = dot(direction.data(), rest.data());
          for (std::size_t i = 0; i < m; ++i) rest[i] -= Real(part * direction[i]);
        }
      const Real left = sqrt(dot(rest.data(), rest.data()));
      if (!(left > Real(threshold * before))) continue;
      for (Real& v : rest) v = Real(v / left);
      directions.push_back(std::move(rest));
      kept.push_back(k);
    }
    return kept;
  }

  Real dot(const Real* x, const Real* y) const {
    Real sum(0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) sum += Real(x[i] * y[i]);
    return sum;
  }
};

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
