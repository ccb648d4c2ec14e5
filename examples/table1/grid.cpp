// SPDX-License-Identifier: Apache-2.0
#include "table1/grid.hpp"

#include <cmath>

#include <ebb/spectrum/two_ended.hpp>

#include "table1/row.hpp"

namespace table1 {
namespace {

const std::vector<double> zero{0};
const std::vector<double> half{0.5};

bool has_fast_end(std::string_view s) {
  return s == "geometric" || s == "random_log_uniform" || has_position(s);
}

bool has_slow_end(std::string_view s) { return s == "geometric" || is_tapered(s); }

std::vector<shape> default_shapes(std::string_view s, bool full) {
  std::vector<shape> shapes;
  const auto add = [&shapes](double fast, double slow, double part) {
    shapes.push_back({fast, slow, part, {}});
  };
  if (s == "geometric") {
    add(0, 0, 0.5), add(2, 0, 0.5), add(2, 1, 0.5), add(3, 1, 0.5);
    if (full) add(3, 0, 0.5), add(4, 1, 0.5);
  } else if (s == "random_log_uniform" || s.starts_with("static")) {
    add(0, 0, 0.5), add(2, 0, 0.5);
  } else if (s == "linear_k_over_N") {
    add(0, 0, 0.5);
    shapes.push_back({0, 0, 0.5, 100.0});
  } else if (s == "post") {
    add(0, 0, 0.5), add(0, 0, 1), add(2, 0, 0.5), add(2, 0, 1), add(2, 3, 1);
    if (full) add(3, 0, 0.5);
  } else if (s == "post_sum") {
    add(2, 1, 1);
  } else if (s == "two_ended") {
    const ebb::two_ended_options usual;
    add(usual.fast_end, usual.slow_end, 1);
  } else {
    add(0, 0, 0.5);
  }
  return shapes;
}

// The default grid goes on to more channels where an exponent has to show whether it keeps growing.
std::vector<int> channels_of(std::string_view spectrum, const shape& s, double horizon,
                             const options& o) {
  auto channels = o.channels;
  if (!o.default_channels || o.full || spectrum != "geometric" || horizon < 1e3) return channels;
  if (s.fast == 0 || s.fast == 3) channels.push_back(48);
  if (s.fast == 0) channels.push_back(64);
  return channels;
}

}  // namespace

bool is_random(std::string_view s) { return s.starts_with("random"); }

bool has_position(std::string_view s) { return is_tapered(s) || s.starts_with("static"); }

std::vector<shape> shapes_of(std::string_view s, const options& o) {
  if (!o.extensions && !o.slow_extensions && !o.lag_fractions && !o.weights_bound)
    return default_shapes(s, o.full);
  std::vector<shape> shapes;
  for (const double fast : has_fast_end(s) ? o.extensions.value_or(zero) : zero)
    for (const double slow : has_slow_end(s) ? o.slow_extensions.value_or(zero) : zero)
      for (const double part : has_position(s) ? o.lag_fractions.value_or(half) : half)
        shapes.push_back({fast, slow, part, o.weights_bound});
  return shapes;
}

std::vector<basis_cell> grid(const options& o) {
  std::vector<basis_cell> cells;
  for (const auto& spectrum : o.spectra)
    for (const auto& s : shapes_of(spectrum, o))
      for (const double horizon : o.horizons)
        for (const int channels : channels_of(spectrum, s, horizon, o)) {
          if (channels == 1 && has_sum_channel(spectrum)) continue;  // a sum and nothing else
          // The best sums are those on all real lags, with free weights.
          if (spectrum == "minimax" &&
              (channels > most_optimum_terms || o.integer_lags || s.weights_bound))
            continue;
          basis_cell cell;
          cell.spectrum = spectrum;
          cell.fast_end_extension = s.fast;
          cell.slow_end_extension = s.slow;
          cell.channels = channels;
          cell.horizon = horizon;
          cell.integer_lags = o.integer_lags || has_position(spectrum);
          cell.relative_error = o.relative;
          cell.weights_bound = s.weights_bound;
          if (has_position(spectrum)) {
            cell.lag_fraction = s.lag_fraction;
            for (const double position : o.positions) {
              cell.position = position;
              cells.push_back(cell);
            }
          } else if (is_random(spectrum)) {
            const int seeds = channels > 32 ? o.seeds_above_32 : o.seeds;
            for (int seed = 1; seed <= seeds; ++seed) {
              cell.seed = static_cast<std::uint64_t>(seed);
              cells.push_back(cell);
            }
          } else {
            cells.push_back(cell);
          }
        }
  return cells;
}

std::string measurement_key(const basis_cell& cell) {
  row r{cell, {}};
  // With ends at 1/T and 1 the horizon cancels in r_k (s/T)^-alpha_k; a single tapered channel lies
  // between the ends, where it does not.
  const int tapered = cell.channels - (has_sum_channel(cell.spectrum) ? 1 : 0);
  if ((is_tapered(cell.spectrum) && tapered > 1) || cell.spectrum == "static_t") r.cell.horizon = 0;
  return csv_line(r);
}

double expected_cost(const basis_cell& cell) {
  // The number of channels decides, then how ill-conditioned the basis is.
  const double n = cell.channels + 4.0;
  if (cell.spectrum == "minimax") return 0.1 * n * n * n;
  const bool benign = cell.fast_end_extension > 0 && cell.spectrum != "static_T";
  return n * n * n * (benign ? 0.3 : 1.0);
}

}  // namespace table1
