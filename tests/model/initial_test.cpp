// SPDX-License-Identifier: Apache-2.0
// What the tapered models start from, as the published code does it.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/decay/selective.hpp>
#include <ebb/model/gated_deltanet.hpp>
#include <ebb/model/gla.hpp>
#include <ebb/model/mamba2.hpp>
#include <ebb/model/rwkv7.hpp>
#include <ebb/spectrum/ordered.hpp>

namespace {

using ebb::index_t;

template <class Spectrum>
std::vector<double> logs_of(const Spectrum& spectrum, index_t heads) {
  auto rates = ebb::rates_of<double>(spectrum, heads);
  for (double& rate : rates) rate = std::log(rate);
  return rates;
}

void check_equally_spaced(const std::vector<double>& logs, double low, double high) {
  const auto last = double(logs.size() - 1);
  for (std::size_t k = 0; k < logs.size(); ++k)
    CHECK(logs[k] == doctest::Approx(low + (high - low) * double(k) / last).epsilon(1e-13));
}

TEST_CASE("Mamba-2: timescales exp(-A_log) / 0.05 cover [1, T], exponents fall linearly") {
  for (const index_t heads : {24, 32}) {
    const auto logs = logs_of(ebb::mamba2_post_initial(2048), heads);
    check_equally_spaced(logs, -std::log(0.05 * 2048), -std::log(0.05));
    // With dt_bias = softplus^-1(0.05) and raw steps of 0 the decays at t = 1 are those.
    const std::vector<double> bias{ebb::inverse_softplus(0.05)};
    const ebb::array<double> raw(1, heads);
    const auto rates = ebb::rates_of<double>(ebb::mamba2_post_initial(2048), heads);
    const auto decay = ebb::selective_decay(raw)
                           .with_bias(bias)
                           .tapered(ebb::post_taper::absolute_by_gaps(2048))
                           .bind(std::span<const double>(rates));
    ebb::array<double> block(1, heads);
    decay.fill({}, block.view());
    CHECK(-1 / block(0, 0) == doctest::Approx(2048).epsilon(1e-13));
    CHECK(-1 / block(0, heads - 1) == doctest::Approx(1).epsilon(1e-13));
    for (index_t h = 0; h < heads; ++h)
      CHECK(decay.alpha()[std::size_t(h)] ==
            doctest::Approx(double(heads - 1 - h) / double(heads - 1)).epsilon(1e-12));
  }
}

TEST_CASE("Gated DeltaNet and GLA: A_log equally spaced on [0, log T] and [0, log 16]") {
  check_equally_spaced(logs_of(ebb::gated_deltanet_post_initial(2048), 6), 0, std::log(2048));
  check_equally_spaced(logs_of(ebb::gla_post_initial(), 4), 0, std::log(16));
}

TEST_CASE("RWKV-7: logits equally spaced from timescale T to 0.5") {
  const auto w0 = ebb::rwkv7_post_initial(2048, 768);
  check_equally_spaced(w0, std::log(1 / (0.60653065971263342 * 2048 - 1)), 0.5);
  CHECK(std::exp(-0.5) / (1 + std::exp(-w0[0])) == doctest::Approx(1.0 / 2048).epsilon(1e-12));
  CHECK_THROWS_AS(ebb::rwkv7_post_initial(2, 4), ebb::domain_error);
  CHECK_THROWS_AS(ebb::rwkv7_post_initial(HUGE_VAL, 4), ebb::domain_error);
  CHECK_THROWS_AS(ebb::rwkv7_post_initial(2048, 1), ebb::domain_error);
}

TEST_CASE("the learned parameters give the start back") {
  const auto rates = ebb::rates_of<double>(ebb::mamba2_post_initial(2048), 24);
  const auto again = ebb::rates_of<double>(
      ebb::ordered_spectrum<>::from_rates(std::span<const double>(rates)), 24);
  for (std::size_t k = 0; k < 24; ++k) CHECK(again[k] == doctest::Approx(rates[k]).epsilon(1e-14));
  // Ordered logits are the logarithms of ordered rates.
  const auto w0 = ebb::rwkv7_post_initial(2048, 64);
  std::vector<double> odds;
  for (const double w : w0) odds.push_back(std::exp(w));
  const auto learned = ebb::ordered_spectrum<>::from_rates(std::span<const double>(odds));
  const auto back = ebb::rwkv7_logits(learned.theta(), learned.delta());
  REQUIRE(back.size() == w0.size());
  for (std::size_t k = 0; k < w0.size(); ++k) CHECK(std::abs(back[k] - w0[k]) < 1e-12);
}

}  // namespace
