// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/minimax.hpp
/// @brief  Best exponential sums for a target memory: rates and weights both free.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <ebb/approx/approximation.hpp>
#include <ebb/approx/exponential_sum.hpp>
#include <ebb/approx/minimax_path.hpp>
#include <ebb/approx/precision.hpp>
#include <ebb/approx/target.hpp>
#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// How a best exponential sum is to be found.
struct minimax_options {
  error_kind kind = error_kind::absolute;
  double tolerance = 1e-9;              ///< wanted (upper - lower) / upper, in [1e-12, 0.1]
  int most_digits = 100;                ///< of the arithmetic: 16, 19, 50 or 100
  std::function<bool()> interrupted{};  ///< asked now and then; true ends the work early
};

/// A best exponential sum of N terms, with two-sided bounds of the best error
///
///   E = min over w, r in R^N of sup over tau in [1, T] of |f(tau) - sum_k w_k exp(-r_k tau)|
///
/// (or / f). The weights of a best sum are positive.
struct [[nodiscard]] minimax_sum {
  exponential_sum sum;              ///< N terms, rounded to double; none if nothing was found
  double error_lower = 0;           ///< <= E
  double error_upper = HUGE_VAL;    ///< >= E
  double rounding = 0;              ///< what the rounding of `sum` to double may add to its error
  int digits = 0;                   ///< decimal digits of the arithmetic that gave the bounds
  evidence basis = evidence::none;  ///< of the upper bound
  std::vector<double> reference;    ///< the 2N + 1 lags at which the error is levelled, ascending
  bool converged = false;           ///< (upper - lower) / upper is at most the wanted tolerance
  bool interrupted = false;         ///< ended early

  /// A bound of the error of `sum` as it is here, evaluated without rounding.
  double reached() const { return error_upper + rounding; }
};

namespace detail {

/// What the rounding of rates and weights to double adds at most to the error on [1, T]:
/// |dw| <= u w and |dr| <= u r move the sum by u sum_k w_k (1 + r_k tau) exp(-r_k tau), which falls
/// with tau, as f does: on [a, b] the ratio is at most the one at a over f(b).
template <class Target>
double rounding_of(const exponential_sum& sum, const Target& target, error_kind kind,
                   double horizon) {
  const double u = 1.001 * unit_roundoff<double>;
  const auto moved = [&](double lag) {
    double total = 0;
    for (std::size_t k = 0; k < sum.rates.size(); ++k) {
      const double x = sum.rates[k] * lag;
      total += u * sum.weights[k] * (1 + x) * std::exp(-x);
    }
    return total;
  };
  if (kind == error_kind::absolute) return moved(1);
  double most = 0;
  const double last = std::log(horizon), steps = std::ceil(last / 0.05);
  for (double i = 0; i < steps; ++i)
    most = std::max(
        most, moved(std::exp(last * i / steps)) / target.jet(double(last * (i + 1) / steps)).value);
  return most;
}

/// The search along N = 1, 2, 3, ..., in as many digits as it takes.
template <class Target>
class minimax_search {
 public:
  minimax_search(const Target& target, double horizon, const minimax_options& options)
      : target_(target),
        options_(options),
        horizon_(horizon),
        path_(target, options.kind, horizon, options.interrupted) {}

  /// The best sum of n terms; those of fewer terms have been asked for before.
  /// @param finish  whether its bounds are to meet, or it is only a step on the way
  minimax_sum next(std::size_t n, bool finish) {
    minimax_sum result;
    if (rung_ == 0 && (result = step<double, 16>(n, finish), good_)) return result;
    if (rung_ <= 1 && (result = step<long double, 19>(n, finish), good_)) return result;
    if (rung_ <= 2 && (result = step<multiprecision<50>, 50>(n, finish), good_)) return result;
    if (rung_ <= 3) result = step<multiprecision<100>, 100>(n, finish);
    return result;
  }

  /// Whether the last sum can be gone on from.
  bool good() const { return good_; }

 private:
  bool interrupted() const { return options_.interrupted && options_.interrupted(); }

  template <real_scalar Real, int Digits>
  minimax_sum step(std::size_t n, bool finish) {
    good_ = false;
    minimax_sum result;
    result.interrupted = interrupted();
    if (Digits > options_.most_digits || result.interrupted) return result;
    const auto solution = path_.template next<Real>(n);
    good_ =
        solution.usable() && solution.bounds.upper > least_error<Real>(1e-4) * here<Real>().scale();
    if (!good_) ++rung_;
    take<Real, Digits>(result, solution);
    if (good_ && finish) refine<Real, Digits>(result, solution);
    result.interrupted = interrupted();
    return result;
  }

  /// The smallest relative size of E that the arithmetic still levels to a width. A step of the
  /// levelling is wrong by eps times the condition of the system, about E^-0.9 (seen, not proved),
  /// and the residual by the square of that.
  template <real_scalar Real>
  static double least_error(double width) {
    const double epsilon = static_cast<double>(std::numeric_limits<Real>::epsilon());
    return std::pow(epsilon * epsilon / width, 0.36);
  }

  template <real_scalar Real>
  minimax_problem<Target, Real> here() const {
    return path_.template problem<Real>(path_.infinite(), options_.tolerance);
  }

  /// Keeps a solution if its bounds are closer than those there are.
  template <real_scalar Real, int Digits>
  void take(minimax_sum& result, const minimax_solution<Real>& solution) const {
    const minimax_bounds& b = solution.bounds;
    if (!(b.upper < HUGE_VAL) || !(b.lower > 0) || !solution.usable()) return;
    const double width = (b.upper - b.lower) / b.upper;
    if (result.digits > 0 &&
        width >= (result.error_upper - result.error_lower) / result.error_upper)
      return;
    result.sum = {};
    for (std::size_t k = 0; k < solution.state.size(); ++k) {
      result.sum.rates.push_back(static_cast<double>(exp_of(solution.state.log_rates[k])));
      result.sum.weights.push_back(static_cast<double>(exp_of(solution.state.log_weights[k])));
    }
    result.reference.clear();
    for (const Real& u : solution.state.reference)
      result.reference.push_back(std::exp(static_cast<double>(u)));
    result.reference.front() = 1;
    if (std::isfinite(horizon_))
      result.reference.back() = std::min(result.reference.back(), horizon_);
    result.error_lower = b.lower;
    result.error_upper = b.upper;
    result.rounding = Digits == 16 ? 0 : rounding_of(result.sum, target_, options_.kind, horizon_);
    result.digits = Digits;
    result.basis = options_.kind == error_kind::absolute || counts_relative_extrema<Target>
                       ? evidence::proved
                       : evidence::sampled;
    result.converged = width <= options_.tolerance;
  }

  /// Goes on in the same arithmetic and then in longer ones, until the bounds meet.
  template <real_scalar Real, int Digits>
  void refine(minimax_sum& result, const minimax_solution<Real>& start) const {
    if (result.converged || Digits > options_.most_digits || interrupted()) return;
    auto best = start;
    if (result.error_upper > least_error<Real>(options_.tolerance) * here<Real>().scale()) {
      const auto solution = level_and_exchange(here<Real>(), start.state);
      take<Real, Digits>(result, solution);
      if (solution.usable()) best = solution;
    }
    if constexpr (Digits == 16)
      refine<long double, 19>(result, {best.state.template to<long double>(), {}});
    else if constexpr (Digits == 19)
      refine<multiprecision<50>, 50>(result, {best.state.template to<multiprecision<50>>(), {}});
    else if constexpr (Digits == 50)
      refine<multiprecision<100>, 100>(result, {best.state.template to<multiprecision<100>>(), {}});
  }

  const Target& target_;
  const minimax_options& options_;
  double horizon_;
  minimax_path<Target> path_;
  int rung_ = 0;
  bool good_ = false;
};

template <class Target>
void require_minimax(const Target& target, index_t channels, double horizon,
                     const minimax_options& options, const char* where) {
  using ebb::detail::require_domain;
  require_domain(channels >= 1 && channels <= 128, where, "need 1 <= N <= 128", channels);
  require_domain(horizon > 1, where, "need a horizon > 1", horizon);
  require_domain(horizon < HUGE_VAL || options.kind == error_kind::absolute, where,
                 "an infinite horizon needs the absolute error", horizon);
  require_domain(options.tolerance >= 1e-12 && options.tolerance <= 0.1, where,
                 "need 1e-12 <= tolerance <= 0.1", options.tolerance);
  require_domain(options.most_digits >= 16, where, "need most_digits >= 16", options.most_digits);
  const log_lag_jet<double> f = target.jet(0.0);
  require_domain(f.value > 0 && f.value < HUGE_VAL && f.first < 0, where,
                 "need a target that is > 0 and falls at lag 1", f.value, f.first);
}

}  // namespace detail

/// The best exponential sums of 1, 2, .., N terms for a target on [1, T].
///
/// Each sum is found from those of fewer terms: they are extrapolated in N, the error is levelled
/// at 2N + 1 points by a damped Newton method in log r and log w, and the points go to the extrema
/// of the error, until the bounds meet:
///  * lower: the smallest of 2N + 1 errors that alternate in sign (de la Vallee Poussin). It holds
///    for all sums of N exponentials with real rates and weights of either sign: the difference of
///    two would be a sum of 2N exponentials with 2N zeros;
///  * upper: the largest of the extrema of the error, whose number is known: one between any two
///    neighbouring of its 2N zeros, and the ends. For a relative error that is so if the target
///    says `counts_relative_extrema` (a power law does); otherwise the error is also looked at
///    between them, and the basis of the bound is `evidence::sampled`.
///
/// The search runs in double, long double, 50 and 100 digits in turn, as E demands. From the first
/// N that cannot be had (for want of digits, say), results are empty: no terms, bounds 0 and
/// infinity. Where bounds stay apart, `converged` is false, and they hold. Neither is an exception.
/// A mixture of M exponentials has no error for N >= M, which is such a case.
///
/// @param target   `smooth_target_for` these scalars, completely monotone on [1, T] (a mixture of
///                 exponentials with positive weights; this is not checked), and with limit 0 if
///                 T = inf. Its value may be off by 8 + 2 |log f| unit roundoffs, or by
///                 `target.roundoffs(log tau)` of them if there is such a member
/// @param channels N, 1 <= N <= 128; tried up to 60. Where errors fall below what 50 digits level,
///                 about 1e-33, the search goes on in 100 digits for minutes: `interrupted` ends
///                 it, and with most_digits = 19 it is not begun
/// @param horizon  T > 1; may be infinite for the absolute error. Tried: 2 to 1e7 and infinity,
///                 power laws with beta in [1/4, 3/2]
/// @throws domain_error outside these domains, or unless f > 0 and df/du < 0 at lag 1.
/// Cost: for tau^-1/2 and T = 1e6, 2 ms for N = 1 .. 8, 4 ms for 1 .. 16 and 0.4 s for 1 .. 30,
/// most of it in 50 digits (bench/approx.cpp, minimax_chain): for each N some 10 rounds of O(N^3)
/// arithmetic, and O(N^2) exponentials and values of f. A looser tolerance needs fewer digits.
/// Accuracy: the bounds contain the rounding of their evaluation, to first order.
/// Source: [BraessHackbusch] for the theory; the exchange is Remez's.
template <class Target>
std::vector<minimax_sum> minimax_chain(const Target& target, index_t channels, double horizon,
                                       const minimax_options& options = {}) {
  detail::require_minimax(target, channels, horizon, options, "minimax_chain");
  detail::minimax_search<Target> search(target, horizon, options);
  std::vector<minimax_sum> results(static_cast<std::size_t>(channels));
  for (std::size_t n = 1; n <= results.size(); ++n) {
    results[n - 1] = search.next(n, true);
    if (search.good()) continue;
    for (std::size_t k = n; k < results.size(); ++k)
      results[k].interrupted = results[n - 1].interrupted;
    break;
  }
  return results;
}

/// The best exponential sum of N terms for a target on [1, T]: the last of `minimax_chain`, without
/// the work of closing the bounds of the others.
template <class Target>
minimax_sum minimax(const Target& target, index_t channels, double horizon,
                    const minimax_options& options = {}) {
  detail::require_minimax(target, channels, horizon, options, "minimax");
  detail::minimax_search<Target> search(target, horizon, options);
  for (index_t n = 1; n < channels; ++n) {
    const minimax_sum before = search.next(static_cast<std::size_t>(n), false);
    if (search.good()) continue;
    minimax_sum none;
    none.interrupted = before.interrupted;
    return none;
  }
  return search.next(static_cast<std::size_t>(channels), true);
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
