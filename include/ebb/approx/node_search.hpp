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

/// The curve through x_k at (k + 1/2) / n, k = 0 .. n - 1, at a place in [0, 1]: cubic between and
/// beyond the nearest four.
inline long double along(const std::vector<long double>& x, long double place) {
  const auto n = static_cast<int>(x.size());
  if (n == 1) return x[0] + 3 * (place - 0.5L);
  const long double at = place * n - 0.5L;
  const int points = std::min(n, 4);
  const int first = std::clamp(static_cast<int>(std::floor(at)) - (points - 1) / 2, 0, n - points);
  long double value = 0;
  for (int a = first; a < first + points; ++a) {
    long double factor = 1;
    for (int b = first; b < first + points; ++b)
      if (b != a) factor *= (at - b) / (a - b);
    value += factor * x[static_cast<std::size_t>(a)];
  }
  return value;
}

/// Rates for one channel more, from those for the counts before: the nodes of good sums lie on
/// curves that change little with N, so that the change from one count to the next is continued
/// where that is better.
inline node_fit::nodes stretched(const node_fit& fit, const std::vector<long double>& rates,
                                 const std::vector<long double>& before) {
  const std::size_t n = rates.size() + 1;
  std::vector<long double> plain, continued;
  for (std::size_t k = 0; k < n; ++k) {
    const long double place = (static_cast<long double>(k) + 0.5L) / static_cast<long double>(n);
    plain.push_back(along(rates, place));
    if (before.size() >= 3) continued.push_back(2 * plain.back() - along(before, place));
  }
  node_fit::nodes result = fit.at(std::move(plain));
  if (continued.empty()) return result;
  node_fit::nodes other = fit.at(std::move(continued));
  return other.squares < result.squares ? other : result;
}

/// Rates on a grid a quarter apart in log r, from 1/100 over the last lag on: two such functions
/// have a normalised inner product of 0.992.
inline std::vector<long double> candidate_rates(const node_fit& fit) {
  std::vector<long double> result;
  const long double slow = fit.slowest() + std::log(1e5L), width = fit.fastest() - slow;
  const int count = static_cast<int>(std::ceil(4 * width));
  for (int i = 0; i <= count; ++i) result.push_back(slow + width * i / count);
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

/// An exact sum without the channels that it can do without.
inline node_fit::nodes pruned(const node_fit& fit, node_fit::nodes here) {
  for (bool fewer = here.log_rates.size() > 1; fewer;) {
    fewer = false;
    for (std::size_t k = 0; k < here.log_rates.size() && here.log_rates.size() > 1 && !fewer; ++k) {
      std::vector<long double> rates = here.log_rates;
      rates.erase(rates.begin() + static_cast<std::ptrdiff_t>(k));
      node_fit::nodes next = fit.at(std::move(rates));
      fit.least_squares(next, 20);
      fewer = fit.exact(next);
      if (fewer) here = std::move(next);
    }
  }
  return here;
}

/// The sum of at most `channels` exponentials for samples(n), the samples to be used for n
/// channels; fewer when these meet the samples to the rounding of double.
///
/// n = 1, 2, ..: the nodes of n - 1, stretched, and the same with the one more that helps most, are
/// both refined; the better ones go on. Other rates, `start`, are tried before, and filled up after.
inline node_fit::nodes search_nodes(const std::function<kernel_samples(index_t)>& samples,
                                    const std::vector<long double>& start, index_t channels,
                                    fit_norm norm, bool non_negative) {
  const auto refine = [&](const node_fit& fit, node_fit::nodes& here, bool last) {
    fit.least_squares(here, last ? 60 : 20);
    if (norm == fit_norm::largest) fit.level(here, last ? 30 : 6);
  };
  // More channels have to gain a tenth.
  const auto better = [&](const node_fit::nodes& a, const node_fit::nodes& b) {
    return norm == fit_norm::largest ? a.largest < 0.9L * b.largest : a.squares < 0.8L * b.squares;
  };
  const node_fit whole(samples(channels), non_negative);
  node_fit::nodes other;
  if (!start.empty()) {
    other = whole.at(start);
    whole.least_squares(other, 30);
    if (whole.exact(other)) return pruned(whole, other);
  }
  node_fit::nodes current, best;
  std::vector<long double> before;
  for (index_t n = 1; n <= channels; ++n) {
    const node_fit fit(samples(n), non_negative);
    node_fit::nodes next;
    if (n == 1) {
      for (const long double r : candidate_rates(fit)) {
        node_fit::nodes one = fit.at({r});
        if (one.squares < next.squares) next = std::move(one);
      }
    } else {
      next = stretched(fit, current.log_rates, before);
      fit.least_squares(next, 12);
      node_fit::nodes added = filled_up(fit, current.log_rates, n);
      if (added.squares < next.squares) next = std::move(added);
    }
    refine(fit, next, n == channels);
    before = std::exchange(current, std::move(next)).log_rates;
    // On the samples of this round, so that they compare.
    if (n > 1) {
      best = fit.at(best.log_rates);
      if (norm == fit_norm::largest) fit.level(best, 0);
    }
    if (n == 1 || better(current, best)) best = current;
    if (fit.exact(best)) return pruned(fit, best);
  }
  if (start.empty()) return best;
  other = filled_up(whole, other.log_rates, channels);
  refine(whole, other, true);
  return better(other, best) ? other : best;
}

/// The same rates rounded to double, and weights for these; channels without weight are left out.
inline exponential_sum rounded_sum(const kernel_samples& samples, const node_fit::nodes& found,
                                   fit_norm norm, bool non_negative, long double weight_cost = 1) {
  std::vector<long double> log_rates;
  exponential_sum sum;
  for (const long double r : found.log_rates) {
    const double rate = static_cast<double>(std::exp(r));
    if (!sum.rates.empty() && !(rate > sum.rates.back())) continue;
    sum.rates.push_back(rate);
    log_rates.push_back(std::log(static_cast<long double>(rate)));
  }
  const node_fit fit(samples, non_negative, weight_cost);
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

/// The rounded sum, or one with sum |c_k| <= most: weights cost more and more until it is met, and
/// the rates follow.
inline exponential_sum bounded_sum(const kernel_samples& samples, node_fit::nodes found,
                                   fit_norm norm, bool non_negative, double most) {
  exponential_sum sum = rounded_sum(samples, found, norm, non_negative);
  for (long double cost = 4; sum.weights_l1() > most && cost < 1e300L; cost *= 4) {
    const node_fit fit(samples, non_negative, cost);
    found = fit.at(std::move(found.log_rates));
    fit.least_squares(found, 20);
    if (norm == fit_norm::largest) fit.level(found, 6);
    sum = rounded_sum(samples, found, norm, non_negative, cost);
  }
  return sum;
}

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
