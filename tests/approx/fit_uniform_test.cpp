// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <ebb/approx/fit_uniform.hpp>
#include <ebb/spectrum/random.hpp>

#include "support/message_of.hpp"

namespace approx = ebb::approx;
using approx::complex_exponential_sum, approx::exponential_sum, approx::pole_rule;

namespace {

using ebb::test::message_of;

std::vector<double> grid(double first, double step, int count) {
  std::vector<double> lags;
  for (int i = 0; i < count; ++i) lags.push_back(first + i * step);
  return lags;
}

template <class Sum>
std::vector<double> sampled(const Sum& sum, const std::vector<double>& lags) {
  std::vector<double> values;
  for (const double lag : lags)
    values.push_back(static_cast<double>(sum(static_cast<long double>(lag))));
  return values;
}

/// Rates and weights of two sums, the largest relative difference.
double difference(const exponential_sum& a, const exponential_sum& b) {
  if (a.rates.size() != b.rates.size()) return HUGE_VAL;
  double worst = 0;
  for (std::size_t k = 0; k < a.rates.size(); ++k)
    worst = std::max(
        {worst, std::abs(a.rates[k] / b.rates[k] - 1), std::abs(a.weights[k] / b.weights[k] - 1)});
  return worst;
}

/// A bound of how far rounding of samples, u |v| each, moves rates (relative) and weights of the
/// least squares sum: that times the norm of the pseudoinverse of the derivatives.
double sensitivity(const exponential_sum& sum, const std::vector<double>& lags) {
  const auto m = static_cast<Eigen::Index>(lags.size());
  const auto n = static_cast<Eigen::Index>(sum.rates.size());
  Eigen::MatrixXd derivative(m, 2 * n);
  double largest = 0;
  for (Eigen::Index i = 0; i < m; ++i)
    for (Eigen::Index k = 0; k < n; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const double x = sum.rates[at] * lags[static_cast<std::size_t>(i)];
      derivative(i, k) = sum.weights[at] * std::exp(-x);          // d weight / weight
      derivative(i, n + k) = sum.weights[at] * x * std::exp(-x);  // d rate / rate
      largest = std::max(largest, std::abs(sum.weights[at]));
    }
  const auto sizes = derivative.jacobiSvd().singularValues();
  return std::sqrt(double(m)) * largest * double(n) * 0x1p-53 / sizes(2 * n - 1);
}

}  // namespace

TEST_CASE("N poles from 2N samples") {
  for (const ebb::index_t channels : {1, 2, 3, 4}) {
    std::vector<double> lags, values;
    for (ebb::index_t i = 0; i < 2 * channels; ++i) {
      lags.push_back(static_cast<double>(i));
      double value = 0;
      for (ebb::index_t k = 1; k <= channels; ++k)
        value += static_cast<double>(k) * std::exp(-0.4 * static_cast<double>(k * i));
      values.push_back(value);
    }
    const auto found = approx::fit_uniform(lags, values, channels);
    CHECK(found.sum.channels() == channels);
    CHECK(found.error.upper <= 1e-9);  // 10 u times sigma_1 / sigma_N, at most 4e5
  }
}

TEST_CASE("known sums come back, and no more channels than there are") {
  const exponential_sum sums[] = {{{0.05}, {2}},
                                  {{0.01, 0.2}, {1, 3}},
                                  {{0.02, 0.1, 0.7}, {1, -2.5, 4}},
                                  {{0.01, 0.05, 0.2, 0.8, 2.5}, {5, 4, 3, 2, 1}}};
  for (const exponential_sum& sum : sums)
    for (const double first : {0.0, 1.0}) {
      const auto lags = grid(first, 1, 300);
      const auto values = sampled(sum, lags);
      const double bound = 10 * sensitivity(sum, lags);  // its linear form, with room for the rest
      for (const ebb::index_t asked : {sum.channels(), sum.channels() + 3}) {
        const auto found = approx::fit_uniform(lags, values, asked);
        CAPTURE(sum.channels());
        CAPTURE(bound);
        REQUIRE(found.sum.channels() == sum.channels());
        CHECK(difference(found.sum, sum) <= bound);
        CHECK(found.error.upper <= 8 * 0x1p-53 * found.weights_l1);
        CHECK(found.error.basis == approx::evidence::sampled);
      }
    }
}

TEST_CASE("units: the same rates times the step") {
  const exponential_sum sum{{0.02, 0.3}, {1, 2}};
  const auto lags = grid(0, 1, 100);
  const auto values = sampled(sum, lags);
  const auto fine = approx::fit_uniform(grid(0, 0x1p-10, 100), values, 2);
  CHECK(fine.sum.rates[0] == doctest::Approx(0.02 * 1024).epsilon(1e-10));
  CHECK(fine.sum.rates[1] == doctest::Approx(0.3 * 1024).epsilon(1e-10));
}

TEST_CASE("noise: as many channels as stand out, averaged over the samples") {
  const exponential_sum sum{{0.02, 0.3}, {1, 2}};
  const auto lags = grid(0, 1, 400);
  auto values = sampled(sum, lags);
  ebb::uniform_stream uniform(7);
  const double noise = 1e-6;
  for (double& v : values) v += noise * (2 * uniform.next() - 1);
  approx::uniform_fit_options options;
  options.rank_tolerance = 1e-5;
  const auto found = approx::fit_uniform(lags, values, 6, options);
  REQUIRE(found.sum.channels() == 2);
  // Least squares: at most sqrt(m) noise over the smallest singular value, to first order.
  CHECK(difference(found.sum, sum) <= noise * 0x1p53 / 3 * sensitivity(sum, lags));
  CHECK(found.error.upper <= 2 * noise);
}

TEST_CASE("damped oscillations") {
  // Two pairs, a real pole and one that alternates.
  const double pi = std::numbers::pi;
  const complex_exponential_sum sum{{{0.01, -0.4}, {0.05, 0}, {0.1, -1.7}, {0.3, -pi}},
                                    {{1, -0.5}, {2, 0}, {-0.7, 0.2}, {0.4, 0}}};
  for (const double step : {1.0, 0.25}) {
    complex_exponential_sum scaled = sum;
    for (auto& r : scaled.rates) r /= step;
    const auto lags = grid(0, step, 240);
    const auto values = sampled(scaled, lags);
    const auto found = approx::fit_oscillations(lags, values, 9);
    CHECK(found.poles == 6);
    REQUIRE(found.sum.channels() == 4);
    for (std::size_t k = 0; k < 4; ++k) {
      // Well separated: poles are conditioned by less than 1e3 here.
      CHECK(std::abs(found.sum.rates[k] - scaled.rates[k]) * step <= 1e-12);
      CHECK(std::abs(found.sum.weights[k] - sum.weights[k]) <= 1e-11);
    }
    CHECK(found.error.upper <= 1e-12);
  }
}

TEST_CASE("in a scan the fitted oscillations are the impulse response") {
  const auto lags = grid(0, 1, 120);
  std::vector<double> values;
  for (const double t : lags) values.push_back(std::exp(-t / 20) * std::cos(0.5 * t));
  const auto found = approx::fit_oscillations(lags, values, 2);
  REQUIRE(found.sum.channels() == 1);
  CHECK(found.sum.rates[0].real() == doctest::Approx(0.05).epsilon(1e-12));
  CHECK(found.sum.rates[0].imag() == doctest::Approx(-0.5).epsilon(1e-12));
  std::complex<double> state = 0;
  const std::complex<double> decay = std::exp(-found.sum.rates[0]);
  for (std::size_t t = 0; t < lags.size(); ++t) {
    state = decay * state + (t == 0 ? 1.0 : 0.0);
    CHECK(std::abs((found.sum.weights[0] * state).real() - values[t]) <= 1e-13);
  }
}

TEST_CASE("multiple poles: rates next to each other, as good as weights in double let them be") {
  // e^-t sinh(dt) / d is t e^-t to d^2 t^3 e^-t / 6 <= 0.224 d^2, and has two weights 1 / 2d: each
  // rounded by u / 2d. e^-t (cosh(dt) - 1) 2 / d^2 is t^2 e^-t to d^2 t^4 e^-t / 12 <= 0.391 d^2,
  // of weights with the sum of sizes 4 / d^2. Rates are rounded by u, which the weights see, once
  // more. The best of both sorts, three times for a search that makes squares small, not maxima:
  const double u = 0x1p-53;
  double twofold = HUGE_VAL, threefold = HUGE_VAL;
  for (double d = 1e-7; d < 0.1; d *= 1.1) {
    twofold = std::min(twofold, 0.224 * d * d + 2 * u / d);
    threefold = std::min(threefold, 0.391 * d * d + 8 * u / (d * d));
  }
  CHECK(twofold < 1e-10);
  CHECK(threefold < 1e-7);
  for (const double step : {1.0, 0.1})
    for (const double first : {0.0, 1.0}) {
      const auto lags = grid(first * step, step, 200);
      std::vector<double> once, twice;
      for (const double t : lags) {
        once.push_back(t * std::exp(-t));
        twice.push_back(t * t * std::exp(-t));
      }
      for (const ebb::index_t channels : {2, 3, 4}) {
        CAPTURE(step);
        CAPTURE(first);
        CAPTURE(channels);
        const auto found = approx::fit_uniform(lags, once, channels);
        CHECK(found.sum.channels() == 2);
        CHECK(found.error.upper <= 3 * twofold);
        const auto more = approx::fit_uniform(lags, twice, channels);
        if (channels == 2) {
          // The sum of squares of the best c e^-rt + d t e^-rt, by trying r: two equal rates. A sum
          // of two different ones is no better than that by more than its sum of squares is off.
          double best = HUGE_VAL;
          for (double r = 0.2; r < 2; r += 0.005) {
            Eigen::MatrixXd a(200, 2);
            Eigen::VectorXd b(200);
            for (Eigen::Index i = 0; i < 200; ++i) {
              const double t = lags[static_cast<std::size_t>(i)];
              a.row(i) << std::exp(-r * t), t * std::exp(-r * t);
              b(i) = twice[static_cast<std::size_t>(i)];
            }
            best = std::min(best, (a * a.colPivHouseholderQr().solve(b) - b).squaredNorm());
          }
          double squares = 0;
          for (std::size_t i = 0; i < 200; ++i)
            squares += std::pow(more.sum(lags[i]) - twice[i], 2);
          CHECK(squares <= 1.001 * best);
        } else {
          CHECK(more.sum.channels() == 3);
          CHECK(more.error.upper <= 3 * threefold);
        }
      }
    }
}

TEST_CASE("oscillations are refused, but not slow turns that nothing is seen of") {
  const auto lags = grid(0, 1, 200);
  const auto cosine = [&](double turn) {
    std::vector<double> values;
    for (const double t : lags) values.push_back(std::exp(-t / 20) * std::cos(turn * t));
    return values;
  };
  const auto said = message_of([&] { return approx::fit_uniform(lags, cosine(0.3), 2); });
  CAPTURE(said);
  CHECK(said.rfind("fit_uniform: ", 0) == 0);
  CHECK(said.find("fit_oscillations") != std::string::npos);
  for (const ebb::index_t channels : {2, 4, 8})
    CHECK(!message_of([&] { return approx::fit_uniform(lags, cosine(0.01), channels); }).empty());
  CHECK(approx::fit_oscillations(lags, cosine(0.01), 2).error.upper <= 1e-12);
  // Half a period of it takes 62.8 lifetimes: e^-62.8 = 5e-28. Two real rates without the cosine's
  // curvature: (t / 400 / 20)^2 e^-t/20 / 2, at most 4 e^-2 / 2 / 400 = 7e-4.
  const auto slow = approx::fit_uniform(lags, cosine(0.05 / 20), 2);
  CHECK(slow.sum.channels() == 2);
  CHECK(slow.error.upper <= 7e-4);
}

TEST_CASE("impulses, zeros, sizes at the ends of double") {
  const auto lags = grid(0, 1, 20);
  const auto says = [](const std::string& message, const char* where, const char* words) {
    CAPTURE(message);
    CHECK(message.rfind(std::string(where) + ": ", 0) == 0);
    CHECK(message.find(words) != std::string::npos);
  };
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    std::vector<double> impulse(20, 0.0);
    impulse[at] = 1;
    says(message_of([&] { return approx::fit_uniform(lags, impulse, 4); }), "fit_uniform",
         "impulse");
    says(message_of([&] { return approx::fit_oscillations(lags, impulse, 4); }), "fit_oscillations",
         at == 0 ? "impulse" : "need");
  }
  const std::vector<double> zeros(20, 0.0);
  says(message_of([&] { return approx::fit_uniform(lags, zeros, 2); }), "fit_uniform", "all 0");
  says(message_of([&] { return approx::fit_oscillations(lags, zeros, 2); }), "fit_oscillations",
       "all 0");
  const auto base = approx::fit_oscillations(
      lags, sampled(complex_exponential_sum{{{0.1, -1}}, {{1, 0}}}, lags), 2);
  for (const double size : {0x1p990, 0x1p-990}) {
    auto values = sampled(complex_exponential_sum{{{0.1, -1}}, {{1, 0}}}, lags);
    for (double& v : values) v *= size;
    const auto found = approx::fit_oscillations(lags, values, 2);
    REQUIRE(found.sum.channels() == 1);
    CHECK(found.sum.rates == base.sum.rates);  // a power of 2 changes no digit
    CHECK(std::abs(found.sum.weights[0] / size - base.sum.weights[0]) <= 1e-13);
    auto real = sampled(exponential_sum{{0.1, 1}, {1, 2}}, lags);
    for (double& v : real) v *= size;
    const auto both = approx::fit_uniform(lags, real, 2);
    CHECK(both.error.upper <= 1e-13 * size);
  }
  std::vector<double> large(20, 1e301);
  says(message_of([&] { return approx::fit_uniform(lags, large, 2); }), "fit_uniform", "1e300");
  says(message_of([&] { return approx::fit_oscillations(lags, large, 2); }), "fit_oscillations",
       "1e300");
  // One outlier of any size: no crash in the pencil.
  std::vector<double> outlier = sampled(exponential_sum{{0.3}, {1}}, lags);
  outlier[3] = 1e300;
  says(message_of([&] { return approx::fit_uniform(lags, outlier, 3); }), "fit_uniform", "need");
  // Weights count at lag 0, where this is e^(0.3 1e15).
  says(message_of([&] {
         return approx::fit_oscillations(grid(1e15, 1, 20),
                                         sampled(exponential_sum{{0.3}, {1}}, lags), 1);
       }),
       "fit_oscillations", "nearer to 0");
  approx::uniform_fit_options relative;
  relative.kind = approx::error_kind::relative;
  auto small = sampled(exponential_sum{{40.0}, {1}}, lags);  // e^-760
  says(message_of([&] { return approx::fit_uniform(lags, small, 2, relative); }), "fit_uniform",
       "2.3e-308");
}

TEST_CASE("the pencil alone: its domain") {
  const std::vector<double> values{1, 0.5, 0.25, 0.125};
  CHECK(approx::pencil_poles(values, 2, 1e-14).poles.size() == 1);
  CHECK(approx::pencil_poles(std::vector<double>(4, 0.0), 2, 1e-14).poles.empty());
  CHECK_THROWS_AS((void)approx::pencil_poles(values, 0, 1e-14), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::pencil_poles(values, 3, 1e-14), ebb::shape_error);
  CHECK_THROWS_AS((void)approx::pencil_poles(std::vector<double>{}, 1, 1e-14), ebb::shape_error);
  CHECK_THROWS_AS((void)approx::pencil_poles(values, 2, 0), ebb::domain_error);
  const std::vector<double> bad{1, std::nan(""), 0.25, 0.125};
  CHECK_THROWS_AS((void)approx::pencil_poles(bad, 2, 1e-14), ebb::domain_error);
}

TEST_CASE("poles that no channel has: refused by name, projected, dropped") {
  const auto lags = grid(0, 1, 60);
  std::vector<double> growing, wave, constant;
  for (const double t : lags) {
    growing.push_back(std::exp(-0.2 * t) + 1e-3 * std::exp(0.05 * t));
    wave.push_back(std::exp(-0.2 * t) + 0.5 * std::exp(-0.1 * t) * std::cos(t));
    constant.push_back(1 + std::exp(-0.3 * t));
  }
  approx::uniform_fit_options project, drop;
  project.outside = pole_rule::project;
  drop.outside = pole_rule::drop;
  try {
    (void)approx::fit_uniform(lags, growing, 2);
    FAIL("a growing kernel was fitted");
  } catch (const ebb::domain_error& error) {
    CHECK(std::string(error.what()).find("1.0512") != std::string::npos);  // e^0.05
  }
  CHECK_THROWS_AS((void)approx::fit_uniform(lags, wave, 3), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit_oscillations(lags, growing, 2), ebb::domain_error);
  CHECK(approx::fit_uniform(lags, growing, 2, drop).sum.channels() == 1);
  CHECK(approx::fit_uniform(lags, wave, 3, drop).sum.channels() == 1);
  CHECK(approx::fit_uniform(lags, growing, 2, project).sum.channels() == 2);
  CHECK(approx::fit_uniform(lags, wave, 3, project).sum.channels() == 2);
  const auto kept = approx::fit_oscillations(lags, growing, 2, project);
  REQUIRE(kept.sum.channels() == 2);
  CHECK(kept.sum.rates[0].real() == doctest::Approx(0.05).epsilon(1e-6));
  // A constant is a pole at 1: projected it decays by 1e-6 over all samples.
  const auto still = approx::fit_uniform(lags, constant, 2, project);
  CHECK(still.error.upper <= 1e-6);
}

TEST_CASE("weights that are not negative") {
  const auto lags = grid(0, 1, 200);
  const auto values = sampled(exponential_sum{{0.02, 0.1, 0.7}, {1, -0.3, 4}}, lags);
  approx::uniform_fit_options options;
  options.non_negative = true;
  const auto found = approx::fit_uniform(lags, values, 3, options);
  CHECK(found.sum.channels() >= 1);
  for (const double c : found.sum.weights) CHECK(c > 0);
}

TEST_CASE("bad samples") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto lags = grid(0, 1, 10);
  const std::vector<double> values(10, 1.0);
  const auto with = [&](std::size_t i, double v) {
    auto changed = values;
    changed[i] = v;
    return changed;
  };
  CHECK_THROWS_AS((void)approx::fit_uniform(lags, with(3, nan), 2), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit_uniform(lags, with(3, HUGE_VAL), 2), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit_uniform(lags, values, 0), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit_uniform(lags, values, 6), ebb::shape_error);
  CHECK_THROWS_AS((void)approx::fit_uniform(lags, std::vector<double>(9, 1.0), 2),
                  ebb::shape_error);
  auto uneven = lags;
  uneven[4] += 1e-6;
  const auto decaying = sampled(exponential_sum{{0.3}, {1}}, lags);
  CHECK(approx::fit_uniform(lags, decaying, 1).sum.channels() == 1);
  CHECK_THROWS_AS((void)approx::fit_uniform(uneven, decaying, 1), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit_oscillations(uneven, decaying, 1), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit_uniform(grid(-1, 1, 10), values, 2), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit_uniform(grid(5, 0, 10), values, 2), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit_uniform(lags, std::vector<double>(10, 0.0), 2),
                  ebb::domain_error);
  approx::uniform_fit_options relative;
  relative.kind = approx::error_kind::relative;
  CHECK_THROWS_AS((void)approx::fit_uniform(lags, with(3, 0), 2, relative), ebb::domain_error);
  approx::uniform_fit_options positive;
  positive.non_negative = true;
  CHECK_THROWS_AS((void)approx::fit_oscillations(lags, values, 2, positive), ebb::domain_error);
}
