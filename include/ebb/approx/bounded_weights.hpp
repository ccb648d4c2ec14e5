// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/bounded_weights.hpp
/// @brief  Best weights whose absolute sum is bounded, with certified two-sided bounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <ebb/approx/best_weights.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// The dual simplex method for
///
///   min E   over p, q, r >= 0, E   with  sum_k (p_k + q_k) + r = C  and, for lags i and signs s_i,
///           z_i = E - s_i (f_i - sum_k (p_k - q_k) phi_ik) >= 0,
///
/// c = p - q. Lags enter one at a time as they are found violated, and leave when they no longer
/// bind, so that the dictionary keeps at most N + 2 rows: basic variable = value + sum_j slope_j
/// (nonbasic j).
template <real_scalar Real>
class bounded_simplex {
 public:
  /// One side of the error at one lag: s phi (N values) and s f.
  struct side {
    std::vector<Real> functions;
    Real target;
  };

  /// Starts at the best corner of the ball for one lag: all the weight on its largest function.
  bounded_simplex(side first, const Real& bound)
      : channels_(first.functions.size()), bound_(bound) {
    using ebb::detail::abs;
    std::size_t best = 0;
    for (std::size_t k = 1; k < channels_; ++k)
      if (abs(first.functions[k]) > abs(first.functions[best])) best = k;
    const std::size_t corner = first.functions[best] > Real(0) ? best : best + channels_;
    // Nonbasic: every weight but the corner's, and the slack of the lag.
    for (std::size_t v = 0; v <= 2 * channels_; ++v)
      if (v != corner) nonbasic_.push_back({v, {}});
    error_ = {0, Real(first.target - bound * gain(first, corner)), {}};
    row chosen{corner, bound, {}};
    for (const variable& other : nonbasic_) {
      error_.slope.push_back(Real(gain(first, corner) - gain(first, other.weight)));
      chosen.slope.push_back(Real(-1));
    }
    nonbasic_.push_back({slack, std::move(first)});
    error_.slope.push_back(Real(1));
    chosen.slope.push_back(Real(0));
    rows_.push_back(std::move(chosen));
  }

  /// Make a violated lag bind and restore the weights' signs.
  /// @return false when rounding leaves no pivot.
  bool enter(side violated) {
    row z{slack, Real(error_.value - violated.target), error_.slope};
    for (const row& r : rows_) {
      const Real g = gain(violated, r.weight);
      z.value += Real(g * r.value);
      for (std::size_t j = 0; j < z.slope.size(); ++j) z.slope[j] += Real(g * r.slope[j]);
    }
    for (std::size_t j = 0; j < nonbasic_.size(); ++j)
      if (nonbasic_[j].weight != slack) z.slope[j] += gain(violated, nonbasic_[j].weight);
    if (!(z.value < Real(0))) return false;
    if (!pivot(z, {slack, std::move(violated)})) return false;
    const Real tiny = Real(-Real(64) * unit_roundoff<Real> * bound_);
    for (int guard = 0; guard < 4000; ++guard) {
      std::size_t worst = rows_.size();
      for (std::size_t i = 0; i < rows_.size(); ++i)
        if (rows_[i].value < tiny && (worst == rows_.size() || rows_[i].value < rows_[worst].value))
          worst = i;
      if (worst == rows_.size()) return true;
      row leaving = std::move(rows_[worst]);
      rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(worst));
      const std::size_t weight = leaving.weight;
      if (!pivot(leaving, {weight, {}})) return false;
    }
    return false;
  }

  const Real& level() const { return error_.value; }

  std::vector<Real> weights() const {
    std::vector<Real> c(channels_, Real(0));
    for (const row& r : rows_) {
      if (r.weight < channels_) c[r.weight] += r.value;
      if (r.weight >= channels_ && r.weight < 2 * channels_) c[r.weight - channels_] -= r.value;
    }
    return c;
  }

  /// Calls visit(multiplier >= 0, side) for every binding lag.
  template <class Visit>
  void multipliers(Visit&& visit) const {
    for (std::size_t j = 0; j < nonbasic_.size(); ++j)
      if (nonbasic_[j].weight == slack && error_.slope[j] > Real(0))
        visit(error_.slope[j], nonbasic_[j].lag);
  }

 private:
  static constexpr std::size_t slack = static_cast<std::size_t>(-1);
  struct variable {
    std::size_t weight;  ///< p_k: k, q_k: N + k, r: 2N; or `slack` of the lag
    side lag;
  };
  struct row {
    std::size_t weight;
    Real value;
    std::vector<Real> slope;
  };

  /// How fast a weight raises s sum_k c_k phi_k.
  Real gain(const side& lag, std::size_t weight) const {
    if (weight < channels_) return lag.functions[weight];
    if (weight < 2 * channels_) return Real(-lag.functions[weight - channels_]);
    return Real(0);
  }

  /// Exchange the basic variable of `leaving` (value < 0) with the nonbasic one that keeps the
  /// slopes of E nonnegative.
  bool pivot(const row& leaving, variable becomes) {
    std::size_t column = nonbasic_.size();
    Real smallest(0);
    const Real tiny = Real(Real(1e3) * unit_roundoff<Real>);
    for (std::size_t j = 0; j < nonbasic_.size(); ++j) {
      if (!(leaving.slope[j] > tiny)) continue;
      const Real ratio = Real(error_.slope[j] / leaving.slope[j]);
      if (column == nonbasic_.size() || ratio < smallest) {
        smallest = ratio;
        column = j;
      }
    }
    if (column == nonbasic_.size()) return false;
    // leaving = value + sum slope x, solved for the entering variable.
    row entering{nonbasic_[column].weight, Real(0), leaving.slope};
    const Real inverse = Real(Real(1) / leaving.slope[column]);
    entering.value = Real(-leaving.value * inverse);
    for (Real& v : entering.slope) v = Real(-v * inverse);
    entering.slope[column] = inverse;
    const auto substitute = [&](row& r) {
      const Real factor = r.slope[column];
      r.slope[column] = Real(0);
      r.value += Real(factor * entering.value);
      for (std::size_t j = 0; j < r.slope.size(); ++j)
        r.slope[j] += Real(factor * entering.slope[j]);
    };
    substitute(error_);
    for (row& r : rows_) substitute(r);
    nonbasic_[column] = std::move(becomes);
    if (entering.weight != slack)
      rows_.push_back(std::move(entering));  // a lag that came loose goes
    return true;
  }

  std::size_t channels_;
  Real bound_;
  std::vector<variable> nonbasic_;  ///< always 2N + 1
  std::vector<row> rows_;           ///< of the basic weights
  row error_;                       ///< of E
};

template <real_scalar Real, int Digits, basis_functions Basis, class Target>
void climb_bounded(const Basis& basis, const Target& target, const lag_set& lags, double l1_bound,
                   const approximation_options& options, approximation& result) {
  using ebb::detail::abs;
  if (Digits > options.most_digits || result.certified(options.tolerance) || result.beyond(options))
    return;
  const bool relative = options.kind == error_kind::relative;
  sample_plan plan = plan_samples(basis, lags, Digits + 2);
  if (relative) split_for(plan, target, basis.size(), Digits + 2);
  sampled_basis<Real> samples(basis, plan, options.interrupted);
  if (samples.rows == 0) return;
  if (relative) {
    std::vector<Real> factors;
    for (const Real& lag : samples.lags) factors.push_back(Real(Real(1) / target(lag)));
    samples.scale_rows(factors);
  }
  weights_problem<Real> problem(samples, target, options.kind);
  const std::size_t n = static_cast<std::size_t>(samples.size);
  const auto bound = basis.template bind<Real>();
  const auto side_of = [&](const location& where) {
    typename bounded_simplex<Real>::side out;
    out.functions.resize(n);
    const Real lag =
        where.part < 0 || lags.kind() == lag_kind::integer
            ? Real(where.lag)
            : plan.pieces[static_cast<std::size_t>(where.part)].interval.template lag_in<Real>(
                  where.x);
    bound.fill(lag, std::span<Real>(out.functions));
    out.target = target(lag);
    const Real scale =
        Real((relative ? Real(Real(1) / out.target) : Real(1)) * Real(where.value < 0 ? -1 : 1));
    out.target *= scale;
    for (Real& v : out.functions) v *= scale;
    return out;
  };
  const auto worst_of = [](const std::vector<location>& places) {
    return *std::max_element(
        places.begin(), places.end(),
        [](const location& a, const location& b) { return std::abs(a.value) < std::abs(b.value); });
  };

  Real scale(0);
  double noise = 0;
  problem.weights.assign(n, Real(0));
  const location start = worst_of(problem.residual(scale, noise).alternating_extrema());
  bounded_simplex<Real> simplex(side_of(start), Real(l1_bound));
  for (int round = 0; round < 2000; ++round) {
    if (options.interrupted && options.interrupted()) return;
    problem.weights = simplex.weights();
    const sampled_functions error = problem.residual(scale, noise);
    const location worst = worst_of(error.alternating_extrema());
    const double largest = static_cast<double>(scale) * std::abs(worst.value);
    const double level = static_cast<double>(simplex.level());
    if (largest <= level * (1 + 0.02 * options.tolerance) || largest < options.least_error ||
        level > options.most_error * (1 + 1e-9))
      break;
    if (!simplex.enter(side_of(worst))) break;
  }

  // Both bounds are checked on their own, whatever the simplex method did.
  Real l1(0);
  for (const Real& c : problem.weights) l1 += abs(c);
  if (l1 > Real(l1_bound))
    for (Real& c : problem.weights) c = Real(c * Real(l1_bound) / l1 * (Real(1) - Real(1e-15)));
  const sampled_functions error = problem.residual(scale, noise);
  approximation found;
  found.weights_l1 = static_cast<double>(problem.weights_l1());
  noise += interpolation_bound(plan, target, options.kind, found.weights_l1).remainder;
  found.error_upper =
      static_cast<double>(scale) * error.maximum(0.02 * options.tolerance).second + noise;
  std::vector<Real> sums(n, Real(0));
  Real value(0), norm(0), largest(0);
  simplex.multipliers([&](const Real& x, const typename bounded_simplex<Real>::side& lag) {
    norm += x;
    value += Real(x * lag.target);
    for (std::size_t k = 0; k < n; ++k) sums[k] += Real(x * lag.functions[k]);
  });
  for (const Real& sum : sums) largest = std::max(largest, Real(abs(sum)));
  if (norm > Real(0))
    found.raise_lower(static_cast<double>(Real((value - Real(l1_bound) * largest) / norm)) - noise);
  for (const Real& c : problem.weights) found.weights.push_back(static_cast<double>(c));
  found.digits = Digits;
  found.basis =
      plan.pieces.empty() || analytic_target<Target> ? evidence::proved : evidence::sampled;
  if (found.error_upper - found.error_lower < result.error_upper - result.error_lower)
    result = found;
}

}  // namespace detail

/// The best weights with |c|_1 <= C, with two-sided bounds of their error.
///
///   E_C = min over |c|_1 <= C of max over tau in `lags` of |f(tau) - sum_k c_k phi_k(tau)|
///
/// or the same over |f|.
///
/// A linear program whose lags are found as they are needed. The lower bound is
/// (mu . f - C max_k |mu . phi_k|) / |mu|_1 for the multipliers mu of its last dictionary, the
/// upper one is checked as in best_weights.
///
/// @param l1_bound  C, 0 < C < 1e12, dimensionless
/// @throws domain_error outside this domain and those of best_weights.
/// Cost: a few hundred pivots of O(N^2 + nodes^2); 0.1 s at N = 16, a few seconds at N = 64.
/// Source: linear programming duality; docs/certificates.md.
template <basis_functions Basis, class Target>
approximation bounded_weights(const Basis& basis, const Target& target, const lag_set& lags,
                              double l1_bound, const approximation_options& options = {}) {
  ebb::detail::require_domain(l1_bound > 0 && l1_bound < 1e12, "bounded_weights",
                              "need 0 < l1_bound < 1e12", l1_bound);
  detail::require_approximable(basis, lags, options, "bounded_weights");
  approximation result;
  detail::climb_bounded<long double, 19>(basis, target, lags, l1_bound, options, result);
  detail::climb_bounded<multiprecision<50>, 50>(basis, target, lags, l1_bound, options, result);
  detail::climb_bounded<multiprecision<100>, 100>(basis, target, lags, l1_bound, options, result);
  result.interrupted = options.interrupted && options.interrupted();
  return result;
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
