// SPDX-License-Identifier: Apache-2.0
#include "table1/observe.hpp"

#include <algorithm>
#include <cmath>

#include <ebb/approx/channels.hpp>
#include <ebb/approx/coherence.hpp>
#include <ebb/decay/power_sum.hpp>

#include "table1/grid.hpp"
#include "table1/overhead.hpp"

namespace table1 {
namespace {

// Enough draws to know the power of N to about +-0.15 from four values of N within a factor 4.
constexpr int draws = 200;

std::vector<double> rates_of(const basis_cell& cell) {
  auto rates = timescales(cell);
  for (double& r : rates) r = 1 / r;
  return rates;
}

std::vector<gap_draw> draw_gaps(const std::string& spectrum, const options& o) {
  std::vector<gap_draw> found;
  // All horizons stretch the same draws, so one is enough.
  for (const int channels : o.channels)
    for (int draw = 0; channels >= 2 && draw < draws; ++draw) {
      basis_cell cell;
      cell.spectrum = spectrum;
      cell.channels = channels;
      cell.horizon = o.horizons.back();
      // The first channels of two draws of one seed are the same: another seed for each N.
      cell.seed = static_cast<std::uint64_t>(channels) * 1000000 + static_cast<unsigned>(draw);
      const auto gaps = ebb::approx::gaps(rates_of(cell));
      found.push_back({spectrum, channels, cell.horizon, *cell.seed, gaps.min_rate,
                       gaps.min_log_rate, gaps.max_log_rate});
    }
  return found;
}

std::vector<channel_count> count_channels(const options& o) {
  std::vector<channel_count> found;
  for (const double horizon : o.horizons)
    for (const int channels : o.channels)
      for (const double position : o.positions) {
        if (channels < 2 || position > horizon) continue;
        basis_cell cell;
        cell.spectrum = "geometric";
        cell.channels = channels;
        cell.horizon = horizon;
        const auto rates = rates_of(cell);
        found.push_back({channels, horizon, position, ebb::approx::count_within(rates, position),
                         ebb::approx::numerical_rank(rates, position, rank_threshold)});
      }
  return found;
}

std::vector<response> answer_impulses(const options& o) {
  std::vector<response> found;
  const int channels = std::max(2, o.channels.back());
  for (double t = 16; t <= 1e6; t *= 4)
    for (int k = 0; k < channels; ++k) {
      // Linear taper; with r_max = 1 the log-decay of channel k at position s is s^-alpha.
      const double alpha = static_cast<double>(channels - 1 - k) / (channels - 1);
      found.push_back(
          {alpha, t, -ebb::power_sum(alpha, t, t / 2), -ebb::power_sum(alpha, 2 * t, t)});
    }
  return found;
}

}  // namespace

observations observe(const options& o) {
  observations all;
  bool any_post = false, any_static = false;
  for (const auto& spectrum : o.spectra) {
    if (is_random(spectrum)) {
      const auto gaps = draw_gaps(spectrum, o);
      all.gaps.insert(all.gaps.end(), gaps.begin(), gaps.end());
    }
    any_post = any_post || is_tapered(spectrum);
    any_static = any_static || spectrum.starts_with("static");
  }
  if (any_static) all.counts = count_channels(o);
  if (any_post) all.responses = answer_impulses(o);
  if (any_post && o.overhead) all.timings = time_scans();
  return all;
}

}  // namespace table1
