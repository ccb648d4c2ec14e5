// SPDX-License-Identifier: Apache-2.0
// Selective decays of heads and their keys: rates and steps that serve several channels, log
// sigmoids, and the weights dt, against decays that spell everything out.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/core/storage.hpp>
#include <ebb/decay/selective.hpp>
#include <ebb/recurrence/matrix.hpp>

#include "support/decay_contract.hpp"
#include "support/exact.hpp"

namespace {

using ebb::index_t;
using ebb::post_taper;
using ebb::selective_decay;
using ebb::strided_view;
using ebb::test::exact;

template <class Real>
std::span<const Real> span_of(const std::vector<Real>& values) {
  return values;
}
template <class T>
ebb::array<T> raw_array(index_t steps, index_t channels) {
  ebb::array<T> raw(ebb::extents{2, steps, channels});
  for (index_t i = 0; i < 2 * steps * channels; ++i)
    raw.data()[i] = static_cast<T>(double((i * 29) % 47 - 30) / 4);
  return raw;
}

// Blocks of every cut against the same values from a decay that spells everything out.
template <class Real, class Short, class Long>
void check_same(const Short& one, const Long& other, index_t steps, index_t channels) {
  for (const index_t position : {index_t{1}, index_t{300}, index_t{1} << 40})
    for (const index_t width : {index_t{1}, index_t{3}, index_t{70}, channels})
      for (index_t k = 0; k < channels; k += width) {
        const index_t w = std::min(width, channels - k);
        ebb::array<Real> a(steps, w), b(steps, w);
        one.fill({1, 0, k, position}, a.view());
        other.fill({1, 0, k, position}, b.view());
        for (index_t i = 0; i < steps * w; ++i) CHECK(a.data()[i] == b.data()[i]);
      }
}

TEST_CASE_TEMPLATE("rates that serve the keys of a head", Real, float, double) {
  const index_t keys = 23, heads = 4, steps = 66, all = heads * keys;
  const auto raw = raw_array<float>(steps, all);
  const std::vector<double> rates{1e-3, 0.25, 0.5, 16}, bias(std::size_t(all), 0.5);
  std::vector<double> each, mixed{3, 1, 2, 0.5}, mixed_each;
  for (std::size_t h = 0; h < 4; ++h) {
    each.insert(each.end(), std::size_t(keys), rates[h]);
    mixed_each.insert(mixed_each.end(), std::size_t(keys), mixed[h]);
  }
  check_same<Real>(selective_decay(raw).with_bias(bias).rates_for(keys).bind(span_of(mixed)),
                   selective_decay(raw).with_bias(bias).bind(span_of(mixed_each)), steps, all);
  // The exponents of the taper are those of the heads: of each head's channels alone.
  const auto tapered =
      selective_decay(raw).rates_for(keys).tapered(post_taper::absolute_by_gaps(99));
  const auto decay = tapered.bind(span_of(rates));
  const auto alpha = post_taper::absolute_by_gaps(99).bind(span_of(rates));
  CHECK(decay.alpha().size() == std::size_t(all));
  const auto plain = selective_decay(raw).bind(span_of(each));
  ebb::array<Real> a(3, all), b(3, all);
  decay.fill({0, 0, 0, 777}, a.view());
  plain.fill({0, 0, 0, 777}, b.view());
  for (index_t t = 0; t < 3; ++t)
    for (index_t c = 0; c < all; ++c) {
      const std::size_t h = std::size_t(c / keys);
      CHECK(decay.alpha()[std::size_t(c)] == alpha.alpha()[h]);
      const double s = std::exp(-alpha.alpha()[h] * std::log(double(777 + t)));
      CHECK(double(a(t, c)) == doctest::Approx(double(b(t, c)) * s).epsilon(4e-7));
    }
}

template <class Real>
void check_states(index_t inputs, index_t states) {
  const index_t steps = 3, all = inputs * states;
  const auto raw = raw_array<float>(steps, inputs);
  ebb::array<float> spread(ebb::extents{2, steps, all});
  for (index_t b = 0; b < 2; ++b)
    for (index_t t = 0; t < steps; ++t)
      for (index_t c = 0; c < all; ++c) spread(b, t, c) = raw(b, t, c / states);
  std::vector<double> rates, bias, bias_each;
  for (index_t c = 0; c < all; ++c) {
    rates.push_back(0.01 * double(c + 1));
    bias_each.push_back(0.125 * double(c / states));
  }
  for (index_t d = 0; d < inputs; ++d) bias.push_back(0.125 * double(d));
  check_same<Real>(
      selective_decay(raw).with_bias(bias).steps_for(states).limited(0.01, 3).bind(span_of(rates)),
      selective_decay(spread).with_bias(bias_each).limited(0.01, 3).bind(span_of(rates)), steps,
      all);
  const auto taper = post_taper::relative(50);
  check_same<Real>(selective_decay(raw).steps_for(states).tapered(taper).bind(span_of(rates)),
                   selective_decay(spread).tapered(taper).bind(span_of(rates)), steps, all);
}

TEST_CASE_TEMPLATE("steps that serve the states of a channel", Real, float, double) {
  check_states<Real>(17, 5);
  check_states<Real>(150, 2);
  check_states<Real>(3, 70);
}

TEST_CASE_TEMPLATE("negated, it is the log sigmoid", Real, float, double) {
  const auto raw = raw_array<double>(20, 3);
  const std::vector<double> rates(3, 0.0625);
  ebb::array<Real> block(20, 3);
  selective_decay(raw).negated().bind(span_of(rates)).fill({1, 0, 0, 1}, block.view());
  const double own = double(std::numeric_limits<Real>::epsilon()) / 2, u = 0x1p-53;
  for (index_t t = 0; t < 20; ++t)
    for (index_t k = 0; k < 3; ++k) {
      const exact x(raw(1, t, k)), truth = log(1 / (1 + exp(-x))) / 16;
      const double limit = (9 + std::max(1.0, std::abs(raw(1, t, k)))) * (own > u ? u / own : 1);
      CHECK(ebb::test::roundoffs(block(t, k), truth) <= limit + (own > u ? 1 : 0));
    }
}

// fill and weigh at once, and one after the other.
template <class Real, class T>
void check_both(const std::vector<double>& bias) {
  const auto raw = raw_array<T>(70, 3);
  const auto decay = selective_decay(raw)
                         .with_bias(bias)
                         .tapered(post_taper::relative(64))
                         .weighing()
                         .bind(span_of<double>({0.5, 1, 7}));
  for (const index_t count : {index_t{1}, index_t{5}, index_t{70}})
    for (index_t k = 0; k < 3; ++k) {
      ebb::array<Real> weights(count, 1), logs(count, 1), weights_also(count, 1),
          logs_also(count, 1);
      decay.fill({1, 0, k, 5}, logs.view());
      decay.weigh({1, 0, k, 5}, weights.view());
      decay.fill_and_weigh({1, 0, k, 5}, logs_also.view(), weights_also.view());
      for (index_t t = 0; t < count; ++t) {
        CHECK(weights(t, 0) > 0);
        CHECK(weights(t, 0) == weights_also(t, 0));
        CHECK(logs(t, 0) == logs_also(t, 0));
      }
    }
}

TEST_CASE_TEMPLATE("log-decays and weights at once", Real, float, double) {
  check_both<Real, float>({0.5, -1, 2});
  check_both<Real, double>({0.5, -1, 2});
  check_both<Real, float>({});
}

TEST_CASE("dt as weights: the values, and what they do to raw and bias") {
  using ebb::weighing_decay;
  const ebb::array<double> none(1, 1);
  using plain = decltype(selective_decay(none).bind(span_of<double>({1})));
  using weighing = decltype(selective_decay(none).weighing().bind(span_of<double>({1})));
  static_assert(!weighing_decay<plain, float> && weighing_decay<weighing, float>);

  const auto raw = raw_array<double>(70, 2);
  const std::vector<double> bias{0.5, -1};
  const auto decay = selective_decay(raw).with_bias(bias).limited(0.01, 3).weighing().bind(
      span_of<double>({7, 1}));
  ebb::array<double> weights(70, 2), logs(70, 2);
  decay.weigh({1, 0, 0, 5}, weights.view());
  decay.fill({1, 0, 0, 5}, logs.view());
  for (index_t t = 0; t < 70; ++t) {
    CHECK(weights(t, 1) == -logs(t, 1));  // rate 1
    CHECK(7 * weights(t, 0) == -logs(t, 0));
    double one = 0;
    decay.weigh({1, t, 1, 5}, strided_view<double>(&one, 1, 1));
    CHECK(one == weights(t, 1));
  }

  // In 50 digits: sum of w dt against differences, over limits and not, negated and not.
  for (const bool negated : {false, true})
    for (const std::size_t biases : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
      ebb::array<exact> x(3, 2), cotangent(3, 2), d_x(3, 2);
      for (index_t i = 0; i < 6; ++i)
        x.data()[i] = exact(i - 2) / 3, cotangent.data()[i] = exact(i * i - 4) / 8;
      std::vector<exact> b(biases, exact(1) / 7), d_b(biases, exact(1));
      const auto bound = [&](const std::vector<exact>& values) {
        auto policy = selective_decay(x).with_bias(values).limited(0.5, 1.2).weighing();
        if (negated) policy = policy.negated();
        return policy.bind(span_of<exact>({exact(2), exact(3)}));
      };
      const auto loss = [&](const std::vector<exact>& values) {
        ebb::array<exact> block(3, 2);
        bound(values).weigh({}, block.view());
        exact sum = 0;
        for (index_t i = 0; i < 6; ++i) sum += block.data()[i] * cotangent.data()[i];
        return sum;
      };
      const auto at = bound(b);
      std::remove_cvref_t<decltype(at)>::gradients sums{.raw = d_x.view(), .bias = d_b};
      at.weigh_vjp({}, strided_view<const exact>(cotangent.view()), sums);
      const exact h = 1e-15;
      bool some = false, stopped = false;
      for (index_t i = 0; i < 6; ++i) {
        exact& value = x.data()[i];
        value += h;
        const exact up = loss(b);
        value -= 2 * h;
        const exact slope = (up - loss(b)) / (2 * h);
        value += h;
        CHECK(abs(d_x.data()[i] - slope) < 1e-25);
        (slope == 0 ? stopped : some) = true;
      }
      CHECK(some);
      CHECK(stopped);
      for (std::size_t k = 0; k < biases; ++k) {
        auto up = b, down = b;
        up[k] += h, down[k] -= h;
        CHECK(abs(d_b[k] - 1 - (loss(up) - loss(down)) / (2 * h)) < 1e-25);
      }
    }
}

TEST_CASE("gradients of shared rates and steps add up to those of the decay spelled out") {
  const index_t states = 3, inputs = 2, all = 6;
  const auto raw = raw_array<double>(4, inputs);
  ebb::array<double> spread(ebb::extents{2, 4, all}), cotangent(4, all);
  for (index_t t = 0; t < 4; ++t)
    for (index_t c = 0; c < all; ++c) {
      spread(1, t, c) = raw(1, t, c / states);
      cotangent(t, c) = double(t - c);
    }
  const std::vector<double> rates{1, 2, 3, 4, 5, 6}, bias{0.5, 1},
      bias_each{0.5, 0.5, 0.5, 1, 1, 1};
  const auto one =
      selective_decay(raw).with_bias(bias).steps_for(states).negated().bind(span_of(rates));
  const auto other = selective_decay(spread).with_bias(bias_each).negated().bind(span_of(rates));
  std::vector<double> d_rates(6), d_bias(2), e_rates(6), e_bias(6);
  ebb::array<double> d_raw(raw.size()), e_raw(spread.size());
  const strided_view<const double> c(cotangent.view());
  std::remove_cvref_t<decltype(one)>::gradients d{d_rates, d_raw.view(), d_bias};
  std::remove_cvref_t<decltype(other)>::gradients e{e_rates, e_raw.view(), e_bias};
  one.vjp({1, 0, 0, 1}, c, c, d);
  other.vjp({1, 0, 0, 1}, c, c, e);
  CHECK(d_rates == e_rates);
  for (std::size_t k = 0; k < 2; ++k)
    CHECK(d_bias[k] ==
          doctest::Approx(e_bias[3 * k] + e_bias[3 * k + 1] + e_bias[3 * k + 2]).epsilon(1e-14));
  for (index_t t = 0; t < 4; ++t)
    for (index_t k = 0; k < 2; ++k)
      CHECK(d_raw(1, t, k) ==
            doctest::Approx(e_raw(1, t, 3 * k) + e_raw(1, t, 3 * k + 1) + e_raw(1, t, 3 * k + 2))
                .epsilon(1e-14));
}

TEST_CASE("counts that do not fit are refused") {
  const ebb::array<float> raw(3, 4);
  CHECK_THROWS_AS(selective_decay(raw).rates_for(0), ebb::domain_error);
  CHECK_THROWS_AS(selective_decay(raw).steps_for(-1), ebb::domain_error);
  CHECK_THROWS_AS(selective_decay(raw).steps_for(2).bind(span_of<double>({1, 2, 3})),
                  ebb::shape_error);
  CHECK_THROWS_AS(selective_decay(raw)
                      .with_bias(std::array{1.0, 2.0, 3.0})
                      .steps_for(2)
                      .bind(span_of<double>({1, 2, 3, 4})),
                  ebb::shape_error);
  const auto decay = selective_decay(raw).rates_for(2).bind(span_of<double>({1, 2}));
  CHECK_NOTHROW(decay.check({1, 3, 4}));
  CHECK_THROWS_AS(decay.check({1, 3, 2}), ebb::shape_error);
  const auto shared = selective_decay(raw).steps_for(2).bind(span_of(std::vector<double>(8, 1.0)));
  CHECK_NOTHROW(shared.check({1, 3, 8}));
}

TEST_CASE("a bias may be stored in 16 bits") {
  const ebb::array<float> raw({1, 3, 2});
  const std::vector<double> rates{0.1, 0.2};
  const std::vector<float> wide{-1.5f, 0.25f};
  const std::vector<ebb::bfloat16> narrow{ebb::bfloat16(-1.5f), ebb::bfloat16(0.25f)};
  const auto one = selective_decay(raw).with_bias(wide).bind(span_of(rates));
  const auto other = selective_decay(raw).with_bias(narrow).bind(span_of(rates));
  ebb::array<float> a(3, 2), b(3, 2);
  one.fill({}, a.view());
  other.fill({}, b.view());
  for (index_t t = 0; t < 3; ++t)
    for (index_t k = 0; k < 2; ++k) CHECK(a(t, k) == b(t, k));
  const std::vector<ebb::bfloat16> nan{ebb::bfloat16(NAN), ebb::bfloat16(0.0f)};
  CHECK_THROWS_AS(selective_decay(raw).with_bias(nan), ebb::domain_error);
}

}  // namespace
