// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <complex>
#include <vector>

#include <doctest/doctest.h>

#include <ebb/approx/basis.hpp>
#include <ebb/approx/chebyshev.hpp>
#include <ebb/approx/exchange.hpp>
#include <ebb/approx/residual.hpp>
#include <ebb/spectrum/geometric.hpp>

namespace approx = ebb::approx;
using ebb::index_t;

TEST_CASE("coefficients of a polynomial are exact") {
  // 3 T_0 - 2 T_1 + T_4
  const index_t n = 7;
  Eigen::MatrixXd values(n, 1);
  const auto p = [](double x) { return 3 - 2 * x + 8 * x * x * x * x - 8 * x * x + 1; };
  for (index_t i = 0; i < n; ++i) values(i, 0) = p(approx::chebyshev_node(i, n));
  const Eigen::MatrixXd c = approx::chebyshev_coefficients(values);
  const double expected[] = {3, -2, 0, 0, 1, 0, 0};
  for (index_t m = 0; m < n; ++m)
    CHECK(std::abs(c(m, 0) - expected[m]) <= 7 * 0x1p-53 * 20);  // n u max|v|
  for (const double x : {-1.0, -0.3, 0.0, 0.77, 1.0})
    CHECK(std::abs(approx::chebyshev_value({c.data(), 7}, x) - p(x)) <= 7 * 0x1p-53 * 20);
}

TEST_CASE("interpolation stays within the bound of the Bernstein ellipse") {
  // 1 / (1 + 25 x^2): poles at +-i/5. Inside the ellipse with semi-minor axis 0.19 it is at most
  // 1 / (1 - 25 * 0.19^2).
  const double rho = approx::bernstein_ellipse(0.19), most = 1 / (1 - 25 * 0.19 * 0.19);
  for (const index_t n : {10, 40, 100, 160}) {
    CAPTURE(n);
    Eigen::MatrixXd values(n, 1);
    const auto f = [](double x) { return 1 / (1 + 25 * x * x); };
    for (index_t i = 0; i < n; ++i) values(i, 0) = f(approx::chebyshev_node(i, n));
    const Eigen::MatrixXd c = approx::chebyshev_coefficients(values);
    double worst = 0;
    for (int i = 0; i <= 4000; ++i) {
      const double x = -1 + i / 2000.0;
      const std::span<const double> series(c.data(), static_cast<std::size_t>(n));
      worst = std::max(worst, std::abs(approx::chebyshev_value(series, x) - f(x)));
    }
    const double bound = 2 * most * std::pow(rho, -static_cast<double>(n)) * (rho + 1) / (rho - 1);
    CHECK(worst <= bound + static_cast<double>(n) * 0x1p-52);
    if (n < 100) CHECK(worst >= 1e-3 * bound);  // and the bound is not idle
  }
}

namespace {

/// One interval [e^low, e^2] of lags with n nodes.
approx::sample_plan plain_plan(index_t n, approx::lag_kind kind = approx::lag_kind::continuous,
                               double low = 0) {
  approx::sample_plan plan;
  plan.kind = kind;
  plan.pieces.push_back({{low, 2, 0, 1}, n});
  return plan;
}

}  // namespace

TEST_CASE("the maximum of an interpolant is bracketed") {
  const index_t n = 33;
  for (const index_t degree : {0, 1, 7, 32}) {
    CAPTURE(degree);
    Eigen::MatrixXd values(n, 1);
    for (index_t i = 0; i < n; ++i)
      values(i, 0) =
          0.25 * std::cos(static_cast<double>(degree) * std::acos(approx::chebyshev_node(i, n)));
    const auto [low, high] = approx::sampled_functions(plain_plan(n), values).maximum(1e-6);
    CHECK(low <= 0.25 * (1 + 1e-12));
    CHECK(high >= 0.25 * (1 - 1e-12));
    CHECK(high <= low * (1 + 1.01e-6));
  }
}

TEST_CASE("the bound holds before the search has found the maximum") {
  // Nearly all degrees that n nodes carry, extrema between the first samples, and a slack so wide
  // that the search stops at once: only Bernstein's inequality keeps the bound above the truth.
  const index_t n = 33;
  int above_samples = 0;
  for (int shift = 1; shift <= 40; ++shift) {
    CAPTURE(shift);
    Eigen::MatrixXd values(n, 1);
    for (index_t i = 0; i < n; ++i)
      values(i, 0) = std::cos(32 * std::acos(approx::chebyshev_node(i, n) * (1 - 0.0007 * shift))) +
                     0.1 * shift * std::sin(3.0 * static_cast<double>(i * shift));
    const Eigen::MatrixXd c = approx::chebyshev_coefficients(values);
    double truth = 0;
    for (int j = 0; j <= 40000; ++j)
      truth = std::max(truth, std::abs(approx::chebyshev_value(
                                  {c.data(), 33}, -std::cos(j * std::numbers::pi / 40000))));
    const auto [low, high] = approx::sampled_functions(plain_plan(n), values).maximum(0.05);
    CHECK(high >= truth);
    CHECK(high <= 1.06 * truth);
    above_samples += truth > low * (1 + 1e-4);
  }
  CHECK(above_samples >= 10);  // so the samples alone would not have done
}

TEST_CASE("whole lags: only they count") {
  // T_20 on [e^0.3, e^2] reaches 1 at both ends and between, but not on the lags 2 .. 7.
  const index_t n = 24;
  Eigen::MatrixXd values(n, 1);
  for (index_t i = 0; i < n; ++i)
    values(i, 0) = std::cos(20 * std::acos(approx::chebyshev_node(i, n)));
  const approx::sampled_functions f(plain_plan(n, approx::lag_kind::integer, 0.3), values);
  double expected = 0;
  for (int lag = 2; lag <= 7; ++lag)
    expected =
        std::max(expected, std::abs(std::cos(20 * std::acos((2 * std::log(lag) - 2.3) / 1.7))));
  REQUIRE(expected < 0.99);
  const auto [low, high] = f.maximum(1e-6);
  CHECK(low == doctest::Approx(expected).epsilon(1e-9));
  CHECK(high == doctest::Approx(expected).epsilon(1e-5));
  CHECK(!f.alternating_extrema().empty());
  for (const auto& place : f.alternating_extrema()) CHECK(place.lag == std::round(place.lag));
}

TEST_CASE("whole lags: none is passed over") {
  // Few nodes and hundreds of lags: every piece of the search holds many.
  for (int seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const index_t n = 3 + seed % 5;
    approx::sample_plan plan;
    plan.kind = approx::lag_kind::integer;
    plan.pieces.push_back({{1.1, 5.3, 0, 1}, n});
    Eigen::MatrixXd values(n, 1);
    for (index_t i = 0; i < n; ++i)
      values(i, 0) = std::sin(7.3 * static_cast<double>(i * seed) + seed);
    const Eigen::MatrixXd c = approx::chebyshev_coefficients(values);
    double truth = 0;
    for (int lag = 4; lag <= 200; ++lag) {
      const std::span<const double> series(c.data(), static_cast<std::size_t>(n));
      const double x = plan.pieces[0].interval.x_of(lag);
      truth = std::max(truth, std::abs(approx::chebyshev_value(series, x)));
    }
    const auto [low, high] = approx::sampled_functions(plan, values).maximum(1e-9);
    CHECK(low == doctest::Approx(truth).epsilon(1e-9));
    CHECK(high >= truth * (1 - 1e-12));
    CHECK(high <= truth * (1 + 2e-9));
  }
}

TEST_CASE("exchange: the best polynomial for x^n is n degrees of Chebyshev") {
  // max |x^n - p| over [-1, 1] is least for x^n - p = 2^(1-n) T_n.
  for (const index_t degree : {1, 2, 5, 12, 25}) {
    CAPTURE(degree);
    const index_t n = degree + 6;
    Eigen::MatrixXd values(n, degree + 1);
    for (index_t i = 0; i < n; ++i) {
      const double x = approx::chebyshev_node(i, n);
      for (index_t k = 0; k < degree; ++k)
        values(i, k) = std::cos(static_cast<double>(k) * std::acos(x));
      values(i, degree) =
          std::pow(x, static_cast<double>(degree)) * std::pow(2.0, static_cast<double>(degree - 1));
    }
    const approx::sampled_functions functions(plain_plan(n), values);
    const approx::exchange_result found = approx::exchange(functions, values);
    // The monomial is as large as 2^(n-1): that many units of rounding in the samples.
    const double rounding =
        std::pow(2.0, static_cast<double>(degree)) * static_cast<double>(n) * 0x1p-52;
    CHECK(std::abs(found.level - 1) <= rounding + 1e-9);
    CHECK(std::abs(found.largest - 1) <= rounding + 1e-9);
    CHECK(found.reference.size() == static_cast<std::size_t>(degree + 1));
    if (degree <= 12) CHECK(found.iterations <= 12);  // beyond, rounding decides when it stops
    CHECK(found.iterations <= 60);
  }
}

TEST_CASE("exchange raises the level one lag at a time where signs do not alternate") {
  // {x, x^2} is no Chebyshev system on [-1, 1] (all vanish at 0). For 1 the error at 0 is 1
  // whatever the coefficients, and 0 reaches it: E = 1.
  const index_t n = 16;
  Eigen::MatrixXd values(n, 3);
  for (index_t i = 0; i < n; ++i) {
    const double x = approx::chebyshev_node(i, n);
    values.row(i) << x, x * x, 1;
  }
  const approx::sampled_functions functions(plain_plan(n), values);
  const approx::exchange_result found = approx::exchange(functions, values);
  CHECK(found.level <= 1 + 1e-9);
  CHECK(found.largest >= 1 - 1e-9);
  CHECK(found.largest - found.level <= 1e-3);
}

TEST_CASE("tapered functions are at most 1 where their intervals promise it") {
  // S(z) = zeta(alpha, z) - zeta(alpha, w) for complex z by direct summation and two terms of
  // Euler-Maclaurin, far enough out that the third is below 1e-12.
  using complex = std::complex<double>;
  const auto sum_to_end = [](double alpha, complex z, double w) {
    complex sum = 0;
    double end = w;
    for (int i = 0; i < 400; ++i, z += 1.0, end += 1.0)
      sum += std::pow(z, -alpha) - std::pow(complex(end), -alpha);
    const auto antiderivative = [&](complex s) {
      return alpha == 1 ? std::log(s) : std::pow(s, 1 - alpha) / (1 - alpha);
    };
    sum += antiderivative(end) - antiderivative(z);
    sum += 0.5 * (std::pow(z, -alpha) - std::pow(complex(end), -alpha));
    sum += alpha / 12 * (std::pow(z, -alpha - 1) - std::pow(complex(end), -alpha - 1));
    return sum;
  };
  int looked_at = 0;
  for (const double position : {200.0, 1000.0, 1e6})
    for (const double fraction : {0.5, 1.0}) {
      const approx::taper_basis basis(ebb::geometric_spectrum::timescales(1, 1e4), 16, 1e4,
                                      position);
      const double last = std::floor(fraction * position);
      for (const approx::lag_interval& i : basis.intervals(65, last - (fraction == 1 ? 64 : 0))) {
        const double b = i.semi_minor_axis(), a = std::sqrt(1 + b * b);
        for (int k = 0; k < 64; ++k) {
          const double turn = 2 * std::numbers::pi * k / 64;
          const complex x(a * std::cos(turn), b * std::sin(turn));
          const complex u = 0.5 * (i.low + i.high) + 0.5 * (i.high - i.low) * x;
          const complex z = i.anchor == 0 ? position + 1 - std::exp(u) : std::exp(u);
          for (const double alpha : {0.01, 0.2, 0.5, 0.8, 1.0}) {
            CAPTURE(position);
            CAPTURE(alpha);
            CAPTURE(turn);
            CHECK(sum_to_end(alpha, z, position + 1).real() >= 0);
            ++looked_at;
          }
        }
      }
    }
  CHECK(looked_at > 2000);
}
