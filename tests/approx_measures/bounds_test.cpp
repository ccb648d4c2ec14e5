// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <doctest/doctest.h>

#include <ebb/approx/bounds.hpp>

using namespace ebb::approx;

namespace {
// Slope of log f between two arguments, in the coordinate x.
template <class F, class X>
double slope(F f, X x, double a, double b) {
  return (std::log(f(b)) - std::log(f(a))) / (x(b) - x(a));
}
}  // namespace

TEST_CASE("each law has the exponent it is named for") {
  const auto log_n = [](double n) { return std::log(n); };
  CHECK(slope([](double n) { return random_gap(n, 3); }, log_n, 8, 64) == doctest::Approx(-2));
  CHECK(slope([](double n) { return linear_error(n, 0.25, 3); }, log_n, 8, 64) ==
        doctest::Approx(-0.25));
  CHECK(slope(
            [](double n) {
              return random_error(n, {2, 0.7});
            },
            [](double n) { return n / std::log(n); }, 8, 64) == doctest::Approx(-0.7));
  CHECK(slope(
            [](double n) {
              return linear_error_long_context(n, 1e4, {2, 0.7});
            },
            [](double n) { return n / 100; }, 8, 64) == doctest::Approx(-0.7));
  CHECK(slope(
            [](double n) {
              return geometric_error(n, 1e4, {2, 0.7});
            },
            [](double n) { return n / std::log(1e4); }, 8, 64) == doctest::Approx(-0.7));
  CHECK(slope([](double n) { return bare_geometric_error(n, 1e4); },
              [](double n) { return std::sqrt(n / std::log(1e4)); }, 8,
              64) == doctest::Approx(-2 * std::sqrt(2.0)));
  CHECK(slope([](double n) { return optimum_relative_error(n, 1e4, 0.5); },
              [](double n) { return n / std::log(4e4); }, 8, 64) == doctest::Approx(-9.8696044));
}

TEST_CASE("worked values") {
  CHECK(random_gap(10) == doctest::Approx(0.01));
  CHECK(linear_error(16, 0.5) == doctest::Approx(0.25));
  CHECK(geometric_gap(5, std::exp(8.0)) == doctest::Approx(2));
  CHECK(effective_channels(16, 100, 1e4) == doctest::Approx(8));
  CHECK(effective_channels(16, 1, 1e4) == 0);
  // Two points on [0, 1]: their distance has the median 1 - 1/sqrt 2.
  CHECK(random_gap_median(2, 1) == doctest::Approx(1 - std::sqrt(0.5)));
  CHECK(random_gap_median(1000, 5) == doctest::Approx(5 * 0.693147 / 1e6).epsilon(2e-3));
}

TEST_CASE("the law of the optimum against published optima of 1/x") {
  // W. Hackbusch's tables of exponential sums, absolute error on [1, R]; the law is asymptotic and
  // its prefactor lies in 2.8 .. 3.7.
  struct {
    double terms, range, error;
  } const table[] = {{8, 100, 2.016e-6},   {16, 100, 5.298e-12}, {8, 1000, 2.321e-5},
                     {16, 1000, 2.371e-9}, {24, 1e4, 3.103e-11}, {24, 1e5, 4.975e-10}};
  for (const auto& row : table) {
    INFO("terms = " << row.terms << ", range = " << row.range);
    const double ratio = row.error / optimum_absolute_error(row.terms, row.range, 1);
    CHECK(ratio > 2.5);
    CHECK(ratio < 4);
  }
}

TEST_CASE("bounds refuse what they cannot mean") {
  CHECK_THROWS_AS((void)random_gap(1), ebb::domain_error);
  CHECK_THROWS_AS((void)random_error(1), ebb::domain_error);
  CHECK_THROWS_AS((void)random_gap_median(4, 0), ebb::domain_error);
  CHECK_THROWS_AS((void)linear_error(8, 0), ebb::domain_error);
  CHECK_THROWS_AS((void)linear_error_long_context(8, 1), ebb::domain_error);
  CHECK_THROWS_AS((void)geometric_gap(8, 1), ebb::domain_error);
  CHECK_THROWS_AS((void)geometric_error(8, std::nan("")), ebb::domain_error);
  CHECK_THROWS_AS((void)bare_geometric_error(HUGE_VAL, 100), ebb::domain_error);
  CHECK_THROWS_AS((void)optimum_absolute_error(8, 100, -1), ebb::domain_error);
  CHECK_THROWS_AS((void)effective_channels(8, 0.5, 100), ebb::domain_error);
}
