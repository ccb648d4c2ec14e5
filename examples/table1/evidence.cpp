// SPDX-License-Identifier: Apache-2.0
#include "table1/evidence.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace table1 {

std::vector<row> sound_rows(std::span<const row> rows, const row_filter& passes) {
  std::vector<row> found;
  for (const row& r : rows)
    if (r.result.certified && r.result.error_upper > 0 && passes(r)) found.push_back(r);
  return found;
}

level level_of(const row& r) { return {r.cell.position.value_or(r.cell.horizon), r.result.beta}; }

curves error_curves(std::span<const row> rows, pick choice) {
  std::map<level, std::map<int, std::vector<double>>> logs;
  for (const row& r : rows)
    logs[level_of(r)][r.cell.channels].push_back(std::log(r.result.error_upper));
  curves all;
  for (auto& [where, by_channels] : logs)
    for (auto& [channels, values] : by_channels) {
      std::sort(values.begin(), values.end());
      const std::size_t middle = values.size() / 2;
      const double median =
          values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
      all[where].emplace_back(channels, choice == pick::median ? median : values.front());
    }
  return all;
}

curves restricted(const curves& all, const std::function<double(double)>& least) {
  curves kept;
  for (const auto& [where, points] : all) {
    std::vector<std::pair<int, double>> rest;
    for (const auto& point : points)
      if (point.first >= least(where.steps)) rest.push_back(point);
    if (rest.size() >= 2) kept[where] = rest;
  }
  return kept;
}

std::optional<fall> fit_fall(const curves& all, const coordinate& x) {
  std::vector<double> xs, ys, middles, growths;
  std::vector<int> groups, local_groups;
  int group = 0;
  double least_local = std::numeric_limits<double>::infinity();
  for (const auto& [where, points] : all) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!std::isfinite(x(points[i].first, where.steps))) continue;  // N / log N at N = 1
      xs.push_back(x(points[i].first, where.steps));
      ys.push_back(points[i].second);
      groups.push_back(group);
      if (groups.size() < 2 || groups[groups.size() - 2] != group) continue;
      const double from = xs[xs.size() - 2], to = xs.back();
      const double local = (points[i - 1].second - points[i].second) / (to - from);
      least_local = std::min(least_local, local);
      middles.push_back(std::log(from * to) / 2);
      growths.push_back(std::log(std::max(local, 1e-300)));
      local_groups.push_back(group);
    }
    ++group;
  }
  // One level takes one degree of freedom of its own in each fit.
  if (static_cast<int>(middles.size()) < group + 2) return std::nullopt;
  fall f;
  f.least_local = least_local;
  f.rate = ebb::approx::fit_common_slope(xs, ys, groups);
  f.growth = ebb::approx::fit_common_slope(middles, growths, local_groups);
  return f;
}

std::optional<line_fit> fit_power(const curves& all) {
  std::vector<double> xs, ys;
  std::vector<int> groups;
  int group = 0;
  for (const auto& [where, points] : all) {
    for (const auto& [channels, value] : points) {
      xs.push_back(std::log(channels));
      ys.push_back(value);
      groups.push_back(group);
    }
    ++group;
  }
  if (static_cast<int>(xs.size()) < group + 2) return std::nullopt;
  return ebb::approx::fit_common_slope(xs, ys, groups);
}

optima::optima(std::span<const row> rows) {
  for (const row& r :
       sound_rows(rows, [](const row& candidate) { return candidate.cell.spectrum == "minimax"; }))
    errors_[key_of(r)] = r.result.error_upper;
}

optima::key optima::key_of(const row& r) {
  const double last =
      r.cell.position ? *r.cell.position * r.cell.lag_fraction.value_or(1) : r.cell.horizon;
  return {r.cell.channels, last, r.result.beta, r.cell.relative_error};
}

std::optional<double> optima::ratio(const row& r) const {
  const auto at = errors_.find(key_of(r));
  if (at == errors_.end() || !std::isfinite(r.result.error_upper)) return std::nullopt;
  return r.result.error_upper / at->second;
}

std::string with_interval(double value, double half_width) {
  // Two digits of the interval, at least three of the value.
  const double scale = std::max(half_width, std::abs(value) * 1e-2);
  const int decimals = scale > 0 && std::isfinite(scale)
                           ? std::clamp(1 - static_cast<int>(std::floor(std::log10(scale))), 0, 12)
                           : 2;
  char text[96];
  const int n =
      std::snprintf(text, sizeof text, "%.*f +- %.*f", decimals, value, decimals, half_width);
  return std::string(text, static_cast<std::size_t>(n));
}

std::string with_interval(const line_fit& fit) {
  return with_interval(fit.slope, fit.slope_half_width);
}

}  // namespace table1
