// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/fit.hpp
/// @brief  Rates and weights of a kernel: from the kernel itself, or from samples at any lags.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <vector>

#include <ebb/approx/approximation.hpp>
#include <ebb/approx/exponential_sum.hpp>
#include <ebb/approx/node_search.hpp>
#include <ebb/approx/sum_error.hpp>
#include <ebb/approx/target.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// What a fit is to do.
struct fit_options {
  error_kind kind = error_kind::absolute;
  std::optional<fit_norm> norm{};  ///< none: `largest` for a kernel, `least_squares` for samples
  bool non_negative = false;       ///< weights >= 0, as intensities and variances need them
  double tolerance = 1e-3;         ///< wanted (upper - lower) / upper of the error's bounds
  double most_weights = HUGE_VAL;  ///< bound of sum |c_k|, > 0, where noise or wide sums need one
};

/// A fitted sum and how far it is from what it was fitted to.
struct [[nodiscard]] exponential_fit {
  exponential_sum sum;  ///< fewer channels than asked for where these suffice
  error_bounds error;   ///< of `sum` as it is, rates and weights in double
  /// sum |c_k|: s(0) if no weight is negative. Far above max |f| the channels cancel, or lags below
  /// the first have huge values, as where noise is fitted: `most_weights` bounds it.
  double weights_l1 = 0;
};

namespace detail {

inline void require_fit(index_t channels, const fit_options& options, const char* where) {
  ebb::detail::require_domain(channels >= 1 && channels <= 64, where, "need 1 <= channels <= 64",
                              channels);
  ebb::detail::require_domain(options.tolerance >= 1e-6 && options.tolerance < 1, where,
                              "need 1e-6 <= tolerance < 1", options.tolerance);
  ebb::detail::require_domain(options.most_weights > 0, where, "need most_weights > 0",
                              options.most_weights);
}

/// What can be fitted: its square, its inverse where that is needed, and weights of some size are
/// in the range of double.
inline void require_value(double lag, double value, error_kind kind, const char* where) {
  ebb::detail::require_domain(std::abs(value) <= 1e300, where,
                              "need finite values, at most 1e300, at lag", lag, value);
  ebb::detail::require_domain(
      kind == error_kind::absolute || std::abs(value) >= std::numeric_limits<double>::min(), where,
      "need |values| >= 2.3e-308 for relative errors, at lag", lag, value);
}

/// Weights count at lag 0; a first lag far from there can need larger ones than double has.
template <class Sum>
void require_sum(const Sum& sum, const char* where) {
  for (std::size_t k = 0; k < sum.rates.size(); ++k)
    ebb::detail::require_domain(std::isfinite(std::abs(sum.weights[k])), where,
                                "need smaller values, or lags nearer to 0: a weight is beyond "
                                "double, that of the rate",
                                decay_of(sum.rates[k]));
}

/// At least 2N of them, each as above.
inline void require_samples(std::span<const double> lags, std::span<const double> values,
                            index_t channels, error_kind kind, const char* where) {
  ebb::detail::require_shape(lags.size() == values.size(), where,
                             "need as many values as lags (got, lags)", values.size(), lags.size());
  ebb::detail::require_shape(
      static_cast<index_t>(lags.size()) >= std::max<index_t>(2 * channels, 2), where,
      "need at least 2 N samples (got, N)", lags.size(), channels);
  for (std::size_t i = 0; i < lags.size(); ++i) require_value(lags[i], values[i], kind, where);
}

inline void add_sample(kernel_samples& samples, double lag, double value, error_kind kind) {
  samples.lags.push_back(lag);
  samples.values.push_back(value);
  samples.scales.push_back(kind == error_kind::relative ? 1 / std::abs(value) : 1.0);
}

inline kernel_samples samples_of(std::span<const double> lags, std::span<const double> values,
                                 error_kind kind) {
  kernel_samples result;
  for (std::size_t i = 0; i < lags.size(); ++i) add_sample(result, lags[i], values[i], kind);
  return result;
}

/// Values every `step`, linear between the samples.
inline std::vector<double> evenly(std::span<const double> lags, std::span<const double> values,
                                  double step) {
  std::vector<double> result;
  std::size_t next = 1;
  for (int i = 0; lags.front() + i * step <= lags.back(); ++i) {
    const double lag = lags.front() + i * step;
    while (next + 1 < lags.size() && lags[next] < lag) ++next;
    const double part = (lag - lags[next - 1]) / (lags[next] - lags[next - 1]);
    result.push_back(values[next - 1] + part * (values[next] - values[next - 1]));
  }
  return result;
}

/// About `count` of the samples, equally spaced in log tau as far as there are some.
inline kernel_samples thinned(const kernel_samples& all, std::size_t count) {
  if (all.lags.size() <= count) return all;
  kernel_samples result;
  const double low = std::log(all.lags.front()), width = std::log(all.lags.back()) - low;
  double next = low;
  for (std::size_t i = 0; i < all.lags.size(); ++i) {
    if (i + 1 < all.lags.size() && std::log(all.lags[i]) < next) continue;
    result.lags.push_back(all.lags[i]);
    result.values.push_back(all.values[i]);
    result.scales.push_back(all.scales[i]);
    next = low + width * static_cast<double>(result.lags.size()) / static_cast<double>(count);
  }
  return result.lags.size() >= count / 4 ? result : all;
}

}  // namespace detail

/// A sum of at most N exponentials for a kernel on first <= tau <= last, rates and weights free.
///
///   minimise max |f(tau) - sum_k c_k exp(-r_k tau)|      (or / |f|; or the sum of squares)
///
/// Channels are added one by one; each time all rates are refined by variable projection in log r,
/// then levelled by Gauss-Newton steps in the largest error. It is a local search: for completely
/// monotone kernels (powers, Gamma mixtures) within 3 times the best error of N exponentials
/// (tests/approx/fit_test.cpp) as long as that is above about 1e-12 of max|f|; below, rates are no
/// longer resolved, and fewer channels may come back. Oscillating kernels need fit_oscillations.
///
/// @param kernel    f(tau), a callable of double; of more digits, and with log_sup and log_inf
///   (target.hpp), where the error is to be proved
/// @param first, last  1e-300 <= first < last <= 1e300
/// @param channels  N, 1 <= N <= 64
/// @throws domain_error outside these domains, before the search begins; unless |f| <= 1e300
///   (relative: and >= 2.3e-308); for weights beyond double.
/// Cost: about 1 s at N = 16, growing as N^4, in long double. Where that is no wider than double,
/// errors below about 1e-9 of max|f| are not reached.
/// Accuracy: `error` bounds the error of the sum that is returned (sum_error.hpp).
/// Source: docs/references.md [GolubPereyra], [OsborneWatson].
template <class Kernel>
requires target_for<Kernel, double> exponential_fit fit(const Kernel& kernel, double first,
                                                        double last, index_t channels,
                                                        const fit_options& options = {}) {
  constexpr const char* where = "fit";
  detail::require_fit(channels, options, where);
  detail::require_interval(first, last, where);
  const auto value_at = [&](double lag) {
    const double value = static_cast<double>(kernel(lag));
    detail::require_value(lag, value, options.kind, where);
    return value;
  };
  const auto samples = [&](index_t n) {
    detail::kernel_samples result;
    // At last 20 points for each of the 2n + 1 extrema of a levelled error, closer towards both
    // ends: what lies between them is larger by less than (pi / 20)^2 / 8 = 0.3 %.
    const auto count = static_cast<int>(n == channels ? 40 * n + 40 : 16 * n + 24);
    for (int i = 0; i <= count; ++i) {
      const double x = static_cast<double>(i) / count;
      const double y = 0.5 * x + 0.25 * (1 - std::cos(std::numbers::pi * x));
      const double width = std::log(last) - std::log(first);
      const double lag =
          std::clamp(first * std::exp(0.5 * y * width) * std::exp(0.5 * y * width), first, last);
      detail::add_sample(result, lag, value_at(lag), options.kind);
    }
    return result;
  };
  const detail::kernel_samples finest = samples(channels);
  const fit_norm norm = options.norm.value_or(fit_norm::largest);
  std::vector<double> even;
  const double step = (last - first) / static_cast<double>(4 * channels + 100);
  for (int i = 0; i <= 4 * channels + 100; ++i)
    even.push_back(value_at(std::min(first + i * step, last)));
  const auto found = detail::search_nodes(samples, detail::pencil_rates(even, step, channels),
                                          channels, norm, options.non_negative);
  exponential_fit result;
  result.sum = detail::bounded_sum(finest, found, norm, options.non_negative, options.most_weights);
  detail::require_sum(result.sum, where);
  result.weights_l1 = result.sum.weights_l1();
  result.error = detail::bound_error(result.sum, kernel, first, last,
                                     {options.kind, options.tolerance}, where);
  return result;
}

/// A sum of at most N exponentials for samples at any lags > 0, rates and weights free.
///
/// As above, with the error on the samples only. Noise is fitted like any other value: by default
/// in least squares, which averages it; `fit_norm::largest` follows the worst sample. More channels
/// than the noise lets be seen give rates that mean nothing and weights of 1e12 that cancel, though
/// the sum stays close to the samples: `weights_l1` far above max |v_i| shows it. most_weights bounds
/// them (each may be near max |v_i| in a sum that means something); non_negative keeps the sum
/// smooth between the samples.
///
/// Shapes: lags, values (n), n >= 2N. Units: rates 1 / those of the lags.
/// @param lags      1e-300 <= lags <= 1e300, strictly ascending
/// @param values    |v_i| <= 1e300 (relative: and >= 2.3e-308); all 0: a sum of no channels
/// @param channels  N, 1 <= N <= 64
/// @throws shape_error for unequal lengths or fewer than 2N samples; domain_error outside these
///   domains, all before the search begins; domain_error for weights beyond double.
/// Cost: as above on at most 40N + 200 of the samples, then about 60 steps of 8 n N^2 operations in
/// long double.
/// Accuracy: `error` is the exact largest error on the samples, `evidence::sampled`.
inline exponential_fit fit(std::span<const double> lags, std::span<const double> values,
                           index_t channels, const fit_options& options = {}) {
  constexpr const char* where = "fit";
  detail::require_fit(channels, options, where);
  detail::require_samples(lags, values, channels, options.kind, where);
  for (std::size_t i = 0; i < lags.size(); ++i)
    ebb::detail::require_domain(
        lags[i] >= 1e-300 && lags[i] <= 1e300 && (i == 0 || lags[i - 1] < lags[i]), where,
        "need lags from 1e-300 to 1e300 (> 0), strictly ascending", lags[i]);
  const detail::kernel_samples all = detail::samples_of(lags, values, options.kind);
  const auto samples = [&](index_t n) {
    return n == channels ? all : detail::thinned(all, static_cast<std::size_t>(40 * n + 200));
  };
  const fit_norm norm = options.norm.value_or(fit_norm::least_squares);
  const double step = (lags.back() - lags.front()) / static_cast<double>(4 * channels + 100);
  const auto found = detail::search_nodes(
      samples, detail::pencil_rates(detail::evenly(lags, values, step), step, channels), channels,
      norm, options.non_negative);
  exponential_fit result;
  result.sum = detail::bounded_sum(all, found, norm, options.non_negative, options.most_weights);
  detail::require_sum(result.sum, where);
  result.weights_l1 = result.sum.weights_l1();
  result.error = detail::bound_error(result.sum, lags, values, options.kind, where);
  return result;
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
