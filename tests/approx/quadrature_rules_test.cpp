// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <ebb/approx/quadrature_rules.hpp>
#include <ebb/approx/sum_error.hpp>

namespace approx = ebb::approx;
using approx::error_kind, approx::evidence;

namespace {

approx::error_bounds relative_error(const approx::exponential_sum& sum, double beta, double first,
                                    double last) {
  return approx::sum_error(sum, approx::power_law(beta), first, last, {error_kind::relative, 0.01});
}

}  // namespace

TEST_CASE("Gauss rules integrate polynomials of degree 2n - 1") {
  for (const double beta : {0.25, 0.5, 1.0, 2.5})
    for (const int n : {1, 2, 5, 12}) {
      const auto rule = approx::detail::gauss_jacobi(beta, n);
      REQUIRE(rule.size() == static_cast<std::size_t>(n));
      for (int power = 0; power < 2 * n; ++power) {
        double sum = 0;
        for (const auto& [s, w] : rule) sum += w * std::pow(s, power);
        // int_0^1 s^(beta - 1 + power) ds; nodes and weights n u each, times their derivatives.
        CHECK(std::abs(sum - 1 / (beta + power)) <= (power + 4) * n * 0x1p-52 / beta);
      }
    }
}

TEST_CASE("the tail of the Gamma integral") {
  // Q(1, y) = e^-y; Q(2, y) = (1 + y) e^-y; Q(1/2, y) = erfc(sqrt y).
  for (const double y : {3.5, 6.0, 20.0}) {
    CHECK(approx::detail::gamma_tail(1, y) == doctest::Approx(std::exp(-y)).epsilon(1e-14));
    CHECK(approx::detail::gamma_tail(2, y) >= (1 + y) * std::exp(-y) * (1 - 1e-14));
    CHECK(approx::detail::gamma_tail(2, y) <= (1 + y) * std::exp(-y) * 1.2);
    CHECK(approx::detail::gamma_tail(0.5, y) >= std::erfc(std::sqrt(y)));
    CHECK(approx::detail::gamma_tail(0.5, y) <= std::erfc(std::sqrt(y)) * 1.2);
  }
}

TEST_CASE("trapezoid rule: the measured error meets its bound, on any scale") {
  for (const double beta : {0.1, 0.5, 1.0, 1.5, 3.0})
    for (const double tolerance : {1e-2, 1e-6, 1e-11})
      for (const double first : {1.0, 1e-5}) {
        const double last = 1e4 * first;
        const auto rule = approx::trapezoid_rule(beta, first, last, tolerance);
        CAPTURE(beta);
        CAPTURE(tolerance);
        CAPTURE(rule.sum.channels());
        const auto found = relative_error(rule.sum, beta, first, last);
        CHECK(found.basis == evidence::proved);
        CHECK(found.upper <= rule.error_bound);
        CHECK(rule.error_bound <= tolerance * 1.001);
        CHECK(found.lower >= 1e-2 * tolerance);  // the bound is not idle
        for (const double c : rule.sum.weights) CHECK(c > 0);
      }
}

TEST_CASE("trapezoid rule: the step is the published one") {
  // Without ends the error is 2 / Gamma |Gamma(beta + 2 pi i / h)| to first order; for beta = 1
  // |Gamma(1 + iy)| = sqrt(pi y / sinh(pi y)).
  const double tolerance = 1e-6;
  const auto rule = approx::trapezoid_rule(1, 1, 100, tolerance);
  const double h = std::log(rule.sum.rates[1] / rule.sum.rates[0]);
  const double eps = tolerance / 3;
  const double published =
      2 * std::acos(-1.0) / (std::log(3) + std::log(1 / std::cos(1.0)) + std::log(1 / eps));
  CHECK(h == doctest::Approx(published).epsilon(1e-12));
  const double y = 2 * std::acos(-1.0) / h;
  CHECK(2 * std::sqrt(std::acos(-1.0) * y / std::sinh(std::acos(-1.0) * y)) <= eps);
}

TEST_CASE("Gauss-Jacobi and dyadic Gauss rules: the measured error meets its bound") {
  for (const double beta : {0.1, 0.5, 1.0, 1.5, 3.0})
    for (const double tolerance : {1e-2, 1e-6, 1e-11})
      for (const double first : {1.0, 1e-5}) {
        const double last = 1e4 * first;
        const auto rule = approx::gauss_jacobi_rule(beta, first, last, tolerance);
        CAPTURE(beta);
        CAPTURE(tolerance);
        CAPTURE(rule.sum.channels());
        const auto found = relative_error(rule.sum, beta, first, last);
        CHECK(found.basis == evidence::proved);
        CHECK(found.upper <= rule.error_bound);
        CHECK(rule.error_bound <= tolerance * 1.001);
        for (const double c : rule.sum.weights) CHECK(c > 0);
      }
}

TEST_CASE("lifted kernel: published coefficients, and the measured error meets its bound") {
  for (const double hurst : {0.05, 0.1, 0.3})
    for (const double ratio : {1.2, 2.5}) {
      const ebb::index_t n = ratio < 2 ? 120 : 20;
      const auto rule = approx::lifted_rough_kernel(hurst, n, ratio, 0.01, 1);
      const double a = hurst + 0.5;
      for (const ebb::index_t i : {ebb::index_t{1}, n}) {
        const auto at = static_cast<std::size_t>(i - 1);
        const double half = 0.5 * static_cast<double>(n), place = static_cast<double>(i);
        const double weight = (std::pow(ratio, 1 - a) - 1) * std::pow(ratio, (a - 1) * (1 + half)) /
                              (std::tgamma(a) * std::tgamma(2 - a)) *
                              std::pow(ratio, (1 - a) * place);
        const double rate = (1 - a) / (2 - a) * (std::pow(ratio, 2 - a) - 1) /
                            (std::pow(ratio, 1 - a) - 1) * std::pow(ratio, place - 1 - half);
        CHECK(rule.sum.weights[at] == doctest::Approx(weight).epsilon(1e-12));
        CHECK(rule.sum.rates[at] == doctest::Approx(rate).epsilon(1e-12));
      }
      approx::exponential_sum scaled = rule.sum;  // for tau^(a-1)
      for (double& c : scaled.weights) c *= std::tgamma(a);
      const auto found = relative_error(scaled, 1 - a, 0.01, 1);
      CAPTURE(hurst);
      CAPTURE(rule.error_bound);
      CHECK(found.basis == evidence::proved);
      CHECK(found.lower <= rule.error_bound);
      CHECK(found.upper <= 1.01 * rule.error_bound);  // tolerance of the certificate
      CHECK(rule.error_bound <= 20 * found.lower);    // and is not idle
    }
  CHECK(approx::lifted_rough_kernel(0.1, 2, 2.5, 0.01, 1).error_bound <= 1 + 1e-12);
}

TEST_CASE("bad input") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  using approx::gauss_jacobi_rule, approx::lifted_rough_kernel, approx::trapezoid_rule;
  for (const double beta : {0.0, -1.0, 4.1, nan}) {
    CHECK_THROWS_AS((void)trapezoid_rule(beta, 1, 2, 1e-3), ebb::domain_error);
    CHECK_THROWS_AS((void)gauss_jacobi_rule(beta, 1, 2, 1e-3), ebb::domain_error);
  }
  CHECK_THROWS_AS((void)trapezoid_rule(0.5, 0, 2, 1e-3), ebb::domain_error);
  CHECK_THROWS_AS((void)trapezoid_rule(0.5, 2, 1, 1e-3), ebb::domain_error);
  CHECK_THROWS_AS((void)trapezoid_rule(0.5, 1, HUGE_VAL, 1e-3), ebb::domain_error);
  CHECK_THROWS_AS((void)gauss_jacobi_rule(0.5, 1, 2, 1e-13), ebb::domain_error);
  CHECK_THROWS_AS((void)gauss_jacobi_rule(0.5, 1, 2, 0.2), ebb::domain_error);
  for (const double hurst : {0.0, 0.5, nan})
    CHECK_THROWS_AS((void)lifted_rough_kernel(hurst, 20, 2.5, 0.1, 1), ebb::domain_error);
  CHECK_THROWS_AS((void)lifted_rough_kernel(0.1, 0, 2.5, 0.1, 1), ebb::domain_error);
  CHECK_THROWS_AS((void)lifted_rough_kernel(0.1, 20, 1, 0.1, 1), ebb::domain_error);
  CHECK_THROWS_AS((void)lifted_rough_kernel(0.1, 900, 100, 0.1, 1), ebb::domain_error);
  CHECK_THROWS_AS((void)lifted_rough_kernel(0.1, 20, 2.5, 1, 1), ebb::domain_error);
}

TEST_CASE("rules refuse lags at which tau^-beta is beyond double") {
  CHECK_THROWS_AS((void)approx::trapezoid_rule(0.5, 5e-324, 1e-300, 1e-6), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::gauss_jacobi_rule(0.5, 5e-324, 1e-300, 1e-6), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::trapezoid_rule(0.5, 1e60, 1e71, 1e-6), ebb::domain_error);
  const auto far = approx::trapezoid_rule(4, 1e-70, 1e-60, 0.1);
  for (const double w : far.sum.weights) CHECK(std::isfinite(w));
}
