// SPDX-License-Identifier: Apache-2.0
// Best exponential sums for targets that are no power laws.
#include <cmath>
#include <numbers>
#include <vector>

#include <doctest/doctest.h>

#include <ebb/approx/exponential_mixture.hpp>
#include <ebb/approx/minimax.hpp>

namespace approx = ebb::approx;

namespace {

constexpr auto absolute = approx::error_kind::absolute, relative = approx::error_kind::relative;

approx::minimax_options of(approx::error_kind kind) {
  approx::minimax_options options;
  options.kind = kind;
  return options;
}

/// 1 / (tau + c), with derivatives by the lag: on [1, T] it is 1/x on [1 + c, T + c].
struct shifted_reciprocal {
  double shift;

  template <ebb::real_scalar Real>
  Real operator()(const Real& lag) const {
    return Real(Real(1) / (lag + Real(shift)));
  }
  template <ebb::real_scalar Real>
  approx::log_lag_jet<Real> jet(const Real& log_lag) const {
    const Real lag = Real(Real(1) / ebb::decaying_exp(log_lag)), f = (*this)(lag);
    return approx::log_lag_jet<Real>::from_lag(lag, f, Real(-f * f), Real(Real(2) * f * f * f));
  }
};
static_assert(approx::smooth_target_for<shifted_reciprocal, double>);
static_assert(approx::smooth_target_for<approx::power_law, long double>);
static_assert(approx::smooth_target_for<approx::exponential_mixture, approx::multiprecision<50>>);

/// sqrt(pi / tau) as a Laplace integral, and other densities.
approx::exponential_mixture inverse_root(double slowest) {
  return approx::exponential_mixture::of_density(
      [](double r) { return 1 / std::sqrt(std::numbers::pi * r); }, slowest, 60, 0.25);
}

}  // namespace

TEST_CASE("a shifted reciprocal is the reciprocal on another interval") {
  // With x = (1 + c) y: |1/x - sum| on [1 + c, T + c] is 1 / (1 + c) times |1/y - sum| on [1, R],
  // R = (T + c) / (1 + c); relative errors are the same. The rates are divided by 1 + c.
  const double c = 9, horizon = 9991;
  for (const auto kind : {absolute, relative}) {
    const auto shifted = approx::minimax_chain(shifted_reciprocal{c}, 9, horizon, of(kind));
    const auto plain = approx::minimax_chain(approx::power_law(1), 9, 1000, of(kind));
    const double scale = kind == absolute ? 1 / (1 + c) : 1;
    for (std::size_t k = 0; k < 9; ++k) {
      CAPTURE(k);
      REQUIRE(shifted[k].converged);
      CHECK(shifted[k].error_lower <= scale * plain[k].error_upper * (1 + 1e-13));
      CHECK(shifted[k].error_upper >= scale * plain[k].error_lower * (1 - 1e-13));
      CHECK(shifted[k].sum.rates[k] ==
            doctest::Approx(plain[k].sum.rates[k] / (1 + c)).epsilon(1e-6));
      // How many extrema a relative error has is known for power laws only.
      CHECK(shifted[k].basis ==
            (kind == absolute ? approx::evidence::proved : approx::evidence::sampled));
      CHECK(plain[k].basis == approx::evidence::proved);
    }
  }
}

TEST_CASE("a target that is flat for long, without a horizon") {
  const double c = 1e4;
  const auto shifted = approx::minimax_chain(shifted_reciprocal{c}, 6, HUGE_VAL);
  const auto plain = approx::minimax_chain(approx::power_law(1), 6, HUGE_VAL);
  for (std::size_t k = 0; k < 6; ++k) {
    CAPTURE(k);
    REQUIRE(shifted[k].converged);
    CHECK(shifted[k].error_upper * (1 + c) == doctest::Approx(plain[k].error_upper).epsilon(2e-9));
  }
}

TEST_CASE("a power law as a mixture") {
  // Left out: rates below 1e-26, 2 sqrt(1e-26 / pi) of every value, and those above 60.
  const auto mixture = inverse_root(1e-26);
  CHECK(mixture(100.0) == doctest::Approx(0.1).epsilon(1e-12));
  for (const auto kind : {absolute, relative}) {
    const auto found = approx::minimax(mixture, 6, 1e3, of(kind));
    const auto plain = approx::minimax(approx::power_law(0.5), 6, 1e3, of(kind));
    REQUIRE(found.converged);
    const double apart = 1.2e-13 * (kind == absolute ? 1 : std::sqrt(1e3)) + 2e-9 * 1e-2;
    CHECK(std::abs(found.error_upper - plain.error_upper) < apart);
    CHECK(found.sum.weights_l1() == doctest::Approx(plain.sum.weights_l1()).epsilon(1e-6));
  }
}

TEST_CASE("a mixture of four terms has three-term approximations, and no error with four") {
  const approx::exponential_mixture four(
      approx::exponential_sum{{1e-3, 1e-2, 0.1, 1}, {1, 2, 1, 3}});
  const auto found = approx::minimax_chain(four, 6, 1e4);
  for (std::size_t k = 0; k < 3; ++k) CHECK(found[k].converged);
  CHECK(found[2].error_upper < 0.5 * found[1].error_lower);
  for (std::size_t k = 3; k < 6; ++k) {
    CHECK(!found[k].converged);
    CHECK(found[k].error_lower == 0);
    CHECK(found[k].sum.channels() == 0);
  }
  // A search without an aim may arrive at no numbers: that is a result, too.
  const approx::exponential_mixture three(approx::exponential_sum{{0.01, 0.1, 1}, {0.2, 0.3, 0.5}});
  CHECK(!approx::minimax(three, 3, 100).converged);
}

TEST_CASE("the derivatives of a mixture") {
  const approx::exponential_mixture mixture(approx::exponential_sum{{0.1, 2}, {3, 0.5}});
  const long double u = 0.7L, h = 1e-4L;
  const auto f = mixture.jet(u);
  const auto value = [&](long double x) { return mixture(std::exp(x)); };
  CHECK(static_cast<double>(f.value) ==
        doctest::Approx(static_cast<double>(value(u))).epsilon(1e-15));
  // Differences of the values: off by h^2 f''' / 6 and h^2 f'''' / 12.
  CHECK(
      static_cast<double>(f.first) ==
      doctest::Approx(static_cast<double>((value(u + h) - value(u - h)) / (2 * h))).epsilon(1e-7));
  CHECK(static_cast<double>(f.second) ==
        doctest::Approx(static_cast<double>((value(u + h) - 2 * value(u) + value(u - h)) / (h * h)))
            .epsilon(1e-7));
}

TEST_CASE("derivatives by the lag and by its logarithm") {
  // f = tau^-2: f' = -2 tau^-3, f'' = 6 tau^-4 at tau = 3.
  const auto f = approx::log_lag_jet<double>::from_lag(3, 1.0 / 9, -2.0 / 27, 6.0 / 81);
  const auto same = approx::power_law(2).jet(std::log(3.0));
  CHECK(f.value == doctest::Approx(same.value).epsilon(1e-15));
  CHECK(f.first == doctest::Approx(same.first).epsilon(1e-14));
  CHECK(f.second == doctest::Approx(same.second).epsilon(1e-14));
  CHECK(f.second == doctest::Approx(4.0 / 9).epsilon(1e-14));
}

TEST_CASE("domains of mixtures") {
  using approx::exponential_mixture, approx::exponential_sum;
  CHECK_THROWS_AS(exponential_mixture(exponential_sum{}), ebb::shape_error);
  CHECK_THROWS_AS(exponential_mixture(exponential_sum{{1, 2}, {1}}), ebb::shape_error);
  CHECK_THROWS_AS(exponential_mixture(exponential_sum{{1, 2}, {1, -1}}), ebb::domain_error);
  CHECK_THROWS_AS(exponential_mixture(exponential_sum{{2, 1}, {1, 1}}), ebb::domain_error);
  const auto of_density = [](double value, double slowest, double fastest, double step) {
    (void)exponential_mixture::of_density([=](double) { return value; }, slowest, fastest, step);
  };
  CHECK_NOTHROW(of_density(1, 0.1, 1, 0.5));
  CHECK_THROWS_AS(of_density(-1, 0.1, 1, 0.5), ebb::domain_error);
  CHECK_THROWS_AS(of_density(std::nan(""), 0.1, 1, 0.5), ebb::domain_error);
  CHECK_THROWS_AS(of_density(1, 0, 1, 0.5), ebb::domain_error);
  CHECK_THROWS_AS(of_density(1, 1, 1, 0.5), ebb::domain_error);
  CHECK_THROWS_AS(of_density(1, 0.1, HUGE_VAL, 0.5), ebb::domain_error);
  CHECK_THROWS_AS(of_density(1, 0.1, 1, 0), ebb::domain_error);
  CHECK_THROWS_AS(of_density(1, 0.1, 1, 1e-6), ebb::domain_error);
  CHECK_THROWS_AS(of_density(0, 0.1, 1, 0.5), ebb::shape_error);  // no term is left
}

TEST_CASE("terms that have vanished leave no NaN, though rate times lag overflows") {
  const approx::exponential_mixture mixture(approx::exponential_sum{{1, 1e308}, {2, 1}});
  const auto f = mixture.jet(3.0);  // tau = e^3
  const double x = std::exp(3.0), term = 2 * std::exp(-x);
  CHECK(f.value == doctest::Approx(term).epsilon(1e-12));
  CHECK(f.first == doctest::Approx(-x * term).epsilon(1e-12));
  CHECK(f.second == doctest::Approx((x * x - x) * term).epsilon(1e-12));
  CHECK(std::isfinite(mixture.roundoffs(3.0)));
  const auto power = approx::power_law(1e200).jet(1.0);
  CHECK(power.value == 0);
  CHECK(power.second == 0);
}
