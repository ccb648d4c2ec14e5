// SPDX-License-Identifier: Apache-2.0
// The gradients of scans of complex numbers, of 16-bit data, and of a storage type of one's own.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include <ebb/decay/irregular.hpp>
#include <ebb/decay/selective.hpp>
#include <ebb/recurrence/backend/reference.hpp>
#include <ebb/recurrence/backend/threads.hpp>
#include <ebb/recurrence/layer.hpp>
#include <ebb/recurrence/tree.hpp>
#include <ebb/spectrum/geometric.hpp>

#include "support/vjp_contract.hpp"

namespace {

// Eighths from -16 to 15.875, with nothing but explicit casts from and to float.
class eighths {
 public:
  eighths() = default;
  explicit eighths(float x) : count_(static_cast<std::int8_t>(std::lround(8 * x))) {}
  explicit operator float() const { return static_cast<float>(count_) / 8; }

 private:
  std::int8_t count_ = 0;
};
}  // namespace

template <>
struct ebb::default_state<eighths> {
  using type = float;
};

namespace {

using ebb::channel_major;
using ebb::time_major;
using ebb::test::vjp_config;

using complex_rows =
    vjp_config<std::complex<float>, std::complex<float>, channel_major, time_major, time_major>;
using complex_columns = vjp_config<std::complex<double>, std::complex<double>, time_major,
                                   channel_major, channel_major>;
using sixteen_bits = vjp_config<ebb::bfloat16, float, time_major, time_major, channel_major>;

TEST_CASE_TEMPLATE("every gradient is the definition's", Config, complex_rows, complex_columns,
                   sixteen_bits) {
  ebb::test::check_vjp_contract<Config>();
}

// The small case of vjp_test.cpp, whose numbers are exact in 8 digits; gradients of 16-bit decays
// are sums in float.
TEST_CASE("16-bit decays have float gradients") {
  using ebb::bfloat16;
  ebb::array<bfloat16> a(3, 1), b(3, 1), h(3, 1), dh(3, 1), db(3, 1);
  ebb::array<float> da(3, 1), start(1, 1);
  start(0, 0) = 4;
  for (ebb::index_t t = 0; t < 3; ++t) {
    a(t, 0) = bfloat16(std::ldexp(0.5, static_cast<int>(-t)));
    b(t, 0) = bfloat16(t + 1);
    dh(t, 0) = bfloat16(1);
  }
  const ebb::sequences<float> where{.initial_states = start.view()};
  ebb::scan(a, b, h, where);
  const auto decay = ebb::stored_factors(a);
  decltype(decay)::gradients sums{da.view()};
  ebb::scan_vjp(decay, b, h, ebb::scan_cotangents<bfloat16>{.outputs = dh.view()},
                ebb::scan_gradients<bfloat16, decltype(sums)>{.inputs = db.view(), .decay = &sums},
                where);
  CHECK(db(0, 0) == bfloat16(1.28125));
  CHECK(db(1, 0) == bfloat16(1.125));
  CHECK(da(0, 0) == 5.125f);
  CHECK(da(1, 0) == 3.375f);
  CHECK(da(2, 0) == 2.75f);
}

TEST_CASE("a storage type of one's own needs no more than casts to its state and back") {
  constexpr ebb::index_t steps = 9, channels = 3;
  using narrow = ebb::array<eighths>;
  using plain = ebb::array<float>;
  const auto numbers = [](int seed, float low, float high) {
    narrow values(steps, channels);
    for (ebb::index_t i = 0; i < steps * channels; ++i)
      values.data()[i] = eighths(low + (high - low) * static_cast<float>((i * 7 + seed) % 11) / 11);
    return values;
  };
  const auto in_float = [](const narrow& values) {
    plain result(values.size());
    for (ebb::index_t i = 0; i < steps * channels; ++i)
      result.data()[i] = static_cast<float>(values.data()[i]);
    return result;
  };
  // What was computed from eighths is what the same numbers give in float, stored as eighths.
  const auto same = [&](const narrow& got, const plain& right) {
    bool all = true;
    for (ebb::index_t i = 0; i < steps * channels; ++i)
      all =
          all && static_cast<float>(got.data()[i]) == static_cast<float>(eighths(right.data()[i]));
    return all;
  };
  const narrow b = numbers(1, -1, 1), dh = numbers(2, -1, 1), factors = numbers(3, 0, 1),
               logs = numbers(4, -2, 0), times = numbers(5, 0, 3);
  const plain b_float = in_float(b), dh_float = in_float(dh), f = in_float(factors),
              l = in_float(logs), dt = in_float(times);
  const std::vector<double> rates{0.01, 0.3, 1};
  const std::span<const double> bind(rates);
  const auto check = [&](const auto& decay, const auto& decay_of_floats) {
    narrow h(steps, channels), other(steps, channels), db(steps, channels);
    plain h_float(steps, channels), db_float(steps, channels);
    ebb::scan(decay, b, h);
    ebb::scan(decay_of_floats, b_float, h_float);
    CHECK(same(h, h_float));
    ebb::scan(decay, b, other, ebb::threads<>(2, {}, 1));
    CHECK(same(other, h_float));
    ebb::scan(decay, b, other, ebb::reference{});
    typename std::remove_cvref_t<decltype(decay)>::gradients sums{};
    typename std::remove_cvref_t<decltype(decay_of_floats)>::gradients sums_float{};
    plain each(steps, channels), each_float(steps, channels);
    const auto point = [](auto& all, plain& values) {
      if constexpr (requires { all.values; }) all.values = values.view();
      if constexpr (requires { all.raw; }) all.raw = values.view();
      if constexpr (requires { all.dt; }) all.dt = values.view();
    };
    point(sums, each), point(sums_float, each_float);
    const plain h_stored = in_float(h);
    ebb::scan_vjp(
        decay, b, h, ebb::scan_cotangents<eighths>{.outputs = dh.view()},
        ebb::scan_gradients<eighths, decltype(sums)>{.inputs = db.view(), .decay = &sums});
    ebb::scan_vjp(decay_of_floats, b_float, h_stored,
                  ebb::scan_cotangents<float>{.outputs = dh_float.view()},
                  ebb::scan_gradients<float, decltype(sums_float)>{.inputs = db_float.view(),
                                                                   .decay = &sums_float});
    CHECK(same(db, db_float));
    CHECK(ebb::test::same_bits(each, each_float));
  };
  check(ebb::stored_factors(factors), ebb::stored_factors(f));
  check(ebb::stored_logs(logs), ebb::stored_logs(l));
  check(ebb::irregular_decay(times).bind(bind), ebb::irregular_decay(dt).bind(bind));
  check(ebb::selective_decay(times).bind(bind), ebb::selective_decay(dt).bind(bind));

  const auto spectrum = ebb::geometric_spectrum::timescales(1, 9);
  const auto memory = ebb::make_layer<eighths>(spectrum, ebb::constant_decay(), channels);
  const auto float_memory = ebb::make_layer<float>(spectrum, ebb::constant_decay(), channels);
  narrow h(steps, channels);
  plain h_float(steps, channels), states(steps, channels);
  float_memory(b_float, h_float);
  auto state = memory.start();
  for (ebb::index_t t = 0; t < steps; ++t)
    memory.step(std::span<const eighths>(&b(t, 0), channels),
                std::span<eighths>(&h(t, 0), channels), state);
  CHECK(same(h, h_float));
  std::vector<ebb::index_t> chain;
  for (ebb::index_t t = 0; t < steps; ++t) chain.push_back(t - 1);
  h = narrow(steps, channels);
  ebb::scan_tree(memory.decay(), b, h,
                 ebb::step_tree<float>{.parents = chain, .states = states.view()});
  CHECK(same(h, h_float));
  CHECK(ebb::test::same_bits(states, h_float));
}

}  // namespace
