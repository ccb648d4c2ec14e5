// SPDX-License-Identifier: Apache-2.0
// The selective decay: contract, values in 50 digits, gradients, and decoding step by step.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/core/storage.hpp>
#include <ebb/decay/selective.hpp>
#include <ebb/recurrence/scan.hpp>
#include <ebb/recurrence/vjp.hpp>

#include "support/decay_contract.hpp"
#include "support/exact.hpp"

namespace {

using ebb::channel_major;
using ebb::extents;
using ebb::index_t;
using ebb::post_taper;
using ebb::selective_decay;
using ebb::strided_view;
using ebb::time_major;
using ebb::test::check_decay_contract;
using ebb::test::exact;

constexpr index_t steps = ebb::test::contract_steps, channels = ebb::test::contract_channels;

// Raw steps on both sides of 0 and of the published threshold, 20; exact in bfloat16.
double some_raw(index_t b, index_t t, index_t k) {
  return double((b * 31 + t * 17 + k * 7) % 53 - 30) + 0.25 * double(k % 3);
}

template <class T, class Axis = time_major>
ebb::array<T, Axis> raw_array(const extents& size) {
  ebb::array<T, Axis> raw(size);
  for (index_t b = 0; b < size.batches; ++b)
    for (index_t t = 0; t < size.steps; ++t)
      for (index_t k = 0; k < size.channels; ++k) raw(b, t, k) = static_cast<T>(some_raw(b, t, k));
  return raw;
}

template <class Real>
std::span<const Real> span_of(const std::vector<Real>& values) {
  return values;
}

template <class Real, class Axis>
void check_contract() {
  const std::vector<Real> ascending{0, Real(1e-3), Real(0.25), 1, 16};
  const std::vector<Real> mixed{1, 16, 0, Real(0.25), Real(1e-3)};
  const std::vector<double> bias{-1, 0.5, -3, 2, 0};
  const auto full = raw_array<float>({2, steps, channels});
  const auto columns = raw_array<double, channel_major>({2, steps, channels});
  const auto shared = raw_array<ebb::bfloat16>({2, steps, 1});
  const auto shared_column = raw_array<ebb::half, channel_major>({2, steps, 1});
  const strided_view<const float> repeated(full.data(), {2, steps, channels}, {0, 0});
  for (const index_t position : {index_t{1}, index_t{1000}, index_t{1} << 40}) {
    check_decay_contract<Real, Axis>(
        selective_decay(full).with_bias(bias).limited(0.001, 10).bind(span_of(mixed)), 1, position);
    check_decay_contract<Real, Axis>(selective_decay(columns)
                                         .with_bias(std::array{-4.5f})
                                         .tapered(post_taper::relative(4096))
                                         .bind(span_of(ascending)),
                                     1, position);
    check_decay_contract<Real, Axis>(selective_decay(shared).bind(span_of(mixed)), 1, position);
    check_decay_contract<Real, Axis>(
        selective_decay(shared).with_bias(std::array{0.125}).bind(span_of(mixed)), 0, position);
    check_decay_contract<Real, Axis>(
        selective_decay(shared_column).with_bias(bias).bind(span_of(mixed)), 1, position);
    check_decay_contract<Real, Axis>(
        selective_decay(repeated).without_softplus().limited(0, 7).bind(span_of(mixed)), 1,
        position);
  }
}

TEST_CASE_TEMPLATE("selective decays keep the contract", Real, float, double) {
  check_contract<Real, time_major>();
  check_contract<Real, channel_major>();
}

struct options {
  std::vector<double> bias{};
  double lowest = 0, highest = std::numeric_limits<double>::infinity();
  bool softplus = true;
  double horizon = 0;  // of a relative taper; 0 is none
};

template <class T, class Axis>
auto policy_of(const ebb::array<T, Axis>& raw, const options& with) {
  auto policy = selective_decay(raw).with_bias(with.bias).limited(with.lowest, with.highest);
  if (!with.softplus) policy = policy.without_softplus();
  if (with.horizon > 0) policy = policy.tapered(post_taper::relative(with.horizon));
  return policy;
}

/// The worst error in units of the documented bound.
template <class Real, class T, class Axis>
double worst_error(const ebb::array<T, Axis>& raw, const std::vector<double>& rates,
                   const options& with, index_t position) {
  const double u = double(std::numeric_limits<double>::epsilon()) / 2;
  const double own = double(std::numeric_limits<Real>::epsilon()) / 2;
  const auto n = static_cast<index_t>(rates.size());
  const auto decay = policy_of(raw, with).bind(span_of(rates));
  ebb::array<Real> block(raw.steps(), n);
  decay.fill({1, 0, 0, position}, block.view());
  double worst = 0;
  for (index_t t = 0; t < raw.steps(); ++t)
    for (index_t k = 0; k < n; ++k) {
      const auto c = static_cast<std::size_t>(k);
      exact x(static_cast<double>(raw(1, t, raw.channels() == 1 ? 0 : k)));
      if (!with.bias.empty()) x += with.bias[with.bias.size() == 1 ? 0 : c];
      exact dt = x;
      if (with.softplus) dt = x > 0 ? exact(x + log1p(exp(-x))) : exact(log1p(exp(x)));
      if (dt < with.lowest) dt = with.lowest;
      if (dt > with.highest) dt = with.highest;
      exact truth = -rates[c] * dt;
      double limit = with.softplus ? 9 + std::max(1.0, std::abs(x.convert_to<double>())) : 2;
      if (with.horizon > 0) {
        const exact time = exact(position + t) / with.horizon;
        // A first channel of rate 0 has no rank.
        const index_t last = rates[0] > 0 ? n - 1 : n - 2;
        truth *= exp(-exact(n - 1 - k) / last * log(time));
        limit += 5 + 5 * (std::log(double(position + t)) + std::log(with.horizon));
      }
      const bool in_float = with.softplus && std::numeric_limits<T>::digits <= 24;
      if (own > u) limit = limit * u / own + (in_float ? 11 : 1);
      worst = std::max(worst, ebb::test::roundoffs(block(t, k), truth) / limit);
    }
  return worst;
}

TEST_CASE_TEMPLATE("softplus without branches", Real, float, double) {
  using limits = std::numeric_limits<Real>;
  const Real inf = limits::infinity(), least = limits::min();
  double worst = 0, lost = 0;
  const auto check = [&](Real x) {
    const exact wide(static_cast<double>(x));
    const exact truth = x > 0 ? exact(wide + log1p(exp(-wide))) : exact(log1p(exp(wide)));
    const Real got = ebb::detail::softplus_of(x);
    if (truth >= static_cast<double>(least))
      worst = std::max(worst, ebb::test::roundoffs(got, truth));
    else
      lost = std::max(lost, std::abs(static_cast<double>(got) - truth.convert_to<double>()));
  };
  for (int i = 0; i < 4000; ++i) {
    const auto x = static_cast<Real>(std::exp(0.02 * i - 70));  // 4e-31 to 2e4
    check(x);
    if (x < 800) check(-x);
    check(static_cast<Real>(0.001 * i - 2));
  }
  CHECK(worst <= 8);
  CHECK(worst > 0.5);  // the measure sees roundings at all
  CHECK(lost <= static_cast<double>(least));
  CHECK(ebb::detail::softplus_of(-inf) == Real(0));
  CHECK(ebb::detail::softplus_of(inf) == inf);
  CHECK(std::isnan(ebb::detail::softplus_of(limits::quiet_NaN())));
}

// The largest error of dt = softplus(x) in unit roundoffs of float; what is no normal number only
// has to be within two smallest subnormal ones.
template <class Argument>
double worst_of_softplus_in_float(const std::vector<Argument>& x) {
  std::vector<float> dt(x.size());
  const float inf = std::numeric_limits<float>::infinity();
  ebb::detail::softplus_steps(x.data(), false, 0, inf, static_cast<index_t>(x.size()),
                              {.dt = dt.data()});
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const exact wide(x[i]),
        truth = x[i] > 0 ? exact(wide + log1p(exp(-wide))) : exact(log1p(exp(wide)));
    if (truth >= std::numeric_limits<float>::min())
      worst = std::max(worst, ebb::test::roundoffs(dt[i], truth));
    else
      CHECK(abs(exact(dt[i]) - truth) <= 2 * exact(std::numeric_limits<float>::denorm_min()));
  }
  return worst;
}

TEST_CASE("softplus in float") {
  std::vector<float> narrow;
  std::vector<double> wide;
  for (int i = 0; i < 4000; ++i) {
    const double x = std::exp(0.022 * i - 70);  // to 7e7
    for (const double some : {x, x < 200 ? -x : 0.0, 0.001 * i - 2}) {
      wide.push_back(some);
      narrow.push_back(static_cast<float>(some));
    }
  }
  const double of_float = worst_of_softplus_in_float(narrow),
               of_double = worst_of_softplus_in_float(wide);
  CHECK(of_float <= 9);
  CHECK(of_float > 0.5);
  CHECK(of_double <= 9);  // an argument rounded to float would be off by 100 u at -100
  CHECK(of_double > 0.5);
}

TEST_CASE("log-decays of float steps: the same bits for each cut, and the bound") {
  // Rows longer than any pack of floats, with a rest.
  const index_t wide = 71, high = 67;
  const ebb::array<float> raw = raw_array<float>({2, high, wide});
  std::vector<double> rates, bias;
  for (index_t k = 0; k < wide; ++k) {
    rates.push_back(0.001 * double(k * k));
    bias.push_back(0.3 * double(k % 11) - 2);
  }
  const auto check = [&](const auto& decay) {
    ebb::array<float> whole(high, wide), steps_of_one(high, 1);
    decay.fill({1, 0, 0, 9}, whole.view());
    for (index_t k = 0; k < wide; k += 7) {
      decay.fill({1, 0, k, 9}, steps_of_one.view());
      for (index_t t = 0; t < high; ++t) {
        float one = 0;
        decay.fill({1, t, k, 9 + t}, strided_view<float>(&one, 1, 1));
        CHECK(one == whole(t, k));
        CHECK(steps_of_one(t, 0) == whole(t, k));
      }
    }
    ebb::array<float, channel_major> across(high, wide);
    decay.fill({1, 0, 0, 9}, across.view());
    for (index_t t = 0; t < high; ++t)
      for (index_t k = 0; k < wide; ++k) CHECK(across(t, k) == whole(t, k));
  };
  check(selective_decay(raw).bind(span_of(rates)));
  check(selective_decay(raw).negated().limited(0.1, 20).bind(span_of(rates)));
  check(selective_decay(raw).with_bias(bias).bind(span_of(rates)));
  check(
      selective_decay(raw).with_bias(bias).tapered(post_taper::relative(99)).bind(span_of(rates)));
  for (const auto& some : {bias, {}, {-4.3}}) {
    CHECK(worst_error<float>(raw, rates, {some}, 1) <= 1);
    CHECK(worst_error<float>(raw, rates, {some, 0.01, 0.3}, 1) <= 1);
    CHECK(worst_error<float>(raw, rates, {some, 0, 1e9, true, 4096}, 50) <= 1);
  }
}

TEST_CASE("parameters out of the range of float are calculated with in double") {
  const double inf = std::numeric_limits<double>::infinity();
  ebb::array<float> raw(ebb::extents{2, 20, 2});
  for (index_t i = 0; i < 80; ++i) raw.data()[i] = 3 * static_cast<float>(i % 40) - 100;
  const auto error = [&](const std::vector<double>& rates, const options& with) {
    const auto decay = policy_of(raw, with).bind(span_of(rates));
    ebb::array<float> block(20, 2);
    decay.fill({1, 0, 0, 1}, block.view());
    double worst = 0;
    for (index_t t = 0; t < 20; ++t)
      for (index_t k = 0; k < 2; ++k) {
        exact x(raw(1, t, k));
        if (!with.bias.empty()) x += with.bias[0];
        exact dt = x > 0 ? exact(x + log1p(exp(-x))) : exact(log1p(exp(x)));
        if (dt > with.highest) dt = with.highest;
        if (dt < with.lowest) dt = with.lowest;
        worst =
            std::max(worst, ebb::test::roundoffs(block(t, k), exact(-rates[std::size_t(k)] * dt)));
      }
    return worst;
  };
  CHECK(error({1e30, 1e25}, {}) <= 1.01);  // e^-100 in float is no normal number, 1e30 e^-100 is
  CHECK(error({1e20, 1}, {{-1e20}, 1e-10, inf}) <= 1.01);
  CHECK(error({1e15, 1e16}, {{}, 1e-45, 1e-40}) <= 1.01);
}

TEST_CASE("float edges: infinities and NaN, limits") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (const double bias : {0.0, 0.5}) {
    ebb::array<float> raw(5, 2), block(5, 2);
    for (index_t k = 0; k < 2; ++k) {
      raw(0, k) = -inf, raw(1, k) = inf, raw(2, k) = nan, raw(3, k) = 1e30f, raw(4, k) = -1e30f;
    }
    const auto policy = selective_decay(raw).with_bias(std::vector<double>{bias});
    policy.bind(span_of<double>({2, 0})).fill({}, block.view());
    CHECK(block(0, 0) == 0);
    CHECK(block(1, 0) == -inf);
    CHECK(std::isnan(block(1, 1)));
    CHECK(std::isnan(block(2, 0)));
    CHECK(block(3, 0) == -2e30f);
    CHECK(block(4, 0) == 0);
    policy.limited(0.5, 0.75).bind(span_of<double>({2, 0})).fill({}, block.view());
    CHECK(block(0, 0) == -1);
    CHECK(block(1, 0) == -1.5);
    CHECK(block(1, 1) == 0);
    CHECK(std::isnan(block(2, 0)));
  }
}

TEST_CASE_TEMPLATE("log-decays are as accurate as documented", Real, float, double) {
  const std::vector<double> rates{1.0 / 3, 0.7, 1e-3, 16, 5}, ascending{1e-4, 0.01, 0.3, 1, 16};
  const std::vector<double> bias{-1.1, 0.3, -3.7, 2.9, 1e-3};
  const auto full = raw_array<double>({2, 60, 5});
  const auto shared = raw_array<ebb::half, channel_major>({2, 60, 1});
  const double all = std::numeric_limits<double>::infinity();
  const auto check = [](double error) {
    CHECK(error <= 1);
    CHECK(error > 0);
  };
  check(worst_error<Real>(full, rates, {}, 1));
  check(worst_error<Real>(full, rates, {bias}, 1));
  check(worst_error<Real>(full, rates, {bias, 0.001, 0.1}, 1));
  check(worst_error<Real>(full, rates, {bias, 0, 20, false}, 1));
  check(worst_error<Real>(shared, rates, {{-0.1}}, 1));
  for (const index_t position : {index_t{1}, index_t{5000}, index_t{1} << 40}) {
    check(worst_error<Real>(full, ascending, {bias, 0, all, true, 4096}, position));
    check(worst_error<Real>(shared, ascending, {{}, 1e-9, 3, true, 100}, position));
    check(worst_error<Real>(full, ascending, {{}, 0, 9, false, 4096}, position));
  }
}

TEST_CASE("above 20 the published softplus is the argument itself: 2.1e-9 less") {
  ebb::array<double> raw(5, 1);
  const double x[] = {std::nextafter(20, 30), 20.5, 25, 36, 1000};
  std::copy(x, x + 5, raw.data());
  ebb::array<double> block(5, 1);
  selective_decay(raw).bind(span_of<double>({1})).fill({}, block.view());
  for (index_t t = 0; t < 5; ++t) {
    CHECK(-block(t, 0) >= x[t]);
    CHECK(-block(t, 0) - x[t] <= 2.1e-9);
  }
  CHECK(-block(0, 0) - x[0] > 2e-9);
}

TEST_CASE("edges: limits, infinities and NaN") {
  const double inf = std::numeric_limits<double>::infinity();
  ebb::array<double> raw(4, 2);
  for (index_t k = 0; k < 2; ++k) {
    raw(0, k) = -inf, raw(1, k) = inf, raw(2, k) = std::nan(""), raw(3, k) = 0;
  }
  ebb::array<double> block(4, 2);
  selective_decay(raw).bind(span_of<double>({2, 0})).fill({}, block.view());
  CHECK(block(0, 0) == 0);
  CHECK(block(1, 0) == -inf);
  CHECK(std::isnan(block(1, 1)));
  CHECK(std::isnan(block(2, 0)));
  CHECK(block(3, 0) == doctest::Approx(-2 * std::log(2.0)).epsilon(1e-15));
  selective_decay(raw).limited(0.5, 0.5).bind(span_of<double>({2, 0})).fill({}, block.view());
  CHECK(block(0, 0) == -1);
  CHECK(block(1, 0) == -1);
  CHECK(block(1, 1) == 0);
  CHECK(std::isnan(block(2, 0)));
}

// Everything a loss depends on, in 50 digits.
struct parameters {
  std::vector<exact> rates, bias;
  ebb::array<exact, channel_major> raw;
};

struct shape {
  bool softplus = true, limited = false, tapered = false;
};

auto bound_of(const parameters& at, const shape& form) {
  auto policy = selective_decay(at.raw).with_bias(at.bias);
  if (form.limited) policy = policy.limited(0.5, 4);
  if (!form.softplus) policy = policy.without_softplus();
  if (form.tapered) policy = policy.tapered(post_taper::relative(64).with_offset(5));
  return policy.bind(span_of(at.rates));
}

/// The reported gradients against central differences of sum w log a.
void check_gradients(const parameters& at, const shape& form) {
  const ebb::block_origin where{1, 1, 1, 40};
  const auto n = static_cast<index_t>(at.rates.size());
  const index_t height = at.raw.steps() - 1, width = n - 1;
  ebb::array<exact> cotangent(height, width);
  for (index_t t = 0; t < height; ++t)
    for (index_t k = 0; k < width; ++k) cotangent(t, k) = exact(t * t - 2 * k + 1) / 8;
  const auto filled = [&](const parameters& p) {
    ebb::array<exact> block(height, width);
    bound_of(p, form).fill(where, block.view());
    return block;
  };
  const auto loss = [&](const parameters& p) {
    const ebb::array<exact> block = filled(p);
    exact sum = 0;
    for (index_t i = 0; i < height * width; ++i) sum += block.data()[i] * cotangent.data()[i];
    return sum;
  };
  const auto decay = bound_of(at, form);
  // It adds to the 1 already there.
  std::vector<exact> rates(at.rates.size(), exact(1)), bias(at.bias.size(), exact(1)),
      alpha(at.rates.size(), exact(1));
  ebb::array<exact, channel_major> raw(at.raw.size());
  const index_t raw_count = at.raw.batches() * at.raw.steps() * at.raw.channels();
  std::fill(raw.data(), raw.data() + raw_count, exact(1));
  std::remove_cvref_t<decltype(decay)>::gradients sums{rates, raw.view(), bias, alpha};
  const strided_view<const exact> c(cotangent.view());
  decay.vjp(where, c, c, sums);

  const exact h = 1e-15;
  const auto slope = [&](auto&& entry) {
    parameters up = at, down = at;
    entry(up) += h;
    entry(down) -= h;
    return exact((loss(up) - loss(down)) / (2 * h));
  };
  // The third derivatives here are below 100, so h^2 = 1e-30 is far below 1e-25.
  for (std::size_t k = 0; k < rates.size(); ++k)
    CHECK(abs(rates[k] - 1 - slope([&](parameters& p) -> exact& { return p.rates[k]; })) < 1e-25);
  for (std::size_t k = 0; k < bias.size(); ++k)
    CHECK(abs(bias[k] - 1 - slope([&](parameters& p) -> exact& { return p.bias[k]; })) < 1e-25);
  bool some = false, none = false;
  for (index_t i = 0; i < raw_count; ++i) {
    const exact s = slope([&](parameters& p) -> exact& { return p.raw.data()[i]; });
    CHECK(abs(raw.data()[i] - 1 - s) < 1e-25);
    (s == 0 ? none : some) = true;
  }
  CHECK(some);
  CHECK(none);  // the batch entry and the step outside the block, and where a limit acts
  // log a = -r dt ((t + t_0) / t_ref)^-alpha, so its derivative is -log a log((t + t_0) / t_ref).
  const ebb::array<exact> block = filled(at);
  for (index_t k = 0; k < n; ++k) {
    exact sum = 1;
    for (index_t t = 0; t < height && k > 0 && form.tapered; ++t)
      sum -= block(t, k - 1) * log(exact(40 + t + 5) / 64) * cotangent(t, k - 1);
    CHECK(abs(alpha[static_cast<std::size_t>(k)] - sum) < 1e-40);
  }
  decltype(sums) nothing{};
  decay.vjp(where, c, c, nothing);
}

TEST_CASE("gradients agree with differences; limits stop those of the step") {
  const std::vector<exact> rates{exact(1) / 64, exact(1) / 9, exact(1) / 2, exact(3)};
  const std::vector<exact> bias{exact(1) / 3, exact(-1) / 7, exact(0), exact(1)};
  for (const index_t width : {4, 1})
    for (const std::size_t many : {std::size_t{4}, std::size_t{1}, std::size_t{0}}) {
      parameters at{rates,
                    {bias.begin(), bias.begin() + std::ptrdiff_t(many)},
                    ebb::array<exact, channel_major>(extents{2, 5, width})};
      for (index_t i = 0; i < 10 * width; ++i)
        at.raw.data()[i] = exact((i * 7) % 23 - 11) / 2 + exact(1) / 13;
      check_gradients(at, {true, false, false});
      check_gradients(at, {true, true, true});
      check_gradients(at, {false, true, false});
      check_gradients(at, {true, false, true});
    }
}

TEST_CASE("an infinite step forgets, and its gradients are 0") {
  const std::vector<double> rates{0.5, 2};
  const double infinity = std::numeric_limits<double>::infinity();
  for (const bool tapered : {false, true}) {
    ebb::array<double> raw(3, 1), d_raw(3, 1);
    raw(1, 0) = infinity;
    const std::vector<double> zero{0};
    auto policy = ebb::selective_decay(raw).with_bias(zero);
    if (tapered) policy = policy.tapered(ebb::post_taper::relative(100));
    const auto decay = policy.bind(std::span<const double>(rates));
    ebb::array<double> in(3, 2), out(3, 2), given(3, 2);
    for (index_t t = 0; t < 3; ++t) in(t, 0) = in(t, 1) = given(t, 0) = given(t, 1) = 1;
    ebb::scan(decay, in, out);
    std::vector<double> d_rates(2), d_bias(1), d_alpha(tapered ? 2 : 0);
    decltype(decay)::gradients sums{d_rates, d_raw.view(), d_bias, d_alpha};
    ebb::scan_vjp(decay, in, out, ebb::scan_cotangents<double>{.outputs = given.view()},
                  ebb::scan_gradients<double, decltype(sums)>{.decay = &sums});
    for (const double value : d_rates) CHECK(value < 0);
    CHECK(std::isfinite(d_rates[0] + d_rates[1]));
    CHECK(d_raw(1, 0) == 0);
    CHECK(d_raw(2, 0) < 0);
    CHECK(d_bias[0] == d_raw(2, 0));
    for (const double value : d_alpha) CHECK(std::isfinite(value));
  }
}

TEST_CASE("16-bit steps have float gradients; a zero stride sums") {
  const auto raw = raw_array<ebb::bfloat16>({1, 3, 2});
  auto decay = selective_decay(raw).without_softplus().bind(span_of<float>({2, 4}));
  ebb::array<float> into(1, 2);
  decltype(decay)::gradients sums{.raw = strided_view<float>(into.data(), {1, 3, 2}, {0, 0})};
  ebb::array<float> ones(3, 2);
  std::fill(ones.data(), ones.data() + 6, 1.0f);
  const strided_view<const float> c(ones.view());
  decay.vjp({}, c, c, sums);
  // Only raw steps >= 0 count: the lower limit acts on the others.
  double counted[2] = {0, 0};
  for (index_t t = 0; t < 3; ++t)
    for (index_t k = 0; k < 2; ++k) counted[k] += some_raw(0, t, k) >= 0 ? 1 : 0;
  CHECK(counted[0] + counted[1] > 0);
  CHECK(into(0, 0) == float(-2 * counted[0]));
  CHECK(into(0, 1) == float(-4 * counted[1]));
}

TEST_CASE("real decays of complex states: values are real, gradients those of the real part") {
  using complex = std::complex<float>;
  const auto raw = raw_array<float>({1, 3, 2});
  const auto decay = selective_decay(raw).bind(span_of<double>({0.25, 2}));
  ebb::array<complex> block(3, 2), cotangent(3, 2);
  ebb::array<float> real(3, 2), d(3, 2);
  decay.fill({}, block.view());
  decay.fill({}, real.view());
  for (index_t i = 0; i < 6; ++i) {
    CHECK(block.data()[i] == complex(real.data()[i]));
    d.data()[i] = float(i) - 2;
    cotangent.data()[i] = complex(d.data()[i], 77);
  }
  std::vector<double> one(2), two(2);
  std::remove_cvref_t<decltype(decay)>::gradients from_complex{.rates = one},
      from_real{.rates = two};
  decay.vjp({}, strided_view<const complex>(block.view()),
            strided_view<const complex>(cotangent.view()), from_complex);
  decay.vjp({}, strided_view<const float>(real.view()), strided_view<const float>(d.view()),
            from_real);
  CHECK(one == two);
  CHECK(one[0] != 0);
}

TEST_CASE("decoding: one step's array at a time gives the bits of the whole scan") {
  const index_t n = 5, length = 20;
  const std::vector<double> rates{1e-3, 0.02, 0.25, 1, 16};
  const auto raw = raw_array<float>({1, length, n});
  const auto policy =
      selective_decay(raw).with_bias(std::array{-3.0f}).tapered(post_taper::absolute());
  const auto whole = policy.bind(span_of(rates));
  ebb::array<float> b(length, n), h(length, n), stored(length, n), logs(length, n);
  for (index_t i = 0; i < length * n; ++i) b.data()[i] = float(i % 7 - 3);
  ebb::scan(whole, b, h);
  whole.fill({}, logs.view());
  ebb::scan(ebb::stored_logs(logs), b, stored);

  auto one = whole;
  std::vector<float> state(std::size_t(n), 0.0f);
  for (index_t t = 0; t < length; ++t) {
    one.read_from(raw.view().steps_from(t, 1));
    ebb::step(one, t + 1, std::span<const float>(&b(t, 0), std::size_t(n)),
              std::span<float>(state));
    for (index_t k = 0; k < n; ++k) {
      CHECK(state[std::size_t(k)] == h(t, k));
      CHECK(stored(t, k) == h(t, k));
    }
  }
}

template <class Error, class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("what does not fit is refused") {
  const auto raw = raw_array<float>({2, 3, 4});
  const auto one = raw_array<float>({2, 3, 1});
  const std::vector<double> rates{4, 3, 2, 1};
  const auto decay = selective_decay(raw).bind(span_of(rates));
  CHECK_NOTHROW(decay.check({2, 3, 4}));
  CHECK_NOTHROW(selective_decay(one).bind(span_of(rates)).check({2, 3, 4}));
  CHECK(refusal<ebb::shape_error>([&] {
          decay.check({2, 3, 1});
        }).find("selective_decay: need as") == 0);
  for (const extents& size : {extents{1, 3, 4}, extents{2, 4, 4}})
    CHECK(refusal<ebb::shape_error>([&] {
            decay.check(size);
          }).find("selective_decay: need step sizes of") == 0);
  CHECK_THROWS_AS(selective_decay(raw).bind(span_of<double>({1, 2})).check({2, 3, 2}),
                  ebb::shape_error);
  CHECK_THROWS_AS(selective_decay(raw).with_bias(std::array{1.0, 2.0}).bind(span_of(rates)),
                  ebb::shape_error);
  CHECK_THROWS_AS(selective_decay(raw).tapered(post_taper::absolute()).bind(span_of(rates)),
                  ebb::domain_error);
  CHECK_THROWS_AS(selective_decay(raw).bind(span_of<double>({-1, 1, 1, 1})), ebb::domain_error);
  CHECK_THROWS_AS(selective_decay(raw).bind(span_of<double>({HUGE_VAL})), ebb::domain_error);
  CHECK_THROWS_AS(selective_decay(raw).bind(span_of<double>({std::nan("")})), ebb::domain_error);
  CHECK_THROWS_AS(selective_decay(raw).with_bias(std::array{std::nan("")}), ebb::domain_error);
  CHECK_THROWS_AS(selective_decay(raw).limited(-1, 1), ebb::domain_error);
  CHECK_THROWS_AS(selective_decay(raw).limited(2, 1), ebb::domain_error);
  CHECK_THROWS_AS(selective_decay(raw).limited(0, std::nan("")), ebb::domain_error);
  std::vector<double> four(4), three(3);
  ebb::array<float> all(extents{2, 3, 4}), few(extents{2, 3, 1});
  using gradients = std::remove_cvref_t<decltype(decay)>::gradients;
  CHECK_NOTHROW(decay.check({2, 3, 4}, gradients{}));
  CHECK_NOTHROW(decay.check({2, 3, 4}, gradients{.rates = four, .raw = all.view()}));
  CHECK_THROWS_AS(decay.check({2, 3, 4}, gradients{.rates = three}), ebb::shape_error);
  CHECK_THROWS_AS(decay.check({2, 3, 4}, gradients{.raw = few.view()}), ebb::shape_error);
  CHECK_THROWS_AS(decay.check({2, 3, 4}, gradients{.bias = four}), ebb::shape_error);
  CHECK_THROWS_AS(decay.check({2, 3, 4}, gradients{.alpha = four}), ebb::shape_error);
  auto shared_memory = raw;
  CHECK_THROWS_AS(
      ebb::scan(selective_decay(shared_memory).bind(span_of(rates)), raw, shared_memory),
      ebb::shape_error);
}

}  // namespace
