// SPDX-License-Identifier: Apache-2.0
#include "table1/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <variant>

#include <ebb/approx/best_weights.hpp>
#include <ebb/approx/bounded_weights.hpp>
#include <ebb/spectrum/geometric.hpp>
#include <ebb/spectrum/linear.hpp>
#include <ebb/spectrum/random.hpp>
#include <ebb/spectrum/two_ended.hpp>

#include "table1/optima.hpp"

namespace table1 {
namespace {

/// Any of the spectra of the table behind one type, so that the multiprecision code compiles once.
struct any_spectrum {
  static constexpr std::string_view name = "any";
  std::variant<ebb::geometric_spectrum, ebb::linear_ends, ebb::linear_k, ebb::linear_k_over_N,
               ebb::linear_k_over_T, ebb::random_log_uniform, ebb::random_uniform>
      chosen;

  template <ebb::real_scalar Real>
  void fill(std::span<Real> rates) const {
    std::visit([&](const auto& spectrum) { spectrum.fill(rates); }, chosen);
  }
};

/// How a spectrum's taper counts positions, and whether it has a sum.
ebb::approx::taper_options taper_of(const basis_cell& cell) {
  const ebb::index_t offset =
      cell.spectrum == "two_ended" ? ebb::two_ended_options{}.offset : ebb::index_t{0};
  return {offset, has_sum_channel(cell.spectrum)};
}

bool positional(const basis_cell& cell) { return cell.position.has_value(); }

any_spectrum spectrum_of(const basis_cell& cell) {
  const double fast = cell.fast_end_extension, slow = cell.slow_end_extension;
  const auto geometric = [&](double longest) {
    return any_spectrum{ebb::geometric_spectrum::extended(longest, fast, slow)};
  };
  const std::string& name = cell.spectrum;
  if (name == "linear_ends") return {ebb::linear_ends(cell.horizon)};
  if (name == "linear_k") return {ebb::linear_k()};
  if (name == "linear_k_over_N") return {ebb::linear_k_over_N()};
  if (name == "linear_k_over_T") return {ebb::linear_k_over_T(cell.horizon)};
  if (name == "random_uniform") return {ebb::random_uniform(cell.seed.value())};
  if (name == "random_log_uniform")
    return {ebb::random_log_uniform(ebb::rate_range::extended(cell.horizon, fast, slow),
                                    cell.seed.value())};
  if (name == "static_t") return geometric(cell.position.value());
  if (name == "geometric" || name == "static_T" || is_tapered(name)) return geometric(cell.horizon);
  throw ebb::domain_error("table1: unknown spectrum " + name);
}

ebb::approx::lag_set lags_of(const basis_cell& cell) {
  if (positional(cell)) {
    // 0.29 of 100 is 29, although 0.29 is not in binary.
    const double count = *cell.lag_fraction * *cell.position, nearest = std::round(count);
    return ebb::approx::lag_set::integer(std::abs(count - nearest) <= 1e-12 * count ? nearest
                                                                                    : count);
  }
  return cell.integer_lags ? ebb::approx::lag_set::integer(cell.horizon)
                           : ebb::approx::lag_set::continuous(cell.horizon);
}

/// Rates at the cell's position, slowest first; a sum channel, rate 0, is left out.
std::vector<long double> rates_at_position(const basis_cell& cell) {
  const auto taper = taper_of(cell);
  const ebb::index_t count = cell.channels - (taper.sum_channel ? 1 : 0);
  std::vector<long double> rates = ebb::rates_of<long double>(spectrum_of(cell), count);
  if (!is_tapered(cell.spectrum)) return rates;
  const long double log_scale =
      std::log((static_cast<long double>(*cell.position) + static_cast<long double>(taper.offset)) /
               static_cast<long double>(cell.horizon));
  for (ebb::index_t k = 0; k < count; ++k) {
    const long double alpha =
        count == 1 ? 1.0L
                   : static_cast<long double>(count - 1 - k) / static_cast<long double>(count - 1);
    rates[static_cast<std::size_t>(k)] *= std::exp(-alpha * log_scale);
  }
  return rates;
}

void set_gaps(std::vector<long double> rates, outcome& out) {
  std::sort(rates.begin(), rates.end());  // a taper beyond the horizon can reorder channels
  const double none = std::numeric_limits<double>::quiet_NaN();
  out.min_gap_rate = out.min_gap_log_rate = out.max_gap_log_rate = none;
  for (std::size_t k = 1; k < rates.size(); ++k) {
    const double gap = static_cast<double>(rates[k] - rates[k - 1]);
    const double log_gap =
        static_cast<double>(std::log1p((rates[k] - rates[k - 1]) / rates[k - 1]));
    out.min_gap_rate = k == 1 ? gap : std::min(out.min_gap_rate, gap);
    out.min_gap_log_rate = k == 1 ? log_gap : std::min(out.min_gap_log_rate, log_gap);
    out.max_gap_log_rate = k == 1 ? log_gap : std::max(out.max_gap_log_rate, log_gap);
  }
}

template <class Basis>
std::vector<ebb::approx::approximation> solve(const Basis& basis, const basis_cell& cell,
                                              std::span<const ebb::approx::power_law> targets,
                                              const ebb::approx::approximation_options& options) {
  const auto lags = lags_of(cell);
  auto results = ebb::approx::best_weights(basis, targets, lags, options);
  if (!cell.weights_bound) return results;
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (results[i].weights_l1 > *cell.weights_bound && !results[i].interrupted)
      results[i] =
          ebb::approx::bounded_weights(basis, targets[i], lags, *cell.weights_bound, options);
  return results;
}

/// Relative distance of bounds that agree to 4 digits; that of whole lags is looser.
double agreement(const basis_cell& cell) {
  return cell.integer_lags || positional(cell) ? 1e-3 : 5e-5;
}

std::vector<outcome> measure_optimum(const basis_cell& cell, std::span<const double> betas,
                                     const std::atomic<bool>& stop) {
  std::vector<outcome> outcomes;
  for (const double beta : betas) {
    const auto start = std::chrono::steady_clock::now();
    const ebb::approx::minimax_sum best =
        optimum(cell.channels, cell.horizon, beta, cell.relative_error, stop);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    outcome out{};
    out.beta = beta;
    out.error_lower = best.error_lower;
    out.error_upper = best.error_upper;
    for (const double weight : best.sum.weights) out.weights_l1 += std::abs(weight);
    out.digits = best.digits;
    out.seconds = elapsed.count();
    out.certified = best.error_upper - best.error_lower <= agreement(cell) * best.error_upper &&
                    best.error_upper < HUGE_VAL;
    set_gaps({best.sum.rates.begin(), best.sum.rates.end()}, out);
    outcomes.push_back(out);
  }
  return outcomes;
}

}  // namespace

std::vector<outcome> measure(const basis_cell& cell, std::span<const double> betas,
                             const std::atomic<bool>& stop) {
  if (cell.spectrum == "minimax") return measure_optimum(cell, betas, stop);
  const auto start = std::chrono::steady_clock::now();
  std::vector<ebb::approx::power_law> targets;
  for (const double beta : betas) targets.emplace_back(beta);
  ebb::approx::approximation_options options;
  options.kind =
      cell.relative_error ? ebb::approx::error_kind::relative : ebb::approx::error_kind::absolute;
  options.interrupted = [&stop] { return stop.load(); };

  std::vector<ebb::approx::approximation> found;
  if (is_tapered(cell.spectrum)) {
    found = solve(ebb::approx::taper_basis(spectrum_of(cell), cell.channels, cell.horizon,
                                           *cell.position, taper_of(cell)),
                  cell, targets, options);
  } else {
    found = solve(ebb::approx::exponential_basis(spectrum_of(cell), cell.channels), cell, targets,
                  options);
  }

  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::vector<outcome> outcomes;
  for (std::size_t i = 0; i < betas.size(); ++i) {
    if (found[i].interrupted) throw cancelled();
    outcome out{};
    out.beta = betas[i];
    out.error_lower = found[i].error_lower;
    out.error_upper = found[i].error_upper;
    out.weights_l1 = found[i].weights_l1;
    out.digits = found[i].digits;
    out.seconds = elapsed.count() / static_cast<double>(betas.size());
    out.certified = found[i].certified(agreement(cell));
    set_gaps(rates_at_position(cell), out);
    outcomes.push_back(out);
  }
  return outcomes;
}

std::vector<double> timescales(const basis_cell& cell) {
  std::vector<double> result;
  if (has_sum_channel(cell.spectrum)) result.push_back(std::numeric_limits<double>::infinity());
  for (const long double rate : rates_at_position(cell))
    result.push_back(static_cast<double>(1 / rate));
  std::sort(result.rbegin(), result.rend());
  return result;
}

}  // namespace table1
