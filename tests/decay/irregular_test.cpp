// SPDX-License-Identifier: Apache-2.0
// The irregular decay: contract, values, exact gradients, and what it is for.
#include <doctest/doctest.h>

#include <complex>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/core/storage.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/irregular.hpp>
#include <ebb/recurrence/scan.hpp>
#include <ebb/recurrence/vjp.hpp>

#include "support/decay_contract.hpp"
#include "support/exact.hpp"

namespace {

using ebb::channel_major;
using ebb::extents;
using ebb::index_t;
using ebb::irregular_decay;
using ebb::strided_view;
using ebb::time_major;
using ebb::test::check_decay_contract;
using ebb::test::exact;

constexpr index_t steps = ebb::test::contract_steps, channels = ebb::test::contract_channels;

// Multiples of 1/8 from 0 to 12, exact in bfloat16.
template <class T, class Axis = time_major>
ebb::array<T, Axis> intervals(const extents& size) {
  ebb::array<T, Axis> dt(size);
  for (index_t b = 0; b < size.batches; ++b)
    for (index_t t = 0; t < size.steps; ++t)
      for (index_t k = 0; k < size.channels; ++k)
        dt(b, t, k) = static_cast<T>(double((b * 31 + t * 17 + k * 7) % 97) / 8);
  return dt;
}

template <class Scalar>
std::vector<Scalar> some_rates() {
  std::vector<Scalar> rates;
  for (const double r : {0.0, 0.001, 0.3, 1.0, 7.0}) {
    if constexpr (ebb::is_complex<Scalar>)
      rates.push_back(Scalar(ebb::real_of_t<Scalar>(r), ebb::real_of_t<Scalar>(3 - r)));
    else
      rates.push_back(Scalar(r));
  }
  return rates;
}

template <class Scalar>
std::span<const Scalar> span_of(const std::vector<Scalar>& values) {
  return values;
}

template <class Scalar, class Axis>
void check_contract() {
  const auto rates = some_rates<Scalar>();
  const auto full = intervals<float, channel_major>({2, steps, channels});
  const auto shared = intervals<ebb::bfloat16>({2, steps, 1});
  for (const index_t position : {index_t{1}, index_t{1} << 40}) {
    check_decay_contract<Scalar, Axis>(irregular_decay(full).bind(span_of(rates)), 1, position);
    check_decay_contract<Scalar, Axis>(irregular_decay(shared).bind(span_of(rates)), 1, position);
  }
}

TEST_CASE_TEMPLATE("irregular decays keep the contract", Scalar, float, double, std::complex<float>,
                   std::complex<double>) {
  check_contract<Scalar, time_major>();
  check_contract<Scalar, channel_major>();
}

/// One product rounded once: half an ulp, which is one unit roundoff; in float two roundings, of
/// which the first is in double.
template <class Scalar>
void check_accuracy() {
  using Real = ebb::real_of_t<Scalar>;
  const double limit = std::is_same_v<Real, float> ? 1 + 1e-8 : 1;
  const auto rates = some_rates<Scalar>();
  auto dt = intervals<double>({1, 40, channels});
  for (index_t i = 0; i < 40 * channels; ++i) dt.data()[i] /= 3;
  ebb::array<Scalar> block(40, channels);
  irregular_decay(dt).bind(span_of(rates)).fill({}, block.view());
  double worst = 0;
  for (index_t t = 0; t < 40; ++t)
    for (index_t k = 0; k < channels; ++k) {
      const auto& rate = rates[std::size_t(k)];
      const auto& value = block(t, k);
      worst =
          std::max(worst, ebb::test::roundoffs(ebb::detail::real_part(value),
                                               -exact(ebb::detail::real_part(rate)) * dt(t, k)));
      if constexpr (ebb::is_complex<Scalar>)
        worst = std::max(worst, ebb::test::roundoffs(value.imag(), -exact(rate.imag()) * dt(t, k)));
    }
  CHECK(worst <= limit);
  CHECK(worst > 0);
}

TEST_CASE_TEMPLATE("log-decays are as accurate as documented", Scalar, float, double,
                   std::complex<float>, std::complex<double>) {
  check_accuracy<Scalar>();
}

TEST_CASE("intervals of 1 are the constant decay; a split interval decays as the whole") {
  const auto rates = some_rates<std::complex<double>>();
  ebb::array<double> ones(6, 1);
  std::fill(ones.data(), ones.data() + 6, 1.0);
  ebb::array<std::complex<double>> one(6, channels), two(6, channels);
  irregular_decay(ones).bind(span_of(rates)).fill({}, one.view());
  ebb::constant_decay().bind(span_of(rates)).fill({}, two.view());
  for (index_t i = 0; i < 6 * channels; ++i) CHECK(one.data()[i] == two.data()[i]);

  // Samples at 0.5, 3, 3, 10 (h_0 at 0) and none between: exp(-10 r) h_0, dt = 0 leaves it alone.
  ebb::array<float> dt(4, 1);
  dt(0, 0) = 0.5f, dt(1, 0) = 2.5f, dt(2, 0) = 0, dt(3, 0) = 7;
  const auto decay = irregular_decay(dt).bind(span_of<double>({0.125, 1}));
  ebb::array<double> b(4, 2), h(4, 2);
  ebb::array<double> start(1, 2);
  start(0, 0) = start(0, 1) = 1;
  ebb::sequences<double> where;
  where.initial_states = start.view();
  ebb::scan(decay, b, h, where);
  CHECK(h(1, 0) == h(2, 0));
  // 5 roundings in each of 4 steps (docs/accuracy.md, section 3); log a is exact here.
  CHECK(ebb::test::roundoffs(h(3, 0), exp(-exact(10) / 8)) <= 20.01);
  CHECK(ebb::test::roundoffs(h(3, 1), exp(-exact(10))) <= 20.01);
}

TEST_CASE("decoding: one interval at a time gives the bits of the whole scan") {
  const auto dt = intervals<float>({1, 9, 1});
  const auto whole = irregular_decay(dt).bind(span_of<double>({0.01, 0.25, 2}));
  ebb::array<float> b(9, 3), h(9, 3);
  for (index_t i = 0; i < 27; ++i) b.data()[i] = float(i % 5 - 2);
  ebb::scan(whole, b, h);
  auto one = whole;
  std::vector<float> state(3, 0.0f);
  for (index_t t = 0; t < 9; ++t) {
    one.read_from(dt.view().steps_from(t, 1));
    ebb::step(one, t + 1, std::span<const float>(&b(t, 0), 3), std::span<float>(state));
    for (index_t k = 0; k < 3; ++k) CHECK(state[std::size_t(k)] == h(t, k));
  }
}

/// log a is linear in the rates and in dt, and all numbers here are short binary fractions: central
/// differences of Re(conj(d) log a), summed, are the exact gradients.
template <class Scalar>
void check_gradients(index_t width) {
  const ebb::block_origin where{1, 1, 1, 7};
  constexpr index_t height = 3, n = 4;
  const auto loss_of = [](const auto& block, const auto& d) {
    double sum = 0;
    for (index_t i = 0; i < height * (n - 1); ++i) {
      const Scalar term =
          ebb::detail::product(ebb::detail::conjugate(d.data()[i]), block.data()[i]);
      sum += ebb::detail::real_part(term);
    }
    return sum;
  };
  std::vector<Scalar> rates;
  ebb::array<Scalar> cotangent(height, n - 1);
  for (index_t k = 0; k < n; ++k) {
    if constexpr (ebb::is_complex<Scalar>)
      rates.push_back(Scalar(double(k) / 4, 1.5 - double(k)));
    else
      rates.push_back(Scalar(double(k) / 4));
  }
  for (index_t i = 0; i < height * (n - 1); ++i) {
    if constexpr (ebb::is_complex<Scalar>)
      cotangent.data()[i] = Scalar(double(i % 5 - 2), double(i % 3) / 2);
    else
      cotangent.data()[i] = Scalar(double(i % 5 - 2));
  }
  auto dt = intervals<double>({2, 5, width});
  const auto loss = [&] {
    ebb::array<Scalar> block(height, n - 1);
    irregular_decay(dt).bind(span_of(rates)).fill(where, block.view());
    return loss_of(block, cotangent);
  };
  std::vector<Scalar> d_rates(rates.size(), Scalar(1));
  ebb::array<double> d_dt(dt.size());
  std::fill(d_dt.data(), d_dt.data() + 10 * width, 1.0);
  const auto decay = irregular_decay(dt).bind(span_of(rates));
  typename std::remove_cvref_t<decltype(decay)>::gradients sums{d_rates, d_dt.view()}, nothing{};
  const strided_view<const Scalar> c(cotangent.view());
  decay.vjp(where, c, c, sums);
  decay.vjp(where, c, c, nothing);

  const double h = 0.125;
  const auto slope = [&](auto& entry, const auto& by) {
    const auto before = entry;
    entry = before + by;
    const double up = loss();
    entry = before - by;
    const double down = loss();
    entry = before;
    return (up - down) / (2 * h);
  };
  // The first channel is outside the block, and its rate must stay >= 0.
  CHECK(d_rates[0] == Scalar(1));
  for (std::size_t k = 1; k < rates.size(); ++k) {
    CHECK(ebb::detail::real_part(d_rates[k]) == 1 + slope(rates[k], Scalar(h)));
    if constexpr (ebb::is_complex<Scalar>)
      CHECK(d_rates[k].imag() == slope(rates[k], Scalar(0, h)));
  }
  bool some = false;
  for (index_t i = 0; i < 10 * width; ++i) {
    const double s = slope(dt.data()[i], h);
    CHECK(d_dt.data()[i] == 1 + s);
    some = some || s < 0 || s > 0;
  }
  CHECK(some);
}

TEST_CASE_TEMPLATE("gradients agree with differences", Scalar, double, std::complex<double>) {
  check_gradients<Scalar>(4);
  check_gradients<Scalar>(1);
}

TEST_CASE("real rates may drive complex states") {
  using complex = std::complex<float>;
  const auto dt = intervals<double>({1, 3, 1});
  const auto decay = irregular_decay(dt).bind(span_of<double>({0.25, 2}));
  ebb::array<complex> block(3, 2), cotangent(3, 2);
  decay.fill({}, block.view());
  std::vector<double> rates(2);
  double moved = 0;
  for (index_t t = 0; t < 3; ++t) {
    cotangent(t, 0) = complex(float(t), 77);
    moved += double(t) * dt(t, 0);
    for (index_t k = 0; k < 2; ++k)
      CHECK(block(t, k) == complex(float(k ? -2 : -0.25) * float(dt(t, 0))));
  }
  std::remove_cvref_t<decltype(decay)>::gradients sums{.rates = rates};
  const strided_view<const complex> c(cotangent.view());
  decay.vjp({}, c, c, sums);
  CHECK(rates == std::vector<double>{-moved, 0});
}

TEST_CASE_TEMPLATE("an infinite interval forgets, and its gradients are 0", Scalar, double,
                   std::complex<double>) {
  const std::vector<Scalar> rates{Scalar(0.5), Scalar(2)};
  const double infinity = std::numeric_limits<double>::infinity();
  for (const index_t columns : {index_t{1}, index_t{2}}) {
    ebb::array<double> dt(3, columns), d_dt(3, columns);
    for (index_t k = 0; k < columns; ++k) dt(0, k) = dt(2, k) = 1, dt(1, k) = infinity;
    const auto decay = ebb::irregular_decay(dt).bind(std::span<const Scalar>(rates));
    ebb::array<Scalar> in(3, 2), out(3, 2), given(3, 2), d_in(3, 2);
    for (index_t t = 0; t < 3; ++t) in(t, 0) = in(t, 1) = given(t, 0) = given(t, 1) = Scalar(1);
    ebb::scan(decay, in, out);
    std::vector<Scalar> d_rates(2);
    typename std::remove_const_t<decltype(decay)>::gradients sums{d_rates, d_dt.view()};
    ebb::scan_vjp(
        decay, in, out, ebb::scan_cotangents<Scalar>{.outputs = given.view()},
        ebb::scan_gradients<Scalar, decltype(sums)>{.inputs = d_in.view(), .decay = &sums});
    for (index_t k = 0; k < 2; ++k) {
      // Only step 2 comes behind something: h_1 = 1 forgotten at step 1, h_2 = a + 1.
      const double rate = std::abs(rates[static_cast<std::size_t>(k)]), a = std::exp(-rate);
      CHECK(std::abs(d_rates[static_cast<std::size_t>(k)] + a) <= 20 * 0x1p-53 * a);
      CHECK(std::abs(d_in(0, k) - 1.0) == 0);
    }
    for (index_t k = 0; k < columns; ++k) {
      CHECK(d_dt(0, k) == 0);
      CHECK(d_dt(1, k) == 0);
      CHECK(d_dt(2, k) < 0);
    }
  }
}

TEST_CASE("what does not fit is refused") {
  const auto dt = intervals<float>({2, 3, 4});
  const auto one = intervals<float>({2, 3, 1});
  const std::vector<double> rates{0, 1, 2, 3};
  const auto decay = irregular_decay(dt).bind(span_of(rates));
  CHECK_NOTHROW(decay.check({2, 3, 4}));
  CHECK_NOTHROW(irregular_decay(one).bind(span_of(rates)).check({2, 3, 4}));
  for (const extents& size : {extents{2, 3, 3}, extents{1, 3, 4}, extents{2, 2, 4}})
    CHECK_THROWS_AS(decay.check(size), ebb::shape_error);
  CHECK_THROWS_AS(irregular_decay(dt).bind(span_of<double>({1, 2})).check({2, 3, 2}),
                  ebb::shape_error);
  std::vector<double> four(4), three(3);
  ebb::array<float> all(extents{2, 3, 4}), few(extents{2, 3, 1});
  using gradients = std::remove_cvref_t<decltype(decay)>::gradients;
  CHECK_NOTHROW(decay.check({2, 3, 4}, gradients{}));
  CHECK_NOTHROW(decay.check({2, 3, 4}, gradients{four, all.view()}));
  CHECK_THROWS_AS(decay.check({2, 3, 4}, gradients{.rates = three}), ebb::shape_error);
  CHECK_THROWS_AS(decay.check({2, 3, 4}, gradients{.dt = few.view()}), ebb::shape_error);
  ebb::array<float> none({2, 0, 4});  // not left out
  CHECK_THROWS_AS(decay.check({2, 3, 4}, gradients{.dt = none.view()}), ebb::shape_error);
  using complex = std::complex<double>;
  CHECK_THROWS_AS(irregular_decay(dt).bind(span_of<double>({-1})), ebb::domain_error);
  CHECK_THROWS_AS(irregular_decay(dt).bind(span_of<complex>({{1, 0}, {0.5, 0}})),
                  ebb::domain_error);
}

}  // namespace
