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

    const auto bound = basis.template bind<Real>();
    const auto row_at = [&](const location& where) {
      const Real lag(where.lag);
      std::vector<Real> row(static_cast<std::size_t>(basis.size()));
      bound.fill(lag, std::span<Real>(row));
      row.push_back(targets[i](lag));
      if (relative) {
        const Real inverse = Real(Real(1) / row.back());
        for (Real& v : row) v *= inverse;
      }
      return row;
    };
    certified_weights checked =
        certify<Basis::chebyshev_system>(problem, used, targets[i], row_at, options);
    if (checked.quiet && !checked.meets(options.tolerance) && many_digits<Real>) {
      full_exchange(problem, row_at, 0.02 * options.tolerance, options.interrupted);
      checked = certify<Basis::chebyshev_system>(problem, used, targets[i], row_at, options);
    }
    approximation& found = checked.result;
    found.digits = Digits;
    settled[i] = checked.quiet && checked.meets(options.tolerance);
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
  if (Digits > options.most_digits || settled.empty() || settled[0]) return;
  const std::size_t count = static_cast<std::size_t>(lags.last());
  const std::size_t size = static_cast<std::size_t>(basis.size());
  std::vector<Real> phi(count * size);
  basis.template bind<Real>().fill_run(1, std::span<Real>(phi));
  std::vector<std::vector<Real>> rows(count);
  for (std::size_t i = 0; i < count; ++i)
    rows[i].assign(phi.begin() + static_cast<std::ptrdiff_t>(i * size),
                   phi.begin() + static_cast<std::ptrdiff_t>(i * size + count));
  const elimination<Real> solver(std::move(rows));
  if (!(solver.smallest_pivot() > Real(Real(1e6) * unit_roundoff<Real>))) return;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    std::vector<Real> values;
    for (std::size_t t = 1; t <= count; ++t)
      values.push_back(targets[i](Real(static_cast<double>(t))));
    approximation found;
    found.error_upper = 0;
    for (const Real& c : solver.solve(values)) {
      found.weights.push_back(static_cast<double>(c));
      found.weights_l1 += std::abs(found.weights.back());
    }
    found.weights.resize(size, 0.0);
    found.digits = Digits;
    found.basis = evidence::proved;
    results[i] = std::move(found);
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
/// Source: docs/certificates.md.
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
