// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <numbers>
#include <vector>

#include <doctest/doctest.h>

#include <ebb/approx/best_weights.hpp>
#include <ebb/approx/sum_error.hpp>
#include <ebb/spectrum/geometric.hpp>

#include "support/message_of.hpp"

namespace approx = ebb::approx;
using approx::error_kind, approx::evidence, approx::exponential_sum;
using digits_50 = approx::multiprecision<50>;

namespace {

using ebb::test::message_of;

/// A e^(-d tau), analytic with its exact size: |e^(-d z)| with 0 <= Re z <= |z|.
struct one_exponential {
  double rate, weight;
  template <ebb::real_scalar Real>
  Real operator()(const Real& lag) const {
    using ebb::detail::exp;
    return Real(Real(weight) * Real(exp(Real(Real(-rate) * lag))));
  }
  double log_sup(double, double) const { return std::log(std::abs(weight)); }
  double log_inf(double, double q) const { return std::log(std::abs(weight)) - rate * q; }
};

/// e^(-tau/20) cos 3 tau
struct wave {
  template <ebb::real_scalar Real>
  Real operator()(const Real& lag) const {
    using std::cos, std::exp;
    return Real(Real(exp(Real(lag * Real(-0.05)))) * Real(cos(Real(Real(3) * lag))));
  }
  // |cos 3z| <= e^(3 |z|)
  double log_sup(double, double q) const { return 3 * q; }
  double log_inf(double, double) const { return -HUGE_VAL; }
};

/// Largest error on a fine grid in 50 digits: below the true one, by h^2 of the grid.
template <class Sum, class Target>
double on_grid(const Sum& sum, const Target& target, double first, double last, bool relative,
               int points = 4000) {
  digits_50 worst(0);
  for (int i = 0; i <= points; ++i) {
    const double lag = std::clamp(first * std::pow(last / first, double(i) / points), first, last);
    const digits_50 f = target(digits_50(lag));
    digits_50 e = abs(digits_50(f - sum(digits_50(lag))));
    if (relative) e /= abs(f);
    if (e > worst) worst = e;
  }
  return static_cast<double>(worst);
}

}  // namespace

TEST_CASE("two exponentials: the largest difference by hand") {
  // e^-t - e^-2t is largest at log 2, where it is 1/4; on [2, 5] at 2; over e^-t it is 1 - e^-t.
  const exponential_sum sum{{2}, {1}};
  const one_exponential f{1, 1};
  const auto whole = approx::sum_error(sum, f, 0.01, 100);
  CHECK(whole.basis == evidence::proved);
  CHECK(whole.digits == 16);
  CHECK(whole.lower <= 0.25);
  CHECK(whole.upper >= 0.25);
  CHECK(whole.upper - whole.lower <= 1e-4 * whole.upper);
  CHECK(std::abs(whole.lag - std::log(2)) < 0.01);  // 1/4 - (t - log 2)^2 / 4: 1e-4 of it at 0.01
  const auto part = approx::sum_error(sum, f, 2, 5);
  const double at_2 = std::exp(-2) - std::exp(-4);
  CHECK(part.lag == 2);
  CHECK(part.lower <= at_2 * (1 + 1e-15));
  CHECK(part.upper >= at_2 * (1 - 1e-15));
  const auto relative = approx::sum_error(sum, f, 0.5, 20, {error_kind::relative, 1e-6});
  CHECK(relative.lag == 20);
  CHECK(relative.lower <= 1 - std::exp(-20));
  CHECK(relative.upper >= 1 - std::exp(-20));
  CHECK(relative.upper - relative.lower <= 1e-6);
}

TEST_CASE("time has no unit: the same bounds on a rescaled axis") {
  // tau^-1/2 on [1, 1e3] and the same with tau in units of 2^-30 and 2^40.
  const approx::power_law f(0.5);
  const exponential_sum sum{{0.002, 0.03, 0.5}, {0.1, 0.3, 0.9}};
  const auto base = approx::sum_error(sum, f, 1, 1000);
  CHECK(base.upper - base.lower <= 1e-4 * base.upper);
  for (const int shift : {-30, 40}) {
    const double unit = std::ldexp(1.0, shift);
    exponential_sum scaled = sum;
    for (double& r : scaled.rates) r /= unit;
    for (double& c : scaled.weights) c /= std::sqrt(unit);
    const auto found = approx::sum_error(scaled, f, unit, 1000 * unit);
    CHECK(found.basis == evidence::proved);
    CHECK(found.lower * std::sqrt(unit) <= base.upper);
    CHECK(found.upper * std::sqrt(unit) >= base.lower);
    CHECK(found.upper - found.lower <= 1e-4 * found.upper);
  }
}

TEST_CASE("bounds hold against a grid in 50 digits, also for weights that cancel") {
  for (const double beta : {0.5, 1.0})
    for (const auto kind : {error_kind::absolute, error_kind::relative})
      for (const int channels : {4, 12, 20}) {
        const approx::power_law f(beta);
        const auto spectrum = ebb::geometric_spectrum::timescales(1, 1e3);
        approx::approximation_options options;
        options.kind = kind;
        const auto best = approx::best_weights(approx::exponential_basis(spectrum, channels), f,
                                               approx::lag_set::continuous(1e3), options);
        const exponential_sum sum{ebb::rates_of<double>(spectrum, channels), best.weights};
        const auto found = approx::sum_error(sum, f, 1, 1e3, {kind});
        CAPTURE(beta);
        CAPTURE(channels);
        CAPTURE(found.digits);
        CAPTURE(best.weights_l1);
        const bool relative = kind == error_kind::relative;
        const double seen = on_grid(sum, f, 1, 1e3, relative);
        CHECK(found.basis == evidence::proved);
        CHECK(found.upper >= seen);
        CHECK(found.upper - found.lower <= 1e-4 * found.upper);
        // The grid misses at most h^2/8 max|e''|, h = log(1e3)/4000; a sum of N exponentials that
        // equioscillates has 2N + 2 extrema at most, so |e''| <= (2N + 2)^2 max|e|: 7e-4 of it.
        CHECK(found.lower <= seen * (1 + 7e-4));
        // An independent certificate: weights are rounded to double, no more.
        CHECK(found.lower <= best.error_upper + best.weights_l1 * (relative ? 1e3 : 1) * 0x1p-53);
        CHECK(found.upper >= best.error_lower);
      }
}

TEST_CASE("huge weights: digits are added until rounding is below the error") {
  // 1e12 (e^-t - e^-(1 + 1e-12) t) + e^-t/2 is near t e^-t + e^-t/2: double sees 1e-4 of noise.
  const exponential_sum sum{{0.5, 1, 1 + 1e-12}, {0.5, 1e12, -1e12}};
  const one_exponential f{0.5, 0.5};
  const auto found = approx::sum_error(sum, f, 0.1, 30);
  CHECK(found.digits > 16);
  CHECK(found.upper - found.lower <= 1e-4 * found.upper);
  const double rounded_gap = ((1 + 1e-12) - 1) * 1e12;  // t e^-t is largest at 1
  CHECK(found.lower <= rounded_gap * std::exp(-1) * (1 + 1e-11));
  CHECK(found.upper >= rounded_gap * std::exp(-1) * (1 - 1e-11));
  // And where no more are allowed, the bounds stay apart but true.
  const auto coarse = approx::sum_error(sum, f, 0.1, 30, {error_kind::absolute, 1e-4, 16});
  CHECK(coarse.digits == 16);
  CHECK(coarse.lower <= rounded_gap * std::exp(-1));
  CHECK(coarse.upper >= rounded_gap * std::exp(-1));
}

TEST_CASE("a sum that is its target: the upper bound is rounding of the last digits") {
  const auto found = approx::sum_error(exponential_sum{{1}, {1}}, one_exponential{1, 1}, 0.1, 10);
  CHECK(found.lower == 0);
  CHECK(found.upper <= 1e-40);
  const auto none = approx::sum_error(exponential_sum{}, one_exponential{1, 1}, 1, 10);
  CHECK(none.lower <= std::exp(-1) * (1 + 1e-15));
  CHECK(none.upper >= std::exp(-1));
  CHECK(none.upper <= std::exp(-1) * (1 + 1e-4));
}

TEST_CASE("a plain function in double is sampled, and charged with its rounding") {
  const std::function<double(double)> f = [](double t) { return std::exp(-t); };
  const auto found = approx::sum_error(exponential_sum{{2}, {1}}, f, 0.01, 100);
  CHECK(found.basis == evidence::sampled);
  CHECK(found.upper - found.lower <= 1e-4 * found.upper);
  CHECK(found.upper == doctest::Approx(0.25).epsilon(1e-4));
  const auto itself = approx::sum_error(exponential_sum{{1}, {1}}, f, 0.01, 100);
  CHECK(itself.lower == 0);
  CHECK(itself.upper >= 0x1p-53);  // f is not known better
  CHECK(itself.upper <= 1e-13);
}

TEST_CASE("relative errors of small values are charged with relative rounding") {
  const std::function<double(double)> f = [](double t) { return 1e-20 * std::exp(-t); };
  const auto found =
      approx::sum_error(exponential_sum{{1}, {1e-20}}, f, 0.1, 10, {error_kind::relative});
  CHECK(found.lower == 0);
  CHECK(found.upper >= 0x1p-53);
  CHECK(found.upper <= 1e-13);
}

TEST_CASE("relative errors where the target falls by hundreds of orders of magnitude") {
  const std::function<double(double)> in_double = [](double t) {
    return std::exp(-t) + std::exp(-2 * t);
  };
  for (const double last : {50.0, 200.0, 700.0}) {
    CAPTURE(last);
    const auto found =
        approx::sum_error(exponential_sum{{1}, {1}}, in_double, 1, last, {error_kind::relative});
    const double largest = 1 / (1 + std::exp(1));  // e^-2t / (e^-t + e^-2t) = 1 / (e^t + 1)
    CHECK(found.lower <= largest * (1 + 1e-15));
    CHECK(found.upper >= largest * (1 - 1e-15));
    CHECK(found.upper - found.lower <= 1e-4 * found.upper);
    const auto proved = approx::sum_error(exponential_sum{{2}, {1}}, one_exponential{1, 1}, 1, last,
                                          {error_kind::relative});
    CHECK(proved.basis == evidence::proved);  // 1 - e^-t
    CHECK(proved.lower <= -std::expm1(-last));
    CHECK(proved.upper >= -std::expm1(-last));
  }
  // tau^-1/2 against c e^-r tau: tau^1/2 c e^-r tau is largest at 1 / 2r.
  const std::function<double(double)> power = [](double t) { return 1 / std::sqrt(t); };
  const double rate = 1e-80, weight = 1e10;
  const double largest = weight * std::exp(-0.5) * std::sqrt(0.5 / rate);
  const exponential_sum slow{{rate}, {weight}};
  for (const double reach : {1e100, 1e300}) {
    for (const auto& found :
         {approx::sum_error(slow, power, 1 / reach, reach, {error_kind::relative}),
          approx::sum_error(slow, approx::power_law(0.5), 1 / reach, reach,
                            {error_kind::relative})}) {
      CHECK(found.upper >= largest * (1 - 1e-12) - 1);
      CHECK(found.lower <= largest * (1 + 1e-12));
      CHECK(found.upper - found.lower <= 1e-4 * found.upper);
    }
  }
}

TEST_CASE("messages name what limits") {
  const auto says = [](const std::string& message, const char* words) {
    CAPTURE(message);
    CHECK(message.rfind("sum_error: ", 0) == 0);
    CHECK(message.find(words) != std::string::npos);
  };
  const exponential_sum sum{{1}, {1}};
  const auto relative = approx::sum_error_options{error_kind::relative};
  const auto decaying = [](double t) { return std::exp(-t); };
  says(message_of([&] { return approx::sum_error(sum, decaying, 1, 745, relative); }),
       "|f| >= 2.3e-308");
  says(message_of([&] { return approx::sum_error(sum, wave{}, 1, 10, relative); }), "log_inf");
  // 0 at an eighth of the way: between the 68 lags looked at first, and an end of pieces later.
  const double eighth = std::log(1e40) / 8;
  const auto touching = [=](double t) { return std::abs(std::log(t) - eighth) < 1e-9 ? 0.0 : 1.0; };
  says(message_of([&] { return approx::sum_error(sum, touching, 1, 1e40, relative); }), "near 0");
  const approx::complex_exponential_sum fast{{{1, 1e7}}, {{1, 0}}};
  says(message_of([&] { return approx::sum_error(fast, decaying, 1, 10); }), "1e6 radian");
  const approx::complex_exponential_sum absurd{{{1, 1.7e308}}, {{0, 0}}};
  says(message_of([&] { return approx::sum_error(absurd, decaying, 1, 10); }), "1e6 radian");
  const exponential_sum large{{0.1}, {1e300}};
  const auto small = [](double t) { return 1e-300 / t; };
  says(message_of([&] { return approx::sum_error(large, small, 1, 10, relative); }),
       "double can hold");
  says(message_of([&] {
         return approx::sum_error(large, std::vector<double>{1}, std::vector<double>{1e-300},
                                  error_kind::relative);
       }),
       "double can hold");
  says(message_of([&] { return approx::sum_error(sum, decaying, 1e-301, 10); }), "1e-300");
  // A rate that has decayed everywhere is no infinity.
  const auto gone = approx::sum_error(exponential_sum{{1.7e308}, {1}}, decaying, 1, 10);
  CHECK(gone.upper == doctest::Approx(std::exp(-1)).epsilon(1e-4));
}

TEST_CASE("damped oscillations") {
  // e^-t/20 cos 3t against nothing: largest at the first lag; against itself halved: half of it.
  const approx::complex_exponential_sum sum{{{0.05, 3}}, {{0.5, 0}}};
  const auto found = approx::sum_error(sum, wave{}, 0.5, 60);
  CHECK(found.basis == evidence::proved);
  // 0.5 e^-t/20 |cos 3t|: the largest extremum after 0.5 is near t = pi/3, where
  // tan 3t = -1/60: t = (pi - atan(1/60))/3.
  const double t = (std::numbers::pi - std::atan(1.0 / 60)) / 3;
  const double largest = 0.5 * std::exp(-0.05 * t) * std::abs(std::cos(3 * t));
  CHECK(found.lower <= largest * (1 + 1e-14));
  CHECK(found.upper >= largest * (1 - 1e-14));
  CHECK(found.upper - found.lower <= 1e-4 * found.upper);
  CHECK(std::abs(found.lag - t) < 0.01);
  // s at one lag against the complex exponential itself.
  const approx::complex_exponential_sum two{{{0.1, -2}, {0.3, 0.5}}, {{1, 2}, {-3, 0.25}}};
  const double lag = 1.7;
  std::complex<double> by_hand = 0;
  for (std::size_t k = 0; k < 2; ++k) by_hand += two.weights[k] * std::exp(-two.rates[k] * lag);
  CHECK(two(lag) == doctest::Approx(by_hand.real()).epsilon(1e-14));
}

TEST_CASE("samples: the exact largest error") {
  const exponential_sum sum{{std::log(2)}, {1}};  // 2^-t
  const std::vector<double> lags = {0, 1, 2, 3}, values = {1, 0.5, 0.5, 0};
  const auto found = approx::sum_error(sum, lags, values);
  CHECK(found.basis == evidence::sampled);
  CHECK(found.lag == 2);
  CHECK(found.lower <= 0.25);
  CHECK(found.upper >= 0.25);
  CHECK(found.upper - found.lower <= 1e-15);
  const auto relative = approx::sum_error(sum, std::vector<double>{1, 2},
                                          std::vector<double>{-0.5, 0.5}, error_kind::relative);
  CHECK(relative.upper == doctest::Approx(2).epsilon(1e-15));
  CHECK(relative.lag == 1);
  CHECK_THROWS_AS((void)approx::sum_error(sum, lags, std::vector<double>{1}), ebb::shape_error);
  CHECK_THROWS_AS((void)approx::sum_error(sum, std::vector<double>{}, std::vector<double>{}),
                  ebb::shape_error);
  CHECK_THROWS_AS((void)approx::sum_error(sum, lags, values, error_kind::relative),
                  ebb::domain_error);
  CHECK_THROWS_AS((void)approx::sum_error(sum, std::vector<double>{-1}, std::vector<double>{1}),
                  ebb::domain_error);
}

TEST_CASE("bad input") {
  const approx::power_law f(0.5);
  const exponential_sum sum{{1}, {1}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS((void)approx::sum_error(sum, f, 0, 1), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::sum_error(sum, f, 1, 1), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::sum_error(sum, f, 1, HUGE_VAL), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::sum_error(sum, f, nan, 2), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::sum_error(sum, f, 1, 2, {error_kind::absolute, 0}),
                  ebb::domain_error);
  CHECK_THROWS_AS((void)approx::sum_error(sum, f, 1, 2, {error_kind::absolute, 1e-4, 8}),
                  ebb::domain_error);
  CHECK_THROWS_AS((void)approx::sum_error(exponential_sum{{1, 1}, {1, 2}}, f, 1, 2),
                  ebb::domain_error);
  CHECK_THROWS_AS((void)approx::sum_error(exponential_sum{{1}, {nan}}, f, 1, 2), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::sum_error(exponential_sum{{1}, {}}, f, 1, 2), ebb::shape_error);
  const auto hole = [nan](double t) { return t > 1.5 ? nan : 1.0; };
  CHECK_THROWS_AS((void)approx::sum_error(sum, hole, 1, 2), ebb::domain_error);
  const auto zero = [](double) { return 0.0; };
  CHECK_THROWS_AS((void)approx::sum_error(sum, zero, 1, 2, {error_kind::relative}),
                  ebb::domain_error);
}
