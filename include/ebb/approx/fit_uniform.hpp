// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/fit_uniform.hpp
/// @brief  Rates and weights of an impulse response from samples at equal steps.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <functional>
#include <numbers>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/QR>

#include <ebb/approx/approximation.hpp>
#include <ebb/approx/complex_exponential_sum.hpp>
#include <ebb/approx/exponential_sum.hpp>
#include <ebb/approx/fit.hpp>
#include <ebb/approx/matrix_pencil.hpp>
#include <ebb/approx/node_search.hpp>
#include <ebb/approx/sum_error.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// What becomes of a pole that no decaying channel has.
enum class pole_rule {
  refuse,   ///< domain_error that names it
  project,  ///< moved: outside the unit circle to 1 / conj z, off the positive axis to |z|
  drop      ///< left out
};

/// How samples at equal steps are fitted.
struct uniform_fit_options {
  error_kind kind = error_kind::absolute;
  bool non_negative = false;  ///< weights >= 0; real rates only
  pole_rule outside = pole_rule::refuse;
  double rank_tolerance = 1e-14;   ///< singular values below it times the first count as noise
  double most_weights = HUGE_VAL;  ///< bound of sum |c_k|, > 0; of fit_uniform only
};

/// A fitted sum of damped oscillations and its error on the samples.
struct [[nodiscard]] oscillating_fit {
  complex_exponential_sum sum;  ///< one channel for each conjugate pair, Im r <= 0
  error_bounds error;
  double weights_l1 = 0;  ///< sum |c_k|
  index_t poles = 0;      ///< real ones, and two for each pair
};

namespace detail {

/// The step of lags that are equally spaced to 1e-9 of it.
inline double require_uniform(std::span<const double> lags, const char* where) {
  const double step =
      (lags.back() - lags.front()) / static_cast<double>(std::max<std::size_t>(lags.size() - 1, 1));
  ebb::detail::require_domain(lags.front() >= 0 && step >= 1e-300 && lags.back() <= 1e300, where,
                              "need lags from 0 to 1e300, ascending by 1e-300 or more",
                              lags.front(), lags.back());
  for (std::size_t i = 0; i < lags.size(); ++i)
    ebb::detail::require_domain(std::abs(lags[i] - lags.front() - static_cast<double>(i) * step) <=
                                    1e-9 * step + 4 * 0x1p-53 * lags.back(),
                                where, "need equally spaced lags (fit takes others), got lag, step",
                                lags[i], step);
  return step;
}

inline void require_uniform_fit(std::span<const double> lags, std::span<const double> values,
                                index_t channels, const uniform_fit_options& options,
                                const char* where) {
  fit_options others;
  others.most_weights = options.most_weights;
  require_fit(channels, others, where);
  require_samples(lags, values, channels, options.kind, where);
  ebb::detail::require_domain(
      std::any_of(values.begin(), values.end(), [](double v) { return v != 0; }), where,
      "need values that are not all 0");
  ebb::detail::require_domain(options.rank_tolerance > 0 && options.rank_tolerance < 1, where,
                              "need 0 < rank_tolerance < 1", options.rank_tolerance);
}

inline std::string named(const std::complex<double>& z) {
  return ebb::detail::printed(z.real()) + (z.imag() < 0 ? " - " : " + ") +
         ebb::detail::printed(std::abs(z.imag())) + " i";
}

/// |z| brought into (0, 1): reflected at 1, and no slower than 1e-6 over all samples.
inline double decaying_modulus(double modulus, std::size_t samples) {
  const double slowest = std::exp(-1e-6 / static_cast<double>(samples));
  return std::min(modulus < 1 ? modulus : 1 / modulus, slowest);
}

/// Whether a pair is a multiple real pole that rounding or noise has split: within half a period it
/// decays below the tolerance, so that it is seen to change sign once at most, as two exponentials.
inline bool nearly_real(const std::complex<double>& z, double tolerance) {
  return z.real() > 0 && std::abs(z) < 1 &&
         std::abs(std::arg(z)) * -std::log(tolerance) <= std::numbers::pi * -std::log(std::abs(z));
}

/// Whether samples oscillate, by all the poles they have: fewer, as close as fewer can be, may turn
/// where the samples do not (two for tau^2 e^-tau).
inline bool oscillates(const pencil& found, std::span<const double> values, index_t channels,
                       double tolerance) {
  const auto turns = [&](const pencil& p) {
    return std::any_of(p.poles.begin(), p.poles.end(), [&](const std::complex<double>& z) {
      return z.imag() != 0 && !nearly_real(z, tolerance);
    });
  };
  const auto n = static_cast<std::size_t>(channels);
  if (!turns(found)) return false;
  if (found.singular_values.size() <= n ||
      found.singular_values[n] <= tolerance * found.singular_values[0])
    return true;
  const auto most = std::min<index_t>(64, static_cast<index_t>(values.size() / 2));
  return most == channels || turns(pencil_poles(values, most, tolerance));
}

/// What is wrong with a pole that is not in (0, 1).
inline const char* fault_of(const std::complex<double>& z, double tolerance) {
  if (std::abs(z) >= 1) return "need a kernel that decays (pole_rule projects or drops)";
  if (std::pow(std::abs(z), 4) <= tolerance)
    return "need a kernel that lasts: a pole at 0 is an impulse at the first lags (leave these "
           "out, "
           "or let pole_rule drop it)";
  return "need a kernel that does not oscillate, or a rank_tolerance above its noise "
         "(fit_oscillations takes oscillations, pole_rule projects or drops them)";
}

/// Poles as real numbers in (0, 1); a multiple one as often as it was found.
struct real_poles {
  std::vector<double> poles;  ///< descending: the rates ascend
  bool multiple = false;

  real_poles(const pencil& found, bool oscillating, std::size_t samples,
             const uniform_fit_options& options, const char* where) {
    for (const std::complex<double>& z : found.poles) {
      const double size = std::abs(z);
      const bool vanishes = size <= options.rank_tolerance;
      const bool real = z.imag() == 0 && z.real() > 0;
      const bool split = z.imag() != 0 && size < 1 && !vanishes &&
                         (!oscillating || nearly_real(z, options.rank_tolerance));
      if ((real && size < 1 && !vanishes) || split) {
        poles.push_back(size);
        multiple = multiple || split;
        continue;
      }
      ebb::detail::require_domain(options.outside != pole_rule::refuse, where,
                                  fault_of(z, options.rank_tolerance), "the pole " + named(z));
      if (options.outside == pole_rule::project && !vanishes && z.imag() >= 0)
        poles.push_back(decaying_modulus(size, samples));
    }
    std::sort(poles.begin(), poles.end(), std::greater<>());
    if (!multiple) poles.erase(std::unique(poles.begin(), poles.end()), poles.end());
  }
};

/// Least squares rates from these. Equal ones are a saddle: they start some distance apart, by the
/// best of a few.
inline node_fit::nodes refined(const node_fit& fit, const std::vector<long double>& log_rates,
                               bool multiple) {
  node_fit::nodes best = fit.at(log_rates);
  fit.least_squares(best, 30);
  for (long double gap = 1e-6L; multiple && gap < 0.2L; gap *= 10) {
    std::vector<long double> apart = log_rates;
    for (std::size_t k = 0; k < apart.size(); ++k)
      apart[k] +=
          gap * (static_cast<long double>(k) - 0.5L * static_cast<long double>(apart.size()));
    node_fit::nodes next = fit.at(std::move(apart));
    fit.least_squares(next, 30);
    if (next.squares < best.squares) best = std::move(next);
  }
  return best;
}

/// Least squares weights of damped oscillations. Of a rate without phase, or with one of half a
/// turn a step, only one of sine and cosine counts.
inline void solve_weights(complex_exponential_sum& sum, const kernel_samples& samples,
                          double step) {
  const auto m = static_cast<Eigen::Index>(samples.lags.size());
  const auto n = static_cast<Eigen::Index>(sum.rates.size());
  using matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  matrix phi = matrix::Zero(m, 2 * n);
  Eigen::Vector<long double, Eigen::Dynamic> values(m);
  for (Eigen::Index k = 0; k < n; ++k) {
    const std::complex<double>& r = sum.rates[static_cast<std::size_t>(k)];
    const double turn = std::abs(r.imag()) * step, start = r.imag() * samples.lags.front();
    const bool one = turn == 0 || turn > std::numbers::pi * (1 - 1e-12);
    const bool cosine = std::abs(std::cos(start)) > 0.7;
    for (Eigen::Index i = 0; i < m; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const long double lag = samples.lags[at], phase = r.imag() * lag;
      const long double size = samples.scales[at] * std::exp(-r.real() * lag);
      values(i) = samples.values[at] * static_cast<long double>(samples.scales[at]);
      if (!one || cosine) phi(i, k) = size * std::cos(phase);
      if (!one || !cosine) phi(i, n + k) = size * std::sin(phase);
    }
  }
  const Eigen::Vector<long double, Eigen::Dynamic> c = phi.colPivHouseholderQr().solve(values);
  sum.weights.clear();
  for (Eigen::Index k = 0; k < n; ++k)
    sum.weights.emplace_back(static_cast<double>(c(k)), static_cast<double>(c(n + k)));
}

}  // namespace detail

/// A sum of at most N exponentials for samples at equal steps.
///
///   v_i near sum_k c_k z_k^i,   r_k = -log z_k / step,   0 < z_k < 1
///
/// The poles come from a matrix pencil (matrix_pencil.hpp) without a starting guess, and are then
/// refined in least squares. Sums of N exponentials come back to rounding times their condition;
/// fewer channels come back where the singular values say that fewer are there. Noise of relative
/// size eps moves singular values by about eps: with rank_tolerance near it, it is not taken for
/// channels; with many samples each, the poles of those that stand out are averaged over them.
///
/// A multiple pole (tau e^-tau) is a limit of sums: it comes back as distinct rates next to each
/// other, with weights that cancel, as far apart as is best for weights rounded to double. Samples
/// that oscillate are refused: fit_oscillations takes them. A pair of poles that decays below
/// rank_tolerance within half a period is no oscillation, but a multiple pole.
///
/// Shapes: lags, values (n), n >= 2N. Units: rates 1 / those of the lags.
/// @param lags      0 <= lags <= 1e300, equally spaced to 1e-9 of the step, that >= 1e-300
/// @param values    |v_i| <= 1e300 (relative: and >= 2.3e-308), not all 0
/// @param channels  N, 1 <= N <= 64
/// @throws shape_error for unequal lengths or fewer than 2N samples; domain_error outside these
///   domains, before the work; domain_error naming the first pole that is not in (0, 1) unless
///   `outside` says otherwise (an impulse at the first lag is a pole at 0), where no pole is left,
///   and for weights beyond double.
/// Cost: O(n L^2), L = min(n / 2, 400), and 30 steps of 8 n N^2 operations in long double, 7
/// times that for multiple poles.
/// Accuracy: `error` is the exact largest error on the samples, `evidence::sampled`.
inline exponential_fit fit_uniform(std::span<const double> lags, std::span<const double> values,
                                   index_t channels, const uniform_fit_options& options = {}) {
  constexpr const char* where = "fit_uniform";
  detail::require_uniform_fit(lags, values, channels, options, where);
  const double step = detail::require_uniform(lags, where);
  const pencil found = pencil_poles(values, channels, options.rank_tolerance);
  const bool oscillating = detail::oscillates(found, values, channels, options.rank_tolerance);
  const detail::real_poles real(found, oscillating, lags.size(), options, where);
  ebb::detail::require_domain(!real.poles.empty(), where,
                              "need samples with a pole between 0 and 1 (values and last one)",
                              values.size(), values.back());
  std::vector<long double> log_rates;
  for (const double z : real.poles)
    log_rates.push_back(std::log(-std::log(static_cast<long double>(z)) / step));
  const detail::kernel_samples samples = detail::samples_of(lags, values, options.kind);
  constexpr fit_norm norm = fit_norm::least_squares;
  const detail::node_fit fit(samples, options.non_negative);
  const detail::node_fit::nodes refined = detail::refined(fit, log_rates, real.multiple);
  exponential_fit result;
  result.sum =
      detail::bounded_sum(samples, refined, norm, options.non_negative, options.most_weights);
  detail::require_sum(result.sum, where);
  result.weights_l1 = result.sum.weights_l1();
  result.error = detail::bound_error(result.sum, lags, values, options.kind, where);
  return result;
}

/// A real sum of damped oscillations for samples at equal steps: at most N poles, real or in
/// conjugate pairs.
///
///   v_i near Re sum_k c_k z_k^i,   r_k = -log z_k / step,   0 < |z_k| < 1
///
/// A pair takes one channel of the result, with the pole of positive phase (Im r < 0). Phases are
/// those below the Nyquist frequency, pi / step. Poles from the matrix pencil, weights in least
/// squares.
///
/// Shapes, domains, noise: as fit_uniform; non_negative must be false, most_weights infinite.
/// @throws as fit_uniform; the poles refused are 0 (|z| <= rank_tolerance) and those with |z| >= 1.
/// Cost: as fit_uniform. Accuracy: `error` is exact on the samples, `evidence::sampled`; sum_error
/// bounds it elsewhere where the kernel is known.
inline oscillating_fit fit_oscillations(std::span<const double> lags,
                                        std::span<const double> values, index_t poles,
                                        const uniform_fit_options& options = {}) {
  constexpr const char* where = "fit_oscillations";
  detail::require_uniform_fit(lags, values, poles, options, where);
  ebb::detail::require_domain(!options.non_negative, where, "need non_negative = false");
  ebb::detail::require_domain(!(options.most_weights < HUGE_VAL), where, "need most_weights = inf",
                              options.most_weights);
  const double step = detail::require_uniform(lags, where);
  const pencil found = pencil_poles(values, poles, options.rank_tolerance);
  oscillating_fit result;
  for (std::complex<double> z : found.poles) {
    if (z.imag() < 0) continue;
    const double size = std::abs(z);
    const bool vanishes = size <= options.rank_tolerance;
    if (vanishes || size >= 1) {
      ebb::detail::require_domain(options.outside != pole_rule::refuse, where,
                                  detail::fault_of(z, options.rank_tolerance),
                                  "the pole " + detail::named(z));
      if (options.outside == pole_rule::drop || vanishes) continue;
      z *= detail::decaying_modulus(size, lags.size()) / size;
    }
    // A negative real pole alternates: half a turn a step.
    const double phase = z.imag() == 0 && z.real() < 0 ? std::numbers::pi : std::arg(z);
    result.sum.rates.emplace_back(-std::log(std::abs(z)) / step, -phase / step);
    result.poles += z.imag() == 0 ? 1 : 2;
  }
  ebb::detail::require_domain(!result.sum.rates.empty(), where,
                              "need samples with a pole inside the unit circle (values and last "
                              "one)",
                              values.size(), values.back());
  std::sort(result.sum.rates.begin(), result.sum.rates.end(),
            [](const std::complex<double>& a, const std::complex<double>& b) {
              return std::pair(a.real(), a.imag()) < std::pair(b.real(), b.imag());
            });
  detail::solve_weights(result.sum, detail::samples_of(lags, values, options.kind), step);
  detail::require_sum(result.sum, where);
  result.weights_l1 = result.sum.weights_l1();
  result.error = detail::bound_error(result.sum, lags, values, options.kind, where);
  return result;
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
