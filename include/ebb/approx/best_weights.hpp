// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/best_weights.hpp
/// @brief  Best weights of a given spectrum for a target memory, with certified two-sided bounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <ebb/approx/approximation.hpp>
#include <ebb/approx/basis.hpp>
#include <ebb/approx/exchange.hpp>
#include <ebb/approx/lags.hpp>
#include <ebb/approx/precision.hpp>
#include <ebb/approx/residual.hpp>
#include <ebb/approx/sampling.hpp>
#include <ebb/approx/target.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// Everything about one target on one sampled basis in precision Real.
template <real_scalar Real>
class weights_problem {
 public:
  using reals = std::vector<Real>;

  template <class Target>
  weights_problem(const sampled_basis<Real>& samples, const Target& target, error_kind kind)
      : samples_(samples), values_(static_cast<std::size_t>(samples.rows)) {
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = kind == error_kind::relative ? Real(1) : Real(target(samples.lags[i]));
  }

  /// Best weights by exchange in double, in the orthonormal columns.
  void solve() {
    const std::size_t n = static_cast<std::size_t>(samples_.size);
    const std::size_t m = static_cast<std::size_t>(samples_.rows);
    reals rest = values_, y(n);
    for (std::size_t k = 0; k < n; ++k) {
      const Real* const column = samples_.q.data() + k * m;
      y[k] = samples_.dot(column, rest.data());
      for (std::size_t i = 0; i < m; ++i) rest[i] -= Real(y[k] * column[i]);
    }
    const Real scale = largest(rest);
    if (!(scale > Real(0))) {
      back_substitute(y);
      return;
    }
    Eigen::MatrixXd table(static_cast<Eigen::Index>(m), static_cast<Eigen::Index>(n) + 1);
    for (std::size_t i = 0; i < m; ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      for (std::size_t k = 0; k < n; ++k)
        table(row, static_cast<Eigen::Index>(k)) = static_cast<double>(samples_.q[k * m + i]);
      table(row, static_cast<Eigen::Index>(n)) = static_cast<double>(Real(rest[i] / scale));
    }
    const exchange_result found = exchange(sampled_functions(samples_.plan, table), table);
    reference = found.reference;
    for (std::size_t k = 0; k < n; ++k)
      y[k] += Real(scale * Real(found.coefficients(static_cast<Eigen::Index>(k))));
    back_substitute(y);
  }

  /// The error of `weights` on the samples, recomputed from the basis functions themselves; `noise`
  /// bounds its rounding error.
  sampled_functions residual(Real& scale, double& noise) const {
    using ebb::detail::abs;
    const std::size_t n = weights.size(), m = values_.size();
    reals error = values_;
    Real magnitude(0);
    for (std::size_t i = 0; i < m; ++i) {
      Real sum = abs(values_[i]);
      for (std::size_t k = 0; k < n; ++k) {
        const Real part = Real(weights[k] * samples_.phi[k * m + i]);
        error[i] -= part;
        sum += abs(part);
      }
      if (sum > magnitude) magnitude = sum;
    }
    scale = largest(error);
    Eigen::MatrixXd table(static_cast<Eigen::Index>(m), 1);
    for (std::size_t i = 0; i < m; ++i)
      table(static_cast<Eigen::Index>(i), 0) =
          scale > Real(0) ? static_cast<double>(Real(error[i] / scale)) : 0.0;
    // n + 2 additions and products, and a relative error of a few dozen u in phi and f.
    noise = static_cast<double>(
        Real(magnitude * Real(static_cast<double>(n) + 64) * unit_roundoff<Real>));
    return sampled_functions(samples_.plan, table);
  }

  Real weights_l1() const {
    using ebb::detail::abs;
    Real sum(0);
    for (const Real& c : weights) sum += abs(c);
    return sum;
  }

  const reals& values() const { return values_; }

  reals weights;
  std::vector<location> reference;

 private:
  static Real largest(const reals& x) {
    using ebb::detail::abs;
    Real result(0);
    for (const Real& v : x)
      if (abs(v) > result) result = abs(v);
    return result;
  }

  /// weights = R^-1 y
  void back_substitute(const reals& y) {
    const std::size_t n = y.size();
    weights = y;
    for (std::size_t k = n; k-- > 0;) {
      for (std::size_t j = k + 1; j < n; ++j)
        weights[k] -= Real(samples_.r[k * n + j] * weights[j]);
      weights[k] = Real(weights[k] / samples_.r[k * n + k]);
    }
  }

  const sampled_basis<Real>& samples_;
  reals values_;
};

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

/// One rung of the precision ladder: try every target that is not yet settled.
///
/// `resolve`: decimal digits that the samples should resolve, as the rung before saw it; infinity means
/// all that the arithmetic has, and two more, so that the interpolation error hides in its rounding.
template <real_scalar Real, int Digits, basis_functions Basis, class Target>
void climb(const Basis& basis, std::span<const Target> targets, const lag_set& lags,
           const approximation_options& options, std::vector<approximation>& results,
           std::vector<char>& settled, double& resolve) {
  if (Digits > options.most_digits) return;
  if (std::all_of(settled.begin(), settled.end(), [](char s) { return s != 0; })) return;
  if (options.interrupted && options.interrupted()) return;
  const sample_plan plan = plan_samples(basis, lags, std::min(resolve, Digits + 2.0));
  resolve = HUGE_VAL;
  double next_resolve = 0;
  sampled_basis<Real> samples(basis, plan, options.interrupted);
  if (samples.rows == 0) return;
  const bool relative = options.kind == error_kind::relative;
  if (!relative && samples.factorise() == 0) return;

  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (settled[i]) continue;
    if (options.interrupted && options.interrupted()) return;
    std::optional<sampled_basis<Real>> scaled;
    if (relative) {
      scaled = samples;
      std::vector<Real> factors;
      for (const Real& lag : samples.lags) factors.push_back(Real(Real(1) / targets[i](lag)));
      scaled->scale_rows(factors);
      if (scaled->factorise() == 0) continue;
    }
    const sampled_basis<Real>& used = relative ? *scaled : samples;
    weights_problem<Real> problem(used, targets[i], options.kind);
    problem.solve();

    approximation found;
    Real scale(0);
    double noise = 0;
    const sampled_functions error = problem.residual(scale, noise);
    const double unit = static_cast<double>(scale);
    found.weights_l1 = static_cast<double>(problem.weights_l1());
    noise += interpolation_remainder(plan, targets[i], options.kind, found.weights_l1);
    found.error_upper = unit * error.maximum(0.02 * options.tolerance).second + noise;
    if constexpr (Basis::chebyshev_system) {
      found.error_lower = unit * alternation_bound(error, basis.size()) - noise;
    }
    // Without that property, or where multipliers below the rounding of double hide the alternation:
    const auto meets = [&] {
      return found.error_upper - found.error_lower <= options.tolerance * found.error_upper;
    };
    const bool quiet = noise <= 0.25 * options.tolerance * found.error_upper;
    if (quiet && !meets() && !problem.reference.empty()) {
      const auto bound = basis.template bind<Real>();
      std::vector<std::vector<Real>> rows;
      for (const location& where : problem.reference) {
        const Real lag(where.lag);
        std::vector<Real> row(static_cast<std::size_t>(basis.size()));
        bound.fill(lag, std::span<Real>(row));
        row.push_back(targets[i](lag));
        if (relative) {
          for (Real& v : row) v = Real(v / targets[i](lag));
        }
        rows.push_back(std::move(row));
      }
      found.error_lower = std::max(
          found.error_lower,
          dual_bound(std::move(rows), most_weights(used, found.weights_l1, found.error_upper)));
    }
    found.error_lower = std::max(found.error_lower, 0.0);
    for (const Real& c : problem.weights) found.weights.push_back(static_cast<double>(c));
    for (const location& where : problem.reference) found.reference.push_back(where.lag);
    found.digits = Digits;
    found.basis =
        plan.pieces.empty() || analytic_target<Target> ? evidence::proved : evidence::sampled;
    settled[i] = quiet && meets();
    // What the next rung has to resolve: the weights against the error, and eight digits of that.
    next_resolve =
        std::max(next_resolve, 8 + std::log10((1 + found.weights_l1) / found.error_upper));
    const auto width = [](const approximation& a) { return a.error_upper - a.error_lower; };
    if (settled[i] || width(found) < width(results[i])) results[i] = found;
  }
  if (next_resolve > 0) resolve = next_resolve;
}

/// With no more lags than channels some weights meet the target at every lag: E = 0.
///
/// The first functions, one a lag, interpolate it; a pivot lost to rounding asks for more digits.
template <real_scalar Real, int Digits, basis_functions Basis, class Target>
void interpolate(const Basis& basis, std::span<const Target> targets, const lag_set& lags,
                 const approximation_options& options, std::vector<approximation>& results,
                 std::vector<char>& settled) {
  using ebb::detail::abs;
  if (Digits > options.most_digits || settled.empty() || settled[0]) return;
  const std::size_t count = static_cast<std::size_t>(lags.last()), n = targets.size();
  const std::size_t size = static_cast<std::size_t>(basis.size());
  std::vector<Real> phi(count * size);
  basis.template bind<Real>().fill_run(1, std::span<Real>(phi));
  std::vector<std::vector<Real>> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i].assign(phi.begin() + static_cast<std::ptrdiff_t>(i * size),
                   phi.begin() + static_cast<std::ptrdiff_t>(i * size + count));
    for (const Target& target : targets)
      rows[i].push_back(target(Real(static_cast<double>(i + 1))));
  }
  for (std::size_t k = 0; k < count; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < count; ++i)
      if (abs(rows[i][k]) > abs(rows[pivot][k])) pivot = i;
    std::swap(rows[k], rows[pivot]);
    if (!(abs(rows[k][k]) > Real(Real(1e6) * unit_roundoff<Real>))) return;
    for (std::size_t i = 0; i < count; ++i) {
      if (i == k) continue;
      const Real factor = Real(rows[i][k] / rows[k][k]);
      for (std::size_t j = k; j < count + n; ++j) rows[i][j] -= Real(factor * rows[k][j]);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    approximation& found = results[i];
    found = {};
    found.error_upper = 0;
    for (std::size_t k = 0; k < count; ++k) {
      found.weights.push_back(static_cast<double>(Real(rows[k][count + i] / rows[k][k])));
      found.weights_l1 += std::abs(found.weights.back());
    }
    found.weights.resize(size, 0.0);
    found.digits = Digits;
    found.basis = evidence::proved;
    settled[i] = true;
  }
}

template <basis_functions Basis>
void require_approximable(const Basis& basis, const lag_set& lags,
                          const approximation_options& options, const char* where) {
  ebb::detail::require_domain(basis.size() >= 1 && basis.size() <= 128, where,
                              "need 1 <= channels <= 128", basis.size());
  ebb::detail::require_domain(lags.last() <= basis.last_lag(), where,
                              "need lags within the basis functions' domain", lags.last());
  ebb::detail::require_domain(Basis::continuous_lags || lags.kind() == lag_kind::integer, where,
                              "need whole lags for functions of whole positions");
  ebb::detail::require_domain(options.tolerance >= 1e-6 && options.tolerance < 1, where,
                              "need 1e-6 <= tolerance < 1", options.tolerance);
}

}  // namespace detail

/// The best weights of given channels for each of several targets, with two-sided bounds.
///
///   E = min over c in R^N of max over tau in `lags` of |f(tau) - sum_k c_k phi_k(tau)|  (or / |f|)
///
/// The functions are sampled once in as many digits as it takes (double, long double, then 50 to 400
/// digits), orthonormalised, and the exchange runs in double on the result. The bounds are checked
/// afterwards on the weights themselves:
///  * upper: the error recomputed at Chebyshev nodes in log tau, a bound of its interpolant, and a
///    proven bound of what lies between the nodes;
///  * lower: N + 1 alternating errors (de la Vallee Poussin) for a Chebyshev system, a multiplier that
///    annihilates the functions (duality) otherwise.
/// A result whose bounds stay apart says so in its fields; no exception is thrown for it.
///
/// @param basis    N channels, 1 <= N <= 128
/// @param targets  functions of the lag; bounds between samples need `analytic_target`
/// @param lags     1 <= tau <= lags.last() <= basis.last_lag()
/// @throws domain_error outside these domains, or for continuous lags where only whole ones make sense.
/// Cost: about 1 ms at N = 16 in double, 0.1 s at N = 32 with 50 digits, 1 to 3 s at N = 64 with 100.
/// Accuracy: bounds hold up to the rounding of double in the last step, about 1e-12 relative.
/// Source: docs/accuracy.md, "Certificates".
template <basis_functions Basis, class Target>
std::vector<approximation> best_weights(const Basis& basis, std::span<const Target> targets,
                                        const lag_set& lags,
                                        const approximation_options& options = {}) {
  detail::require_approximable(basis, lags, options, "best_weights");
  std::vector<approximation> results(targets.size());
  std::vector<char> settled(targets.size(), 0);
  if (lags.kind() == lag_kind::integer && lags.last() <= static_cast<double>(basis.size())) {
    const auto interpolate = [&]<class Real, int Digits>() {
      detail::interpolate<Real, Digits>(basis, targets, lags, options, results, settled);
    };
    interpolate.template operator()<multiprecision<100>, 100>();
    interpolate.template operator()<multiprecision<200>, 200>();
    interpolate.template operator()<multiprecision<400>, 400>();
  } else {
    double resolve = HUGE_VAL;
    const auto climb = [&]<class Real, int Digits>() {
      detail::climb<Real, Digits>(basis, targets, lags, options, results, settled, resolve);
      // An estimate from too few digits can be too low: once more with all of them.
      if (resolve < Digits)
        detail::climb<Real, Digits>(basis, targets, lags, options, results, settled, resolve);
    };
    climb.template operator()<double, 16>();
    climb.template operator()<long double, 19>();
    climb.template operator()<multiprecision<50>, 50>();
    climb.template operator()<multiprecision<100>, 100>();
    climb.template operator()<multiprecision<200>, 200>();
    climb.template operator()<multiprecision<400>, 400>();
  }
  if (options.interrupted && options.interrupted())
    for (approximation& result : results) result.interrupted = true;
  return results;
}

/// The same for one target.
template <basis_functions Basis, class Target>
approximation best_weights(const Basis& basis, const Target& target, const lag_set& lags,
                           const approximation_options& options = {}) {
  return best_weights(basis, std::span<const Target>(&target, 1), lags, options).front();
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
