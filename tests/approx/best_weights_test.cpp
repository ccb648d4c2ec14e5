// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <ebb/approx/best_weights.hpp>
#include <ebb/approx/bounded_weights.hpp>
#include <ebb/spectrum/listed.hpp>

namespace approx = ebb::approx;
using ebb::index_t;

namespace {

// One spectrum type for the whole file: the multiprecision code is compiled once.
using basis_type = approx::exponential_basis<ebb::listed_spectrum>;

basis_type listed(std::vector<double> rates) {
  const auto count = static_cast<index_t>(rates.size());
  return {ebb::listed_spectrum::rates(rates), count};
}

basis_type geometric(index_t channels, double longest, double fast_end = 0) {
  std::vector<double> rates;
  for (index_t k = 0; k < channels; ++k)
    rates.push_back(std::exp((fast_end + std::log(longest)) * static_cast<double>(k) /
                                 static_cast<double>(channels - 1) -
                             std::log(longest)));
  return listed(rates);
}

/// 2 exp(-tau / 8) - exp(-tau), a function that says nothing of its size.
struct combination {
  template <ebb::real_scalar Real>
  Real operator()(const Real& lag) const {
    using std::exp;
    return Real(Real(2) * exp(Real(-lag * Real(0.125))) - exp(Real(-lag)));
  }
};

/// No number, whatever the lag.
struct not_a_number {
  template <ebb::real_scalar Real>
  Real operator()(const Real&) const {
    return Real(std::numeric_limits<double>::quiet_NaN());
  }
};

/// max |f - sum c_k exp(-r_k tau)| on a fine grid, in long double: an independent look at the
/// result.
long double seen_error(const std::vector<double>& rates, const std::vector<double>& weights,
                       const approx::power_law& f, double last, bool whole, bool relative) {
  long double worst = 0;
  const int steps = whole ? static_cast<int>(last) : 60001;
  for (int i = 0; i < steps; ++i) {
    const long double lag =
        whole ? i + 1.0L : std::exp(std::log(static_cast<long double>(last)) * i / (steps - 1));
    long double error = f(lag);
    for (std::size_t k = 0; k < rates.size(); ++k)
      error -= static_cast<long double>(weights[k]) *
               std::exp(-static_cast<long double>(rates[k]) * lag);
    worst = std::max(worst, std::abs(relative ? error / f(lag) : error));
  }
  return worst;
}

}  // namespace

TEST_CASE("one channel: the levelled error by hand") {
  // f = 1/tau on [1, T], phi = exp(-r tau), r = 1/T: the error c phi - f rises, then falls; at the
  // best c it levels -e(1) with the interior maximum, found here by bisection on c.
  const double horizon = 50, rate = 1 / horizon;
  const auto ends = [&](double c) {
    double largest = 0;
    for (int i = 0; i <= 200000; ++i) {
      const double lag = std::exp(std::log(horizon) * i / 2e5);
      largest = std::max(largest, c * std::exp(-rate * lag) - 1 / lag);
    }
    return std::pair{1 - c * std::exp(-rate), largest};
  };
  double low = 0, high = 1;
  for (int i = 0; i < 40; ++i) {
    const double c = 0.5 * (low + high);
    const auto [left, inside] = ends(c);
    (left > inside ? low : high) = c;
  }
  const auto found = approx::best_weights(listed({rate}), approx::power_law(1),
                                          approx::lag_set::continuous(horizon));
  CHECK(found.certified(5e-5));
  CHECK(found.weights[0] == doctest::Approx(low).epsilon(1e-6));
  CHECK(found.error_upper == doctest::Approx(ends(low).first).epsilon(2e-5));
}

TEST_CASE("the weights reach the upper bound, and nothing reaches below the lower one") {
  for (const bool whole : {false, true})
    for (const bool relative : {false, true})
      for (const double beta : {0.5, 1.0}) {
        CAPTURE(whole);
        CAPTURE(relative);
        CAPTURE(beta);
        const double horizon = 3000;
        std::vector<double> rates;
        for (int k = 0; k < 7; ++k)
          rates.push_back(std::pow(horizon, k / 6.0 - 1) * std::exp(0.3 * k));
        const approx::power_law f(beta);
        approx::approximation_options options;
        options.kind = relative ? approx::error_kind::relative : approx::error_kind::absolute;
        const auto found = approx::best_weights(
            listed(rates), f,
            whole ? approx::lag_set::integer(horizon) : approx::lag_set::continuous(horizon),
            options);
        CHECK(found.certified(5e-5));
        const double seen =
            static_cast<double>(seen_error(rates, found.weights, f, horizon, whole, relative));
        CHECK(seen <= found.error_upper * (1 + 1e-12));
        CHECK(seen >= found.error_lower * (1 - 1e-6));  // the grid misses the extrema by little
        // Any other weights do worse than the lower bound says.
        for (std::size_t k = 0; k < rates.size(); ++k) {
          std::vector<double> other = found.weights;
          other[k] *= 1 + 1e-3;
          CHECK(static_cast<double>(seen_error(rates, other, f, horizon, whole, relative)) >=
                found.error_lower);
        }
      }
}

TEST_CASE("more channels, no worse; shorter horizon, no worse; whole lags, no worse") {
  const approx::power_law f(0.5);
  std::vector<double> rates = {1e-3, 1e-2, 1e-1, 1};
  const auto four = approx::best_weights(listed(rates), f, approx::lag_set::continuous(1000));
  rates.push_back(3);
  const auto five = approx::best_weights(listed(rates), f, approx::lag_set::continuous(1000));
  CHECK(five.error_lower < four.error_upper);
  CHECK(approx::best_weights(listed(rates), f, approx::lag_set::continuous(500)).error_lower <=
        five.error_upper);
  const auto whole = approx::best_weights(listed(rates), f, approx::lag_set::integer(1000));
  CHECK(whole.error_lower <= five.error_upper);
  CHECK(whole.error_lower < 0.9 * five.error_lower);  // the lags between 1 and 2 matter
}

TEST_CASE("a target in the span has no error but rounding") {
  const auto found =
      approx::best_weights(listed({0.125, 0.5, 1}), combination(), approx::lag_set::integer(60));
  CHECK(found.error_upper < 1e-40);  // whatever the digits bring
  CHECK(found.weights[0] == doctest::Approx(2));
  CHECK(std::abs(found.weights[1]) < 1e-12);
  CHECK(found.weights[2] == doctest::Approx(-1));
}

TEST_CASE("as many weights as lags: no error") {
  const std::vector<double> rates = {0.1, 0.3, 0.9, 2.7};
  const auto found =
      approx::best_weights(listed(rates), approx::power_law(0.5), approx::lag_set::integer(4));
  CHECK(found.error_lower == 0);
  CHECK(found.error_upper == 0);
  for (int lag = 1; lag <= 4; ++lag) {
    double sum = 0;
    for (std::size_t k = 0; k < 4; ++k) sum += found.weights[k] * std::exp(-rates[k] * lag);
    CHECK(sum == doctest::Approx(std::pow(lag, -0.5)).epsilon(1e-12));
  }
}

TEST_CASE("more channels than an interval has room for") {
  // On [1, 2.7] forty exponentials need fewer nodes than channels to be resolved, and many digits.
  std::vector<double> rates;
  for (int k = 0; k < 24; ++k) rates.push_back(0.1 * (k + 1));
  const auto few = approx::best_weights(listed({0.1, 0.2, 0.3}), approx::power_law(0.5),
                                        approx::lag_set::continuous(2.7));
  const auto many =
      approx::best_weights(listed(rates), approx::power_law(0.5), approx::lag_set::continuous(2.7));
  CHECK(few.certified(5e-5));
  CHECK(many.certified(5e-5));
  CHECK(many.error_upper < 1e-10 * few.error_lower);
}

TEST_CASE("relative errors of channels that have long forgotten") {
  // exp(-1000) against 1000^-1/2: no weight that lag 1 can bear lifts the end, so c = 0 and E = 1.
  approx::approximation_options options;
  options.kind = approx::error_kind::relative;
  const auto found = approx::best_weights(listed({1, 2, 3}), approx::power_law(0.5),
                                          approx::lag_set::continuous(1000), options);
  CHECK(found.certified(5e-5));
  CHECK(found.error_upper == 1);
  CHECK(found.error_lower > 1 - 1e-9);
  CHECK(found.weights == std::vector<double>(3, 0.0));
}

// A function of double alone: its digits end at 16, and nothing is known between the samples.
struct scaled_kernel {
  double scale, rate;
  template <ebb::real_scalar Real>
  Real operator()(const Real& lag) const {
    const double tau = static_cast<double>(lag);
    return Real(scale * (rate > 0 ? std::exp(-rate * tau) : std::cos(rate * tau)));
  }
};

TEST_CASE("relative errors of a target that falls far") {
  // c = 0 has a relative error of 1: no lower bound may exceed it.
  approx::approximation_options options;
  options.kind = approx::error_kind::relative;
  options.tolerance = 1e-2;
  for (const index_t n : {4, 8, 16}) {
    INFO(n << " channels");
    const auto found = approx::best_weights(geometric(n, 400, 2), scaled_kernel{1, 1},
                                            approx::lag_set::continuous(200), options);
    CHECK(found.error_lower <= 1);
    CHECK(found.error_lower > 0.5);
    CHECK(found.basis == approx::evidence::sampled);
  }
  // Where the target crosses 0 there is no relative error.
  CHECK_THROWS_WITH_AS((void)approx::best_weights(geometric(4, 100), scaled_kernel{1, -0.1},
                                                  approx::lag_set::continuous(100), options),
                       doctest::Contains("does not cross 0"), ebb::domain_error);
}

TEST_CASE("small targets are small, not hopeless") {
  const auto lags = approx::lag_set::continuous(100);
  const auto one = approx::best_weights(geometric(5, 100, 1), scaled_kernel{1, 0.3}, lags);
  const auto small = approx::best_weights(geometric(5, 100, 1), scaled_kernel{1e-280, 0.3}, lags);
  CHECK(small.digits == one.digits);
  CHECK(small.error_upper == doctest::Approx(1e-280 * one.error_upper).epsilon(1e-6));
  CHECK(small.error_lower == doctest::Approx(1e-280 * one.error_lower).epsilon(1e-6));
}

TEST_CASE("an error that need not be known better ends the work") {
  // In the span the error is 0, which no digits bound to a relative width.
  approx::approximation_options options;
  options.least_error = 1e-10;
  const auto lags = approx::lag_set::continuous(100);
  const auto within = approx::best_weights(listed({0.125, 0.5, 1}), combination(), lags, options);
  CHECK(within.error_upper <= 1e-10);
  CHECK(within.digits == 16);
  // 20 channels take more than double; that they miss 1e-12 is plain with fewer, as it is with C = 2.
  const approx::power_law f(0.5);
  const auto known = approx::best_weights(geometric(20, 100, 1), f, lags);
  CHECK(known.digits > 16);
  options = {};
  options.most_error = 1e-12;
  const auto beyond = approx::best_weights(geometric(20, 100, 1), f, lags, options);
  CHECK(beyond.digits == 16);
  CHECK(beyond.error_lower > 1e-12);
  CHECK(beyond.error_lower <= known.error_upper);
  const auto capped = approx::bounded_weights(geometric(20, 100, 1), f, lags, 2, options);
  CHECK(capped.error_lower > 1e-12);
  CHECK(capped.digits == 19);
  options.most_error = -1;
  CHECK_THROWS_AS((void)approx::best_weights(geometric(3, 100), f, lags, options),
                  ebb::domain_error);
}

TEST_CASE("what cannot be certified says so") {
  const approx::power_law f(0.5);
  const auto lags = approx::lag_set::continuous(100);
  SUBCASE("a target without bounds between the samples") {
    const auto found = approx::best_weights(geometric(4, 100), combination(), lags);
    CHECK(found.basis == approx::evidence::sampled);
    CHECK(!found.certified(0.5));
    CHECK(approx::best_weights(geometric(4, 100), combination(), approx::lag_set::integer(60))
              .basis == approx::evidence::proved);  // every lag was looked at
  }
  SUBCASE("too few digits") {
    approx::approximation_options options;
    options.most_digits = 19;
    const auto found = approx::best_weights(geometric(48, 100), f, lags, options);
    CHECK(!found.certified(5e-5));
    options.most_digits = 50;
    const auto some = approx::best_weights(geometric(24, 100), f, lags, options);
    CHECK(some.certified(5e-5));
    CHECK(some.digits == 50);
  }
  SUBCASE("interrupted") {
    approx::approximation_options options;
    options.interrupted = [] { return true; };
    CHECK(approx::best_weights(geometric(4, 100), f, lags, options).interrupted);
  }
}

TEST_CASE("several targets share the samples and give what each gives alone") {
  const std::vector<approx::power_law> targets = {approx::power_law(0.5), approx::power_law(1)};
  const auto lags = approx::lag_set::continuous(1e4);
  const auto both =
      approx::best_weights(geometric(9, 1e4, 2), std::span<const approx::power_law>(targets), lags);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto alone = approx::best_weights(geometric(9, 1e4, 2), targets[i], lags);
    CHECK(both[i].error_upper == alone.error_upper);
    CHECK(both[i].weights == alone.weights);
  }
}

TEST_CASE("domains") {
  const approx::power_law f(0.5);
  CHECK_THROWS_AS(approx::power_law(0), ebb::domain_error);
  CHECK_THROWS_AS(approx::power_law(std::nan("")), ebb::domain_error);
  CHECK_THROWS_AS(approx::lag_set::continuous(1), ebb::domain_error);
  CHECK_THROWS_AS(approx::lag_set::continuous(std::nan("")), ebb::domain_error);
  CHECK_THROWS_AS(approx::lag_set::integer(0.5), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::best_weights(listed({0.1, 0.1}), f, approx::lag_set::integer(9)),
                  ebb::domain_error);
  CHECK_THROWS_AS((void)approx::best_weights(geometric(129, 100), f, approx::lag_set::integer(9)),
                  ebb::domain_error);
  CHECK_THROWS_AS(
      (void)approx::bounded_weights(geometric(4, 100), f, approx::lag_set::integer(9), 0),
      ebb::domain_error);
  CHECK_THROWS_AS(
      (void)approx::best_weights(geometric(4, 100), not_a_number(), approx::lag_set::integer(90)),
      ebb::domain_error);
  CHECK(
      !approx::approximation{0, HUGE_VAL, {}, 0, 16, approx::evidence::proved, {}, false}.certified(
          0.5));  // an infinite bound is none
}

TEST_CASE("bounded weights") {
  const approx::power_law f(0.5);
  const double horizon = 1e4;
  const std::vector<double> rates = {1 / 8.0, 2 / 8.0, 3 / 8.0, 4 / 8.0,
                                     5 / 8.0, 6 / 8.0, 7 / 8.0, 1};
  const auto lags = approx::lag_set::continuous(horizon);
  SUBCASE("between the bounds, inside the ball, worse than free weights") {
    const auto free = approx::best_weights(listed(rates), f, lags);
    REQUIRE(free.weights_l1 > 1e4);
    double previous = 1;
    for (const double most : {0.5, 2.0, 100.0, 1e4}) {
      CAPTURE(most);
      const auto found = approx::bounded_weights(listed(rates), f, lags, most);
      CHECK(found.certified(5e-5));
      CHECK(found.weights_l1 <= most);
      CHECK(found.error_lower > free.error_upper);
      CHECK(found.error_upper < previous);
      previous = found.error_lower;
      const double seen =
          static_cast<double>(seen_error(rates, found.weights, f, horizon, false, false));
      CHECK(seen <= found.error_upper * (1 + 1e-12));
      CHECK(seen >= found.error_lower * (1 - 1e-6));
    }
  }
  SUBCASE("a bound that does not bind changes nothing") {
    const auto free =
        approx::best_weights(geometric(6, 100, 2), f, approx::lag_set::continuous(100));
    const auto found = approx::bounded_weights(
        geometric(6, 100, 2), f, approx::lag_set::continuous(100), 2 * free.weights_l1);
    CHECK(found.error_upper == doctest::Approx(free.error_upper).epsilon(5e-5));
  }
  SUBCASE("one channel by hand: c = C as long as the error at lag 1 is the largest") {
    // f(1) - C exp(-r) with C below the best free weight.
    const auto found =
        approx::bounded_weights(listed({0.01}), f, approx::lag_set::integer(100), 0.25);
    CHECK(found.weights[0] == doctest::Approx(0.25));
    CHECK(found.error_upper == doctest::Approx(1 - 0.25 * std::exp(-0.01)).epsilon(2e-5));
  }
}
