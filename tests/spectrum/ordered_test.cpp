// SPDX-License-Identifier: Apache-2.0
// The learned parameterisation: inverse and vector-Jacobian product against 50 digits.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <ebb/spectrum/geometric.hpp>
#include <ebb/spectrum/ordered.hpp>

#include "support/exact.hpp"

namespace {

using ebb::test::exact;

TEST_CASE("rates follow the formula") {
  const ebb::ordered_spectrum<> spectrum(-3.5, {0.25, -20, 40, -0.0});
  const auto rates = ebb::rates_of<double>(spectrum, 5);
  exact log_rate = exact(-3.5);
  const double delta[] = {0.25, -20, 40, -0.0};
  for (std::size_t k = 0; k < rates.size(); ++k) {
    if (k > 0) log_rate += log(1 + exp(exact(delta[k - 1])));
    CHECK(ebb::test::roundoffs(rates[k], exact(exp(log_rate))) <= 2);
  }
}

TEST_CASE("the inverse is exact for large and tiny gaps") {
  const double up = std::nextafter(0.3, 1.0);
  for (const std::vector<double>& rates : {std::vector<double>{0.3, up},
                                           {0.3, 0.3 * (1 + 1e-9)},
                                           {1e-300, 1e300},
                                           {1, 2, 4.1, 1e9},
                                           {1e-3, 0.5, 0.7}}) {
    const auto inverse = ebb::ordered_spectrum<>::from_rates(rates);
    CHECK(ebb::test::roundoffs(inverse.theta(), exact(log(exact(rates[0])))) <= 2);
    for (std::size_t k = 1; k < rates.size(); ++k) {
      INFO("rates " << rates[k - 1] << " and " << rates[k]);
      const exact ratio = exact(rates[k]) / exact(rates[k - 1]);
      const exact delta = log(ratio - 1);  // log(expm1(log ratio))
      const exact error = exact(inverse.delta()[k - 1]) - delta;
      const double u = 0x1p-53;
      CHECK(abs(error) <= 8 * u * std::max(1.0, std::abs(delta.convert_to<double>())));
    }
  }
}

TEST_CASE("the inverse gives the rates back") {
  const auto rates = ebb::rates_of<exact>(ebb::geometric_spectrum::extended(1e6, 2, 1), 24);
  const auto spectrum = ebb::ordered_spectrum<exact>::from_rates(rates);
  const auto again = ebb::rates_of<exact>(spectrum, 24);
  for (std::size_t k = 0; k < rates.size(); ++k) CHECK(abs(again[k] / rates[k] - 1) < 1e-45);
  CHECK(ebb::rates_of<float>(ebb::ordered_spectrum<float>::from_rates(std::vector<float>{2.f}),
                             1) == std::vector<float>{2.f});
}

TEST_CASE("the published inverse adds 1e-6 inside the logarithm") {
  const auto published = ebb::gap_inverse::as_published;
  const double up = std::nextafter(0.3, 1.0);
  for (const std::vector<double>& rates :
       {std::vector<double>{0.3, up}, {0.3, 0.3 * (1 + 1e-9)}, {1e-300, 1e300}, {1, 2, 4.1, 1e9}}) {
    const auto spectrum = ebb::ordered_spectrum<>::from_rates(rates, published);
    CHECK(spectrum.theta() == ebb::ordered_spectrum<>::from_rates(rates).theta());
    for (std::size_t k = 1; k < rates.size(); ++k) {
      INFO("rates " << rates[k - 1] << " and " << rates[k]);
      const exact delta = log(exact(rates[k]) / exact(rates[k - 1]) - 1 + exact("1e-6"));
      // The gap g is within 4 u, which delta sees (1 + g)-fold, 1 + g <= 2.5 max(1, |delta|); the
      // inverse itself adds 8 u.
      const exact error = exact(spectrum.delta()[k - 1]) - delta;
      CHECK(abs(error) <= 18 * 0x1p-53 * std::max(1.0, std::abs(delta.convert_to<double>())));
    }
  }
  // So each ratio of neighbouring rates comes back larger by 1e-6.
  const auto rates = ebb::rates_of<exact>(ebb::geometric_spectrum::extended(1e3, 0, 0), 24);
  const auto again =
      ebb::rates_of<exact>(ebb::ordered_spectrum<exact>::from_rates(rates, published), 24);
  for (std::size_t k = 1; k < rates.size(); ++k)
    CHECK(abs(again[k] / again[k - 1] - rates[k] / rates[k - 1] - exact("1e-6")) < 1e-45);
}

TEST_CASE("the product with the Jacobian agrees with differences in 50 digits") {
  const exact theta = -2;
  const std::vector<exact> delta{exact(0.5), exact(-6), exact(3), exact(-0.25)};
  const std::vector<exact> rate_gradients{exact(1), exact(-2), exact(0.5), exact(3), exact(-0.125)};
  const auto loss = [&](const exact& th, const std::vector<exact>& de) {
    const auto rates = ebb::rates_of<exact>(ebb::ordered_spectrum<exact>(th, de), 5);
    exact sum = 0;
    for (std::size_t k = 0; k < 5; ++k) sum += rates[k] * rate_gradients[k];
    return sum;
  };
  exact theta_gradient;
  std::vector<exact> delta_gradients(4);
  ebb::ordered_spectrum<exact>(theta, delta)
      .vjp(std::span<const exact>(rate_gradients), theta_gradient,
           std::span<exact>(delta_gradients));
  // Central differences: error h^2 f''' / 6 + 1e-49 / h, far below the 1e-25 asked.
  const exact h = exact(1e-15);
  const auto close = [](const exact& a, const exact& b) { return abs(a - b) < 1e-25; };
  CHECK(close(theta_gradient, (loss(theta + h, delta) - loss(theta - h, delta)) / (2 * h)));
  for (std::size_t i = 0; i < 4; ++i) {
    auto plus = delta, minus = delta;
    plus[i] += h;
    minus[i] -= h;
    CHECK(close(delta_gradients[i], (loss(theta, plus) - loss(theta, minus)) / (2 * h)));
  }
}

TEST_CASE("what has no inverse is refused") {
  using ordered = ebb::ordered_spectrum<double>;
  const auto from = [](std::vector<double> rates) { return ordered::from_rates(rates); };
  CHECK_THROWS_AS(from({}), ebb::shape_error);
  CHECK_THROWS_AS(from({1, 1}), ebb::domain_error);
  CHECK_THROWS_AS(from({2, 1}), ebb::domain_error);
  CHECK_THROWS_AS(from({0, 1}), ebb::domain_error);
  CHECK_THROWS_AS(from({-1, 1}), ebb::domain_error);
  CHECK_THROWS_AS(from({1, HUGE_VAL}), ebb::domain_error);
  CHECK_THROWS_AS(from({1, std::nan("")}), ebb::domain_error);
  CHECK_THROWS_AS(ordered(std::nan(""), {}), ebb::domain_error);
  CHECK_THROWS_AS(ordered(0, {std::nan("")}), ebb::domain_error);
  std::vector<double> two(2);
  CHECK_THROWS_AS(ordered(0, {1}).fill(std::span<double>(two.data(), 1)), ebb::shape_error);
  double theta = 7;
  CHECK_THROWS_AS(ordered(0, {1}).vjp(two, theta, two), ebb::shape_error);
  CHECK(theta == 7);
}

TEST_CASE("rates that the type cannot hold are refused before anything is written") {
  std::vector<float> narrow(3, -1.0f);
  CHECK_THROWS_AS(ebb::ordered_spectrum<double>(-200, {1, 1}).fill(std::span<float>(narrow)),
                  ebb::domain_error);
  CHECK(narrow == std::vector<float>(3, -1.0f));
  std::vector<double> rates(3, -1.0);
  ebb::ordered_spectrum<double>(-200, {1, 1}).fill(std::span<double>(rates));
  CHECK(rates[0] > 0);
  CHECK_THROWS_AS(ebb::ordered_spectrum<double>(700, {20, 300}).fill(std::span<double>(rates)),
                  ebb::domain_error);
}

}  // namespace
