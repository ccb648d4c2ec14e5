// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/sum_error.hpp
/// @brief  The largest error of a given exponential sum on an interval of lags, between two bounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include <Eigen/Core>

#include <ebb/approx/approximation.hpp>
#include <ebb/approx/chebyshev.hpp>
#include <ebb/approx/complex_exponential_sum.hpp>
#include <ebb/approx/exponential_sum.hpp>
#include <ebb/approx/precision.hpp>
#include <ebb/approx/residual.hpp>
#include <ebb/approx/sampling.hpp>
#include <ebb/approx/sum_size.hpp>
#include <ebb/approx/target.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// How the error of a sum is to be found.
struct sum_error_options {
  error_kind kind = error_kind::absolute;
  double tolerance = 1e-4;  ///< wanted (upper - lower) / upper, 1e-6 <= tolerance < 1
  int most_digits = 50;     ///< of the arithmetic: 16 (double), 19 (long double) or 50 are used
};

/// Bounds of a largest error.
///
///   lower <= max over lags |f - s| (or / |f|) <= upper      with the evidence that `basis` names
struct [[nodiscard]] error_bounds {
  double lower = 0;
  double upper = HUGE_VAL;
  double lag = 0;  ///< where the largest error was seen
  int digits = 0;  ///< decimal digits of the arithmetic that was needed
  evidence basis = evidence::none;
};

namespace detail {

/// 1e-300 <= first < last <= 1e300: with rates from 1e-7 / last to 60 / first in double's range.
inline void require_interval(double first, double last, const char* where) {
  ebb::detail::require_domain(first >= 1e-300 && last <= 1e300 && last > first * (1 + 1e-9), where,
                              "need 1e-300 <= first < last <= 1e300", first, last);
}

/// Roundoffs that a target is taken to have.
inline constexpr double target_roundoffs = 16;

/// Whether the target answers in the precision it is asked in; others are asked in double.
template <class Target, class Real>
concept answers_in = requires(const Target& target, const Real& lag) {
  { target(lag) } -> std::same_as<Real>;
};

/// The error f - s (or over f) of one sum, sampled in one arithmetic.
template <real_scalar Real, class Sum, class Target>
class error_of_sum {
 public:
  static constexpr bool exact_target = answers_in<Target, Real>;

  error_of_sum(const Sum& sum, const Target& target, double first, double last,
               const sum_error_options& options, const char* where)
      : where_(where), sum_(sum), target_(target), first_(first), last_(last), options_(options) {
    look(first, nullptr);
    look(last, nullptr);
    const int points = 64 + 4 * static_cast<int>(sum.rates.size());
    const double low = std::log(first), width = std::log(last) - low;
    for (int i = 1; i < points; ++i) look(std::exp(low + width * i / points), nullptr);
  }

  /// The bounds; `more_digits` tells whether other arithmetic could narrow them.
  error_bounds bounds(bool& more_digits) {
    sample_plan plan;
    cover(std::log(first_), std::log(last_), plan);
    std::vector<Real> errors;
    for (const auto& piece : plan.pieces)
      for (index_t i = 0; i < piece.nodes; ++i)
        look(piece.interval.lag_of(chebyshev_node(i, piece.nodes)), &errors);
    Real scale(0);
    using ebb::detail::abs;
    for (const Real& e : errors)
      if (abs(e) > scale) scale = abs(e);
    Eigen::MatrixXd table(static_cast<Eigen::Index>(errors.size()), 1);
    for (std::size_t i = 0; i < errors.size(); ++i)
      table(static_cast<Eigen::Index>(i), 0) =
          scale > Real(0) ? static_cast<double>(Real(errors[i] / scale)) : 0.0;
    const sampled_functions error(plan, table);
    for (const location& extremum : error.alternating_extrema()) look(extremum.lag, nullptr);

    error_bounds found;
    found.lower = largest_ - noise_at_largest_;
    found.lag = at_;
    found.upper = static_cast<double>(scale) * error.maximum(0.1 * options_.tolerance).second /
                      (1 - displacement(plan)) +
                  remainder(plan) + target_noise_ + sum_noise_;
    found.upper = std::max(found.upper, largest_ + noise_at_largest_);
    found.lower = std::clamp(found.lower, 0.0, found.upper);
    found.digits = std::numeric_limits<Real>::digits10 + 1;
    found.basis = analytic_target<Target> ? evidence::proved : evidence::sampled;
    const double noise = sum_noise_ + (exact_target ? target_noise_ : 0);
    more_digits = noise > 0.2 * options_.tolerance * found.upper;
    return found;
  }

 private:
  bool relative() const { return options_.kind == error_kind::relative; }

  Real target_at(double lag) const {
    if constexpr (exact_target)
      return target_(Real(lag));
    else
      return Real(static_cast<double>(target_(lag)));
  }

  /// Evaluate at a lag; keep the largest errors.
  void look(double lag, std::vector<Real>* errors) {
    lag = std::clamp(lag, first_, last_);
    const Real f = target_at(lag);
    const double size = std::abs(static_cast<double>(f));
    ebb::detail::require_domain(std::isfinite(size), where_, "need a target that is finite, at lag",
                                lag, size);
    ebb::detail::require_domain(!relative() || size >= std::numeric_limits<double>::min(), where_,
                                "need |f| >= 2.3e-308 for relative errors, at lag", lag, size);
    const rounded<Real> s = evaluate<Real>(sum_, lag);
    const double unit = static_cast<double>(unit_roundoff<Real>);
    const double its_unit = exact_target ? unit : std::max(unit, 0x1p-53);
    const Real e = relative() ? Real(Real(f - s.value) / f) : Real(f - s.value);
    const double by = relative() ? 1 / size : 1;
    const double magnitude = std::abs(static_cast<double>(e));
    ebb::detail::require_domain(std::isfinite(magnitude + s.error * by), where_,
                                "need an error that double can hold, at lag", lag, magnitude);
    const double from_target =
        (target_roundoffs + exp_roundoffs<Real>)*its_unit * size * by + 4 * unit * magnitude;
    target_noise_ = std::max(target_noise_, from_target);
    sum_noise_ = std::max(sum_noise_, s.error * by);
    most_target_ = std::max(most_target_, size);
    if (magnitude > largest_ || at_ == 0) {
      largest_ = magnitude;
      noise_at_largest_ = from_target + s.error * by;
      at_ = lag;
    }
    if (errors) errors->push_back(e);
  }

  /// log of a bound of |error| in the ellipse of an interval.
  double log_bound(const lag_interval& i) const {
    const double reach = i.overshoot(), p = std::exp(i.low - reach), q = std::exp(i.high + reach);
    const double of_sum = log_size(sum_, p, q, i.half_width);
    if constexpr (analytic_target<Target>)
      return relative() ? log_add(0, of_sum - target_.log_inf(p, q))
                        : log_add(target_.log_sup(p, q), of_sum);
    if (!relative()) return log_add(std::log(most_target_), of_sum);
    // In this interval: elsewhere |f| may be smaller by hundreds of orders of magnitude.
    double least = HUGE_VAL;
    for (const double x : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
      const double lag = std::clamp(i.lag_of(x), first_, last_);
      least = std::min(least, std::abs(static_cast<double>(target_at(lag))));
    }
    return log_add(0, of_sum - std::log(least));
  }

  /// log of the interpolation error's bound, but for -nodes log rho.
  double log_remainder(const lag_interval& i) const {
    const double rho = bernstein_ellipse(i.semi_minor_axis());
    return log_bound(i) + std::log(2 * (rho + 1) / (rho - 1));
  }

  /// Pieces with as many nodes as push the remainder below the tolerance; halved where that takes
  /// many.
  void cover(double low, double high, sample_plan& plan) const {
    const lag_interval i{low, high, 0, std::min(0.5 * std::numbers::pi, high - low)};
    const double wanted = std::max(
        {0.02 * options_.tolerance * largest_, 0.1 * (target_noise_ + sum_noise_), 1e-300});
    const double needed = std::ceil((log_remainder(i) - std::log(wanted)) /
                                    std::log(bernstein_ellipse(i.semi_minor_axis())));
    if (!(needed <= 160) && high - low > 1e-5) {
      const double middle = 0.5 * (low + high);
      cover(low, middle, plan);
      cover(middle, high, plan);
      return;
    }
    ebb::detail::require_domain(
        needed <= 160, where_,
        analytic_target<Target>
            ? "need finite bounds of the target (log_sup, log_inf), not far from its size, near lag"
            : "need a target that does not come near 0, for relative errors, near lag",
        std::exp(low));
    ebb::detail::require_domain(plan.pieces.size() < 10000, where_,
                                "need fewer oscillations, or a target whose bounds are closer, up "
                                "to lag",
                                std::exp(high));
    plan.pieces.push_back({i, std::max<index_t>(static_cast<index_t>(needed), 16)});
  }

  double remainder(const sample_plan& plan) const {
    double worst = 0;
    for (const auto& piece : plan.pieces)
      worst = std::max(worst,
                       std::exp(log_remainder(piece.interval) -
                                static_cast<double>(piece.nodes) *
                                    std::log(bernstein_ellipse(piece.interval.semi_minor_axis()))));
    return worst;
  }

  /// Relative change of the interpolant because a node's lag is rounded: its derivative is at most
  /// n^2 times its maximum (Markov), and values count at most 1 + 2/pi log n times (Lebesgue). n u
  /// more for the sums of the interpolant in double.
  static double displacement(const sample_plan& plan) {
    double worst = 0;
    for (const auto& piece : plan.pieces) {
      const auto& i = piece.interval;
      const double n = static_cast<double>(piece.nodes);
      const double du = (4 + 4 * std::max(std::abs(i.low), std::abs(i.high))) * 0x1p-53;
      const double dx = 2 * du / (i.high - i.low) + 8 * 0x1p-53;
      worst = std::max(worst, (1 + 0.64 * std::log(n)) * n * n * dx + 8 * n * 0x1p-53);
    }
    return std::min(worst, 0.5);
  }

  const char* where_;
  const Sum& sum_;
  const Target& target_;
  double first_, last_;
  const sum_error_options& options_;
  double largest_ = 0, noise_at_largest_ = 0, at_ = 0;
  double target_noise_ = 0, sum_noise_ = 0;
  double most_target_ = 0;
};

template <class Sum, class Target>
error_bounds bound_error(const Sum& sum, const Target& target, double first, double last,
                         const sum_error_options& options, const char* where) {
  sum.check(where);
  require_interval(first, last, where);
  for (const auto& r : sum.rates)
    ebb::detail::require_domain(std::abs(std::imag(r)) * last <= 1e6, where,
                                "need oscillations of at most 1e6 radian up to the last lag, got "
                                "Im r",
                                std::imag(r));
  ebb::detail::require_domain(options.tolerance >= 1e-6 && options.tolerance < 1, where,
                              "need 1e-6 <= tolerance < 1", options.tolerance);
  ebb::detail::require_domain(options.most_digits >= 16, where, "need most_digits >= 16",
                              options.most_digits);
  bool more_digits = false;
  error_bounds found = error_of_sum<double, Sum, Target>(sum, target, first, last, options, where)
                           .bounds(more_digits);
  if (more_digits && options.most_digits >= 19)
    found = error_of_sum<long double, Sum, Target>(sum, target, first, last, options, where)
                .bounds(more_digits);
  if (more_digits && options.most_digits >= 50)
    found = error_of_sum<multiprecision<50>, Sum, Target>(sum, target, first, last, options, where)
                .bounds(more_digits);
  return found;
}

/// Largest error on samples, evaluated in long double.
template <class Sum>
error_bounds bound_error(const Sum& sum, std::span<const double> lags,
                         std::span<const double> values, error_kind kind, const char* where) {
  sum.check(where);
  ebb::detail::require_shape(lags.size() == values.size() && !lags.empty(), where,
                             "need as many values as lags, at least one (got, lags)", values.size(),
                             lags.size());
  for (std::size_t i = 0; i < lags.size(); ++i)
    ebb::detail::require_domain(lags[i] >= 0 && std::isfinite(lags[i]) && std::isfinite(values[i]),
                                where, "need finite lags >= 0 and finite values", lags[i],
                                values[i]);
  error_bounds found{0, 0, lags[0], std::numeric_limits<long double>::digits10 + 1,
                     evidence::sampled};
  double largest = -1;
  for (std::size_t i = 0; i < lags.size(); ++i) {
    const bool relative = kind == error_kind::relative;
    ebb::detail::require_domain(!relative || values[i] != 0, where,
                                "need values that are not 0 for relative errors, at lag", lags[i]);
    const rounded<long double> s = evaluate<long double>(sum, lags[i]);
    const long double by = relative ? 1 / std::abs(static_cast<long double>(values[i])) : 1.0L;
    const double e = static_cast<double>(std::abs(values[i] - s.value) * by);
    const double noise = static_cast<double>(s.error * by) + 0x1p-52 * e;
    ebb::detail::require_domain(std::isfinite(e + noise), where,
                                "need an error that double can hold, at lag", lags[i], e);
    found.lower = std::max(found.lower, e - noise);
    found.upper = std::max(found.upper, e + noise);
    if (e > largest) largest = e, found.lag = lags[i];
  }
  return found;
}

}  // namespace detail

/// The largest error of a given sum on first <= tau <= last, with two-sided bounds.
///
///   max over tau of |f(tau) - s(tau)|      (or / |f(tau)|)
///
/// The error is interpolated at Chebyshev nodes in log tau. Above: the largest value of the
/// interpolant, the bound of what lies between the nodes (docs/certificates.md; for an
/// `analytic_target`, otherwise `evidence::sampled`), and the rounding of every evaluation. Below:
/// the error at one lag, less its rounding. More digits are used while rounding counts: for
/// weights that cancel, double, long double and 50 digits in turn.
///
/// @param sum    rates > 0, any number of channels; Shapes: rates, weights (N)
/// @param target f(tau) for double; for long double and `multiprecision<50>` too where errors near
///   1e-16 |f| matter. In each it is taken to be within 16 u |f| (82 u with 50 digits).
/// @param first, last  1e-300 <= first < last <= 1e300, units of 1/rates
/// @throws shape_error, domain_error unless the sum is sound and the arguments are in their
///   domains; domain_error where the target is not finite, or the error is beyond double; where sum
///   or target oscillate more than about 1e5 times; for relative errors where |f| < 2.3e-308.
/// Cost: about 40 nodes for each factor of 50 in last / first, N exponentials each; for relative
/// errors more where f falls fast, about one for each factor of 4 in f.
/// Accuracy: both bounds include rounding; (upper - lower) / upper <= tolerance unless digits ran
/// out.
template <class Target>
error_bounds sum_error(const exponential_sum& sum, const Target& target, double first, double last,
                       const sum_error_options& options = {}) {
  return detail::bound_error(sum, target, first, last, options, "sum_error");
}

/// The same for damped oscillations.
/// Cost: as many nodes again for each radian of max |Im r| last.
template <class Target>
error_bounds sum_error(const complex_exponential_sum& sum, const Target& target, double first,
                       double last, const sum_error_options& options = {}) {
  return detail::bound_error(sum, target, first, last, options, "sum_error");
}

/// The largest error of a given sum on samples: max_i |v_i - s(tau_i)| (or / |v_i|).
///
/// Shapes: lags, values (n), n >= 1, in any order; lags >= 0. Cost: n N exponentials in long double.
/// Accuracy: the bounds are the rounding of long double apart; `evidence::sampled`, for nothing is
/// said about other lags.
/// @throws shape_error, domain_error for an unsound sum, n = 0, unequal lengths, values that are
///   not finite (relative: or 0), lags < 0.
inline error_bounds sum_error(const exponential_sum& sum, std::span<const double> lags,
                              std::span<const double> values,
                              error_kind kind = error_kind::absolute) {
  return detail::bound_error(sum, lags, values, kind, "sum_error");
}

/// The same for damped oscillations.
inline error_bounds sum_error(const complex_exponential_sum& sum, std::span<const double> lags,
                              std::span<const double> values,
                              error_kind kind = error_kind::absolute) {
  return detail::bound_error(sum, lags, values, kind, "sum_error");
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
