// SPDX-License-Identifier: Apache-2.0
// One contract for every decay, over the block's type and axis.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/decay/stored.hpp>
#include <ebb/spectrum/geometric.hpp>

#include "support/decay_contract.hpp"
#include "support/exact.hpp"

namespace {

using ebb::block_origin;
using ebb::channel_major;
using ebb::extents;
using ebb::index_t;
using ebb::strided_view;
using ebb::time_major;
using ebb::test::check_decay_contract;
using ebb::test::exact;

constexpr index_t steps = ebb::test::contract_steps, channels = ebb::test::contract_channels;

// A user's own decay: a plain struct that alternates.
struct own_decay {
  static constexpr ebb::decay_kind kind = ebb::decay_kind::position;
  static constexpr ebb::decay_form form = ebb::decay_form::factor;
  using gradients = ebb::no_gradients;
  template <class Real, class Axis>
  void fill(const block_origin& where, const strided_view<Real, Axis>& block) const {
    for (index_t t = 0; t < block.steps(); ++t)
      for (index_t k = 0; k < block.channels(); ++k)
        block(t, k) = Real((where.position + t) % 2 == 0 ? 0.5 : 0.25);
  }
};
static_assert(ebb::bound_decay<own_decay, float>);
static_assert(!ebb::bound_decay<ebb::constant_decay, float>);
static_assert(!ebb::decay_for<own_decay, float>);
static_assert(!ebb::bound_decay<int, float>);

template <class Real>
std::vector<Real> some_rates() {
  return ebb::rates_of<Real>(ebb::geometric_spectrum::extended(4096, 1, 0), channels);
}

template <class Real, class Axis>
void check_all() {
  const auto rates = some_rates<Real>();
  const std::span<const Real> bind(rates);
  for (const index_t position : {index_t{1}, index_t{1000}, index_t{1} << 40}) {
    check_decay_contract<Real, Axis>(ebb::constant_decay().bind(bind), 0, position);
    check_decay_contract<Real, Axis>(ebb::post_taper::relative(4096).bind(bind), 0, position);
    check_decay_contract<Real, Axis>(ebb::post_taper::relative_by_gaps(4096).bind(bind), 0,
                                     position);
    check_decay_contract<Real, Axis>(ebb::post_taper::absolute().bind(bind), 0, position);
    check_decay_contract<Real, Axis>(
        ebb::post_taper::absolute_by_gaps(4096).with_offset(30).bind(bind), 0, position);
    check_decay_contract<Real, Axis>(own_decay(), 0, position);
  }
  ebb::array<Real> rows(extents{2, steps, channels});
  ebb::array<Real, channel_major> columns(extents{2, steps, channels});
  for (index_t b = 0; b < 2; ++b)
    for (index_t t = 0; t < steps; ++t)
      for (index_t k = 0; k < channels; ++k) {
        rows(b, t, k) = Real(-double(100 * b + 10 * t + k));
        columns(b, t, k) = rows(b, t, k);
      }
  check_decay_contract<Real, Axis>(ebb::stored_factors(rows), 1, 1);
  check_decay_contract<Real, Axis>(ebb::stored_logs(columns), 1, 1);
  const strided_view<const Real> repeated(rows.data(), extents{2, steps, channels}, {0, 0});
  check_decay_contract<Real, Axis>(ebb::stored_logs(repeated), 1, 1);
}

TEST_CASE_TEMPLATE("every decay keeps the contract", Real, float, double, long double) {
  check_all<Real, time_major>();
  check_all<Real, channel_major>();
}

TEST_CASE("stored values arrive as they are") {
  ebb::array<float, channel_major> values(extents{2, 3, 2});
  values(1, 2, 0) = -3.5f;
  values(1, 2, 1) = -HUGE_VALF;
  ebb::array<double> block(1, 2);
  ebb::stored_logs(values).fill({1, 2, 0, 77}, block.view());
  CHECK(block(0, 0) == -3.5);
  CHECK(block(0, 1) == -HUGE_VAL);
}

template <class Decay>
std::string refusal(const Decay& decay, const extents& size) {
  try {
    decay.check(size);
  } catch (const ebb::shape_error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("data of another shape is refused") {
  const std::vector<double> rates{1, 2};
  const std::span<const double> two(rates);
  const ebb::array<float> values(3, 2);
  CHECK(refusal(ebb::constant_decay().bind(two), {1, 9, 2}).empty());
  CHECK(refusal(ebb::constant_decay().bind(two), {1, 9, 3}) ==
        "constant_decay: need as many channels as the decay is bound to (got, bound), got 3, 2");
  CHECK(refusal(ebb::post_taper::absolute().bind(two), {1, 9, 1}).find("post_taper: need as") == 0);
  CHECK(refusal(ebb::stored_factors(values), {1, 3, 2}).empty());
  CHECK(refusal(ebb::stored_factors(values), {1, 4, 2}).find("stored_decay: need decays of") == 0);
  CHECK(refusal(ebb::stored_factors(values), {2, 3, 2}).find("stored_decay: need decays of") == 0);
}

TEST_CASE("rates outside their domain are refused") {
  const auto bind = [](std::vector<float> rates) {
    ebb::constant_decay().bind(std::span<const float>(rates));
  };
  CHECK_THROWS_AS(bind({-1}), ebb::domain_error);
  CHECK_THROWS_AS(bind({2, 1}), ebb::domain_error);
  CHECK_THROWS_AS(bind({std::nanf("")}), ebb::domain_error);
  CHECK_THROWS_AS(bind({1, HUGE_VALF}), ebb::domain_error);
  CHECK_NOTHROW(bind({0, 0, 1}));
  CHECK_NOTHROW(bind({}));
}

/// The gradients a decay reports against central differences of sum w log a, in 50 digits.
template <class Make>
void check_gradients(const std::vector<exact>& rates, Make make, bool has_alpha) {
  const auto n = static_cast<index_t>(rates.size());
  const block_origin where{0, 0, 1, 40};
  const index_t width = n - 1, height = 3;
  ebb::array<exact> cotangent(height, width);
  for (index_t t = 0; t < height; ++t)
    for (index_t k = 0; k < width; ++k) cotangent(t, k) = exact(t * t - 2 * k + 1) / 8;
  const auto loss = [&](const auto& decay) {
    ebb::array<exact> block(height, width);
    decay.fill(where, block.view());
    exact sum = 0;
    for (index_t t = 0; t < height; ++t)
      for (index_t k = 0; k < width; ++k) sum += block(t, k) * cotangent(t, k);
    return sum;
  };
  const auto decay = make(rates);
  ebb::array<exact> block(height, width);
  decay.fill(where, block.view());
  std::vector<exact> rate_sums(rates.size(), exact(1)), alpha_sums(rates.size(), exact(1));
  typename std::remove_cvref_t<decltype(decay)>::gradients sums;
  sums.rates = rate_sums;
  if constexpr (requires { sums.alpha; }) sums.alpha = alpha_sums;
  const auto as_const = [](const ebb::array<exact>& a) { return a.view(); };
  decay.vjp(where, as_const(block), as_const(cotangent), sums);
  const exact h = 1e-15;
  for (std::size_t k = 0; k < rates.size(); ++k) {
    auto up = rates, down = rates;
    up[k] += h;
    down[k] -= h;
    const exact slope = (loss(make(up)) - loss(make(down))) / (2 * h);
    CHECK(abs(rate_sums[k] - 1 - slope) < 1e-25);  // it adds to the 1 already there
  }
  CHECK(alpha_sums[0] == 1);
  if (has_alpha) CHECK(alpha_sums[1] != 1);
}

TEST_CASE("gradients with respect to rates agree with differences") {
  const std::vector<exact> rates{exact(1) / 64, exact(1) / 9, exact(1) / 2, exact(3)};
  check_gradients(
      rates, [](const auto& r) { return ebb::constant_decay().bind(std::span<const exact>(r)); },
      false);
  check_gradients(
      rates,
      [](const auto& r) {
        return ebb::post_taper::relative(64).with_offset(5).bind(std::span<const exact>(r));
      },
      true);
}

TEST_CASE("gradients with respect to the exponents agree with differences") {
  const std::vector<exact> rates{exact(1) / 64, exact(1) / 9, exact(1)};
  using bound = ebb::post_taper::bound<exact>;
  const std::vector<exact> alpha{exact(0.75), exact(0.5), exact(0.125)};
  const auto sum_of_logs = [&](const std::vector<exact>& exponents) {
    ebb::array<exact> block(2, 3);
    bound(rates, exponents, 64, 0).fill({0, 0, 0, 10}, block.view());
    exact sum = 0;
    for (index_t t = 0; t < 2; ++t)
      for (index_t k = 0; k < 3; ++k) sum += block(t, k);
    return sum;
  };
  ebb::array<exact> ones(2, 3);
  for (index_t i = 0; i < 6; ++i) ones.data()[i] = 1;
  std::vector<exact> sums(3);
  bound::gradients gradients{.alpha = sums};
  const strided_view<const exact> view(ones.view());
  bound(rates, alpha, 64, 0).vjp({0, 0, 0, 10}, view, view, gradients);
  const exact h = 1e-15;
  for (std::size_t k = 0; k < 3; ++k) {
    auto up = alpha, down = alpha;
    up[k] += h;
    down[k] -= h;
    CHECK(abs(sums[k] - (sum_of_logs(up) - sum_of_logs(down)) / (2 * h)) < 1e-25);
  }
}

TEST_CASE("gradients of stored values go back where they came from, added up over repeats") {
  const ebb::array<double> values(3, 2);
  ebb::array<double> into(3, 2);
  ebb::array<double> cotangent(2, 1);
  cotangent(0, 0) = 5;
  cotangent(1, 0) = 7;
  const strided_view<const double> c(cotangent.view());
  auto decay = ebb::stored_factors(values);
  decltype(decay)::gradients sums{into.view()};
  decay.vjp({0, 1, 1, 1}, c, c, sums);
  decay.vjp({0, 1, 1, 1}, c, c, sums);
  CHECK(into(1, 1) == 10);
  CHECK(into(2, 1) == 14);
  CHECK(into(1, 0) == 0);
  decltype(decay)::gradients repeated{strided_view<double>(into.data(), {1, 3, 2}, {0, 0})};
  decay.vjp({0, 1, 0, 1}, c, c, repeated);
  CHECK(into(0, 0) == 12);
}

}  // namespace
