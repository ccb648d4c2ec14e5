// SPDX-License-Identifier: Apache-2.0
#include "figures/density.hpp"

#include <cmath>
#include <numbers>
#include <vector>

#include <doctest/doctest.h>

namespace {

using curve = std::vector<std::pair<double, double>>;

// Trapezoids over log10 of the timescale.
double integral(const curve& p) {
  double sum = 0;
  for (std::size_t i = 1; i < p.size(); ++i)
    sum += 0.5 * (p[i].second + p[i - 1].second) * std::log10(p[i].first / p[i - 1].first);
  return sum;
}

}  // namespace

TEST_CASE("a density integrates to 1, but for the kernels' tails beyond 4 bandwidths") {
  // At most 2 Phi(-4) = 6.4e-5 is cut; trapezoids of a smooth curve that ends flat add far less.
  for (const auto& scales :
       {std::vector<double>{3}, std::vector<double>{7, 7, 7}, std::vector<double>{1, 10, 1000},
        std::vector<double>{1e-3, 2e-3, 5, 6, 7, 8, 1e9}}) {
    const auto p = figures::density(scales, 4000);
    CHECK(p.size() == 4000);
    CHECK(integral(p) < 1 + 1e-6);
    CHECK(integral(p) > 1 - 6.5e-5);
  }
}

TEST_CASE("the kernels, by their formula") {
  // log10: 0 and 2, s = sqrt 2, w = s 2^(-1/5) / 2; the middle of the grid is x = 1.
  const std::vector<double> scales{1, 100};
  const auto p = figures::density(scales, 401);
  const double w = std::sqrt(2.0) * std::pow(2, -0.2) / 2;
  CHECK(p[200].first == doctest::Approx(10).epsilon(1e-12));
  CHECK(p[200].second ==
        doctest::Approx(std::exp(-0.5 / (w * w)) / (w * std::sqrt(2 * std::numbers::pi)))
            .epsilon(1e-12));
  CHECK(p.front().first == doctest::Approx(std::pow(10, -4 * w)).epsilon(1e-12));
  CHECK(p.back().first == doctest::Approx(std::pow(10, 2 + 4 * w)).epsilon(1e-12));
  // One value: a kernel of width 0.01.
  const auto one = figures::density(std::vector<double>{5}, 3);
  CHECK(one[1].first == doctest::Approx(5).epsilon(1e-12));
  CHECK(one[1].second == doctest::Approx(100 / std::sqrt(2 * std::numbers::pi)).epsilon(1e-12));
}
