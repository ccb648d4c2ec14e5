// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "table1/rules.hpp"

namespace table1::rules {
namespace {

// A power of N counts as the stated one when it differs by no more than this: N, N - 1 and N + 1
// are not told apart by N from 8 to 32.
constexpr double tolerance = 0.1;

// Points of log gap against log N and log T; one group for everything that only shifts the level.
struct gap_points {
  std::vector<double> log_channels, log_steps, log_gaps;
  std::vector<int> groups;
};

std::optional<line_fit> fit(const std::vector<double>& x, const gap_points& points) {
  const std::set<int> groups(points.groups.begin(), points.groups.end());
  const std::set<double> values(x.begin(), x.end());
  if (values.size() < 3 || x.size() < groups.size() + 2) return std::nullopt;
  return ebb::approx::fit_common_slope(x, points.log_gaps, points.groups);
}

// The gaps of evenly spaced log-rates against the number of gaps, one group for each end and step.
claim even_log_gap(claim c, rows_view rows, bool (*belongs)(std::string_view)) {
  gap_points points;
  std::map<std::vector<double>, int> groups;
  std::set<std::vector<double>> seen;  // betas and lags repeat the same spectrum
  double widest = 0;
  for (const row& r : rows) {
    if (!belongs(r.cell.spectrum) || r.cell.channels < 2) continue;
    const std::vector<double> key{r.cell.fast_end_extension, r.cell.slow_end_extension,
                                  r.cell.horizon, r.cell.position.value_or(0)};
    auto with_channels = key;
    with_channels.push_back(r.cell.channels);
    if (!seen.insert(with_channels).second) continue;
    points.groups.push_back(groups.emplace(key, static_cast<int>(groups.size())).first->second);
    points.log_channels.push_back(std::log(r.cell.channels - 1));
    points.log_gaps.push_back(std::log(r.result.min_gap_log_rate));
    widest = std::max(widest, r.result.max_gap_log_rate / r.result.min_gap_log_rate - 1);
  }
  const auto power = fit(points.log_channels, points);
  c.detail = "rule: the power of N-1 in the smallest log-rate gap lies within 0.1 of -1; ";
  if (!power) {
    c.detail += "too few rows: need N at three values or more";
    return c;
  }
  c.value = significant(power->slope, 4);
  c.ruling = power->slope_high() <= -1 + tolerance && power->slope_low() >= -1 - tolerance
                 ? verdict::holds
                 : verdict::fails;
  c.detail += "power " + with_interval(*power) + " from " + std::to_string(power->points) +
              " spectra, largest gap above smallest by " + significant(100 * widest, 2) + " %";
  return c;
}

}  // namespace

claim random_gap(rows_view, const observations& seen) {
  claim c{"random_gap",
          "random spectra: smallest gap O(N^-2)",
          {},
          "",
          "",
          "",
          "table1 --spectra random_log_uniform,random_uniform"};
  // In the coordinate in which the draws are uniform: log-rate, or rate.
  std::map<std::string, gap_points> spectra;
  std::map<std::string, std::map<int, std::vector<double>>> scaled;
  for (const gap_draw& draw : seen.gaps) {
    const bool in_logarithm = draw.spectrum == "random_log_uniform";
    const double gap = in_logarithm ? draw.min_gap_log_rate : draw.min_gap_rate;
    if (!(gap > 0)) continue;
    auto& points = spectra[draw.spectrum];
    points.log_channels.push_back(std::log(draw.channels));
    points.log_gaps.push_back(std::log(gap));
    points.groups.push_back(0);
    const double length = in_logarithm ? std::log(draw.horizon) : 1;
    scaled[draw.spectrum][draw.channels].push_back(gap * draw.channels * draw.channels / length);
  }
  c.detail =
      "rule: the power of N in the smallest gap (of the log-rates, of the rates) reaches down to "
      "-2 + 0.1 within its 95 % interval, known to +-0.5";
  bool all = true, known = !spectra.empty();
  for (const auto& [name, points] : spectra) {
    const auto power = fit(points.log_channels, points);
    if (!power || power->slope_half_width > 0.5) {
      known = false;
      c.detail += "; " + name + ": too few draws or values of N";
      continue;
    }
    all = all && power->slope_low() <= -2 + tolerance;
    if (c.value.empty()) c.value = significant(power->slope, 4);
    std::vector<double> medians;
    for (auto [channels, values] : scaled[name]) {
      std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                       values.end());
      medians.push_back(values[values.size() / 2]);
    }
    std::sort(medians.begin(), medians.end());
    c.detail += "; " + name + ": power " + with_interval(*power) + " from " +
                std::to_string(power->points) + " draws, median gap x N^2" +
                (name == "random_log_uniform" ? " / log T = " : " = ") +
                significant(medians.front(), 2) + " to " + significant(medians.back(), 2) +
                " (log 2 = 0.69 expected)";
  }
  if (known) c.ruling = all ? verdict::holds : verdict::fails;
  if (spectra.empty()) c.detail += "; no random spectra in this run";
  return c;
}

claim linear_gap(rows_view rows) {
  claim c{"linear_gap",
          "linear spectra: gap Theta(1)",
          {},
          "",
          "",
          "",
          "table1 --spectra linear_ends,linear_k,linear_k_over_N,linear_k_over_T"};
  std::map<std::string, std::map<std::pair<int, double>, double>> spectra;
  for (const row& r : rows)
    if (r.cell.spectrum.starts_with("linear") && r.cell.channels >= 2)
      spectra[r.cell.spectrum][{r.cell.channels, r.cell.horizon}] = r.result.min_gap_rate;
  c.detail = "rule: the powers of N and of T in the smallest rate gap both lie within 0.1 of 0";
  std::string good, bad;
  bool known = !spectra.empty();
  for (const auto& [name, gaps] : spectra) {
    // The two powers one after the other: each within groups that hold the other one fixed.
    gap_points by_channels, by_horizon;
    for (const auto& [where, gap] : gaps) {
      by_channels.log_channels.push_back(std::log(where.first));
      by_channels.log_gaps.push_back(std::log(gap));
      by_channels.groups.push_back(static_cast<int>(std::lround(1000 * std::log(where.second))));
      by_horizon.log_steps.push_back(std::log(where.second));
      by_horizon.log_gaps.push_back(std::log(gap));
      by_horizon.groups.push_back(where.first);
    }
    const auto n = fit(by_channels.log_channels, by_channels);
    const auto t = fit(by_horizon.log_steps, by_horizon);
    if (!n || !t) {
      known = false;
      c.detail += "; " + name + ": too few rows: need N and T at three values or more";
      continue;
    }
    const auto flat = [](const line_fit& f) {
      return f.slope_low() >= -tolerance && f.slope_high() <= tolerance;
    };
    std::string& list = flat(*n) && flat(*t) ? good : bad;
    list += (list.empty() ? "" : ", ") + name;
    if (c.value.empty() || (flat(*n) && flat(*t))) c.value = significant(n->slope, 4);
    c.detail += "; " + name + ": N^" + significant(n->slope, 3) + ", T^" + significant(t->slope, 3);
  }
  if (spectra.empty()) c.detail += "; no linear spectra in this run";
  if (known) {
    c.ruling = bad.empty() ? verdict::holds : good.empty() ? verdict::fails : verdict::holds_if;
    if (c.ruling == verdict::holds_if) c.condition = "the rates are those of " + good;
  }
  return c;
}

claim geometric_gap(rows_view rows) {
  return even_log_gap({"geometric_gap",
                       "geometric spectra: gap O(1/N)",
                       {},
                       "",
                       "",
                       "",
                       "table1 --spectra geometric"},
                      rows, [](std::string_view s) { return s == "geometric"; });
}

claim post_gap(rows_view rows) {
  return even_log_gap({"post_gap", "PoST: gap O(1/N)", {}, "", "", "", "table1 --spectra post"},
                      rows, [](std::string_view s) { return s == "post"; });
}

}  // namespace table1::rules
