// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/best_weights.hpp
/// @brief  Best weights of a given spectrum for a target memory, with certified two-sided bounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ebb/approx/approximation.hpp>
#include <ebb/approx/basis.hpp>
#include <ebb/approx/certificate.hpp>
#include <ebb/approx/full_exchange.hpp>
#include <ebb/approx/lags.hpp>
#include <ebb/approx/precision.hpp>
#include <ebb/approx/sampling.hpp>
#include <ebb/approx/target.hpp>
#include <ebb/approx/weights_problem.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// The precision ladder: several targets on one basis, each settled as soon as its bounds meet.
template <basis_functions Basis, class Target>
class ladder {
 public:
  ladder(const Basis& basis, std::span<const Target> targets, const lag_set& lags,
         const approximation_options& options)
      : results(targets.size()),
        basis_(basis),
        targets_(targets),
        lags_(lags),
        options_(options),
        settled_(targets.size(), 0) {}

  bool finished() const {
    return std::all_of(settled_.begin(), settled_.end(), [](char s) { return s != 0; }) ||
           interrupted();
  }

  bool interrupted() const { return options_.interrupted && options_.interrupted(); }

  /// One rung: nodes for as many digits as the rung before thought necessary, else for most of
  /// those that the arithmetic has; then once more for what turned out to be needed.
  template <real_scalar Real, int Digits>
  void climb() {
    if (Digits > options_.most_digits || finished()) return;
    // Two digits more than the arithmetic: the interpolation error then hides in the rounding.
    const double all = Digits + 2.0;
    const double estimate = std::exchange(digits_to_resolve_, HUGE_VAL);
    double digits = std::min(estimate, many_digits<Real> ? 0.7 * Digits : all);
    for (int tries = 0; tries < 3; ++tries) {
      digits_to_resolve_ = HUGE_VAL;
      attempt<Real, Digits>(digits);
      // No new estimate: the functions are dependent in this arithmetic, on any number of nodes.
      if (digits_to_resolve_ == HUGE_VAL || digits == all || finished()) return;
      const bool trust = tries == 0 && digits_to_resolve_ > digits;
      digits = trust ? std::min(digits_to_resolve_ + 1, all) : all;
    }
  }

  /// Relative error, and functions that have all but vanished at the last lag: E is next to 1, and
  /// no weights do better than none. Shown by duality on the last lag and N that lie well before
  /// it; the best weights do no worse than none, so their sum is at most 2 in size on each of these
  /// N.
  template <real_scalar Real>
  void rule_out() {
    if (options_.kind != error_kind::relative || options_.most_digits < 100) return;
    const index_t n = basis_.size();
    std::vector<double> row(static_cast<std::size_t>(n));
    basis_.template bind<double>().fill(lags_.last(), std::span<double>(row));
    double sum = 0;
    for (const double v : row) sum += v;
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      if (sum > 1e-12 * static_cast<double>(targets_[i](lags_.last()))) continue;
      const row_source<Real> row_at(*this, i);
      std::vector<std::vector<Real>> rows;
      double previous = 0;
      for (index_t k = 0; k < n; ++k) {
        const double lag = std::exp(std::log(lags_.last()) * 0.9 * static_cast<double>(k) /
                                    static_cast<double>(n));
        previous =
            lags_.kind() == lag_kind::integer ? std::max(previous + 1, std::floor(lag)) : lag;
        rows.push_back(row_at(previous));
      }
      if (previous >= lags_.last()) return;
      rows.push_back(row_at(lags_.last()));
      Real largest(1);
      for (const auto& values : rows)
        for (const Real& v : values)
          if (v > largest) largest = v;
      const row_roundoffs lost{basis_.roundoffs().base + 4,
                               0.37 * basis_.roundoffs().slope * static_cast<double>(largest)};
      const double lower = dual_bound(rows, most_weights_below(rows, 2, lost), lost);
      if (!(lower >= 1 - options_.tolerance)) continue;
      results[i] = {};
      results[i].error_upper = 1;
      results[i].raise_lower(lower);
      results[i].weights.assign(row.size(), 0.0);
      results[i].digits = 100;
      results[i].basis = evidence::proved;
      settled_[i] = true;
    }
  }

  /// No more lags than channels: weights on as many independent functions as there are lags meet
  /// the target at every one of them, E = 0.
  /// @return false when the functions are dependent there, so that E may be positive.
  template <real_scalar Real, int Digits>
  bool interpolate(const std::vector<index_t>& functions) {
    const std::size_t count = functions.size(), size = static_cast<std::size_t>(basis_.size());
    std::vector<Real> phi(count * size);
    basis_.template bind<Real>().fill_run(1, std::span<Real>(phi));
    std::vector<std::vector<Real>> rows(count);
    for (std::size_t i = 0; i < count; ++i)
      for (const index_t k : functions)
        rows[i].push_back(phi[i * size + static_cast<std::size_t>(k)]);
    const elimination<Real> solver(std::move(rows));
    if (!(solver.smallest_pivot() > Real(Real(1e6) * unit_roundoff<Real>))) return false;
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      std::vector<Real> values;
      for (std::size_t t = 1; t <= count; ++t)
        values.push_back(targets_[i](Real(static_cast<double>(t))));
      const std::vector<Real> solution = solver.solve(values);
      results[i] = no_error(Digits);
      results[i].weights.assign(size, 0.0);
      results[i].weights_l1 = 0;
      for (std::size_t k = 0; k < count; ++k) {
        const double c = static_cast<double>(solution[k]);
        results[i].weights[static_cast<std::size_t>(functions[k])] = c;
        results[i].weights_l1 += std::abs(c);
      }
    }
    return true;
  }

  /// Functions, the first possible ones, that are independent on the lags 1 .. lags.last().
  std::vector<index_t> independent_functions() const {
    using Real = multiprecision<200>;
    sample_plan plan;
    plan.kind = lag_kind::integer;
    plan.runs = {{1, static_cast<index_t>(lags_.last())}};
    return sampled_basis<Real>(basis_, plan, {}).independent(Real(1e-120));
  }

  /// E = 0 by the theory of Chebyshev systems; the weights are beyond the digits.
  approximation no_error(int digits) const {
    approximation result;
    result.error_upper = 0;
    result.weights_l1 = HUGE_VAL;
    result.digits = digits;
    result.basis = evidence::proved;
    return result;
  }

  std::vector<approximation> results;

 private:
  /// Rows [phi_0 .. phi_{N-1} f], over f for relative errors.
  template <real_scalar Real>
  class row_source {
   public:
    row_source(const ladder& of, std::size_t target)
        : bound_(of.basis_.template bind<Real>()),
          size_(static_cast<std::size_t>(of.basis_.size())),
          target_(of.targets_[target]),
          relative_(of.options_.kind == error_kind::relative) {}

    std::vector<Real> operator()(double at) const {
      const Real lag(at);
      std::vector<Real> row(size_);
      bound_.fill(lag, std::span<Real>(row));
      row.push_back(target_(lag));
      if (relative_) {
        const Real inverse = Real(Real(1) / row.back());
        for (Real& v : row) v *= inverse;
      }
      return row;
    }

   private:
    decltype(std::declval<const Basis&>().template bind<Real>()) bound_;
    std::size_t size_;
    const Target& target_;
    bool relative_;
  };

  template <real_scalar Real, int Digits>
  void attempt(double digits_to_resolve) {
    const bool relative = options_.kind == error_kind::relative;
    sample_plan plan = plan_samples(basis_, lags_, digits_to_resolve);
    if (relative)
      for (const Target& target : targets_)
        split_for(plan, target, basis_.size(), digits_to_resolve);
    sampled_basis<Real> samples(basis_, plan, options_.interrupted);
    if (samples.rows == 0 || (!relative && !samples.factorise(options_.interrupted))) return;
    double next = 0;
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      if (settled_[i]) continue;
      if (interrupted()) return;
      std::optional<sampled_basis<Real>> scaled;
      if (relative) {
        scaled = samples;
        std::vector<Real> factors;
        for (const Real& lag : samples.lags) factors.push_back(Real(Real(1) / targets_[i](lag)));
        scaled->scale_rows(factors);
        if (!scaled->factorise(options_.interrupted)) continue;
      }
      const sampled_basis<Real>& used = relative ? *scaled : samples;
      weights_problem<Real> problem(used, targets_[i], options_.kind);
      problem.solve();
      const row_source<Real> row_at(*this, i);
      const auto check = [&] {
        return certify<Basis::chebyshev_system>(problem, used, targets_[i], row_at, options_);
      };
      certified_weights checked = check();
      if (checked.quiet && !checked.settles(options_) && many_digits<Real>) {
        full_exchange(problem, row_at, 0.02 * options_.tolerance, options_.interrupted);
        checked = check();
      }
      if (std::isnan(checked.result.weights_l1)) continue;  // values whose squares overflow
      checked.result.digits = Digits;
      next = std::max(next, checked.digits_to_resolve);
      settled_[i] = checked.settles(options_);
      const auto width = [](const approximation& a) { return a.error_upper - a.error_lower; };
      if (settled_[i] || width(checked.result) < width(results[i]))
        results[i] = std::move(checked.result);
    }
    if (next > 0) digits_to_resolve_ = next;
  }

  const Basis& basis_;
  std::span<const Target> targets_;
  const lag_set& lags_;
  const approximation_options& options_;
  std::vector<char> settled_;
  double digits_to_resolve_ = HUGE_VAL;  ///< as the last rung saw it
};

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
  ebb::detail::require_domain(options.least_error >= 0, where, "need least_error >= 0",
                              options.least_error);
  ebb::detail::require_domain(options.most_error >= 0, where, "need most_error >= 0",
                              options.most_error);
  ebb::detail::require_domain(options.most_digits >= 16, where, "need most_digits >= 16",
                              options.most_digits);
}

}  // namespace detail

/// The best weights of given channels for each of several targets, with two-sided bounds.
///
///   E = min over c in R^N of max over tau in `lags` of |f(tau) - sum_k c_k phi_k(tau)|  (or / |f|)
///
/// The functions are sampled once in as many digits as it takes (double, long double, then 50 to
/// 400 digits), orthonormalised, and the exchange runs in double on the result. The bounds are
/// checked afterwards on the weights themselves:
///  * upper: the error recomputed at Chebyshev nodes in log tau, a bound of its interpolant, and a
///    proven bound of what lies between the nodes;
///  * lower: N + 1 alternating errors (de la Vallee Poussin) for a Chebyshev system, a multiplier
///    that annihilates the functions (duality) otherwise.
/// A result whose bounds stay apart says so in its fields; no exception is thrown for it.
///
/// @param basis    N channels, 1 <= N <= 128
/// @param targets  functions of the lag; bounds between samples need `analytic_target`
/// @param lags     1 <= tau <= lags.last() <= basis.last_lag()
/// @throws domain_error outside these domains, or for continuous lags where only whole ones make
///   sense.
/// Cost: about 1 ms at N = 16 in double, 0.1 s at N = 32 with 50 digits, 1 to 3 s at N = 64 with
/// 100 (column `seconds` of `table1 --spectra geometric --channels 16,32,64`).
/// Accuracy: bounds hold up to the rounding of double in the last step, about 1e-12 relative.
/// Source: docs/certificates.md.
template <basis_functions Basis, class Target>
std::vector<approximation> best_weights(const Basis& basis, std::span<const Target> targets,
                                        const lag_set& lags,
                                        const approximation_options& options = {}) {
  detail::require_approximable(basis, lags, options, "best_weights");
  detail::ladder<Basis, Target> rungs(basis, targets, lags, options);
  if (lags.kind() == lag_kind::integer && lags.last() <= static_cast<double>(basis.size())) {
    if constexpr (Basis::chebyshev_system) {
      std::vector<index_t> first(static_cast<std::size_t>(lags.last()));
      std::iota(first.begin(), first.end(), index_t{0});
      if (!rungs.template interpolate<multiprecision<100>, 100>(first) &&
          !rungs.template interpolate<multiprecision<400>, 400>(first))
        rungs.results.assign(targets.size(), rungs.no_error(400));
      return std::move(rungs.results);
    } else {
      const std::vector<index_t> functions = rungs.independent_functions();
      if (static_cast<double>(functions.size()) == lags.last()) {
        if (!rungs.template interpolate<multiprecision<200>, 200>(functions))
          rungs.template interpolate<multiprecision<400>, 400>(functions);
        return std::move(rungs.results);
      }
      // Fewer functions than lags stand out in 200 digits. Weights on these alone give an upper
      // bound; whether the others are dependent on them, or add what needs more digits, is not
      // known, so that there is no lower one.
      auto results = best_weights(basis.only(functions), targets, lags, options);
      for (approximation& result : results) {
        result.error_lower = 0;
        std::vector<double> weights(static_cast<std::size_t>(basis.size()), 0.0);
        for (std::size_t k = 0; k < result.weights.size(); ++k)
          weights[static_cast<std::size_t>(functions[k])] = result.weights[k];
        result.weights = std::move(weights);
      }
      return results;
    }
  }
  rungs.template rule_out<multiprecision<100>>();
  rungs.template climb<double, 16>();
  rungs.template climb<long double, 19>();
  rungs.template climb<multiprecision<50>, 50>();
  rungs.template climb<multiprecision<100>, 100>();
  rungs.template climb<multiprecision<200>, 200>();
  rungs.template climb<multiprecision<400>, 400>();
  if (rungs.interrupted())
    for (approximation& result : rungs.results) result.interrupted = true;
  return std::move(rungs.results);
}

/// The same for one target.
template <basis_functions Basis, class Target>
approximation best_weights(const Basis& basis, const Target& target, const lag_set& lags,
                           const approximation_options& options = {}) {
  return best_weights(basis, std::span<const Target>(&target, 1), lags, options).front();
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
