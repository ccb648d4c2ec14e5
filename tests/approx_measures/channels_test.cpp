// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <ebb/approx/bounds.hpp>
#include <ebb/approx/channels.hpp>

using namespace ebb::approx;

namespace {
std::vector<double> geometric(int channels, double horizon) {
  std::vector<double> rates;
  for (int k = 0; k < channels; ++k)
    rates.push_back(std::exp(-std::log(horizon) * (channels - 1 - k) / (channels - 1)));
  return rates;
}
}  // namespace

TEST_CASE("the count of timescales within t") {
  SUBCASE("by hand: timescales 1, 10, 100, 1000") {
    const auto rates = geometric(4, 1000);
    CHECK(count_within(rates, 0.5) == 0);
    CHECK(count_within(rates, 1) == 1);
    CHECK(count_within(rates, 9.9) == 1);
    CHECK(count_within(rates, 10) == 2);
    CHECK(count_within(rates, 1000) == 4);
  }
  SUBCASE("a timescale on t counts, however its rate was rounded") {
    const auto rates = geometric(13, 1e12);
    for (int power = 0; power <= 12; ++power)
      CHECK(count_within(rates, std::pow(10.0, power)) == power + 1);
  }
  SUBCASE("N log t / log T, to within one") {
    for (const int n : {2, 5, 16, 64, 101})
      for (const double horizon : {1e2, 1e4, 1e6})
        for (double t = 1; t <= horizon; t *= 3) {
          INFO("N = " << n << ", T = " << horizon << ", t = " << t);
          const auto count = static_cast<double>(count_within(geometric(n, horizon), t));
          CHECK(std::abs(count - effective_channels(n, t, horizon)) <= 1 + 1e-9);
        }
  }
  SUBCASE("bad input") {
    const std::vector<double> bad{0};
    CHECK_THROWS_AS((void)count_within(bad, 1), ebb::domain_error);
    CHECK_THROWS_AS((void)count_within({}, 0), ebb::domain_error);
  }
}

TEST_CASE("numerical rank") {
  SUBCASE("far apart: all; equal: one; none: zero") {
    const std::vector<double> apart{1e-9, 1e-6, 1e-3, 1}, equal{0.5, 0.5, 0.5};
    CHECK(numerical_rank(apart, HUGE_VAL, 1e-3) == 4);
    CHECK(numerical_rank(equal, HUGE_VAL, 1e-12) == 1);
    CHECK(numerical_rank({}, 10, 0.1) == 0);
  }
  SUBCASE("two channels: eigenvalues 1 +- coherence") {
    // Rates 1 and 2: (1 - 0.942809) / (1 + 0.942809) = 0.029437.
    const std::vector<double> rates{1, 2};
    CHECK(numerical_rank(rates, HUGE_VAL, 0.0294) == 2);
    CHECK(numerical_rank(rates, HUGE_VAL, 0.0295) == 1);
  }
  SUBCASE("channels far slower than t are one") {
    const std::vector<double> rates{1e-8, 1e-7, 1e-6, 1};
    CHECK(numerical_rank(rates, 100, 1e-6) == 2);
  }
  SUBCASE("bad input") {
    const std::vector<double> rates{1, 2};
    CHECK_THROWS_AS((void)numerical_rank(rates, 10, 0), ebb::domain_error);
    CHECK_THROWS_AS((void)numerical_rank(rates, 10, 1), ebb::domain_error);
    CHECK_THROWS_AS((void)numerical_rank(rates, -1, 0.1), ebb::domain_error);
  }
}
