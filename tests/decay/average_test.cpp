// SPDX-License-Identifier: Apache-2.0
// Exponential averages: a constant stays itself, weights sum to one, everything else is forwarded.
#include <doctest/doctest.h>

#include <complex>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/decay/average.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/irregular.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/decay/selective.hpp>
#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/layer.hpp>
#include <ebb/spectrum/geometric.hpp>

#include "support/decay_contract.hpp"
#include "support/exact.hpp"

namespace {

using ebb::channel_major;
using ebb::extents;
using ebb::index_t;
using ebb::normalised;
using ebb::strided_view;
using ebb::time_major;
using ebb::test::check_decay_contract;
using ebb::test::exact;

constexpr index_t steps = ebb::test::contract_steps, channels = ebb::test::contract_channels;

template <class Real>
std::span<const Real> span_of(const std::vector<Real>& values) {
  return values;
}

template <class Real>
std::vector<Real> some_rates() {
  return {0, Real(1e-5), Real(0.25), 1, 16};
}

template <class T>
ebb::array<T> intervals(index_t length) {
  ebb::array<T> dt(length, 1);
  for (index_t t = 0; t < length; ++t) dt(t, 0) = static_cast<T>(double(t * 5 % 7) / 4);
  return dt;
}

static_assert(ebb::decay_for<ebb::normalised_policy<ebb::constant_decay>, float>);
static_assert(ebb::decay_for<ebb::normalised_policy<ebb::post_taper>, double>);
static_assert(ebb::decay_for<ebb::normalised_policy<ebb::selective_decay<float>>, double>);

template <class Real, class Axis>
void check_contract() {
  const auto rates = some_rates<Real>();
  const auto dt = intervals<float>(steps);
  ebb::array<Real> factors(steps, channels);
  check_decay_contract<Real, Axis>(normalised(ebb::constant_decay()).bind(span_of(rates)), 0, 9);
  check_decay_contract<Real, Axis>(normalised(ebb::post_taper::absolute()).bind(span_of(rates)), 0,
                                   index_t{1} << 40);
  check_decay_contract<Real, Axis>(normalised(ebb::irregular_decay(dt)).bind(span_of(rates)), 0, 9);
  check_decay_contract<Real, Axis>(normalised(ebb::stored_factors(factors)), 0, 9);
}

TEST_CASE_TEMPLATE("averages keep the contract of decays", Real, float, double) {
  check_contract<Real, time_major>();
  check_contract<Real, channel_major>();
}

/// h_t for a constant input that starts at itself, in units of u |c| from it.
template <class State, class Decay>
double distance_from_constant(const Decay& decay, index_t length, const State& c) {
  ebb::array<State> b(length, channels), h(length, channels), start(1, channels);
  std::fill(b.data(), b.data() + length * channels, c);
  std::fill(start.data(), start.data() + channels, c);
  ebb::sequences<State> where;
  where.initial_states = start.view();
  ebb::scan(decay, b, h, where);
  double worst = 0;
  using std::abs;
  for (index_t i = 0; i < length * channels; ++i)
    worst = std::max(worst, double(abs(h.data()[i] - c) / abs(c)));
  return 2 * worst / double(std::numeric_limits<ebb::real_of_t<State>>::epsilon());
}

TEST_CASE_TEMPLATE("a constant input is its own average", Real, float, double) {
  // For a >= 1/2, h + (a - 1)(h - b) is h itself. For a < 1/2 a step errs by n u |c|, n = 5
  // (section 3 of docs/accuracy.md; complex: 16), of which a step later less than half is left:
  // 2 n u |c| after any number of steps. Of factors a <= 3/4: n = 3, and 4 n u |c|.
  const index_t length = 500;
  const auto c = Real(1.1);
  const auto rates = some_rates<Real>();
  const std::vector<Real> slow{0, Real(1e-9), Real(1e-3), Real(0.1), Real(0.69)};
  const auto dt = intervals<float>(length);
  const double small = 0.01;  // terms of second order in u
  CHECK(distance_from_constant(normalised(ebb::constant_decay()).bind(span_of(slow)), length, c) ==
        0);
  CHECK(distance_from_constant(normalised(ebb::constant_decay()).bind(span_of(rates)), length, c) <=
        10 + small);
  CHECK(distance_from_constant(normalised(ebb::post_taper::relative(50)).bind(span_of(rates)),
                               length, c) <= 10 + small);
  CHECK(distance_from_constant(normalised(ebb::irregular_decay(dt)).bind(span_of(rates)), length,
                               c) <= 10 + small);
  CHECK(distance_from_constant(
            normalised(ebb::selective_decay(dt).with_bias(std::vector{-1.0})).bind(span_of(rates)),
            length, c) <= 10 + small);
  ebb::array<Real> factors(length, channels);
  for (index_t i = 0; i < length * channels; ++i) factors.data()[i] = Real(double(i % 16) / 20);
  CHECK(distance_from_constant(normalised(ebb::stored_factors(factors)), length, c) <= 12 + small);

  using complex = std::complex<Real>;
  std::vector<complex> turning;
  for (const int r : {0, 0, 1, 2, 3}) turning.push_back(complex(Real(r) / 2, Real(2 * r)));
  // |a| <= e^-1/2 for the turning ones, 1 / (1 - |a|) <= 2.55
  CHECK(distance_from_constant(normalised(ebb::constant_decay()).bind(span_of(turning)), length,
                               complex(c, -2)) <= 16 * 2.55);
}

TEST_CASE("the weights of the start and of all inputs are >= 0 and sum to one") {
  // Batch entry 0 answers to the initial state, entry 1 + j to an impulse at step j.
  const index_t length = 40;
  const auto rates = some_rates<double>();
  const auto dt = intervals<double>(length);
  const strided_view<const double> everywhere(dt.data(), {length + 1, length, 1}, {0, 1});
  const auto check = [&](const auto& decay) {
    ebb::array<double> b(extents{length + 1, length, channels}), h(b.size()),
        start(extents{length + 1, 1, channels});
    for (index_t k = 0; k < channels; ++k) {
      start(0, 0, k) = 1;
      for (index_t j = 0; j < length; ++j) b(j + 1, j, k) = 1;
    }
    ebb::sequences<double> where;
    where.initial_states = start.view();
    ebb::scan(decay, b, h, where);
    for (index_t t = 0; t < length; ++t)
      for (index_t k = 0; k < channels; ++k) {
        exact sum = 0;
        for (index_t entry = 0; entry <= length; ++entry) {
          CHECK(h(entry, t, k) >= 0);
          sum += h(entry, t, k);
        }
        // Each weight is within 5 (t + 1) u of itself, and their sum is 1.
        CHECK(abs(sum - 1) <= 5.01 * double(t + 1) * 0x1p-53);
      }
  };
  check(normalised(ebb::constant_decay()).bind(span_of(rates)));
  check(normalised(ebb::post_taper::relative(20)).bind(span_of(rates)));
  check(normalised(ebb::irregular_decay(everywhere)).bind(span_of(rates)));
}

TEST_CASE("a layer of averages; wrapping twice is wrapping once") {
  const auto memory = ebb::make_layer<float>(ebb::geometric_spectrum::timescales(1, 64),
                                             normalised(ebb::constant_decay()), 4);
  auto state = memory.start();
  const std::vector<float> b{2, 2, 2, 2};
  for (int t = 0; t < 1000; ++t) memory.step(b, state);
  for (const float h : state.values) CHECK(h == doctest::Approx(2).epsilon(1e-5));
  const auto twice = normalised(normalised(ebb::constant_decay())).bind(span_of<double>({1, 2}));
  CHECK(std::is_same_v<decltype(twice),
                       const ebb::normalised_decay<ebb::constant_decay::bound<double>>>);
  CHECK(std::is_same_v<decltype(normalised(twice)),
                       ebb::normalised_decay<ebb::constant_decay::bound<double>>>);
}

// A policy of oscillations only.
struct turning {
  [[maybe_unused]] static constexpr ebb::decay_kind kind = ebb::decay_kind::constant;
  template <class Real>
  auto bind(std::span<const std::complex<Real>> rates) const {
    return ebb::constant_decay().bind(rates);
  }
};
static_assert(ebb::decay_for<decltype(normalised(turning())), std::complex<double>>);
static_assert(!ebb::decay_for<decltype(normalised(turning())), double>);

TEST_CASE("averages of a policy of complex rates only") {
  using complex = std::complex<double>;
  const std::vector<complex> rates{{0.5, 1}};
  ebb::array<complex> in(400, 1), h(400, 1), right(400, 1);
  for (index_t t = 0; t < 400; ++t) in(t, 0) = {3, -2};
  const auto averages = normalised(turning()).bind(span_of(rates));
  ebb::scan(averages, in, h);
  ebb::scan(normalised(ebb::constant_decay()).bind(span_of(rates)), in, right);
  for (index_t t = 0; t < 400; ++t) CHECK(h(t, 0) == right(t, 0));
  // A constant is its own average: what rounding adds to each step, 16 u |h|, decays by e^-0.5.
  CHECK(std::abs(h(399, 0) - in(0, 0)) <= 16 * 0x1p-53 * 3 * 4 / (1 - std::exp(-0.5)));
}

template <class Decay>
concept has_view = requires(const Decay& decay) {
  decay.view();
};

TEST_CASE("gradients, checks and views are those of the decay inside") {
  const auto dt = intervals<double>(steps);
  auto inner = ebb::irregular_decay(dt).bind(span_of<double>({1, 2}));
  auto outer = normalised(inner);
  CHECK(outer.view().data() == dt.data());
  CHECK(outer.decay().rates()[1] == 2);
  CHECK(outer.kind == ebb::decay_kind::input);
  CHECK(outer.form == ebb::decay_form::log_factor);
  CHECK(ebb::gain_of<decltype(outer)> == ebb::input_gain::one_minus_decay);
  CHECK_NOTHROW(outer.check({1, steps, 2}));
  CHECK_THROWS_AS(outer.check({1, steps, 3}), ebb::shape_error);
  ebb::array<double> block(steps, 2), same(steps, 2);
  outer.fill({}, block.view());
  inner.fill({}, same.view());
  for (index_t i = 0; i < 2 * steps; ++i) CHECK(block.data()[i] == same.data()[i]);
  std::vector<double> one(2), two(2);
  decltype(outer)::gradients from_outer{.rates = one};
  decltype(inner)::gradients from_inner{.rates = two};
  const strided_view<const double> c(block.view());
  outer.vjp({}, c, c, from_outer);
  inner.vjp({}, c, c, from_inner);
  CHECK(one == two);
  CHECK_NOTHROW(outer.check({1, steps, 2}, from_outer));
  from_outer.rates = from_outer.rates.first(1);
  CHECK_THROWS_AS(outer.check({1, steps, 2}, from_outer), ebb::shape_error);
  CHECK(one[0] > 0);

  // In place over the intervals is refused, as without the average.
  ebb::array<double> data(steps, 1);
  const auto over = normalised(ebb::irregular_decay(data)).bind(span_of<double>({1}));
  CHECK_THROWS_AS(ebb::scan(over, data, data), ebb::shape_error);
  // No view and no check inside, none outside.
  CHECK(!has_view<ebb::normalised_decay<ebb::constant_decay::bound<double>>>);
  CHECK(has_view<decltype(outer)>);
}

}  // namespace
