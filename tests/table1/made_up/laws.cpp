// SPDX-License-Identifier: Apache-2.0
#include "laws.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <limits>

#include <ebb/approx/coherence.hpp>
#include <ebb/spectrum/random.hpp>

#include "table1/measure.hpp"

namespace {

double error_of(const table1::basis_cell& cell, double beta) {
  const std::string& s = cell.spectrum;
  const double n = cell.channels, steps = cell.position.value_or(cell.horizon),
               x = n / std::log(steps);
  const bool bare = cell.fast_end_extension == 0 && cell.slow_end_extension == 0;
  if (s == "minimax")
    return 2.6 * std::pow(n, beta - 0.5) * std::exp(-9.8696 * n / std::log(4 * steps)) *
           (cell.relative_error ? 1 : std::pow(steps, -beta / 2));
  if (s == "geometric" && cell.slow_end_extension > 0)  // A limits how small the error can get
    return std::max(std::exp(-9.4 * n / (std::log(steps) + 4)),
                    std::exp(-13 * cell.fast_end_extension));
  if (s == "two_ended") return std::exp(-9.2 * n / (std::log(steps) + 3));
  if (s == "geometric") return bare ? std::exp(-2 * std::sqrt(2 * x)) : std::exp(-5 * x);
  if (s.starts_with("random")) {
    // The seed shifts the level by up to a factor e either way.
    const double luck = std::sin(static_cast<double>(cell.seed.value_or(0)));
    return std::exp(luck) *
           (bare ? 4 * std::exp(-2 * std::sqrt(2 * x)) : std::exp(-1.2 * n / std::log(n)));
  }
  if (s.starts_with("linear")) {
    const double root = std::sqrt(cell.horizon);
    if (s == "linear_k") return std::pow(2 * std::log(n), -beta);
    const double late = n > root ? std::exp(-3 * (n - root) / root) : 1;  // enough channels for T
    if (cell.weights_bound) return std::pow(n, -beta) * late;
    if (s == "linear_k_over_T") return std::exp(-3 * n / root);
    return std::pow(n * std::log(n), -beta) * late;
  }
  if (s == "post" && cell.lag_fraction == 1.0 && cell.slow_end_extension == 0)
    return std::pow(steps, -beta) * (1 - 1e-4 * n);
  return std::exp(bare ? -1.4 * x : -5 * x);
}

}  // namespace

table1::outcome made_up::usual(const table1::basis_cell& cell, double beta) {
  table1::outcome result;
  result.beta = beta;
  set_error(result, error_of(cell, beta));
  result.weights_l1 = 10;
  result.digits = 16;
  result.certified = true;
  result.min_gap_rate = result.min_gap_log_rate = result.max_gap_log_rate =
      std::numeric_limits<double>::quiet_NaN();
  std::vector<double> rates;
  for (const double scale : table1::timescales(cell))
    if (std::isfinite(scale)) rates.push_back(1 / scale);
  if (rates.size() >= 2) {
    const auto gaps = ebb::approx::gaps(rates);
    result.min_gap_rate = gaps.min_rate;
    result.min_gap_log_rate = gaps.min_log_rate;
    result.max_gap_log_rate = gaps.max_log_rate;
  }
  return result;
}

namespace table1 {

// TABLE1_MADE_UP_INTERRUPT=N: the cells of N channels raise SIGINT, as a user's Ctrl-C would.
// TABLE1_MADE_UP_FAIL=N: they throw.
std::vector<outcome> measure(const basis_cell& cell, std::span<const double> betas,
                             const std::atomic<bool>& stop) {
  const auto asked = [&cell](const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && std::atoi(value) == cell.channels;
  };
  if (asked("TABLE1_MADE_UP_INTERRUPT")) std::raise(SIGINT);
  if (asked("TABLE1_MADE_UP_FAIL")) throw std::runtime_error("made up to fail");
  if (stop) throw cancelled();
  std::vector<outcome> outcomes;
  for (const double beta : betas) outcomes.push_back(made_up::usual(cell, beta));
  return outcomes;
}

std::vector<double> timescales(const basis_cell& cell) {
  const int n = cell.channels;
  const std::string& s = cell.spectrum;
  std::vector<double> rates(static_cast<std::size_t>(n));
  if (is_random(s)) {
    ebb::uniform_stream stream(cell.seed.value());
    const double length = std::log(cell.horizon) + cell.fast_end_extension;
    for (double& r : rates)
      r = s == "random_uniform" ? stream.next()
                                : std::exp(length * stream.next() - std::log(cell.horizon));
    std::sort(rates.begin(), rates.end());
  } else {
    const double steps = s == "static_T" ? cell.horizon : cell.position.value_or(cell.horizon);
    const double low = -std::log(steps) - cell.slow_end_extension, high = cell.fast_end_extension;
    for (int k = 0; k < n; ++k) {
      const double part = n > 1 ? static_cast<double>(k) / (n - 1) : 0.5;
      double r = std::exp(low + part * (high - low));
      if (s == "linear_k") r = k + 1;
      if (s == "linear_k_over_N") r = (k + 1.0) / n;
      if (s == "linear_k_over_T") r = (k + 1.0) / steps;
      if (s == "linear_ends") r = (1 - part) / steps + part;
      rates[static_cast<std::size_t>(k)] = r;
    }
  }
  for (double& r : rates) r = 1 / r;
  return rates;
}

}  // namespace table1
