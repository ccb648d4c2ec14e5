// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/node_search.hpp
/// @brief  Rates of an exponential sum found one after the other, from one channel to N.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include <ebb/approx/exponential_sum.hpp>
#include <ebb/approx/matrix_pencil.hpp>
#include <ebb/approx/node_fit.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// What a fit makes small: the largest error, or the sum of squares of the errors.
enum class fit_norm { largest, least_squares };

namespace detail {

/// The sequence x_0 < x_1 < .. stretched to one element more, by cubic interpolation at (k + 1/2) /
/// n: nodes of a good sum of n - 1 channels lie near those of a good one of n.
inline std::vector<long double> stretched(const std::vector<long double>& x) {
  const auto n = static_cast<int>(x.size());
  std::vector<long double> result;
  if (n == 1) return {x[0] - 1.5L, x[0] + 1.5L};
  const int points = std::min(n, 4);
  for (int k = 0; k <= n; ++k) {
    const long double at = (k + 0.5L) / (n + 1) * n - 0.5L;
    const int first =
        std::clamp(static_cast<int>(std::floor(at)) - (points - 1) / 2, 0, n - points);
    long double value = 0;
    for (int a = first; a < first + points; ++a) {
      long double factor = 1;
      for (int b = first; b < first + points; ++b)
        if (b != a) factor *= (at - b) / (a - b);
      value += factor * x[static_cast<std::size_t>(a)];
    }
    result.push_back(value);
  }
  return result;
}

/// Rates on a grid a quarter apart in log r: two such functions have a normalised inner product of
/// 0.992.
inline std::vector<long double> candidate_rates(const node_fit& fit) {
  std::vector<long double> result;
  const int count = static_cast<int>(std::ceil(4 * (fit.fastest() - fit.slowest())));
  for (int i = 0; i <= count; ++i)
    result.push_back(fit.slowest() + (fit.fastest() - fit.slowest()) * i / count);
  return result;
}

/// The rates and those candidates, one by one, that help most, up to n.
inline node_fit::nodes filled_up(const node_fit& fit, std::vector<long double> log_rates,
                                 index_t n) {
  node_fit::nodes result = fit.at(std::move(log_rates));
  while (static_cast<index_t>(result.log_rates.size()) < n) {
    std::vector<long double> more = result.log_rates;
    more.push_back(fit.best_addition(result, candidate_rates(fit)));
    result = fit.at(std::move(more));
    fit.least_squares(result, 12);
  }
  return result;
}

/// Rates that a matrix pencil sees in samples at equal steps, as far as they are real.
inline std::vector<long double> pencil_rates(const std::vector<double>& values, double step,
                                             index_t channels) {
  std::vector<long double> result;
  for (const std::complex<double>& z : pencil_poles(values, channels, 1e-14).poles)
    if (z.real() > 0 && z.real() < 1 && std::abs(z.imag()) < 1e-3 * (1 - z.real()))
      result.push_back(std::log(-std::log(static_cast<long double>(z.real())) / step));
  return result;
}

/// The sum of at most `channels` exponentials for samples(n), the samples to be used for n
/// channels; fewer when these meet the samples to the rounding of double.
///
/// n = 1, 2, ..: the nodes of n - 1, stretched, and the same with the one more that helps most, are
/// both refined; the better ones go on. At last other rates, `start`, are tried likewise.
inline node_fit::nodes search_nodes(const std::function<kernel_samples(index_t)>& samples,
                                    const std::vector<long double>& start, index_t channels,
                                    fit_norm norm, bool non_negative) {
  const auto refine = [&](const node_fit& fit, node_fit::nodes& here, bool last) {
    fit.least_squares(here, last ? 60 : 30);
    if (norm == fit_norm::largest) fit.level(here, last ? 30 : 10);
  };
  const auto better = [&](const node_fit::nodes& a, const node_fit::nodes& b) {
    return norm == fit_norm::largest ? a.largest < b.largest : a.squares < b.squares;
  };
  node_fit::nodes current, best;
  for (index_t n = 1; n <= channels; ++n) {
    const node_fit fit(samples(n), non_negative);
    node_fit::nodes next;
    if (n == 1) {
      for (const long double r : candidate_rates(fit)) {
        node_fit::nodes one = fit.at({r});
        if (one.squares < next.squares) next = std::move(one);
      }
    } else {
      next = fit.at(stretched(current.log_rates));
      fit.least_squares(next, 12);
      node_fit::nodes added = filled_up(fit, current.log_rates, n);
      if (added.squares < next.squares) next = std::move(added);
    }
    refine(fit, next, n == channels);
    current = std::move(next);
    // On the samples of this round, so that they compare.
    if (n > 1) {
      best = fit.at(best.log_rates);
      if (norm == fit_norm::largest) fit.level(best, 0);
    }
    if (n == 1 || better(current, best)) best = current;
    if (best.largest <= 4 * fit.floor()) return best;
  }
  if (start.empty()) return best;
  const node_fit fit(samples(channels), non_negative);
  node_fit::nodes other = fit.at(start);
  fit.least_squares(other, 30);
  if (other.largest > 4 * fit.floor()) {
    other = filled_up(fit, other.log_rates, channels);
    refine(fit, other, true);
  }
  return better(other, best) ? other : best;
}

/// The same rates rounded to double, and weights for these; channels without weight are left out.
inline exponential_sum rounded_sum(const kernel_samples& samples, const node_fit::nodes& found,
                                   fit_norm norm, bool non_negative) {
  std::vector<long double> log_rates;
  exponential_sum sum;
  for (const long double r : found.log_rates) {
    const double rate = static_cast<double>(std::exp(r));
    if (!sum.rates.empty() && !(rate > sum.rates.back())) continue;
    sum.rates.push_back(rate);
    log_rates.push_back(std::log(static_cast<long double>(rate)));
  }
  const node_fit fit(samples, non_negative);
  node_fit::nodes rounded = fit.at(log_rates);
  if (norm == fit_norm::largest) fit.level(rounded, 0);
  exponential_sum result;
  for (std::size_t k = 0; k < sum.rates.size(); ++k) {
    const double weight = static_cast<double>(rounded.weights(static_cast<Eigen::Index>(k)));
    if (weight == 0) continue;
    result.rates.push_back(sum.rates[k]);
    result.weights.push_back(weight);
  }
  return result;
}

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
