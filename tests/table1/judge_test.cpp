// SPDX-License-Identifier: Apache-2.0
// Numbers are doctored so that every verdict flips.
#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "made_up/laws.hpp"
#include "table1/claims.hpp"
#include "table1/grid.hpp"
#include "table1/observe.hpp"
#include "table1/outputs.hpp"

using made_up::set_error;
using table1::basis_cell;
using table1::observations;
using table1::outcome;
using table1::row;

namespace {

const table1::options& default_options() {
  static const auto o = made_up::options();
  return o;
}

const observations& usual_observations() {
  static const auto seen = [] {
    auto found = table1::observe(default_options());
    found.timings = {{64, 1, 1.2}, {64, 10000, 1.04}, {128, 1, 1.1}, {128, 10000, 0.98}};
    return found;
  }();
  return seen;
}

std::string verdict_of(const std::vector<table1::claim>& claims, const std::string& id) {
  const auto at =
      std::find_if(claims.begin(), claims.end(), [&id](const auto& c) { return c.id == id; });
  REQUIRE(at != claims.end());
  return at->ruling ? std::string(table1::name_of(*at->ruling)) : "undecided";
}

std::string with_rows(const std::string& id, const made_up::change& doctor) {
  return verdict_of(table1::judge(made_up::rows(default_options(), doctor), usual_observations()),
                    id);
}

std::string with_observations(const std::string& id,
                              const std::function<void(observations&)>& doctor) {
  auto seen = usual_observations();
  doctor(seen);
  return verdict_of(table1::judge(made_up::rows(default_options()), seen), id);
}

double channels(const basis_cell& cell) { return cell.channels; }
double steps(const basis_cell& cell) { return cell.position.value_or(cell.horizon); }
bool bare(const basis_cell& cell) {
  return cell.fast_end_extension == 0 && cell.slow_end_extension == 0;
}

}  // namespace

TEST_CASE("the usual world") {
  const auto claims = table1::judge(made_up::rows(default_options()), usual_observations());
  const std::pair<const char*, const char*> expected[] = {
      {"random_gap", "holds"},           {"random_error", "holds_if"},
      {"linear_gap", "holds_if"},        {"linear_error", "holds_if"},
      {"geometric_gap", "holds"},        {"geometric_error", "holds_if"},
      {"geometric_minimax", "holds_if"}, {"post_gap", "holds"},
      {"post_error", "holds_if"},        {"effective_channels", "holds_if"},
      {"scale_free", "holds_if"},        {"no_overhead", "holds_if"},
      {"optimum_law", "holds"},          {"two_ended_static", "holds_if"},
      {"two_ended_post", "holds"}};
  REQUIRE(claims.size() == std::size(expected));
  for (std::size_t i = 0; i < claims.size(); ++i) {
    CHECK(claims[i].id == expected[i].first);
    INFO(claims[i].id << ": " << claims[i].detail);
    CHECK(verdict_of(claims, claims[i].id) == expected[i].second);
    CHECK(claims[i].condition.empty() == (claims[i].ruling != table1::verdict::holds_if));
    CHECK_FALSE(claims[i].value.empty());
    CHECK(claims[i].detail.starts_with("rule: "));
    CHECK(claims[i].command.starts_with("table1 --"));
  }
}

TEST_CASE("random_gap") {
  const auto scaled = [](double power) {
    return with_observations("random_gap", [power](observations& seen) {
      for (auto& draw : seen.gaps) {
        const double factor = std::pow(draw.channels, 2 + power);  // the draws have N^-2
        draw.min_gap_rate *= factor, draw.min_gap_log_rate *= factor;
      }
    });
  };
  CHECK(scaled(-2) == "holds");
  CHECK(scaled(-3) == "holds");
  CHECK(scaled(-1) == "fails");
  CHECK(with_observations("random_gap", [](observations& seen) { seen.gaps.resize(7); }) ==
        "undecided");
}

TEST_CASE("random_error") {
  const auto law = [](const std::function<double(const basis_cell&)>& error) {
    return with_rows("random_error", [&error](const basis_cell& cell, outcome& r) {
      if (cell.spectrum.starts_with("random")) set_error(r, error(cell));
      // Equally spaced rates that keep up, so that they do not rule out the law.
      if (cell.spectrum == "geometric") set_error(r, std::exp(-2 * channels(cell)));
    });
  };
  const auto jitter = [](const basis_cell& cell) {
    return std::exp(0.1 * std::sin(static_cast<double>(*cell.seed) * channels(cell)));
  };
  CHECK(law([&](const basis_cell& cell) {
          return jitter(cell) * std::exp(-channels(cell) / std::log(channels(cell)));
        }) == "holds");
  CHECK(law([&](const basis_cell& cell) {
          const double n = channels(cell);
          return jitter(cell) * (bare(cell) ? std::pow(n, 0.5) : std::exp(-n / std::log(n)));
        }) == "holds_if");
  CHECK(law([&](const basis_cell& cell) { return jitter(cell) * channels(cell); }) == "fails");
}

TEST_CASE("random_error is undecided where equal spacing was not measured") {
  const auto o = made_up::options({"--spectra", "random_log_uniform,random_uniform"});
  CHECK(verdict_of(table1::judge(made_up::rows(o), usual_observations()), "random_error") ==
        "undecided");
}

TEST_CASE("the text of the options is a command line that asks for the same") {
  for (const std::vector<std::string>& asked :
       {std::vector<std::string>{},
        {"--full"},
        {"--channels", "8,16"},
        {"--seeds", "3"},
        {"--full", "--seeds", "4", "--relative", "--weights-bound", "7"}}) {
    const auto o = made_up::options(asked);
    std::vector<std::string> words;
    std::istringstream text(table1::canonical(o));
    for (std::string word; text >> word;) words.push_back(word);
    CHECK(table1::grid(made_up::options(words)) == table1::grid(o));
  }
}

TEST_CASE("linear_gap") {
  const auto gap = [](const std::function<double(const basis_cell&)>& value) {
    return with_rows("linear_gap", [&value](const basis_cell& cell, outcome& r) {
      if (cell.spectrum.starts_with("linear")) r.min_gap_rate = value(cell);
    });
  };
  CHECK(gap([](const basis_cell&) { return 0.3; }) == "holds");
  CHECK(gap([](const basis_cell& cell) { return 1 / channels(cell); }) == "fails");
  CHECK(gap([](const basis_cell& cell) { return 1 / cell.horizon; }) == "fails");
}

TEST_CASE("linear_error") {
  const auto law = [](const std::function<double(const basis_cell&, double)>& error) {
    return with_rows("linear_error", [&error](const basis_cell& cell, outcome& r) {
      if (cell.spectrum.starts_with("linear")) set_error(r, error(cell, r.beta));
    });
  };
  CHECK(law([](const basis_cell& cell, double beta) { return std::pow(channels(cell), -beta); }) ==
        "holds");
  CHECK(law([](const basis_cell& cell, double beta) {
          return std::pow(channels(cell), -1.3 * beta);
        }) == "fails");
}

TEST_CASE("geometric_gap and post_gap") {
  for (const auto& [id, spectrum] :
       {std::pair<std::string, std::string>{"geometric_gap", "geometric"}, {"post_gap", "post"}}) {
    const auto power = [&id = id, &spectrum = spectrum](double p) {
      return with_rows(id, [&](const basis_cell& cell, outcome& r) {
        if (cell.spectrum == spectrum) r.min_gap_log_rate = std::pow(channels(cell) - 1, p);
      });
    };
    CHECK(power(-1) == "holds");
    CHECK(power(-2) == "fails");
    CHECK(power(-0.5) == "fails");
  }
}

TEST_CASE("geometric_error") {
  const auto law = [](double bare_power, double extended_power) {
    return with_rows("geometric_error", [=](const basis_cell& cell, outcome& r) {
      const double x = channels(cell) / std::log(steps(cell));
      if (cell.spectrum == "geometric")
        set_error(r, std::exp(-2 * std::pow(x, bare(cell) ? bare_power : extended_power)));
    });
  };
  CHECK(law(1, 1) == "holds");
  CHECK(law(1.2, 1) == "holds");
  CHECK(law(0.5, 1) == "holds_if");
  CHECK(law(0.5, 0.5) == "fails");
  SUBCASE("errors that stop falling are no exponential law") {
    CHECK(with_rows("geometric_error", [](const basis_cell& cell, outcome& r) {
            const double x = channels(cell) / std::log(steps(cell));
            if (cell.spectrum == "geometric") set_error(r, std::max(std::exp(-7 * x), 1e-5));
          }) == "fails");
  }
}

TEST_CASE("geometric_minimax") {
  const auto rate = [](double bare_rate, double extended_rate) {
    return with_rows("geometric_minimax", [=](const basis_cell& cell, outcome& r) {
      const double x = 9.8696 * channels(cell) / std::log(4 * steps(cell));
      if (cell.spectrum == "geometric")
        set_error(r, std::exp(-x * (bare(cell) ? bare_rate : extended_rate)));
    });
  };
  CHECK(rate(0.9, 0.9) == "holds");
  CHECK(rate(0.2, 0.9) == "holds_if");
  CHECK(rate(0.2, 0.4) == "fails");
}

TEST_CASE("post_error") {
  const auto law = [](double all_lags, double half_lags) {
    return with_rows("post_error", [=](const basis_cell& cell, outcome& r) {
      const double x = channels(cell) / std::log(steps(cell));
      if (cell.spectrum == "post")
        set_error(r, std::pow(steps(cell), -r.beta) *
                         std::exp(-x * (cell.lag_fraction == 1.0 ? all_lags : half_lags)));
    });
  };
  CHECK(law(2, 2) == "holds");
  CHECK(law(0, 2) == "holds_if");
  CHECK(law(0, 0) == "fails");
}

TEST_CASE("optimum_law") {
  // Absolute errors away from saturation, as the default grid has them.
  const auto law = [](double exponent, const std::function<double(const basis_cell&)>& prefactor) {
    return with_rows("optimum_law", [&](const basis_cell& cell, outcome& r) {
      const double n = channels(cell), t = cell.horizon;
      if (cell.spectrum == "minimax")
        set_error(r, prefactor(cell) * std::pow(n, r.beta - 0.5) * std::pow(t, -r.beta / 2) *
                         std::exp(-exponent * n / std::log(4 * t)));
    });
  };
  const auto one = [](const basis_cell&) { return 1.0; };
  const auto bent = [](const basis_cell& cell) { return cell.channels == 16 ? 8.0 : 1.0; };
  CHECK(law(9.87, one) == "holds");
  CHECK(law(9.87, [](const basis_cell& cell) { return cell.horizon > 1e3 ? 1.6 : 1.0; }) ==
        "holds_if");
  CHECK(law(9.5, one) == "fails");
  CHECK(law(10.2, one) == "fails");
  CHECK(law(9.87, bent) == "undecided");
  SUBCASE("saturated errors are not counted") {
    CHECK(with_rows("optimum_law", [](const basis_cell& cell, outcome& r) {
            if (cell.spectrum == "minimax" && r.error_upper * std::pow(cell.horizon, r.beta) > 0.1)
              set_error(r, 5 * r.error_upper);
          }) == "holds");
  }
}

TEST_CASE("two_ended_static") {
  const auto law = [](double c_of_2, double c_of_3) {
    return with_rows("two_ended_static", [=](const basis_cell& cell, outcome& r) {
      const double a = cell.fast_end_extension, b = cell.slow_end_extension;
      if (cell.spectrum == "geometric" && b > 0)
        set_error(r, std::exp(-(a == 2 ? c_of_2 : c_of_3) * channels(cell) /
                              (std::log(steps(cell)) + a + b)));
    });
  };
  CHECK(law(9.5, 9.5) == "holds");
  CHECK(law(6, 9.5) == "holds_if");
  CHECK(law(6, 6) == "fails");
}

TEST_CASE("two_ended_post") {
  const auto law = [](const std::function<double(double x)>& error) {
    return with_rows("two_ended_post", [&error](const basis_cell& cell, outcome& r) {
      if (cell.spectrum == "two_ended")
        set_error(r, error(channels(cell) / (std::log(steps(cell)) + cell.fast_end_extension +
                                             cell.slow_end_extension)));
    });
  };
  CHECK(law([](double x) { return std::exp(-9.2 * x); }) == "holds");
  CHECK(law([](double x) { return std::exp(-7.5 * x); }) == "fails");
  // Errors that stop falling are no exponential law, whatever their mean rate.
  CHECK(law([](double x) { return std::max(std::exp(-12 * x), 1e-13); }) == "fails");
}

TEST_CASE("effective_channels") {
  const auto counted = [](double count_off, double rank_off) {
    return with_observations("effective_channels", [=](observations& seen) {
      for (auto& c : seen.counts) {
        const double stated = c.channels * std::log(c.position) / std::log(c.horizon);
        c.within = std::lround(stated + count_off), c.rank = std::lround(stated + rank_off);
      }
    });
  };
  CHECK(counted(0, 0) == "holds");
  CHECK(counted(0, 5) == "holds_if");
  CHECK(counted(3, 0) == "fails");
  CHECK(with_observations("effective_channels", [](observations& seen) { seen.counts.clear(); }) ==
        "undecided");
}

TEST_CASE("scale_free") {
  const auto exponent = [](const std::function<double(double alpha)>& growth) {
    return with_observations("scale_free", [&growth](observations& seen) {
      for (auto& r : seen.responses) {
        const double g = growth(r.alpha);
        // Free: the change falls like 1/t. Otherwise log K grows like t^g.
        r.log_response = g == 0 ? -1.0 - 1 / r.position : -std::pow(r.position, g);
        r.log_response_doubled = g == 0 ? -1.0 - 0.5 / r.position : -std::pow(2 * r.position, g);
      }
    });
  };
  CHECK(exponent([](double) { return 0.0; }) == "holds");
  CHECK(exponent([](double alpha) { return 1 - alpha; }) == "holds_if");
  CHECK(exponent([](double) { return 0.5; }) == "fails");
}

TEST_CASE("no_overhead") {
  CHECK(with_observations("no_overhead", [](observations& seen) {
          for (auto& t : seen.timings) t.ratio = 1.05;
        }) == "holds");
  CHECK(with_observations("no_overhead",
                          [](observations& seen) { seen.timings.back().ratio = 1.06; }) == "fails");
  CHECK(with_observations("no_overhead", [](observations& seen) { seen.timings.clear(); }) ==
        "undecided");
}

TEST_CASE("too few rows decide nothing, and stay out of claims.csv") {
  const auto o =
      made_up::options({"--spectra", "geometric", "--channels", "16", "--horizons", "1e4"});
  const auto claims = table1::judge(made_up::rows(o), table1::observe(o));
  for (const auto& c : claims) CHECK_FALSE(c.ruling);
  CHECK(table1::claims_csv(claims) == "claim,verdict,condition,value,detail\n");
  CHECK(table1::judge({}, {}).size() == claims.size());
}

TEST_CASE("rows whose bounds do not meet are not used") {
  CHECK(with_rows("geometric_error", [](const basis_cell& cell, outcome& r) {
          if (cell.spectrum == "geometric") r.certified = false;
        }) == "undecided");
}
