// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "made_up/laws.hpp"

using made_up::options;

TEST_CASE("defaults") {
  const auto o = options();
  CHECK(o.spectra == table1::known_spectra());
  CHECK(o.channels == std::vector<int>{8, 16, 24, 32});
  CHECK(o.horizons == std::vector<double>{1e2, 1e4, 1e6});
  CHECK(o.betas == std::vector<double>{0.5, 1});
  CHECK(o.positions.size() == 4);
  CHECK(o.plots);
  CHECK(o.out == "results");
  CHECK(o.threads >= 1);
}

TEST_CASE("--full, and what is given beside it") {
  const auto full = options({"--full"});
  CHECK(full.channels.back() == 64);
  CHECK(full.betas.size() == 3);
  CHECK(full.positions.size() == 8);
  CHECK(full.seeds == 32);
  CHECK(full.seeds_above_32 == 3);
  const auto some = options({"--full", "--channels", "8", "--seeds", "7"});
  CHECK(some.channels == std::vector<int>{8});
  CHECK(some.seeds_above_32 == 7);
  CHECK(some.positions.size() == 8);
}

TEST_CASE("lists and numbers") {
  const auto o =
      options({"--channels", "1.6e1,8,8", "--horizons", "1e6,2e+02", "--extension", "0,2.5",
               "--positions", "1e7", "--spectra", "post,geometric", "--weights-bound", "100",
               "--no-plots", "--out", "somewhere", "--threads=3"});
  CHECK(o.channels == std::vector<int>{8, 16});
  CHECK(o.horizons == std::vector<double>{200, 1e6});
  CHECK(*o.extensions == std::vector<double>{0, 2.5});
  CHECK_FALSE(o.slow_extensions);
  CHECK(o.positions == std::vector<double>{1e7});  // beyond the horizon is fine
  CHECK(o.spectra == std::vector<std::string>{"geometric", "post"});
  CHECK(*o.weights_bound == 100);
  CHECK_FALSE(o.plots);
  CHECK(o.threads == 3);
}

TEST_CASE("bad options give one line that names the option") {
  const std::vector<std::vector<std::string>> bad{
      {"--channels", "0"},        {"--channels", "-8"},
      {"--channels", "129"},      {"--channels", "8.5"},
      {"--channels", "nan"},      {"--channels", "8,,16"},
      {"--channels", ""},         {"--channels", "8,x"},
      {"--horizons", "0"},        {"--horizons", "-1e4"},
      {"--horizons", "nan"},      {"--horizons", "inf"},
      {"--horizons", "1e4x"},     {"--betas", "0"},
      {"--betas", "-1"},          {"--betas", "nan"},
      {"--extension", "-1"},      {"--extension", "nan"},
      {"--slow-extension", "-1"}, {"--slow-extension", "inf"},
      {"--positions", "0"},       {"--positions", "10.5"},
      {"--positions", "nan"},     {"--lag-fraction", "0"},
      {"--lag-fraction", "1.5"},  {"--lag-fraction", "nan"},
      {"--seeds", "0"},           {"--seeds", "1,2"},
      {"--seeds", "-3"},          {"--weights-bound", "0"},
      {"--weights-bound", "-1"},  {"--weights-bound", "nan"},
      {"--weights-bound", "inf"}, {"--threads", "0"},
      {"--threads", "-1"},        {"--spectra", "geometrical"},
      {"--spectra", ""},          {"--out", ""}};
  for (const auto& arguments : bad) {
    INFO(arguments[0] << " '" << arguments[1] << "'");
    std::string line;
    try {
      (void)options(arguments);
    } catch (const table1::usage_error& problem) {
      line = problem.what();
    }
    CHECK(line.find(arguments[0]) != std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
  }
  CHECK_THROWS_AS((void)options({"--unknown"}), table1::usage_error);
  CHECK_THROWS_AS((void)options({"stray"}), table1::usage_error);
  CHECK_THROWS_AS((void)options({"--channels"}), table1::usage_error);
  // One lag at least.
  CHECK_THROWS_AS((void)options({"--positions", "10", "--lag-fraction", "0.01"}),
                  table1::usage_error);
}

TEST_CASE("--help names every option, its unit and its default") {
  std::string text;
  try {
    (void)options({"--help"});
  } catch (const table1::help_wanted& help) {
    text = help.what();
  }
  for (const char* const option :
       {"--spectra", "--channels", "--horizons", "--betas", "--extension", "--slow-extension",
        "--positions", "--lag-fraction", "--seeds", "--weights-bound", "--relative",
        "--integer-lags", "--threads", "--out", "--full", "--no-plots"}) {
    INFO(option);
    const auto at = text.find(std::string(option) + ' ');
    REQUIRE(at != std::string::npos);
    const auto next = text.find("\n  --", at);
    const auto own = text.substr(at, next - at);
    const bool flag = std::string(option) == "--full" || std::string(option) == "--no-plots";
    CHECK((flag || own.find("default") != std::string::npos));
  }
}

TEST_CASE("equal requests are equal, others are not") {
  const auto text = [](const std::vector<std::string>& arguments) {
    return canonical(options(arguments));
  };
  CHECK(text({"--channels", "16,8"}) == text({"--channels", "8,16.0"}));
  CHECK(text({"--threads", "2", "--out", "x", "--no-plots"}) == text({}));
  // The default channels are more than any list of them says.
  CHECK(text({"--channels", "8,16,24,32"}) != text({}));
  for (const std::vector<std::string>& other : {std::vector<std::string>{"--channels", "8"},
                                                {"--horizons", "100"},
                                                {"--betas", "1"},
                                                {"--extension", "0"},
                                                {"--slow-extension", "0"},
                                                {"--positions", "100"},
                                                {"--lag-fraction", "0.5"},
                                                {"--seeds", "2"},
                                                {"--weights-bound", "5"},
                                                {"--relative"},
                                                {"--integer-lags"},
                                                {"--full"},
                                                {"--spectra", "post"}})
    CHECK(text(other) != text({}));
}

TEST_CASE("the grid") {
  SUBCASE("no cell twice, columns only where they apply") {
    auto o = options();
    std::vector<std::string> keys;
    for (const auto& cell : table1::grid(o)) {
      keys.push_back(table1::csv_line({cell, {}}));
      const bool placed = table1::has_position(cell.spectrum);
      CHECK(cell.position.has_value() == placed);
      CHECK(cell.lag_fraction.has_value() == placed);
      CHECK((!placed || cell.integer_lags));
      CHECK(cell.seed.has_value() == table1::is_random(cell.spectrum));
    }
    std::sort(keys.begin(), keys.end());
    CHECK(std::adjacent_find(keys.begin(), keys.end()) == keys.end());
  }
  SUBCASE("what is given replaces the special shapes, at the ends a spectrum has") {
    const auto o = options({"--extension", "1,2", "--slow-extension", "3", "--lag-fraction", "0.25",
                            "--channels", "8", "--horizons", "100", "--positions", "100"});
    for (const auto& cell : table1::grid(o)) {
      const std::string& s = cell.spectrum;
      const bool fast = s == "geometric" || s == "random_log_uniform" || table1::has_position(s);
      CHECK((cell.fast_end_extension > 0) == fast);
      CHECK((cell.slow_end_extension == 3) == (s == "geometric" || table1::is_tapered(s)));
      CHECK(cell.lag_fraction.value_or(0.25) == 0.25);
      CHECK_FALSE(cell.weights_bound);
    }
  }
  SUBCASE("relative, integer lags, bounded weights reach every cell") {
    for (const auto& cell :
         table1::grid(options({"--relative", "--integer-lags", "--weights-bound", "7"}))) {
      CHECK(cell.relative_error);
      CHECK(cell.integer_lags);
      CHECK(cell.weights_bound == 7.0);
      CHECK(cell.spectrum != "minimax");
    }
  }
  SUBCASE("best sums: all real lags, free weights, up to 30 terms") {
    const auto cells = [](std::vector<std::string> more) {
      more.insert(more.end(), {"--spectra", "minimax", "--channels", "30,31"});
      return table1::grid(options(more));
    };
    CHECK(cells({}).size() == 3);  // the horizons
    CHECK(cells({"--extension", "1,2", "--relative"}).size() == 3);
    CHECK(cells({"--integer-lags"}).empty());
    CHECK(cells({"--weights-bound", "7"}).empty());
  }
  SUBCASE("two_ended: the shape that the library has by default, over all lags") {
    for (const auto& cell : table1::grid(options({"--spectra", "two_ended"}))) {
      CHECK(cell.fast_end_extension == 2);
      CHECK(cell.slow_end_extension == 1);
      CHECK(cell.lag_fraction == 1.0);
    }
  }
}
