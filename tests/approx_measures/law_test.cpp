// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ebb/approx/law.hpp>

using namespace ebb::approx;

TEST_CASE("Student's quantiles") {
  SUBCASE("closed forms for one and two degrees of freedom") {
    for (const double p : {0.5, 0.9, 0.95, 0.99}) {
      CAPTURE(p);
      CHECK(student_quantile(p, 1) ==
            doctest::Approx(std::tan(std::numbers::pi * p / 2)).epsilon(1e-9));
      CHECK(student_quantile(p, 2) ==
            doctest::Approx(p * std::sqrt(2 / (1 - p * p))).epsilon(1e-9));
    }
  }
  SUBCASE("printed tables, 95 % two-sided") {
    const std::pair<int, double> table[] = {{1, 12.7062047},  {2, 4.30265273},  {3, 3.18244631},
                                            {4, 2.77644511},  {5, 2.57058184},  {10, 2.22813885},
                                            {15, 2.13144955}, {30, 2.04227246}, {120, 1.97993041}};
    for (const auto& [freedom, expected] : table)
      CHECK(student_quantile(0.95, freedom) == doctest::Approx(expected).epsilon(1e-8));
  }
  SUBCASE("many degrees of freedom: the normal distribution") {
    // The leading correction is (z^3 + z) / (4 freedom).
    const double z = 1.959963984540054, n = 100000;
    CHECK(student_quantile(0.95, 100000) ==
          doctest::Approx(z + (z * z * z + z) / (4 * n)).epsilon(1e-9));
  }
  SUBCASE("none, and bad arguments") {
    CHECK(student_quantile(0.95, 0) == std::numeric_limits<double>::infinity());
    CHECK_THROWS_AS((void)student_quantile(0, 3), ebb::domain_error);
    CHECK_THROWS_AS((void)student_quantile(1, 3), ebb::domain_error);
    CHECK_THROWS_AS((void)student_quantile(std::nan(""), 3), ebb::domain_error);
    CHECK_THROWS_AS((void)student_quantile(0.9, -1), ebb::domain_error);
  }
}

TEST_CASE("fit_line") {
  SUBCASE("exactly linear data has no residual") {
    const std::vector<double> x{1, 2, 4, 8}, y{1, 3, 7, 15};
    const line_fit fit = fit_line(x, y);
    CHECK(fit.slope == doctest::Approx(2).epsilon(1e-14));
    CHECK(fit.intercept == doctest::Approx(-1).epsilon(1e-14));
    CHECK(fit.residual < 1e-14);
    CHECK(fit.slope_half_width < 1e-13);
    CHECK(fit.points == 4);
    CHECK(fit.freedom == 2);
  }
  SUBCASE("worked by hand") {
    // x = 1..4, y = 1, 3, 2, 4: slope 4/5, intercept 1/2, squared residuals 1.8, two degrees left.
    const std::vector<double> x{1, 2, 3, 4}, y{1, 3, 2, 4};
    const line_fit fit = fit_line(x, y);
    CHECK(fit.slope == doctest::Approx(0.8).epsilon(1e-14));
    CHECK(fit.intercept == doctest::Approx(0.5).epsilon(1e-14));
    CHECK(fit.residual == doctest::Approx(std::sqrt(0.9)).epsilon(1e-14));
    CHECK(fit.slope_half_width == doctest::Approx(4.30265273 * std::sqrt(0.9 / 5)).epsilon(1e-8));
    CHECK(fit.intercept_half_width ==
          doctest::Approx(4.30265273 * std::sqrt(0.9 * (0.25 + 6.25 / 5))).epsilon(1e-8));
  }
  SUBCASE("two points: a line, but no interval") {
    const std::vector<double> x{0, 1}, y{5, 7};
    const line_fit fit = fit_line(x, y);
    CHECK(fit.slope == 2);
    CHECK(std::isinf(fit.slope_half_width));
  }
  SUBCASE("bad input") {
    const std::vector<double> one{1}, two{1, 2}, same{3, 3}, bad{1, std::nan("")};
    CHECK_THROWS_AS((void)fit_line(two, one), ebb::shape_error);
    CHECK_THROWS_AS((void)fit_line(one, one), ebb::domain_error);
    CHECK_THROWS_AS((void)fit_line(same, two), ebb::domain_error);
    CHECK_THROWS_AS((void)fit_line(two, bad), ebb::domain_error);
    CHECK_THROWS_AS((void)fit_line({}, {}), ebb::domain_error);
  }
}

TEST_CASE("the 95 % interval covers the true slope about 95 times in 100") {
  // 4000 samples of y = 3 x + noise, noise a sum of 12 uniforms; the standard deviation of the
  // count is 13.8, and the noise is close enough to normal for five points.
  std::uint64_t state = 88172645463325252u;
  const auto uniform = [&state] {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  const std::vector<double> x{1, 2, 3, 5, 8};
  int covered = 0;
  for (int sample = 0; sample < 4000; ++sample) {
    std::vector<double> y;
    for (const double xi : x) {
      double noise = -6;
      for (int k = 0; k < 12; ++k) noise += uniform();
      y.push_back(3 * xi + noise);
    }
    const line_fit fit = fit_line(x, y);
    covered += fit.slope_low() <= 3 && 3 <= fit.slope_high();
  }
  CHECK(covered > 3800 - 60);
  CHECK(covered < 3800 + 60);
}

TEST_CASE("fit_common_slope") {
  SUBCASE("levels of the groups do not matter") {
    const std::vector<double> x{1, 2, 3, 1, 2, 3}, y{2, 4, 6, 102, 104, 106};
    const std::vector<int> group{0, 0, 0, 7, 7, 7};
    const line_fit fit = fit_common_slope(x, y, group);
    CHECK(fit.slope == doctest::Approx(2).epsilon(1e-14));
    CHECK(fit.freedom == 3);
    CHECK(fit.residual < 1e-13);
    CHECK(fit_line(x, y).residual > 40);
  }
  SUBCASE("a lone point in a group adds nothing") {
    const std::vector<double> x{1, 2, 3, 9}, y{1, 3, 2, 50};
    const std::vector<int> group{0, 0, 0, 1};
    const line_fit fit = fit_common_slope(x, y, group);
    CHECK(fit.slope == doctest::Approx(0.5).epsilon(1e-14));
    CHECK(fit.freedom == 1);
  }
  SUBCASE("bad input") {
    const std::vector<double> x{1, 2}, y{1, 2};
    const std::vector<int> apart{0, 1}, one{0};
    CHECK_THROWS_AS((void)fit_common_slope(x, y, apart), ebb::domain_error);
    CHECK_THROWS_AS((void)fit_common_slope(x, y, one), ebb::shape_error);
  }
}

TEST_CASE("laws") {
  const std::vector<double> n{8, 16, 24, 32};
  std::vector<double> power, exponential;
  for (const double v : n) {
    power.push_back(3 * std::pow(v, -1.5));
    exponential.push_back(0.2 * std::exp(-0.7 * v));
  }
  const law_fit p = fit_power_law(n, power), e = fit_exponential_law(n, exponential);
  CHECK(p.rate == doctest::Approx(1.5).epsilon(1e-13));
  CHECK(p.scale == doctest::Approx(3).epsilon(1e-12));
  CHECK(e.rate == doctest::Approx(0.7).epsilon(1e-13));
  CHECK(e.scale == doctest::Approx(0.2).epsilon(1e-12));
  CHECK(p.rate_half_width < 1e-12);
  CHECK(p.rate_low() <= p.rate_high());
  const std::vector<double> zero{1, 1, 0, 1}, negative{8, -16, 24, 32};
  CHECK_THROWS_AS((void)fit_power_law(n, zero), ebb::domain_error);
  CHECK_THROWS_AS((void)fit_power_law(negative, power), ebb::domain_error);
  CHECK_THROWS_AS((void)fit_exponential_law(n, zero), ebb::domain_error);
}
