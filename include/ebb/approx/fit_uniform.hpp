// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/fit_uniform.hpp
/// @brief  Rates and weights of an impulse response from samples at equal steps.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
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
  double rank_tolerance = 1e-14;  ///< singular values below it times the first count as noise
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
  ebb::detail::require_domain(lags.front() >= 0 && step > 0 && std::isfinite(step), where,
                              "need finite lags >= 0, ascending", lags.front(), lags.back());
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
  require_fit(channels, {}, where);
  require_samples(lags, values, channels, options.kind, where);
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

/// Poles as real numbers in (0, 1), ascending, each once.
inline std::vector<double> real_poles(const std::vector<std::complex<double>>& poles,
                                      std::size_t samples, pole_rule rule, const char* where) {
  std::vector<double> result;
  for (const std::complex<double>& z : poles) {
    // A double real pole is a pair that rounding or noise has moved off the axis a little.
    const bool real = z.real() > 0 && std::abs(z.imag()) <= 1e-6 * (1 - std::min(z.real(), 1.0));
    if (real && z.real() < 1) {
      result.push_back(z.real());
      continue;
    }
    ebb::detail::require_domain(rule != pole_rule::refuse, where,
                                real || std::abs(z) >= 1
                                    ? "need a kernel that decays (pole_rule projects or drops), "
                                      "got the pole"
                                    : "need a kernel that does not oscillate (fit_oscillations "
                                      "takes those, pole_rule projects or drops), got the pole",
                                named(z));
    if (rule == pole_rule::project && std::abs(z) > 0 && z.imag() >= 0)
      result.push_back(decaying_modulus(std::abs(z), samples));
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
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
/// Shapes: lags, values (n), n >= 2N. Units: rates 1 / those of the lags.
/// @param lags      >= 0, equally spaced to 1e-9 of the step
/// @param values    finite (relative: not 0)
/// @param channels  N, 1 <= N <= 64
/// @throws shape_error for unequal lengths or fewer than 2N samples; domain_error outside these
///   domains, before the work; domain_error naming the first pole that is not in (0, 1) unless
///   `outside` says otherwise, and where no pole is left.
/// Cost: O(n L^2), L = min(n / 2, 400), and 30 steps of 8 n N^2 operations in long double.
/// Accuracy: `error` is the exact largest error on the samples, `evidence::sampled`.
inline exponential_fit fit_uniform(std::span<const double> lags, std::span<const double> values,
                                   index_t channels, const uniform_fit_options& options = {}) {
  constexpr const char* where = "fit_uniform";
  detail::require_uniform_fit(lags, values, channels, options, where);
  const double step = detail::require_uniform(lags, where);
  const pencil found = pencil_poles(values, channels, options.rank_tolerance);
  const std::vector<double> poles =
      detail::real_poles(found.poles, lags.size(), options.outside, where);
  ebb::detail::require_domain(!poles.empty(), where,
                              "need a pole between 0 and 1, largest singular value",
                              found.singular_values.front());
  std::vector<long double> log_rates;
  for (const double z : poles)
    log_rates.push_back(std::log(-std::log(static_cast<long double>(z)) / step));
  const detail::kernel_samples samples = detail::samples_of(lags, values, options.kind);
  const detail::node_fit fit(samples, options.non_negative);
  detail::node_fit::nodes refined = fit.at(log_rates);
  fit.least_squares(refined, 30);
  exponential_fit result;
  result.sum = detail::rounded_sum(samples, refined, fit_norm::least_squares, options.non_negative);
  result.weights_l1 = result.sum.weights_l1();
  result.error = sum_error(result.sum, lags, values, options.kind);
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
/// Shapes, domains, noise: as fit_uniform; non_negative must be false.
/// @throws as fit_uniform; the poles refused are 0 and those with |z| >= 1.
/// Cost: as fit_uniform. Accuracy: `error` is exact on the samples, `evidence::sampled`; sum_error
/// bounds it elsewhere where the kernel is known.
inline oscillating_fit fit_oscillations(std::span<const double> lags,
                                        std::span<const double> values, index_t poles,
                                        const uniform_fit_options& options = {}) {
  constexpr const char* where = "fit_oscillations";
  detail::require_uniform_fit(lags, values, poles, options, where);
  ebb::detail::require_domain(!options.non_negative, where, "need non_negative = false");
  const double step = detail::require_uniform(lags, where);
  const pencil found = pencil_poles(values, poles, options.rank_tolerance);
  oscillating_fit result;
  for (std::complex<double> z : found.poles) {
    if (z.imag() < 0) continue;
    const double size = std::abs(z);
    if (!(size > 0 && size < 1)) {
      ebb::detail::require_domain(options.outside != pole_rule::refuse, where,
                                  "need a kernel that decays (pole_rule projects or drops), got "
                                  "the pole",
                                  detail::named(z));
      if (options.outside == pole_rule::drop || size == 0) continue;
      z *= detail::decaying_modulus(size, lags.size()) / size;
    }
    // A negative real pole alternates: half a turn a step.
    const double phase = z.imag() == 0 && z.real() < 0 ? std::numbers::pi : std::arg(z);
    result.sum.rates.emplace_back(-std::log(std::abs(z)) / step, -phase / step);
    result.poles += z.imag() == 0 ? 1 : 2;
  }
  ebb::detail::require_domain(!result.sum.rates.empty(), where,
                              "need a pole inside the unit circle, largest singular value",
                              found.singular_values.front());
  std::sort(result.sum.rates.begin(), result.sum.rates.end(),
            [](const std::complex<double>& a, const std::complex<double>& b) {
              return std::pair(a.real(), a.imag()) < std::pair(b.real(), b.imag());
            });
  detail::solve_weights(result.sum, detail::samples_of(lags, values, options.kind), step);
  result.weights_l1 = result.sum.weights_l1();
  result.error = sum_error(result.sum, lags, values, options.kind);
  return result;
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
