// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/bounds.hpp
/// @brief  What theory says about gaps and errors, as functions of N, T, t and beta.
///
/// Notation: N channels, horizon T steps, position t steps, target tau^-beta. The constants that a
/// statement leaves open are parameters named `scale` and `rate`; nothing here is measured.
#pragma once

#include <cmath>
#include <numbers>

#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// The two constants of a law  scale exp(-rate x)  or  scale x^-power.
struct law_constants {
  double scale = 1;
  double rate = 1;
};

namespace detail {
inline void require_channels(double channels, const char* where) {
  ebb::detail::require_domain(channels >= 2 && std::isfinite(channels), where, "need N >= 2",
                              channels);
}
inline void require_span(double steps, const char* where) {
  ebb::detail::require_domain(steps > 1 && std::isfinite(steps), where,
                              "need more than one step and finitely many", steps);
}
inline void require_power(double beta, const char* where) {
  ebb::detail::require_domain(beta > 0 && std::isfinite(beta), where, "need finite beta > 0", beta);
}
inline void require_constant(double value, const char* where) {
  ebb::detail::require_domain(std::isfinite(value), where, "need finite constants", value);
}
inline void require_constants(const law_constants& c, const char* where) {
  require_constant(c.scale, where);
  require_constant(c.rate, where);
}

/// The logarithm of the best relative error over its scale, from log T: no factor overflows.
inline double log_optimum(double channels, double log_horizon, double beta) {
  constexpr double pi2 = std::numbers::pi * std::numbers::pi;
  return (beta - 0.5) * std::log(channels) - pi2 * channels / (std::log(4.0) + log_horizon);
}
inline void require_optimum(double channels, double horizon, double beta, double scale,
                            const char* where) {
  require_channels(channels, where);
  require_span(horizon, where);
  require_power(beta, where);
  require_constant(scale, where);
}
}  // namespace detail

/// Random spectra, smallest gap: scale N^-2. Source: [PoST] Table 1.
/// @param channels  N >= 2    @throws domain_error otherwise.
inline double random_gap(double channels, double scale = 1) {
  detail::require_channels(channels, "random_gap");
  detail::require_constant(scale, "random_gap");
  return scale / (channels * channels);
}

/// Median of the smallest of the N - 1 gaps between N points drawn uniformly on an interval:
///
///   length (1 - 2^(-1/N)) / (N - 1)   ~   length log 2 / N^2
///
/// since P(smallest gap > x) = (1 - (N - 1) x / length)^N.
/// @param channels  N >= 2    @param length  > 0, for log-uniform rates log(r_max / r_min)
/// @throws domain_error otherwise.
inline double random_gap_median(double channels, double length) {
  detail::require_channels(channels, "random_gap_median");
  ebb::detail::require_domain(length > 0 && std::isfinite(length), "random_gap_median",
                              "need finite length > 0", length);
  return length * -std::expm1(-std::numbers::ln2 / channels) / (channels - 1);
}

/// Random spectra, error: scale exp(-rate N / log N). Source: [PoST] Table 1.
/// @param channels  N >= 2    @throws domain_error otherwise.
inline double random_error(double channels, law_constants c = {}) {
  detail::require_channels(channels, "random_error");
  detail::require_constants(c, "random_error");
  return c.scale * std::exp(-c.rate * channels / std::log(channels));
}

/// Linear spectra, error: scale N^-beta. Source: [PoST] Table 1.
/// @param channels  N >= 2    @param beta  > 0    @throws domain_error otherwise.
inline double linear_error(double channels, double beta, double scale = 1) {
  detail::require_channels(channels, "linear_error");
  detail::require_power(beta, "linear_error");
  detail::require_constant(scale, "linear_error");
  return scale * std::pow(channels, -beta);
}

/// Linear spectra over long contexts, error: scale exp(-rate N / sqrt(T)). Source: [PoST] abstract.
/// @param channels  N >= 2    @param horizon  T > 1    @throws domain_error otherwise.
inline double linear_error_long_context(double channels, double horizon, law_constants c = {}) {
  detail::require_channels(channels, "linear_error_long_context");
  detail::require_span(horizon, "linear_error_long_context");
  detail::require_constants(c, "linear_error_long_context");
  return c.scale * std::exp(-c.rate * channels / std::sqrt(horizon));
}

/// Geometric spectra, every gap in log-rate: log(span) / (N - 1), span = r_max / r_min (T without
/// extension; t for a tapered spectrum at position t). Source: [PoST] Table 1, O(1/N).
/// @param channels  N >= 2    @param span  > 1    @throws domain_error otherwise.
inline double geometric_gap(double channels, double span) {
  detail::require_channels(channels, "geometric_gap");
  detail::require_span(span, "geometric_gap");
  return std::log(span) / (channels - 1);
}

/// Geometric spectra, error: scale exp(-rate N / log(steps)); steps is T, or, for a
/// position-adaptive taper, the position t. Source: [PoST] Table 1.
/// @param channels  N >= 2    @param steps  > 1    @throws domain_error otherwise.
inline double geometric_error(double channels, double steps, law_constants c = {}) {
  detail::require_channels(channels, "geometric_error");
  detail::require_span(steps, "geometric_error");
  detail::require_constants(c, "geometric_error");
  return c.scale * std::exp(-c.rate * channels / std::log(steps));
}

/// Geometric spectra whose fast end is at rate 1, error for N / log T large and T much larger:
/// scale exp(-2 sqrt(2 N / log T)). Slower than any exp(-rate N / log T): lags near one step need
/// rates above 1.
/// @param channels  N >= 2    @param horizon  T > 1    @throws domain_error otherwise.
inline double bare_geometric_error(double channels, double horizon, double scale = 1) {
  detail::require_channels(channels, "bare_geometric_error");
  detail::require_span(horizon, "bare_geometric_error");
  detail::require_constant(scale, "bare_geometric_error");
  return scale * std::exp(-2 * std::sqrt(2 * channels / std::log(horizon)));
}

/// The best relative error of N exponentials with free rates and weights on [1, T]:
///
///   scale N^(beta - 1/2) exp(-pi^2 N / log(4 T))
///
/// @param channels  N >= 2    @param horizon  T > 1    @param beta  > 0
/// @param scale     1.55, 2.6, 3.1 and 3.2 for beta = 1/4, 1/2, 3/4 and 1: within 20 % where the
///                  error is below 0.05 (tests/approx/minimax_test.cpp). Measured for T = 1e2 to
///                  1e6 and N = 6 to 30: 1.32 to 1.70, 2.45 to 2.68, 2.98 to 3.26, 2.82 to 3.72
///                  (claim optimum_law of table1 --spectra minimax --relative, docs/table1.md)
/// @throws domain_error otherwise.
/// Source: [BraessHackbusch] for the exponent at beta = 1; the prefactor is empirical.
inline double optimum_relative_error(double channels, double horizon, double beta,
                                     double scale = 1) {
  detail::require_optimum(channels, horizon, beta, scale, "optimum_relative_error");
  return scale * std::exp(detail::log_optimum(channels, std::log(horizon), beta));
}

/// The same in absolute error, away from saturation: T^(-beta / 2) times the relative one.
/// @throws as optimum_relative_error.
inline double optimum_absolute_error(double channels, double horizon, double beta,
                                     double scale = 1) {
  detail::require_optimum(channels, horizon, beta, scale, "optimum_absolute_error");
  const double log_horizon = std::log(horizon);
  return scale *
         std::exp(detail::log_optimum(channels, log_horizon, beta) - 0.5 * beta * log_horizon);
}

/// Channels of a static geometric spectrum on [1/T, 1] that work at position t: N log t / log T.
/// @param channels  N >= 2    @param position  1 <= t    @param horizon  T > 1
/// @throws domain_error otherwise.
/// Source: [PoST] abstract.
inline double effective_channels(double channels, double position, double horizon) {
  detail::require_channels(channels, "effective_channels");
  detail::require_span(horizon, "effective_channels");
  ebb::detail::require_domain(position >= 1 && std::isfinite(position), "effective_channels",
                              "need finite t >= 1", position);
  return channels * std::log(position) / std::log(horizon);
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
