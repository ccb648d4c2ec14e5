// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <tuple>
#include <utility>

#include "table1/rules.hpp"

namespace table1::rules {
namespace {

constexpr double pi2 = std::numbers::pi * std::numbers::pi;

// The law of the optimum: its exponent within 2 %, its prefactor within a factor 1.5.
constexpr double exponent_slack = 0.02, prefactor_slack = 1.5;

// A fixed spectrum is near the optimum's exponent when it needs at most 1.25 times the channels.
constexpr double least_share = 0.8;

/// Lines y = level - c x, one level for each T (or t) and beta.
struct points {
  std::vector<double> xs, ys;
  std::vector<int> groups;
  std::map<level, int> levels;

  void add(const row& r, double x, double y) {
    xs.push_back(x), ys.push_back(y);
    groups.push_back(levels.emplace(level_of(r), static_cast<int>(levels.size())).first->second);
  }

  std::optional<line_fit> fit() const {
    if (xs.size() < levels.size() + 2) return std::nullopt;
    for (std::size_t i = 1; i < xs.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (groups[i] == groups[j] && xs[i] != xs[j])
          return ebb::approx::fit_common_slope(xs, ys, groups);
    return std::nullopt;
  }
};

/// The smallest error at each N, T (or t) and beta, its shape, and the law on the lengthened span.
struct span_law {
  std::optional<line_fit> fit;
  double least_local = HUGE_VAL;  ///< smallest rate between neighbouring N of one shape

  double c() const { return -fit->slope; }
  double c_low() const { return -fit->slope_high(); }
  double c_high() const { return -fit->slope_low(); }
  bool stalls() const { return least_local < c() / 2; }

  law_test test() const {
    if (!fit) return law_test::open;
    if (stalls() || c_high() < least_share * pi2) return law_test::refuted;
    return c_low() >= least_share * pi2 ? law_test::passes : law_test::open;
  }

  std::string text() const {
    if (!fit) return "too few rows";
    return "c = " + with_interval(c(), fit->slope_half_width) + " (" + significant(c() / pi2, 3) +
           " pi^2)" +
           (stalls() ? ", errors stall (smallest local rate " + significant(least_local, 2) + ")"
                     : "");
  }
};

double span_coordinate(const row& r) {
  return r.cell.channels /
         (std::log(level_of(r).steps) + r.cell.fast_end_extension + r.cell.slow_end_extension);
}

span_law span_law_of(rows_view rows, const row_filter& passes) {
  std::map<std::pair<level, int>, row> best;  // N ascending within a level
  for (const row& r : sound_rows(rows, passes)) {
    const auto [at, first] = best.emplace(std::pair(level_of(r), r.cell.channels), r);
    if (!first && r.result.error_upper < at->second.result.error_upper) at->second = r;
  }
  span_law law;
  points all;
  const row* before = nullptr;
  for (const auto& [where, r] : best) {
    all.add(r, span_coordinate(r), std::log(r.result.error_upper));
    if (before && level_of(*before) == level_of(r) &&
        before->cell.fast_end_extension == r.cell.fast_end_extension &&
        before->cell.slow_end_extension == r.cell.slow_end_extension)
      law.least_local =
          std::min(law.least_local, std::log(before->result.error_upper / r.result.error_upper) /
                                        (span_coordinate(r) - span_coordinate(*before)));
    before = &r;
  }
  law.fit = all.fit();
  return law;
}

std::string ratios(rows_view rows, const row_filter& passes, const optima& best) {
  double least = HUGE_VAL, most = 0;
  for (const row& r : sound_rows(rows, passes))
    if (const auto ratio = best.ratio(r))
      least = std::min(least, *ratio), most = std::max(most, *ratio);
  return most == 0 ? std::string()
                   : "; errors " + significant(least, 2) + " to " + significant(most, 2) +
                         " times the optimum's at equal N";
}

constexpr const char* span_rule =
    "rule: log E = level - c x, one level for each of T (t) and beta; passes when c is at least "
    "0.8 pi^2 with its 95 % interval (best sums have pi^2 on log(4T): at most 1.25 times the "
    "channels on as wide a span) and no local rate is below c / 2; ";

}  // namespace

claim optimum_law(rows_view rows) {
  claim c{"optimum_law",
          "free rates: relative error K N^(beta-1/2) exp(-pi^2 N / log(4T))",
          {},
          "",
          "",
          "",
          "table1 --spectra minimax"};
  // Sums that follow the target at every lag, the last one included: a best absolute error that is
  // no longer small there does not depend on T (saturation).
  const auto follows = [](const row& r) {
    const double at_the_end = r.cell.relative_error ? 1 : std::pow(r.cell.horizon, r.result.beta);
    return r.cell.spectrum == "minimax" && r.result.error_upper * at_the_end <= 0.1;
  };
  points all;
  std::map<double, std::pair<double, double>> prefactors;  // by beta: least, most
  for (const row& r : sound_rows(rows, follows)) {
    const double n = r.cell.channels, t = r.cell.horizon, beta = r.result.beta;
    const double relative =
        r.result.error_upper * (r.cell.relative_error ? 1 : std::pow(t, beta / 2));
    const double x = n / std::log(4 * t), y = std::log(relative) - (beta - 0.5) * std::log(n);
    all.add(r, x, y);
    const double k = std::exp(y + pi2 * x);
    const auto [at, first] = prefactors.emplace(beta, std::pair(k, k));
    if (!first) at->second = {std::min(at->second.first, k), std::max(at->second.second, k)};
  }
  c.detail =
      "rule: log E = level - c N / log(4T), E relative to N^(beta-1/2) (absolute errors times "
      "T^(beta/2)), one level for each T and beta, sums that follow the target to 10 % at every "
      "lag; passes when c is within 2 % of pi^2 with its 95 % interval, and K at c = pi^2 within a "
      "factor 1.5 for each beta";
  const auto fit = all.fit();
  if (!fit) {
    c.detail += "; too few rows";
    return c;
  }
  c.value = significant(-fit->slope, 4);
  c.detail += "; c = " + with_interval(-fit->slope, fit->slope_half_width) + " (" +
              significant(-fit->slope / pi2, 4) + " pi^2), " + std::to_string(all.xs.size()) +
              " sums";
  double widest = 1;
  for (const auto& [beta, k] : prefactors) {
    c.detail += "; K = " + significant(k.first, 3) + " to " + significant(k.second, 3) +
                " for beta = " + shortest(beta);
    widest = std::max(widest, k.second / k.first);
  }
  const double off = std::abs(-fit->slope - pi2), allowed = exponent_slack * pi2;
  if (off - fit->slope_half_width > allowed) {
    c.ruling = verdict::fails;
  } else if (off + fit->slope_half_width <= allowed) {
    c.ruling = widest <= prefactor_slack ? verdict::holds : verdict::holds_if;
    if (widest > prefactor_slack) c.condition = "K depends on T as well";
  }
  return c;
}

claim two_ended_static(rows_view rows) {
  claim c{"two_ended_static",
          "geometric with both ends extended: error exp(-c N / (log T + A + B)), c near pi^2",
          {},
          "",
          "",
          "",
          "table1 --spectra geometric,minimax"};
  const row_filter both = [](const row& r) {
    return r.cell.spectrum == "geometric" && is_free(r) && r.cell.fast_end_extension > 0 &&
           r.cell.slow_end_extension > 0;
  };
  std::set<std::pair<double, double>> shapes;
  for (const row& r : rows)
    if (both(r)) shapes.emplace(r.cell.fast_end_extension, r.cell.slow_end_extension);
  c.detail = span_rule;
  std::size_t passed = 0, refuted = 0;
  std::string passing;
  for (const auto& [fast, slow] : shapes) {
    const span_law law = span_law_of(rows, [&, a = fast, b = slow](const row& r) {
      return both(r) && r.cell.fast_end_extension == a && r.cell.slow_end_extension == b;
    });
    const std::string shape = "A = " + shortest(fast) + ", B = " + shortest(slow);
    c.detail += shape + ": " + law.text() + "; ";
    if (law.test() == law_test::passes) ++passed, passing += "; " + shape + " passes here";
    if (law.test() == law_test::refuted) ++refuted;
  }
  const span_law law = span_law_of(rows, both);
  c.detail +=
      "the best of them at each N, T and beta: " + law.text() + ratios(rows, both, optima(rows));
  if (!law.fit) return c;
  c.value = significant(law.c(), 3);
  if (passed == shapes.size()) {
    c.ruling = verdict::holds;
  } else if (refuted > 0 && law.test() == law_test::passes) {
    c.ruling = verdict::holds_if;
    c.condition = "A is large enough for N / log T" + passing;
  } else if (refuted == shapes.size() && law.test() == law_test::refuted) {
    c.ruling = verdict::fails;
  }
  return c;
}

claim two_ended_post(rows_view rows) {
  claim c{"two_ended_post",
          "two-ended PoST, all lags at every position: error exp(-c N / (log t + A + B)), c near "
          "pi^2",
          {},
          "",
          "",
          "",
          "table1 --spectra minimax,post,post_sum,two_ended"};
  // All horizons repeat one measurement, except for a single tapered channel.
  double horizon = 0;
  for (const row& r : rows)
    if (is_tapered(r.cell.spectrum)) horizon = std::max(horizon, r.cell.horizon);
  const auto of = [&](std::string_view spectrum) -> row_filter {
    return [=](const row& r) {
      return r.cell.spectrum == spectrum && is_free(r) && r.cell.horizon == horizon &&
             r.cell.lag_fraction == 1.0 && r.cell.fast_end_extension > 0 &&
             r.cell.slow_end_extension > 0;
    };
  };
  const span_law whole = span_law_of(rows, of("two_ended"));
  c.detail = span_rule + std::string("with a sum and an offset of 30: ") + whole.text() +
             ratios(rows, of("two_ended"), optima(rows)) +
             "; with a sum: " + span_law_of(rows, of("post_sum")).text() +
             "; with neither: " + span_law_of(rows, of("post")).text();
  if (!whole.fit) return c;
  c.value = significant(whole.c(), 3);
  if (whole.test() == law_test::passes) c.ruling = verdict::holds;
  if (whole.test() == law_test::refuted) c.ruling = verdict::fails;
  return c;
}

}  // namespace table1::rules
