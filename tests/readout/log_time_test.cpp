// SPDX-License-Identifier: Apache-2.0
// Weights that are polynomials in log-time over the rates of a taper.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <ebb/decay/two_ended.hpp>
#include <ebb/readout/log_time.hpp>

#include "support/exact.hpp"

namespace {

using ebb::index_t;
using ebb::test::exact;

ebb::post_taper::bound<double> taper_of(const ebb::two_ended_spectrum& spectrum, index_t channels) {
  const std::vector<double> rates = ebb::rates_of<double>(spectrum, channels);
  return ebb::two_ended_taper(spectrum).bind(std::span<const double>(rates));
}

TEST_CASE("weights follow their formula") {
  const ebb::two_ended_spectrum spectrum(500);
  const index_t n = 5, terms = 4;
  const auto taper = taper_of(spectrum, n);
  std::vector<double> coefficients;
  for (index_t i = 0; i < n * terms; ++i)
    coefficients.push_back(std::cos(double(3 * i)) * std::pow(10.0, double(i % 3)));
  const ebb::log_time_gain gain{.power = 0.75, .first = 4, .last = 90000};
  const ebb::log_time_readout<double> readout(taper, gain, coefficients);
  CHECK(readout.degree() == 3);
  CHECK(readout.channels() == n);
  std::vector<double> c(n);
  for (const index_t t :
       {index_t{1}, index_t{4}, index_t{77}, index_t{5000}, index_t{90000}, index_t{1} << 40}) {
    INFO("t = " << t);
    readout.weights(t, c);
    const exact time = exact(double(t)) + 30, low = log(exact(34)), high = log(exact(90030));
    exact u = 2 * (log(time) - low) / (high - low) - 1;
    if (u < -1) u = -1;
    if (u > 1) u = 1;
    const double L = std::log(90030.0) + std::log(500.0) + 1 + (t > 90000 ? 30 : 0);
    for (index_t k = 0; k < n; ++k) {
      exact sum = 0;
      double size = 0;
      for (index_t p = 0; p < terms; ++p) {
        const double coefficient = coefficients[std::size_t(k * terms + p)];
        // T_p(u) = cos(p arccos u)
        sum += exact(coefficient) * cos(exact(double(p)) * acos(u));
        size += std::abs(coefficient);
      }
      const double rate = taper.rates()[std::size_t(k)], alpha = taper.alpha()[std::size_t(k)];
      const exact log_rate =
          rate > 0 ? exact(log(exact(rate)) - exact(alpha) * (log(time) - log(exact(500))))
                   : exact(-log(time));
      const exact scale = exp(exact(0.75) * log_rate);
      const double roundings =
          12 + 4 * 9 * (1 + L) + 4 * 0.75 * ((rate > 0 ? std::abs(std::log(rate)) : 0) + L);
      CHECK(abs(exact(c[std::size_t(k)]) - scale * sum) <=
            exact(roundings * 0x1p-53 * size) * scale);
    }
  }
}

TEST_CASE_TEMPLATE("outputs, with and without the input of the step", Real, float, double) {
  const auto taper = taper_of(ebb::two_ended_spectrum(64), 3);
  const ebb::log_time_readout<Real> readout(taper, {.power = 0.5, .first = 1, .last = 100},
                                            {1, 2, 3, -1, 0.5, 4}, 0.25);
  std::vector<double> c(3);
  readout.weights(17, c);
  const std::vector<Real> h{1, -2, 0.5}, x{3};
  std::vector<Real> y(1);
  readout.apply(17, h, std::span<const Real>(), y);
  const double plain = c[0] - 2 * c[1] + 0.5 * c[2];
  const double u = double(std::numeric_limits<Real>::epsilon());
  const double size = std::abs(c[0]) + 2 * std::abs(c[1]) + std::abs(c[2]) / 2;
  CHECK(std::abs(double(y[0]) - plain) <= 3 * u * size);
  readout.apply(17, h, x, y);
  CHECK(std::abs(double(y[0]) - (plain + 3 * (0.25 - c[0] - c[1] - c[2]))) <= 20 * u * size);
}

TEST_CASE("wrong arguments are refused") {
  const auto taper = taper_of(ebb::two_ended_spectrum(64), 2);
  using readout = ebb::log_time_readout<double>;
  CHECK_THROWS_AS(readout(taper, {}, {}), ebb::shape_error);
  CHECK_THROWS_AS(readout(taper, {}, {1, 2, 3}), ebb::shape_error);
  CHECK_THROWS_AS(readout(taper, {.power = -1}, {1, 2}), ebb::domain_error);
  CHECK_THROWS_AS(readout(taper, {.first = 0}, {1, 2}), ebb::domain_error);
  CHECK_THROWS_AS(readout(taper, {.first = 5, .last = 5}, {1, 2}), ebb::domain_error);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(readout(taper, {}, {1, nan}), ebb::domain_error);
  CHECK_THROWS_AS(readout(taper, {}, {1, 2}, nan), ebb::domain_error);
  const readout good(taper, {}, {1, 2});
  std::vector<double> two(2), one(1), y{-7};
  CHECK_THROWS_AS(good.apply(1, one, one, y), ebb::shape_error);
  CHECK_THROWS_AS(good.apply(1, two, two, y), ebb::shape_error);
  CHECK_THROWS_AS(good.apply(1, two, one, two), ebb::shape_error);
  CHECK_THROWS_AS(good.apply(0, two, one, y), ebb::domain_error);
  CHECK_THROWS_AS(good.weights(1, one), ebb::shape_error);
  CHECK(y[0] == -7);
}

}  // namespace
