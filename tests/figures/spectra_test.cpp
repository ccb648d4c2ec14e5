// SPDX-License-Identifier: Apache-2.0
// Timescales and exponents against their definitions in long double.
#include "figures/spectra.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include <ebb/core/numeric.hpp>

namespace {

using figures::family;
using figures::initial_models;
using figures::layer;
using std::exp;
using std::log;

constexpr auto exact = ebb::gap_inverse::exact;

// A timescale passes through a log and an exp of at most 16 u each, and through k gaps of at most
// 16 u: delta within 8 u, softplus and sum within 4 u each. Exponents are quotients of such logs.
double slack(std::size_t k) { return (16.0 * static_cast<double>(k) + 64) * 0x1p-53; }

void check_close(const std::vector<double>& values, const std::vector<long double>& expected) {
  REQUIRE(values.size() == expected.size());
  for (std::size_t k = 0; k < values.size(); ++k) {
    CAPTURE(k);
    const auto error = std::abs(static_cast<long double>(values[k]) - expected[k]);
    CHECK(static_cast<double>(error) <=
          slack(k) * std::max(1.0, static_cast<double>(std::abs(expected[k]))));
  }
}

std::vector<long double> linear_taper(std::size_t n) {
  std::vector<long double> alpha;
  for (std::size_t k = 0; k < n; ++k)
    alpha.push_back(static_cast<long double>(n - 1 - k) / static_cast<long double>(n - 1));
  return alpha;
}

// Deltas of given ratios of neighbouring rates.
std::vector<double> deltas(const std::vector<double>& ratios) {
  std::vector<double> result;
  for (const double ratio : ratios) result.push_back(ebb::inverse_softplus(log(ratio)));
  return result;
}

// k-th zigzag of RWKV-7, whose heads have 64 channels.
long double zigzag(std::size_t k) {
  const long double x = (static_cast<long double>(k % 64) - 31.5L) / 31.5L;
  return x * std::abs(x);
}

}  // namespace

TEST_CASE("Mamba-2 as initialised: native 20 / (h + 1) steps, PoST geometric on [1, T]") {
  const double horizon = 2048;
  const auto models = initial_models(family::mamba2, horizon, exact);
  REQUIRE(models.size() == 4);
  const std::size_t heads[] = {24, 24, 32, 32}, layers[] = {24, 24, 48, 48};
  for (std::size_t m = 0; m < 4; ++m) {
    CAPTURE(models[m].label);
    REQUIRE(models[m].layers.size() == layers[m]);
    std::vector<long double> expected;
    for (std::size_t h = 0; h < heads[m]; ++h)
      expected.push_back(m % 2 == 0 ? 20.0L / static_cast<long double>(h + 1)
                                    : std::pow(2048.0L, linear_taper(heads[m])[h]));
    for (const layer& l : models[m].layers) {
      check_close(l.timescales, expected);
      if (m % 2 == 0)
        CHECK(l.exponents.empty());
      else
        check_close(l.exponents, linear_taper(heads[m]));
    }
  }
}

TEST_CASE("Gated DeltaNet as initialised: A_log from 0 to log T, native A uniform on (0, 16]") {
  const auto models = initial_models(family::gated_deltanet, 1024, exact);
  REQUIRE(models.size() == 4);
  CHECK(models[1].layers.size() == 24);
  CHECK(models[3].layers.size() == 48);
  for (const std::size_t m : {std::size_t{1}, std::size_t{3}}) {
    const std::size_t heads = m == 1 ? 6 : 8;
    std::vector<long double> expected;
    for (std::size_t h = 0; h < heads; ++h)
      expected.push_back(20 / std::pow(1024.0L, static_cast<long double>(h) /
                                                    static_cast<long double>(heads - 1)));
    check_close(models[m].layers.back().timescales, expected);
    check_close(models[m].layers.back().exponents, linear_taper(heads));
  }
  double sum = 0;
  std::size_t count = 0;
  for (const auto& m : {models[0], models[2]})
    for (const layer& l : m.layers) {
      CHECK(l.exponents.empty());
      for (const double scale : l.timescales) {
        CHECK(scale >= 20 / 16.0 * (1 - slack(0)));
        sum += 20 / scale, count += 1;
      }
    }
  REQUIRE(count == 6 * 24 + 8 * 48);
  // The mean of n uniform numbers on (0, 16] is 8 +- 16 / sqrt(12 n); five times that.
  CHECK(std::abs(sum / static_cast<double>(count) - 8) < 5 * 16 / std::sqrt(12.0 * 528));
  CHECK(models[0].layers[0].timescales != models[0].layers[1].timescales);
  CHECK(initial_models(family::gated_deltanet, 1024, exact)[2].layers[47].timescales ==
        models[2].layers[47].timescales);
}

TEST_CASE("RWKV-7 as initialised: w0 from logit(1/(e^(-1/2) T)) to 1/2, zigzag biases") {
  const long double horizon = 2048, root = exp(0.5L);
  const auto models = initial_models(family::rwkv7, 2048, exact);
  REQUIRE(models.size() == 4);
  const std::size_t channels[] = {768, 768, 1024, 1024}, layers[] = {12, 12, 24, 24};
  for (std::size_t m = 0; m < 4; ++m) {
    CAPTURE(models[m].label);
    REQUIRE(models[m].layers.size() == layers[m]);
    const auto n = channels[m];
    const long double slowest = root / horizon, low = log(slowest / (1 - slowest));
    for (const std::size_t l : {std::size_t{0}, std::size_t{1}, layers[m] - 1}) {
      std::vector<long double> expected, log_base;
      for (std::size_t k = 0; k < n; ++k) {
        const long double rank = static_cast<long double>(k) / static_cast<long double>(n - 1);
        const long double depth =
            static_cast<long double>(l) / static_cast<long double>(layers[m] - 1);
        const long double w0 = low + (0.5L - low) * rank;
        const long double native = -5.5L + 6 * std::pow(rank, 1 + std::pow(depth, 0.3L));
        const long double logit = (m % 2 == 0 ? native : w0) + 2.5L * zigzag(k);
        expected.push_back(root * (1 + exp(-logit)));
        log_base.push_back(-std::log1p(exp(-w0)));
      }
      check_close(models[m].layers[l].timescales, expected);
      if (m % 2 == 0) {
        CHECK(models[m].layers[l].exponents.empty());
        continue;
      }
      std::vector<long double> alpha;
      for (std::size_t k = 0; k < n; ++k) {
        const long double mean_gap =
            (log_base[n - 1] - log_base[0]) / static_cast<long double>(n - 1);
        alpha.push_back(linear_taper(n)[k] +
                        (log_base[k] - log_base[0] - static_cast<long double>(k) * mean_gap) /
                            log(horizon));
        CHECK(alpha[k] <= 1);  // no clamping here
        CHECK(alpha[k] >= 0);
      }
      check_close(models[m].layers[l].exponents, alpha);
    }
  }
  // Without biases the slowest channel has timescale T.
  const auto bare = figures::rwkv7_post(static_cast<double>(log(root / (horizon - root))),
                                        deltas({2}), std::vector<double>{0, 0}, 2048);
  CHECK(bare.timescales[0] == doctest::Approx(2048).epsilon(slack(0)));
}

TEST_CASE("the published inverse of softplus makes each ratio of rates larger by 1e-6") {
  const auto models = initial_models(family::mamba2, 2048, ebb::gap_inverse::as_published);
  const auto& scales = models[1].layers[0].timescales;
  const double ratio = std::pow(2048, 1 / 23.0);
  CHECK(scales[0] == doctest::Approx(2048).epsilon(slack(0)));
  for (std::size_t k = 1; k < scales.size(); ++k)
    CHECK(std::abs(scales[k - 1] / scales[k] - ratio - 1e-6) <= 2 * slack(k) * ratio);
}

TEST_CASE("exponents of unequal gaps, by hand") {
  // Rates 1, 2, 16 at T = 16: 1/2 + (log 2 - log 4)/log 16 = 1/4.
  check_close(figures::native_post(0, deltas({2, 8}), 16).exponents, {1, 0.25L, 0});
  check_close(figures::native_post(0, deltas({8, 2}), 16).exponents, {1, 0.75L, 0});
  // Rates 1, 256, 512 at T = 4: 1/2 + (8 - 4.5)/2, clamped.
  check_close(figures::native_post(0, deltas({256, 2}), 4).exponents, {1, 1, 0});
  check_close(figures::native_post(0, deltas({2, 256}), 4).exponents, {1, 0, 0});
  // One channel.
  CHECK(figures::native_post(log(20), {}, 4).exponents == std::vector<double>{1});
  check_close(figures::native_post(log(20), {}, 4).timescales, {1});
  // Equal rates keep their order and their taper.
  check_close(figures::native_post(0, {-1000, -1000}, 16).exponents, {1, 0.5L, 0});
}

TEST_CASE("parameters without a timescale are refused") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, inf, -inf, 1000.0, -1000.0}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(figures::native(std::vector<double>{0, bad}), std::domain_error);
    CHECK_THROWS_AS(figures::native_post(bad, {0}, 16), std::domain_error);
    CHECK_THROWS_AS(figures::rwkv7_post(bad, {0}, std::vector<double>{0, 0}, 16),
                    std::domain_error);
    if (!(bad > 0)) {  // a bias of +inf is a decay of e^(-1/2)
      CHECK_THROWS_AS(figures::rwkv7(std::vector<double>{0, bad}), std::domain_error);
      CHECK_THROWS_AS(figures::rwkv7_post(0, {0}, std::vector<double>{0, bad}, 16),
                      std::domain_error);
    }
    if (!(bad < 0)) CHECK_THROWS_AS(figures::native_post(0, {bad}, 16), std::domain_error);
  }
  CHECK_THROWS_AS(figures::rwkv7_post(0, {0}, std::vector<double>{0}, 16), std::invalid_argument);
}
