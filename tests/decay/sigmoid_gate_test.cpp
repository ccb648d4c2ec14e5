// SPDX-License-Identifier: Apache-2.0
// The logistic gate: contract, values in 50 digits, gradients, edges.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/core/storage.hpp>
#include <ebb/decay/sigmoid_gate.hpp>

#include "support/decay_contract.hpp"
#include "support/exact.hpp"

namespace {

using ebb::channel_major;
using ebb::extents;
using ebb::index_t;
using ebb::post_taper;
using ebb::sigmoid_gate;
using ebb::strided_view;
using ebb::time_major;
using ebb::test::check_decay_contract;
using ebb::test::exact;

constexpr index_t steps = ebb::test::contract_steps, channels = ebb::test::contract_channels;

template <class T, class Axis = time_major>
ebb::array<T, Axis> raw_array(const extents& size) {
  ebb::array<T, Axis> raw(size);
  for (index_t b = 0; b < size.batches; ++b)
    for (index_t t = 0; t < size.steps; ++t)
      for (index_t k = 0; k < size.channels; ++k)
        raw(b, t, k) = static_cast<T>(double((b * 31 + t * 17 + k * 7) % 23 - 11) + 0.25);
  return raw;
}

template <class Real>
std::span<const Real> span_of(const std::vector<Real>& values) {
  return values;
}

exact sigma(const exact& x) { return 1 / (1 + exp(-x)); }

template <class Real, class Axis>
void check_contract() {
  const std::vector<Real> ascending{-7, Real(-2.5), 0, Real(0.25), 3}, mixed{2, -7, 0, 1, -3};
  const std::vector<Real> rates{Real(1e-4), Real(0.01), Real(0.2), Real(0.4), Real(0.6)};
  const auto full = raw_array<float>({2, steps, channels});
  const auto columns = raw_array<double, channel_major>({2, steps, channels});
  const auto shared = raw_array<ebb::bfloat16>({2, steps, 1});
  for (const index_t position : {index_t{1}, index_t{1000}, index_t{1} << 40}) {
    check_decay_contract<Real, Axis>(sigmoid_gate(full).bind_logits(span_of(mixed)), 1, position);
    check_decay_contract<Real, Axis>(sigmoid_gate(columns)
                                         .tapered(post_taper::absolute_by_gaps(2048))
                                         .bind_logits(span_of(ascending)),
                                     1, position);
    check_decay_contract<Real, Axis>(
        sigmoid_gate(shared).tapered(post_taper::relative(64)).bind(span_of(rates)), 0, position);
  }
}

TEST_CASE_TEMPLATE("sigmoid gates keep the contract", Real, float, double) {
  check_contract<Real, time_major>();
  check_contract<Real, channel_major>();
}

TEST_CASE_TEMPLATE("the logistic function without branches", Real, float, double) {
  using limits = std::numeric_limits<Real>;
  double worst = 0;
  const auto check = [&](Real x) {
    const exact truth = sigma(exact(static_cast<double>(x)));
    if (truth >= static_cast<double>(limits::min()))
      worst = std::max(worst, ebb::test::roundoffs(ebb::detail::logistic_of(x), truth));
  };
  for (int i = 0; i < 4000; ++i) {
    const auto x = static_cast<Real>(std::exp(0.02 * i - 70));
    check(x), check(-x), check(static_cast<Real>(0.004 * i - 8));
  }
  CHECK(worst <= 5);
  CHECK(worst > 0.5);
  CHECK(ebb::detail::logistic_of(-limits::infinity()) == Real(0));
  CHECK(ebb::detail::logistic_of(limits::infinity()) == Real(1));
  CHECK(std::isnan(ebb::detail::logistic_of(limits::quiet_NaN())));
}

// The worst error in units of the documented bound; alpha by the formula of the general gaps.
template <class Real, class T = double>
double worst_error(double horizon, index_t position) {
  const std::vector<double> w{-6.9, -3.1, -0.6, 0.2, 0.5};
  const auto raw = raw_array<T>({2, 40, 5});
  auto policy = sigmoid_gate(raw);
  if (horizon > 0) policy = policy.tapered(post_taper::absolute_by_gaps(horizon));
  const auto decay = policy.bind_logits(span_of(w));
  ebb::array<Real> block(40, 5);
  decay.fill({1, 0, 0, position}, block.view());
  const double u = 0x1p-53, own = double(std::numeric_limits<Real>::epsilon()) / 2;
  const exact first = log(sigma(w[0])), span = log(sigma(w[4])) - first;
  double worst = 0;
  for (index_t t = 0; t < 40; ++t)
    for (index_t k = 0; k < 5; ++k) {
      exact x = exact(w[std::size_t(k)]) + exact(static_cast<double>(raw(1, t, k)));
      double late = 0;
      if (horizon > 0) {
        const exact c = log(sigma(w[std::size_t(k)])) - first;
        exact alpha = exact(4 - k) / 4 + (c - k * span / 4) / log(exact(horizon));
        alpha = alpha < 0 ? exact(0) : alpha > 1 ? exact(1) : alpha;
        x -= alpha * log(exact(position + t));
        const double L = std::log(double(position + t)), gap = span.convert_to<double>();
        late = 6 * L + 16 * L * std::max(1.0, gap / std::log(horizon)) + 16 * L / std::log(horizon);
      }
      const exact truth = -exp(exact(-0.5)) * sigma(x);
      double limit = 8 + 2 * std::abs(x.convert_to<double>()) + late;
      if (own > u) limit = limit * u / own + (std::numeric_limits<T>::digits <= 24 ? 7 : 1);
      worst = std::max(worst, ebb::test::roundoffs(block(t, k), truth) / limit);
    }
  return worst;
}

TEST_CASE_TEMPLATE("log-decays are as accurate as documented", Real, float, double) {
  for (const double horizon : {0.0, 2048.0, 100.0})
    for (const index_t position : {index_t{1}, index_t{5000}, index_t{1} << 40}) {
      const double error = worst_error<Real>(horizon, position);
      CHECK(error <= 1);
      CHECK(error > 0);
    }
}

TEST_CASE("float gates: the bound, and the same bits for each cut") {
  for (const double horizon : {0.0, 2048.0})
    for (const index_t position : {index_t{1}, index_t{5000}, index_t{1} << 40}) {
      CHECK(worst_error<float, float>(horizon, position) <= 1);
      CHECK(worst_error<float, float>(horizon, position) > 0);
      CHECK(worst_error<float, ebb::half>(horizon, position) <= 1);
    }
  const index_t wide = 71;
  const auto raw = raw_array<float>({1, 2, wide});
  std::vector<double> ascending, zero(std::size_t(wide), 0.0), large;
  for (index_t k = 0; k < wide; ++k) {
    ascending.push_back(0.1 * double(k) - 5);
    large.push_back(1e30 * double(k) - 4);
  }
  const auto check = [&](const auto& decay) {
    ebb::array<float> whole(2, wide);
    decay.fill({0, 0, 0, 77}, whole.view());
    for (index_t k = 0; k < wide; ++k) {
      float one = 0;
      decay.fill({0, 1, k, 78}, strided_view<float>(&one, 1, 1));
      CHECK(one == whole(1, k));
      CHECK(one < 0);
    }
  };
  check(sigmoid_gate(raw).bind_logits(span_of(ascending)));
  check(sigmoid_gate(raw).bind_logits(span_of(zero)));
  check(sigmoid_gate(raw).bind_logits(span_of(large)));
  check(
      sigmoid_gate(raw).tapered(post_taper::absolute_by_gaps(99)).bind_logits(span_of(ascending)));
}

// The largest error of a logistic function in unit roundoffs of float.
template <class Argument>
double worst_in_float(const std::vector<Argument>& x) {
  std::vector<float> result(x.size());
  ebb::detail::logistic_gates(x.data(), 1.0F, static_cast<index_t>(x.size()), result.data());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const exact truth = sigma(exact(x[i]));
    if (truth >= std::numeric_limits<float>::min())
      worst = std::max(worst, ebb::test::roundoffs(result[i], truth));
    else
      CHECK(abs(exact(result[i]) - truth) <= 2 * exact(std::numeric_limits<float>::denorm_min()));
  }
  return worst;
}

TEST_CASE("the logistic function in float") {
  std::vector<float> narrow;
  std::vector<double> wide;
  for (int i = 0; i < 4000; ++i) {
    const double x = std::exp(0.02 * i - 70);
    for (const double some : {x, x < 200 ? -x : 0.0, 0.004 * i - 8}) {
      wide.push_back(some);
      narrow.push_back(static_cast<float>(some));
    }
  }
  CHECK(worst_in_float(narrow) <= 5);
  CHECK(worst_in_float(narrow) > 0.5);
  CHECK(worst_in_float(wide) <= 5);
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const float edges[] = {inf, -inf, nan, 1e30F, -1e30F};
  float result[5];
  ebb::detail::logistic_gates(edges, 2.0F, 5, result);
  CHECK(result[0] == 2);
  CHECK(result[1] == 0);
  CHECK(std::isnan(result[2]));
  CHECK(result[3] == 2);
  CHECK(result[4] == 0);
}

TEST_CASE("rates are those of gates that are 0") {
  const std::vector<double> rates{1e-9, 1e-3, 0.3, 0.6};
  const ebb::array<double> raw(1, 4);
  ebb::array<double> block(1, 4);
  sigmoid_gate(raw).bind(span_of(rates)).fill({}, block.view());
  for (index_t k = 0; k < 4; ++k) CHECK(std::abs(-block(0, k) / rates[std::size_t(k)] - 1) < 1e-13);
}

TEST_CASE("edges: infinities and NaN") {
  const double inf = std::numeric_limits<double>::infinity();
  ebb::array<double> raw(3, 1), block(3, 1);
  raw(0, 0) = -inf, raw(1, 0) = inf, raw(2, 0) = std::nan("");
  sigmoid_gate(raw).bind_logits(span_of<double>({1})).fill({}, block.view());
  CHECK(block(0, 0) == 0);
  CHECK(block(1, 0) == -std::exp(-0.5));
  CHECK(std::isnan(block(2, 0)));
}

TEST_CASE("gradients agree with differences in 50 digits") {
  const std::vector<exact> w{exact(-3), exact(-1) / 3, exact(2) / 7};
  for (const index_t width : {3, 1})
    for (const bool tapered : {false, true}) {
      ebb::array<exact> raw(4, width);
      for (index_t i = 0; i < 4 * width; ++i) raw.data()[i] = exact((i * 5) % 7 - 3) / 2;
      const ebb::block_origin where{0, 1, 1, 40};
      ebb::array<exact> cotangent(3, 2);
      for (index_t i = 0; i < 6; ++i) cotangent.data()[i] = exact(i * i - 7) / 8;
      // The taper is one whose exponents do not depend on the rates.
      const auto bound_of = [&](const std::vector<exact>& logits) {
        auto policy = sigmoid_gate(raw);
        if (tapered) policy = policy.tapered(post_taper::relative(64));
        return policy.bind_logits(span_of(logits));
      };
      const auto loss = [&](const std::vector<exact>& logits) {
        ebb::array<exact> block(3, 2);
        bound_of(logits).fill(where, block.view());
        exact sum = 0;
        for (index_t i = 0; i < 6; ++i) sum += block.data()[i] * cotangent.data()[i];
        return sum;
      };
      const auto decay = bound_of(w);
      std::vector<exact> logits(3, exact(1)), alpha(tapered ? 3 : 0, exact(1));
      ebb::array<exact> d_raw(4, width);
      std::fill(d_raw.data(), d_raw.data() + 4 * width, exact(1));
      std::remove_cvref_t<decltype(decay)>::gradients sums{logits, d_raw.view(), alpha};
      const strided_view<const exact> c(cotangent.view());
      decay.vjp(where, c, c, sums);
      // Derivatives are below 1, so h^2 = 1e-30 is far below 1e-25.
      const exact h = 1e-15;
      for (std::size_t k = 0; k < 3; ++k) {
        auto up = w, down = w;
        up[k] += h, down[k] -= h;
        CHECK(abs(logits[k] - 1 - (loss(up) - loss(down)) / (2 * h)) < 1e-25);
      }
      CHECK(logits[0] == 1);
      CHECK(logits[1] != 1);
      for (index_t i = 0; i < 4 * width; ++i) {
        exact& x = raw.data()[i];
        x += h;
        const exact up = loss(w);
        x -= 2 * h;
        const exact down = loss(w);
        x += h;
        CHECK(abs(d_raw.data()[i] - 1 - (up - down) / (2 * h)) < 1e-25);
      }
      // x depends on alpha_k as it does on w_k, by -log(t / t_ref): one step at a time.
      if (!tapered) continue;
      std::vector<exact> expected(3, exact(1));
      for (index_t t = 0; t < 3; ++t) {
        std::vector<exact> part(3);
        std::remove_cvref_t<decltype(decay)>::gradients one{.logits = part};
        const strided_view<const exact> row(&cotangent(t, 0), 1, 2);
        decay.vjp({0, 1 + t, 1, 40 + t}, row, row, one);
        for (std::size_t k = 0; k < 3; ++k) expected[k] -= part[k] * log(exact(40 + t) / 64);
      }
      for (std::size_t k = 0; k < 3; ++k) CHECK(abs(alpha[k] - expected[k]) < 1e-40);
      decltype(sums) nothing{};
      decay.vjp(where, c, c, nothing);
    }
}

TEST_CASE("exponents by gaps pass their gradients on to the logits") {
  const std::vector<double> logits{-7, -5.5, -3.25, -1, 3}, given{1, -2, 3, 0.5, -1};
  const std::size_t n = logits.size();
  const auto raw = raw_array<float>({1, 1, index_t(n)});
  const auto gate = sigmoid_gate(raw).tapered(post_taper::absolute_by_gaps(2048));
  std::vector<double> got(n, 0.25);
  gate.exponents_vjp(span_of(logits), given, got);
  // alpha = (n-1-k)/(n-1) + (log(r_k / r_0) - k/(n-1) log(r_last / r_0)) / log T, none clamped here.
  const auto loss = [&](const std::vector<exact>& w) {
    exact sum = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const exact rank = exact(double(k)) / double(n - 1);
      const exact low = log(sigma(w[0]));
      const exact alpha =
          1 - rank +
          (log(sigma(w[k])) - low - rank * (log(sigma(w[n - 1])) - low)) / log(exact(2048));
      CHECK((alpha >= -exact("1e-40") && alpha <= 1 + exact("1e-40")));
      sum += given[k] * alpha;
    }
    return sum;
  };
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<exact> up(logits.begin(), logits.end()), down = up;
    up[j] += exact("1e-20"), down[j] -= exact("1e-20");
    const exact truth = (loss(up) - loss(down)) / exact("2e-20");
    // Five terms of at most 3 / log T each, and the logistic functions.
    CHECK(abs(exact(got[j]) - 0.25 - truth) <= 40 * 0x1p-53 * (15 / log(exact(2048)) + 0.25));
  }
  std::vector<double> untapered(n, 0.25), two(2);
  sigmoid_gate(raw).exponents_vjp(span_of(logits), given, untapered);
  CHECK(untapered == std::vector<double>(n, 0.25));
  CHECK_THROWS_WITH_AS(gate.exponents_vjp(span_of(logits), given, two),
                       doctest::Contains("sigmoid_gate::exponents_vjp: need N gradients"),
                       ebb::shape_error);
}

TEST_CASE("what does not fit is refused") {
  const ebb::array<float> raw(3, 2);
  const auto bind = [&](const std::vector<double>& rates) {
    sigmoid_gate(raw).bind(span_of(rates));
  };
  CHECK_THROWS_AS(bind({0.1, 0.61}), ebb::domain_error);
  CHECK_THROWS_AS(bind({0, 0.1}), ebb::domain_error);
  CHECK_THROWS_AS(bind({std::nan(""), 0.1}), ebb::domain_error);
  CHECK_NOTHROW(bind({0.2, 0.1}));
  const auto logits = [&](const std::vector<double>& w) {
    return sigmoid_gate(raw).tapered(post_taper::absolute()).bind_logits(span_of(w));
  };
  CHECK_THROWS_AS(logits({1, HUGE_VAL}), ebb::domain_error);
  CHECK_THROWS_AS(logits({1, 0}), ebb::domain_error);
  const auto decay = logits({0, 1});
  CHECK_NOTHROW(decay.check({1, 3, 2}));
  CHECK_THROWS_AS(decay.check({1, 3, 3}), ebb::shape_error);
  CHECK_THROWS_AS(decay.check({1, 4, 2}), ebb::shape_error);
  std::vector<double> one(1), two(2);
  using gradients = std::remove_cvref_t<decltype(decay)>::gradients;
  CHECK_NOTHROW(decay.check({1, 3, 2}, gradients{.logits = two, .alpha = two}));
  CHECK_THROWS_AS(decay.check({1, 3, 2}, gradients{.logits = one}), ebb::shape_error);
  CHECK_THROWS_AS(decay.check({1, 3, 2}, gradients{.alpha = one}), ebb::shape_error);
}

}  // namespace
