// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/minimax_predict.hpp
/// @brief  First guesses of a best sum: from sums of fewer terms, or from neighbouring horizons.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <ebb/approx/minimax_error.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// Values y_j at the positions (j + shift) / period, taken to (i + shift) / new_period: polynomials
/// through the 8 positions around.
inline std::vector<double> resample(const std::vector<double>& y, double shift, double period,
                                    std::size_t count, double new_period) {
  const std::size_t width = std::min<std::size_t>(8, y.size());
  std::vector<double> result;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = (static_cast<double>(i) + shift) / new_period * period - shift;
    const double left = std::floor(x) - 0.5 * static_cast<double>(width) + 1;
    const auto first =
        static_cast<std::size_t>(std::clamp(left, 0.0, static_cast<double>(y.size() - width)));
    double sum = 0;
    for (std::size_t a = first; a < first + width; ++a) {
      double factor = y[a];
      for (std::size_t b = first; b < first + width; ++b)
        if (a != b)
          factor *=
              (x - static_cast<double>(b)) / (static_cast<double>(a) - static_cast<double>(b));
      sum += factor;
    }
    result.push_back(sum);
  }
  return result;
}

/// A sum of M terms as one of N: log r as a function of (k + 1/2) / M, the density of the weights,
/// log (M w), likewise, and the reference as a function of i / 2 M.
inline minimax_state<double> resample(const minimax_state<double>& sum, std::size_t n) {
  const auto from = static_cast<double>(sum.size()), to = static_cast<double>(n);
  minimax_state<double> result;
  result.log_rates = resample(sum.log_rates, 0.5, from, n, to);
  result.log_weights = resample(sum.log_weights, 0.5, from, n, to);
  for (double& w : result.log_weights) w += std::log(from / to);
  result.reference = resample(sum.reference, 0, 2 * from, 2 * n + 1, 2 * to);
  return result;
}

/// sum_i c_i states_i
inline minimax_state<double> combine(const std::vector<minimax_state<double>>& states,
                                     const std::vector<double>& c) {
  minimax_state<double> result = states.front();
  const auto mix = [&](std::vector<double> minimax_state<double>::*part) {
    for (std::size_t k = 0; k < (result.*part).size(); ++k) {
      double sum = 0;
      for (std::size_t i = 0; i < states.size(); ++i) sum += c[i] * (states[i].*part)[k];
      (result.*part)[k] = sum;
    }
  };
  mix(&minimax_state<double>::log_rates);
  mix(&minimax_state<double>::log_weights);
  mix(&minimax_state<double>::reference);
  return result;
}

/// Makes a guess fit its interval: reference from 0 to `last` (if that is finite), everything
/// ascending.
inline void repair(minimax_state<double>& guess, double last) {
  const auto ascend = [](std::vector<double>& x, double least) {
    for (std::size_t k = 1; k < x.size(); ++k) x[k] = std::max(x[k], x[k - 1] + least);
  };
  ascend(guess.log_rates, 0.05);
  std::vector<double>& t = guess.reference;
  const double start = t.front();
  for (double& u : t) u -= start;
  ascend(t, 1e-6 * (1 + t.back()) / static_cast<double>(t.size()));
  if (std::isfinite(last))
    for (double& u : t) u *= last / t.back();
  t.front() = 0;
}

/// The best sum of n terms extrapolated from the best ones of n - 1, .., n - order terms: each is
/// resampled to n terms, and the polynomial in the number of terms through them is continued.
/// @param history  ends with n - 1 terms
inline minimax_state<double> extrapolate(const std::vector<minimax_state<double>>& history,
                                         std::size_t order) {
  const std::size_t n = history.back().size() + 1;
  std::vector<minimax_state<double>> states;
  std::vector<double> c;
  double binomial = 1;
  for (std::size_t i = 1; i <= order; ++i) {
    binomial *= static_cast<double>(order - i + 1) / static_cast<double>(i);
    c.push_back(i % 2 == 1 ? binomial : -binomial);
    states.push_back(resample(history[history.size() - i], n));
  }
  return combine(states, c);
}

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
