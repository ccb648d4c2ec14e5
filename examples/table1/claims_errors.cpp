// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <tuple>

#include "table1/published.hpp"
#include "table1/rules.hpp"

namespace table1::rules {
namespace {

constexpr const char* exponential_rule =
    "rule: log E = level - c x, and -log E grows like x^q; passes when c is at least 0.1, no local "
    "rate is below c / 10, and q reaches 1, with 95 % intervals, that of q within +-0.5; ";

// A smaller rate is none: 128 channels would not gain a factor e at T = 10^6.
constexpr double least_rate = 0.1;

constexpr double pi2 = std::numbers::pi * std::numbers::pi;

double over_log_steps(double channels, double steps) { return channels / std::log(steps); }

double over_log_channels(double channels, double) { return channels / std::log(channels); }

// Extensions in the rows that pass, as text: "A = 2, 3; B = 0, 1".
std::string extensions_of(rows_view rows, const row_filter& passes) {
  std::set<double> fast, slow;
  for (const row& r : rows)
    if (passes(r)) fast.insert(r.cell.fast_end_extension), slow.insert(r.cell.slow_end_extension);
  const auto list = [](const std::set<double>& values) {
    std::string text;
    for (const double v : values) text += (text.empty() ? "" : ", ") + shortest(v);
    return text;
  };
  return "best of A = " + list(fast) + " and B = " + list(slow);
}

// Rows of a tapered or static spectrum with two channels and more repeat one measurement at every
// horizon, so one horizon is taken.
std::vector<row> at_largest_horizon(rows_view rows, std::string_view spectrum) {
  double largest = 0;
  for (const row& r : rows)
    if (r.cell.spectrum == spectrum) largest = std::max(largest, r.cell.horizon);
  std::vector<row> found;
  for (const row& r : rows)
    if (r.cell.spectrum == spectrum && r.cell.horizon == largest) found.push_back(r);
  return found;
}

struct estimate {
  double value = 0, half_width = 0;
};

std::optional<estimate> rate_of(const std::optional<fall>& f) {
  if (!f) return std::nullopt;
  return estimate{f->c(), f->rate.slope_half_width};
}

// The mean of independent numbers with its 95 % interval.
std::optional<estimate> mean_of(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double v : values) mean += v / n;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return estimate{mean, ebb::approx::student_quantile(0.95, static_cast<long>(values.size()) - 1) *
                            std::sqrt(squares / (n - 1) / n)};
}

std::string describe(const std::optional<estimate>& e) {
  return e ? with_interval(e->value, e->half_width) : std::string("too few rows");
}

law_test above_zero(const std::optional<estimate>& e) {
  if (!e) return law_test::open;
  if (e->value + e->half_width <= 0) return law_test::refuted;
  return e->value - e->half_width > 0 ? law_test::passes : law_test::open;
}

law_test at_least_half(const std::optional<estimate>& e) {
  if (!e) return law_test::open;
  if (e->value + e->half_width < 0.5) return law_test::refuted;
  return e->value - e->half_width >= 0.5 ? law_test::passes : law_test::open;
}

// The verdict on a law that is tested as stated and under one condition.
void rule_on(claim& c, law_test stated, law_test conditional, const std::string& condition) {
  if (stated == law_test::passes) {
    c.ruling = verdict::holds;
  } else if (conditional == law_test::passes && stated == law_test::refuted) {
    c.ruling = verdict::holds_if;
    c.condition = condition;
  } else if (stated == law_test::refuted && conditional == law_test::refuted) {
    c.ruling = verdict::fails;
  }
}

}  // namespace

bool is_free(const row& r) { return !r.cell.weights_bound; }

bool is_bare(const row& r) {
  return r.cell.fast_end_extension == 0 && r.cell.slow_end_extension == 0;
}

std::optional<fall> fit(rows_view rows, const row_filter& passes, const coordinate& x,
                        pick choice) {
  return fit_fall(restricted(error_curves(sound_rows(rows, passes), choice), least_channels), x);
}

law_test test_exponential(const std::optional<fall>& f) {
  if (!f) return law_test::open;
  if (f->c_high() < least_rate || f->stalls() || f->q_high() < 1) return law_test::refuted;
  return f->c_low() >= least_rate && f->growth.slope_half_width <= 0.5 ? law_test::passes
                                                                       : law_test::open;
}

std::string describe(const std::optional<fall>& f) {
  if (!f) return "too few rows";
  std::string text = "c = " + with_interval(f->c(), f->rate.slope_half_width);
  if (f->stalls())
    return text + ", errors stall (smallest local rate " + significant(f->least_local, 2) + ")";
  return text + ", q = " + with_interval(f->q(), f->growth.slope_half_width);
}

claim random_error(rows_view rows) {
  claim c{"random_error",
          "random spectra: error exp(-Omega(N / log N))",
          {},
          "",
          "",
          "",
          "table1 --spectra geometric,random_log_uniform"};
  const auto is = [](std::string_view spectrum, bool bare) {
    return [=](const row& r) {
      return r.cell.spectrum == spectrum && is_free(r) && is_bare(r) == bare &&
             r.cell.horizon >= 1000;
    };
  };
  const auto rates = [&](bool bare) {
    std::map<std::uint64_t, std::vector<row>> by_seed;  // draws are independent, T and beta not
    for (const row& r : sound_rows(rows, is("random_log_uniform", bare)))
      by_seed[r.cell.seed.value_or(0)].push_back(r);
    std::vector<double> found;
    for (const auto& [seed, of_seed] : by_seed) {
      std::vector<double> xs, ys;
      std::map<std::tuple<double, double, double>, int> levels;
      std::vector<int> groups;
      std::set<int> channels;
      for (const row& r : of_seed) {
        const double n = r.cell.channels, a = r.cell.fast_end_extension;
        if (n < 2) continue;
        channels.insert(r.cell.channels);
        xs.push_back(over_log_channels(n, 0));
        ys.push_back(std::log(r.result.error_upper));
        groups.push_back(levels
                             .emplace(std::tuple(r.cell.horizon, a, r.result.beta),
                                      static_cast<int>(levels.size()))
                             .first->second);
      }
      if (channels.size() >= 2)
        found.push_back(-ebb::approx::fit_common_slope(xs, ys, groups).slope);
    }
    return mean_of(found);
  };

  // Equally spaced log-rates on the same span: where they already fall slower than the law, and
  // random ones are no better, the law is out of reach, whatever its constant.
  const auto test = [&](bool bare, std::string& detail) {
    const auto random = rates(bare);
    const auto even = fit(rows, is("geometric", bare), over_log_channels, pick::smallest);
    const auto even_curves = error_curves(sound_rows(rows, is("geometric", bare)), pick::smallest);
    std::vector<double> behind;  // log of median random error over even error
    for (const auto& [where, points] :
         error_curves(sound_rows(rows, is("random_log_uniform", bare)), pick::median))
      if (const auto at = even_curves.find(where); at != even_curves.end())
        for (const auto& point : points)
          for (const auto& other : at->second)
            if (other.first == point.first) behind.push_back(point.second - other.second);
    detail += "c = " + describe(random) + ", equally spaced: " + describe(even);
    if (!behind.empty()) {
      const auto [least, most] = std::minmax_element(behind.begin(), behind.end());
      detail += ", random medians " + significant(std::exp(*least), 2) + " to " +
                significant(std::exp(*most), 2) + " times as large";
    }
    const auto lag = mean_of(behind);
    if (bare && random) c.value = significant(random->value, 3);
    if (!even || !lag) return law_test::open;
    return test_exponential(even) == law_test::refuted && lag->value - lag->half_width > 0
               ? law_test::refuted
               : above_zero(random);
  };
  c.detail =
      "rule: log E = level - c N / log N; passes when c > 0 with its 95 % interval over the seeds, "
      "refuted when equally spaced log-rates on the same span have -log E like (N / log N)^q with "
      "q < 1 and smaller errors, T >= 1000; as stated: ";
  const law_test stated = test(true, c.detail);
  c.detail += "; fast end extended: ";
  const law_test extended = test(false, c.detail);
  rule_on(c, stated, extended, "the fast end is extended beyond rate 1");
  return c;
}

claim geometric_error(rows_view rows) {
  claim c{
      "geometric_error",           "geometric spectra: error O(exp(-c N / log T))", {}, "", "", "",
      "table1 --spectra geometric"};
  const auto is = [](bool bare) {
    return [bare](const row& r) {
      return r.cell.spectrum == "geometric" && is_free(r) && is_bare(r) == bare &&
             (bare || r.cell.fast_end_extension > 0);
    };
  };
  const auto bare = fit(rows, is(true), over_log_steps, pick::smallest);
  const auto extended = fit(rows, is(false), over_log_steps, pick::smallest);
  c.detail = std::string(exponential_rule) +
             "x = N / log T, N >= log T, T >= 1000; timescales exactly [1, T]: " + describe(bare) +
             "; fast end extended, " + extensions_of(rows, is(false)) + ": " + describe(extended);
  if (bare) c.value = significant(bare->q(), 3);
  rule_on(c, test_exponential(bare), test_exponential(extended),
          "the fast end is extended beyond rate 1, by an A that grows with N / log T");
  return c;
}

claim geometric_minimax(rows_view rows) {
  claim c{"geometric_minimax",         "geometric spectra are minimax optimal", {}, "", "", "",
          "table1 --spectra geometric"};
  // In this coordinate the optimum falls at rate 1.
  const auto x = [](double channels, double steps) { return pi2 * channels / std::log(4 * steps); };
  const auto is = [](bool bare) {
    return [bare](const row& r) {
      return r.cell.spectrum == "geometric" && is_free(r) && is_bare(r) == bare &&
             (bare || r.cell.fast_end_extension > 0);
    };
  };
  const auto bare = rate_of(fit(rows, is(true), x, pick::smallest));
  const auto extended = rate_of(fit(rows, is(false), x, pick::smallest));
  double least[2] = {HUGE_VAL, HUGE_VAL}, most[2] = {0, 0};
  for (const row& r : sound_rows(rows, [](const row& r) {
         return r.cell.spectrum == "geometric" && is_free(r) && r.result.beta == 1 &&
                (is_bare(r) || r.cell.fast_end_extension > 0) && !r.cell.relative_error &&
                !r.cell.integer_lags;
       }))
    for (const auto& optimum : published_optima)
      if (optimum.terms == r.cell.channels && optimum.range == r.cell.horizon) {
        const int kind = is_bare(r) ? 0 : 1;
        const double factor = r.result.error_upper / optimum.error;
        least[kind] = std::min(least[kind], factor), most[kind] = std::max(most[kind], factor);
      }
  const auto factors = [&](int kind) {
    return most[kind] == 0
               ? std::string()
               : ", errors " + significant(least[kind], 2) + " to " + significant(most[kind], 2) +
                     " times the published optima of 1/tau";
  };
  c.detail =
      "rule: the rate in x = pi^2 N / log(4T), where best sums with free rates fall like exp(-x), "
      "is at least 1/2 with its 95 % interval (at most twice the channels), N >= log T, T >= 1000; "
      "timescales exactly [1, T]: " +
      describe(bare) + factors(0) + "; extended, " + extensions_of(rows, is(false)) + ": " +
      describe(extended) + factors(1);
  if (bare) c.value = significant(bare->value, 3);
  rule_on(c, at_least_half(bare), at_least_half(extended),
          "the ends are extended, and optimal means the exponent up to a factor, not the error");
  return c;
}

claim post_error(rows_view rows) {
  claim c{"post_error", "PoST: error O(exp(-c N / log t))", {}, "", "",
          "",           "table1 --spectra post,static_t"};
  const auto post = at_largest_horizon(rows, "post");
  const auto of = [&](bool bare, bool slow, bool all_lags) {
    return fit(
        post,
        [=](const row& r) {
          return is_free(r) && is_bare(r) == bare && (r.cell.slow_end_extension > 0) == slow &&
                 (!slow || r.cell.fast_end_extension > 0) &&
                 (r.cell.lag_fraction == 1.0) == all_lags;
        },
        over_log_steps, pick::smallest);
  };
  const auto stated = of(true, false, true);
  struct {
    const char* condition;
    std::optional<fall> f;
    bool narrows_the_last;  // not worth naming where the one before passes
  } const weaker[] = {
      {"lags reach at most half of the position", of(true, false, false), false},
      {"lags reach at most half of the position, the fast end extended", of(false, false, false),
       true},
      {"both ends are extended", of(false, true, true), false},
  };
  c.detail = std::string(exponential_rule) +
             "x = N / log t, N >= log t, t >= 1000; as stated (all lags up to t, no extension): " +
             describe(stated);
  law_test best = law_test::refuted;
  std::string condition;
  for (const auto& w : weaker) {
    c.detail += std::string("; if ") + w.condition + ": " + describe(w.f);
    const law_test outcome = test_exponential(w.f);
    if (outcome == law_test::passes && !(w.narrows_the_last && !condition.empty()))
      condition += (condition.empty() ? "" : "; or if ") + std::string(w.condition);
    if (outcome == law_test::passes || (outcome == law_test::open && best == law_test::refuted))
      best = outcome;
  }
  if (stated) c.value = significant(stated->c(), 3);
  rule_on(c, test_exponential(stated), best, condition);

  // How much is lost against a static spectrum made for this very position.
  std::map<std::tuple<int, double, double, double, double>, double> fixed;
  const auto key = [](const row& r) {
    return std::tuple(r.cell.channels, *r.cell.position, r.cell.fast_end_extension,
                      r.cell.lag_fraction.value_or(0), r.result.beta);
  };
  for (const row& r : sound_rows(at_largest_horizon(rows, "static_t"), is_free))
    fixed[key(r)] = r.result.error_upper;
  double least = HUGE_VAL, most = 0;
  for (const row& r : sound_rows(post, is_free)) {
    const auto at = fixed.find(key(r));
    if (at == fixed.end() || r.cell.slow_end_extension > 0 || r.cell.lag_fraction == 1.0) continue;
    const double factor = r.result.error_upper / at->second;
    least = std::min(least, factor), most = std::max(most, factor);
  }
  if (most > 0)
    c.detail += "; errors are " + significant(least, 3) + " to " + significant(most, 3) +
                " times those of a static spectrum made for the position";
  return c;
}

}  // namespace table1::rules
