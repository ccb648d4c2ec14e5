// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <ebb/approx/coherence.hpp>

using namespace ebb::approx;

TEST_CASE("coherence of two exponentials") {
  SUBCASE("rates 1, 2, 3: equally spaced, yet not equally alike") {
    CHECK(coherence(1.0, 2.0) == doctest::Approx(2 * std::sqrt(2.0) / 3).epsilon(1e-15));
    CHECK(coherence(1.0, 2.0) == doctest::Approx(0.9428).epsilon(1e-4));
    CHECK(coherence(2.0, 3.0) == doctest::Approx(2 * std::sqrt(6.0) / 5).epsilon(1e-15));
    CHECK(coherence(2.0, 3.0) == doctest::Approx(0.9798).epsilon(1e-4));
  }
  SUBCASE("one with itself, symmetric, dependent on the ratio alone") {
    CHECK(coherence(0.37, 0.37) == 1);
    CHECK(coherence(2.0, 5.0) == coherence(5.0, 2.0));
    CHECK(coherence(2e-9, 5e-9) == doctest::Approx(coherence(2.0, 5.0)).epsilon(1e-14));
  }
  SUBCASE("the integral it stands for, by the trapezoid rule in log tau") {
    const double r = 0.3, s = 1.7, step = 0.01;
    double rs = 0, rr = 0, ss = 0;
    for (double u = -40; u < 8; u += step) {
      const double tau = std::exp(u);
      rs += tau * std::exp(-(r + s) * tau), rr += tau * std::exp(-2 * r * tau);
      ss += tau * std::exp(-2 * s * tau);
    }
    CHECK(coherence(r, s) == doctest::Approx(rs / std::sqrt(rr * ss)).epsilon(1e-12));
  }
  SUBCASE("far apart: no overflow") {
    CHECK(coherence(1e-300, 1e300) == doctest::Approx(2e-300).epsilon(1e-12));
    CHECK(coherence(1e-30L, 1e30L) > 0);
  }
  SUBCASE("bad rates") {
    CHECK_THROWS_AS((void)coherence(0.0, 1.0), ebb::domain_error);
    CHECK_THROWS_AS((void)coherence(1.0, -1.0), ebb::domain_error);
    CHECK_THROWS_AS((void)coherence(1.0, std::nan("")), ebb::domain_error);
    CHECK_THROWS_AS((void)coherence(1.0, HUGE_VAL), ebb::domain_error);
  }
}

TEST_CASE("the normalised Gram matrix") {
  const std::vector<double> rates{1e-3, 0.02, 0.5, 3};
  SUBCASE("on all lags it is the coherence") {
    const auto gram = normalised_gram_matrix(rates);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        CHECK(gram(i, j) == doctest::Approx(coherence(rates[static_cast<std::size_t>(i)],
                                                      rates[static_cast<std::size_t>(j)]))
                                .epsilon(1e-14));
  }
  SUBCASE("on few lags the slow channels become one") {
    const auto gram = normalised_gram_matrix(rates, 1);
    // exp(-r tau) is 1 - r tau to first order: the angle is about |r - s| / sqrt(12).
    CHECK(1 - gram(0, 1) == doctest::Approx(0.019 * 0.019 / 24).epsilon(0.05));
    CHECK(gram(0, 1) == gram(1, 0));
    CHECK(gram(2, 2) == 1);
  }
  SUBCASE("bad input") {
    const std::vector<double> bad{1, 0};
    CHECK_THROWS_AS((void)normalised_gram_matrix(bad), ebb::domain_error);
    CHECK_THROWS_AS((void)normalised_gram_matrix(rates, 0), ebb::domain_error);
    CHECK(normalised_gram_matrix({}).size() == 0);
  }
}

TEST_CASE("gaps") {
  SUBCASE("rates 1, 2, 3") {
    const std::vector<double> rates{1, 2, 3};
    const rate_gaps g = gaps(rates);
    CHECK(g.min_rate == 1);
    CHECK(g.min_log_rate == doctest::Approx(std::log(1.5)).epsilon(1e-15));
    CHECK(g.max_log_rate == doctest::Approx(std::log(2.0)).epsilon(1e-15));
  }
  SUBCASE("a tiny gap keeps its digits; equal rates have none") {
    const std::vector<double> rates{1, 1 + 0x1p-40, 8}, equal{2, 2};
    CHECK(gaps(rates).min_log_rate == doctest::Approx(0x1p-40).epsilon(1e-11));
    CHECK(gaps(rates).min_rate == 0x1p-40);
    CHECK(gaps(equal).min_log_rate == 0);
  }
  SUBCASE("bad input") {
    const std::vector<double> one{1}, falling{2, 1}, zero{0, 1};
    CHECK_THROWS_AS((void)gaps(one), ebb::domain_error);
    CHECK_THROWS_AS((void)gaps(falling), ebb::domain_error);
    CHECK_THROWS_AS((void)gaps(zero), ebb::domain_error);
  }
}
