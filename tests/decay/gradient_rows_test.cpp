// SPDX-License-Identifier: Apache-2.0
// Gradients of input-dependent decays, row by row: many channels of a step are those of one channel
// at a time, and those of 50 digits.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/decay/selective.hpp>
#include <ebb/decay/sigmoid_gate.hpp>

#include "support/exact.hpp"
#include "support/scan_oracle.hpp"

namespace {

using ebb::index_t;
using ebb::post_taper;
using ebb::strided_view;
using ebb::test::exact;

// More than two strips of 64, with a rest.
constexpr index_t steps = 3, channels = 150, position = 100;

template <class Real>
std::span<const Real> span_of(const std::vector<Real>& values) {
  return values;
}

// Numbers of one sign, so that each sum is as large as its terms.
struct numbers {
  std::vector<double> raw, cotangents, ascending, bias;

  numbers() {
    ebb::test::draws random(5);
    for (index_t i = 0; i < steps * channels; ++i) {
      raw.push_back(random.uniform(-6, 6));
      cotangents.push_back(i % 11 == 0 ? 0 : random.uniform(0.1, 2));
    }
    for (index_t k = 0; k < channels; ++k) {
      ascending.push_back(0.01 * std::exp(0.03 * static_cast<double>(k)));
      bias.push_back(random.uniform(-1, 1));
    }
  }
};

template <class Real>
std::vector<Real> as(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

/// The gradients of `make(raw, rates)`, in blocks of `width` channels.
template <class Sums, class Real, class Bound>
void add_gradients(const Bound& decay, const numbers& given, index_t width, Sums& sums) {
  const std::vector<Real> d = as<Real>(given.cotangents);
  for (index_t k = 0; k < channels; k += width) {
    const strided_view<const Real> block(d.data() + k, {1, steps, width}, {0, channels});
    decay.vjp({0, 0, k, position}, block, block, sums);
  }
}

template <class Real>
void check_equal(const std::vector<double>& got, const std::vector<Real>& expected, double terms) {
  const double u = std::numeric_limits<double>::epsilon() / 2;
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double right = static_cast<double>(expected[i]);
    CHECK(std::abs(got[i] - right) <= (40 + terms) * u * std::abs(right));
  }
}

enum class bias_kind { none, one, each };

/// @param policy_of  the policy of an array of raw steps and a bias
template <class PolicyOf>
void check_selective(const numbers& given, bias_kind kind, bool tapered,
                     const PolicyOf& policy_of) {
  struct sums_of_all {
    std::vector<double> rates, bias, alpha, raw;
  };
  const auto bias_count = static_cast<std::size_t>(kind == bias_kind::none  ? 0
                                                   : kind == bias_kind::one ? 1
                                                                            : channels);
  const auto run = [&](auto real, index_t width) {
    using Real = decltype(real);
    const std::vector<Real> raw = as<Real>(given.raw), rates = as<Real>(given.ascending);
    std::vector<Real> bias = as<Real>(given.bias);
    bias.resize(bias_count);
    const strided_view<const Real> view(raw.data(), steps, channels);
    auto policy = policy_of(view, bias);
    if (tapered) policy = policy.tapered(post_taper::relative(64));
    const auto decay = policy.bind(span_of(rates));
    std::vector<Real> d_rates(channels), d_bias(bias_count), d_alpha(tapered ? channels : 0),
        d_raw(static_cast<std::size_t>(steps * channels));
    typename std::remove_cvref_t<decltype(decay)>::gradients sums{
        d_rates, strided_view<Real>(d_raw.data(), steps, channels), d_bias, d_alpha};
    add_gradients<decltype(sums), Real>(decay, given, width, sums);
    sums_of_all result;
    for (auto [from, to] : {std::pair{&d_rates, &result.rates},
                            {&d_bias, &result.bias},
                            {&d_alpha, &result.alpha},
                            {&d_raw, &result.raw}})
      for (const Real& x : *from) to->push_back(static_cast<double>(x));
    return result;
  };
  const sums_of_all all = run(double{}, channels), singly = run(double{}, 1),
                    right = run(exact{}, 1);
  for (const sums_of_all* expected : {&singly, &right}) {
    check_equal(all.rates, expected->rates, steps);
    check_equal(all.bias, expected->bias, double(steps * channels));
    check_equal(all.alpha, expected->alpha, steps);
    check_equal(all.raw, expected->raw, 1);
  }
}

TEST_CASE("selective decays") {
  const numbers given;
  for (const bias_kind kind : {bias_kind::none, bias_kind::one, bias_kind::each})
    for (const bool tapered : {false, true})
      for (const bool negated : {false, true}) {
        CAPTURE(tapered);
        CAPTURE(negated);
        check_selective(given, kind, tapered, [&](const auto& raw, const auto& bias) {
          const auto policy = ebb::selective_decay(raw).with_bias(bias);
          return negated ? policy.negated() : policy;
        });
      }
  // Limits that some steps meet, whose raw and bias then get nothing.
  check_selective(given, bias_kind::each, false, [](const auto& raw, const auto& bias) {
    return ebb::selective_decay(raw).with_bias(bias).limited(0.5, 4);
  });
}

TEST_CASE("sigmoid gates") {
  const numbers given;
  std::vector<double> logits;
  for (index_t k = 0; k < channels; ++k) logits.push_back(0.02 * static_cast<double>(k) - 3);
  for (const bool tapered : {false, true}) {
    const auto run = [&](auto real, index_t width) {
      using Real = decltype(real);
      const std::vector<Real> raw = as<Real>(given.raw), w = as<Real>(logits);
      const strided_view<const Real> view(raw.data(), steps, channels);
      auto policy = ebb::sigmoid_gate(view);
      if (tapered) policy = policy.tapered(post_taper::relative(64));
      const auto decay = policy.bind_logits(span_of(w));
      std::vector<Real> d_logits(channels), d_alpha(tapered ? channels : 0),
          d_raw(static_cast<std::size_t>(steps * channels));
      typename std::remove_cvref_t<decltype(decay)>::gradients sums{
          d_logits, strided_view<Real>(d_raw.data(), steps, channels), d_alpha};
      add_gradients<decltype(sums), Real>(decay, given, width, sums);
      std::vector<double> result;
      for (const auto* from : {&d_logits, &d_alpha, &d_raw})
        for (const Real& x : *from) result.push_back(static_cast<double>(x));
      return result;
    };
    const std::vector<double> all = run(double{}, channels);
    // x is off by u |x| and a few roundings, log sigma' by as much: |x| < 10.
    check_equal(all, run(double{}, 1), steps);
    check_equal(all, run(exact{}, 1), steps);
  }
}

TEST_CASE("infinite and undefined raw numbers") {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> raw{inf, -inf, std::numeric_limits<double>::quiet_NaN(), 0.5},
      one(4, 1.0), none(4, 0.0);
  const strided_view<const double> view(raw.data(), 1, 4), d(one.data(), 1, 4),
      zeros(none.data(), 1, 4);
  std::vector<double> got(4);
  const auto gate = ebb::sigmoid_gate(view).bind_logits(span_of(none));
  std::remove_cvref_t<decltype(gate)>::gradients of_gate{
      .raw = strided_view<double>(got.data(), 1, 4)};
  gate.vjp({}, d, d, of_gate);
  CHECK(got[0] == 0);
  CHECK(got[1] == 0);
  CHECK(std::isnan(got[2]));
  CHECK(got[3] < 0);

  got.assign(4, 0);
  const auto decay = ebb::selective_decay(view).bind(span_of(one));
  std::vector<double> rates(4);
  std::remove_cvref_t<decltype(decay)>::gradients sums{
      .rates = rates, .raw = strided_view<double>(got.data(), 1, 4)};
  decay.vjp({}, zeros, zeros, sums);  // an infinite step forgets: nothing comes back
  CHECK(rates == none);
  CHECK(got == none);
  decay.vjp({}, d, d, sums);
  CHECK(rates[0] == -inf);
  CHECK(got[0] == -1);
  CHECK(rates[1] == 0);
  CHECK(got[1] == 0);
  CHECK(std::isnan(rates[2]));
  CHECK(std::isnan(got[2]));
}

}  // namespace
