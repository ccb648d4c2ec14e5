// SPDX-License-Identifier: Apache-2.0
// How `over_time` cuts a scan, and what must pass from chunk to chunk.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/decay/average.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/decay/shifted.hpp>
#include <ebb/recurrence/backend/over_time.hpp>

#include "support/backwards_executor.hpp"
#include "support/scan_adversarial.hpp"
#include "support/scan_case.hpp"

namespace {

using ebb::channel_major;
using ebb::direction;
using ebb::extents;
using ebb::index_t;
using ebb::time_major;
using ebb::test::backwards;

// Chunks of a phase must not depend on their order.
template <class Inner = ebb::rows>
struct cut_backwards : ebb::over_time<Inner, backwards> {
  cut_backwards() : cut_backwards(4) {}
  explicit cut_backwards(index_t parts)
      : ebb::over_time<Inner, backwards>(
            ebb::threads<Inner, backwards>(std::make_shared<backwards>(4), {}, 1), parts) {}
};

template <class T, class State, class In, class Out, class Wide = long double>
using config = ebb::test::scan_config<cut_backwards<>, T, State, In, Out, Wide, false>;
using complex = std::complex<float>;

TEST_CASE_TEMPLATE("random calls", Config, config<float, float, time_major, time_major>,
                   config<double, double, time_major, time_major>,
                   config<double, double, channel_major, channel_major>,
                   config<ebb::half, double, time_major, channel_major>,
                   config<complex, complex, channel_major, time_major, std::complex<long double>>) {
  ebb::test::check_random_cases<Config>(400, 31);
}

TEST_CASE("bounds hold on adversarial data") {
  ebb::test::check_adversarial<cut_backwards<>, float, time_major>();
  ebb::test::check_adversarial<cut_backwards<>, double, channel_major>();
}

TEST_CASE("the same bits on any number of threads where the parts are given") {
  const extents size{1, 3000, 5};
  const auto in = ebb::test::random_inputs<double, time_major>(size, 1);
  const auto logs = ebb::test::random_logs<double, time_major>(size, 2);
  ebb::array<double> right(size), h(size);
  ebb::scan(ebb::stored_logs(logs), in, right, cut_backwards<>(6));
  for (const index_t count : {1, 2, 5}) {
    const ebb::over_time<> backend(ebb::threads<>(count, {}, 1), 6);
    ebb::scan(ebb::stored_logs(logs), in, h, backend);
    CHECK(ebb::test::same_bits(h, right));
  }
}

TEST_CASE("what is cut, and what is not") {
  const auto runs = [](const extents& size, std::vector<index_t> offsets, index_t work) {
    const auto executor = std::make_shared<backwards>(4);
    const ebb::over_time<ebb::rows, backwards> backend(
        ebb::threads<ebb::rows, backwards>(executor, {}, work));
    const ebb::array<float> a(size);
    ebb::array<float> h(size);
    ebb::scan(a, h, h, ebb::sequences<float>{.offsets = offsets}, backend);
    return executor->runs;
  };
  CHECK(runs({1, 255, 1}, {}, 1) == 0);          // chunks of less than 64 steps
  CHECK(runs({1, 256, 1}, {}, 1) == 2);          // two phases on threads
  CHECK(runs({1, 4096, 64}, {}, 1 << 20) == 0);  // too little work
  CHECK(runs({4, 1000, 1}, {}, 1) == 1);         // a sequence for each thread
  CHECK(runs({1, 4000, 1}, {0, 1000, 2000, 3000, 4000}, 1) == 1);
  CHECK(runs({1, 4000, 1}, {0, 3900, 4000}, 1) == 2);
  CHECK(runs({0, 4000, 1}, {}, 1) == 0);
  CHECK(runs({1, 4000, 0}, {}, 1) == 0);
  CHECK_THROWS_AS(ebb::over_time<>(ebb::threads<>(2), -1), ebb::domain_error);
}

// One channel: decays and inputs by step. The state after all steps.
template <class State, class Make>
ebb::array<State> scanned(index_t steps, const State& initial, const Make& make) {
  ebb::array<State> a(steps, 1), b(steps, 1), h(steps, 1);
  for (index_t t = 0; t < steps; ++t) make(t, a(t, 0), b(t, 0));
  ebb::sequences<State> where{.initial_states = ebb::strided_view<const State>(&initial, 1, 1)};
  ebb::scan(a, b, h, where, {}, cut_backwards<>());
  return h;
}

TEST_CASE_TEMPLATE("products beyond the range of the state", State, float, double) {
  constexpr index_t steps = 1024;
  const State huge = std::numeric_limits<State>::max() / 4, tiny = 1 / huge;
  SUBCASE("a product below the range meets a large state") {
    // Chunks of four parts: 1024 / 5.5 steps. tiny^1.5 in the second one, times huge.
    const auto h = scanned<State>(steps, huge, [&](index_t t, State& a, State& b) {
      a = t == 300 ? tiny : t == 301 ? State(0.125) : t == 900 ? State(1024) : State(1);
      b = 0;
    });
    CHECK(h(steps - 1, 0) == huge * tiny * 128);
  }
  SUBCASE("a product above the range meets a small state") {
    const auto h = scanned<State>(steps, tiny, [&](index_t t, State& a, State& b) {
      a = t == 300 || t == 320 ? std::ldexp(huge, -8) : t == 340 ? tiny : State(1);
      b = 0;
    });
    CHECK(h(299, 0) == tiny);
    CHECK(h(steps - 1, 0) == doctest::Approx(double(std::ldexp(State(1), -16))));
  }
  SUBCASE("a product above the range and no state") {
    const auto h = scanned<State>(steps, State(0), [&](index_t t, State& a, State& b) {
      a = t < 900 ? State(16) : State(1);
      b = t < 900 ? State(0) : State(1);
    });
    CHECK(h(steps - 1, 0) == State(steps - 900));
  }
}

TEST_CASE_TEMPLATE("infinity and NaN pass through chunks that forget everything else", State, float,
                   double) {
  constexpr State inf = std::numeric_limits<State>::infinity();
  const std::vector<double> rates{0, 1e-3, 1, 200};
  constexpr index_t steps = 2048, channels = 4;
  for (const bool averages : {false, true})
    for (const State start : {inf, -inf, std::numeric_limits<State>::quiet_NaN()}) {
      ebb::array<State> b(steps, channels), h(steps, channels), initial(1, channels);
      for (index_t k = 0; k < channels; ++k) initial(0, k) = start;
      const ebb::sequences<State> where{.initial_states = initial.view()};
      const auto constant = ebb::constant_decay().bind(std::span<const double>(rates));
      const auto taper = ebb::post_taper::relative(4096).bind(std::span<const double>(rates));
      const auto check = [&](const auto& decay, index_t last) {
        ebb::array<State> right(steps, channels);
        ebb::scan(decay, b, right, where, {}, ebb::rows{});
        ebb::scan(decay, b, h, where, {}, cut_backwards<>());
        CHECK(ebb::test::same_bits(h, right));
        for (index_t k = 0; k <= last; ++k) CHECK(ebb::test::same_number(h(steps - 1, k), start));
      };
      // exp(-200) is no float: 0 times infinity is NaN.
      if (!averages) check(constant, 2), check(taper, 2);
      if (averages) check(ebb::normalised(constant), 0);
    }
}

TEST_CASE("a reset erases what came before its chunk") {
  constexpr index_t steps = 1000;
  const extents size{1, steps, 3};
  const auto logs = ebb::test::random_logs<float, time_major>(size, 3);
  std::vector<std::uint8_t> flags(steps);
  for (const direction order : {direction::forward, direction::reverse})
    for (index_t t = 0; t < steps; t += 37) {
      auto in = ebb::test::random_inputs<float, time_major>(size, 4);
      in(order == direction::forward ? 0 : steps - 1, 1) = std::numeric_limits<float>::quiet_NaN();
      std::fill(flags.begin(), flags.end(), std::uint8_t{0});
      flags[static_cast<std::size_t>(t)] = 1;
      ebb::array<float> h(size);
      ebb::scan(ebb::stored_logs(logs), in, h, ebb::sequences<float>{.resets = flags}, {order},
                cut_backwards<>());
      bool right = true;
      for (index_t i = 0; i < steps; ++i) {
        const bool lost = order == direction::forward ? i < t || t == 0 : i > t || t == steps - 1;
        right = right && std::isnan(h(i, 1)) == lost && !std::isnan(h(i, 0));
      }
      CHECK(right);
    }
}

TEST_CASE("products over many steps") {
  constexpr index_t steps = 9000;
  const auto check = [&]<class State, class Wide>(const auto& decay, State, Wide, index_t first) {
    const extents size{1, steps, 3};
    auto in = ebb::test::random_inputs<State, time_major>(size, 8);
    // Most steps without an input, so that old states stay in view.
    for (index_t t = 0; t < steps; ++t)
      for (index_t k = 0; k < 3; ++k) in(t, k) *= State(t % 1500 == 0);
    const ebb::sequences<State> where{.first_positions = {&first, 1}};
    for (const direction order : {direction::forward, direction::reverse}) {
      ebb::array<State> h(size);
      ebb::scan(decay, in, h, where, {order}, cut_backwards<>());
      const auto truth = ebb::test::truth_of<Wide>(decay, std::as_const(in).view(), where, order);
      ebb::test::check_bound<cut_backwards<>, State>(
          std::as_const(h).view(), truth,
          ebb::step_kind_of<std::remove_cvref_t<decltype(decay)>, State>, State(0));
    }
  };
  const std::vector<double> rates{0, 1e-5, 0.02};
  // Phases at which both components are smaller than the number.
  const std::vector<std::complex<double>> turning{{1e-7, 0.8}, {1e-5, 2.4}, {0.02, 1.1}};
  const auto turns = ebb::constant_decay().bind(std::span<const std::complex<double>>(turning));
  const auto constant = ebb::constant_decay().bind(std::span<const double>(rates));
  check(turns, std::complex<double>(), std::complex<long double>(), 1);
  check(turns, complex(), std::complex<long double>(), 1);
  check(constant, 0.0, 0.0L, 1);
  check(constant, 0.0f, 0.0L, 1);
  for (const index_t first : {index_t{1}, index_t{10000}, index_t{1} << 40}) {
    const auto taper = ebb::post_taper::relative(4096).bind(std::span<const double>(rates));
    check(taper, 0.0, 0.0L, first);
    check(taper, 0.0f, 0.0L, first);
    check(ebb::shifted_decay(taper, {0, 0, 0}), 0.0, 0.0L, first);  // which has no closed form
  }
}

TEST_CASE("one channel in rows of any distance") {
  constexpr index_t steps = 2000;
  const auto in = ebb::test::random_inputs<double, time_major>({2, steps, 3}, 5);
  const auto factors = ebb::test::random_factors<double, time_major>({2, steps, 3}, 6);
  const auto first = [](auto& values) { return values.view().channels_from(0, 1); };
  ebb::array<double> dense_in({2, steps, 1}), dense_factors({2, steps, 1});
  for (index_t b = 0; b < 2; ++b)
    for (index_t t = 0; t < steps; ++t)
      dense_in(b, t, 0) = in(b, t, 0), dense_factors(b, t, 0) = factors(b, t, 0);
  ebb::array<double> right({2, steps, 1}), h({2, steps, 1}), wide({2, steps, 3});
  ebb::scan(dense_factors, dense_in, right);
  const auto check = [&](const auto& a, const auto& b, auto&& out) {
    ebb::scan(a, b, out, cut_backwards<>(8));
    double worst = 0;
    for (index_t e = 0; e < 2; ++e)
      for (index_t t = 0; t < steps; ++t)
        worst = std::max(worst, std::abs(out(e, t, 0) - right(e, t, 0)));
    // |h| <= 30 or so, 2 u a step, of which the last thirty count.
    CHECK(worst < 1e-12);
    CHECK(right(1, steps - 1, 0) != 0);
  };
  check(dense_factors, dense_in, h);
  check(first(factors), dense_in, h);
  check(dense_factors, first(in), h);
  check(first(factors), first(in), first(wide));
}

}  // namespace
