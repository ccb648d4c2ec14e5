// SPDX-License-Identifier: Apache-2.0
// The way back over many tiles, exactly: decays of 1 and -1 and whole numbers, against the
// definition step by step; gradients that are added up; refusals.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <ebb/decay/sigmoid_gate.hpp>

#include "cuda_scan/exact.hpp"
#include "support/emulated_vjp.hpp"

namespace {

namespace emulator = ebb::test::emulator;
using ebb::channel_major;
using ebb::direction;
using ebb::extents;
using ebb::index_t;
using ebb::strided_view;
using ebb::time_major;
using ebb::test::integers;

using crowd = ebb::test::emulated_scan<ebb::test::small_tiles, false, 48>;
using shipped = ebb::test::emulated_scan<ebb::test::shipped_tiles, false, 2>;

/// Gradients of factors: of inputs, factors and initial states.
template <class Axis>
struct gradients {
  ebb::array<float, Axis> inputs, factors;
  ebb::array<float> initial;
  gradients(const extents& size, const extents& states)
      : inputs(size), factors(size), initial(states) {}
};

/// By the definition, in whole numbers.
template <class Axis>
void go_back(const ebb::array<float, Axis>& a, const ebb::array<float, Axis>& h,
             const ebb::array<float, Axis>& dh, const ebb::array<float>& last,
             const ebb::sequences<float>& where, direction order, gradients<Axis>& to) {
  for (index_t b = 0; b < a.batches(); ++b)
    for (index_t s = 0; s < where.count(); ++s)
      for (index_t k = 0; k < a.channels(); ++k) {
        const index_t begin = where.begin(s), end = where.end(s, a.steps());
        float q = last(b, s, k);
        for (index_t i = end - begin; i-- > 0;) {
          const index_t t = order == direction::forward ? begin + i : end - 1 - i;
          const index_t before = order == direction::forward ? t - 1 : t + 1;
          const float g = dh(b, t, k) + q;
          const bool reset = where.resets_at(b, t, a.steps());
          to.inputs(b, t, k) = g;
          to.factors(b, t, k) = reset    ? 0
                                : i == 0 ? g * where.initial_states(b, s, k)
                                         : g * h(b, before, k);
          q = reset ? 0 : a(b, t, k) * g;
        }
        to.initial(b, s, k) = q;
      }
}

/// 0 may be -0.
template <class Array>
bool equal(const Array& one, const Array& two) {
  const auto last = one.data() + one.batches() * one.steps() * one.channels();
  return std::equal(one.data(), last, two.data());
}

template <class Backend, class Axis>
void check(const extents& size, std::vector<index_t> offsets, bool resets, std::uint64_t seed) {
  const index_t count = offsets.empty() ? 1 : static_cast<index_t>(offsets.size()) - 1;
  const extents states{size.batches, count, size.channels};
  const auto a = integers<Axis>(size, seed, true), in = integers<Axis>(size, seed + 1, false);
  const auto dh = integers<Axis>(size, seed + 2, false);
  const auto start = integers<time_major>(states, seed + 3, false);
  const auto last = integers<time_major>(states, seed + 4, false);
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(size.batches * size.steps));
  ebb::test::draws random(seed + 5);
  for (auto& flag : flags) flag = resets && random.integer(0, 150) == 0;
  ebb::sequences<float> where{.offsets = offsets, .initial_states = start.view()};
  if (resets) where.resets = flags;
  for (const direction order : {direction::forward, direction::reverse}) {
    ebb::array<float, Axis> h(size);
    ebb::scan(a, in, h, where, {order});
    gradients<Axis> right(size, states), got(size, states);
    go_back(a, h, dh, last, where, order, right);
    const auto decay = ebb::stored_factors(a);
    typename decltype(decay)::gradients sums{got.factors.view()};
    ebb::scan_gradients<float, decltype(sums), float, Axis> asked{got.inputs.view(),
                                                                  got.initial.view(), &sums};
    const ebb::scan_cotangents<float, float, Axis> known{dh.view(), last.view(), {}};
    ebb::scan_vjp(decay, in, h, known, asked, where, {order}, Backend{});
    CHECK(equal(got.inputs, right.inputs));
    CHECK(equal(got.initial, right.initial));
    CHECK(equal(got.factors, right.factors));

    // The gradients of factors alone, and without cotangents of outputs.
    gradients<Axis> alone(size, states), silent(size, states);
    go_back(a, h, ebb::array<float, Axis>(size), last, where, order, silent);
    typename decltype(decay)::gradients only{alone.factors.view()};
    ebb::scan_vjp(decay, in, h,
                  ebb::scan_cotangents<float, float, Axis>{.final_states = last.view()},
                  ebb::scan_gradients<float, decltype(only), float, Axis>{.decay = &only}, where,
                  {order}, Backend{});
    CHECK(equal(alone.factors, silent.factors));
  }
}

TEST_CASE("more than 32 tiles, 48 of them at once, in every order") {
  for (const auto& how : emulator::schedules(7)) {
    if (how.switch_at_accesses) continue;
    crowd::shared_launcher() = crowd::make_launcher(how);
    check<crowd, time_major>({1, 4 * 34 + 3, 2}, {}, false, 20);
  }
  check<crowd, channel_major>({1, 256 * 34 + 3, 1}, {}, false, 21);
}

TEST_CASE("packed sequences and resets over many tiles") {
  crowd::shared_launcher() = crowd::make_launcher({});
  check<crowd, time_major>({2, 140, 2}, {1, 1, 40, 43, 139, 139}, true, 30);
  check<crowd, channel_major>({1, 256 * 5, 2}, {0, 255, 256, 257, 1280}, true, 31);
}

TEST_CASE("tiles as they are shipped, and switches at every access") {
  check<shipped, time_major>({1, 300, 132}, {}, false, 50);
  check<shipped, channel_major>({1, 4096 + 4, 2}, {0, 4000, 4100}, true, 52);
  for (const auto& how : emulator::schedules(9)) {
    if (!how.switch_at_accesses) continue;
    using few = ebb::test::emulated_scan<ebb::test::small_tiles, false, 3>;
    few::shared_launcher() = few::make_launcher(how);
    check<few, time_major>({1, 19, 5}, {}, true, 40);
    check<few, channel_major>({2, 256 * 2 - 1, 1}, {}, false, 41);
  }
}

// A reset lets nothing through, and has no gradient of its decay, whatever there is.
TEST_CASE_TEMPLATE("infinite cotangents at a reset", Axis, time_major, channel_major) {
  const extents size{1, 6, 1};
  const float inf = std::numeric_limits<float>::infinity();
  ebb::array<float, Axis> a(size), h(size), dh(size), inputs(size), factors(size);
  ebb::array<float> initial(1, 1);
  for (index_t t = 0; t < 6; ++t) a(0, t, 0) = 1, h(0, t, 0) = 2, dh(0, t, 0) = t == 3 ? inf : 1.0f;
  const std::vector<std::uint8_t> resets{0, 0, 0, 1, 0, 0};
  const auto decay = ebb::stored_factors(a);
  typename decltype(decay)::gradients sums{factors.view()};
  ebb::scan_vjp(
      decay, h, h, ebb::scan_cotangents<float, float, Axis>{.outputs = dh.view()},
      ebb::scan_gradients<float, decltype(sums), float, Axis>{inputs.view(), initial.view(), &sums},
      ebb::sequences<float>{.resets = resets}, {}, crowd{});
  CHECK(initial(0, 0) == 3);
  CHECK(inputs(0, 2, 0) == 1);
  CHECK(inputs(0, 3, 0) == inf);
  CHECK(factors(0, 3, 0) == 0);
  CHECK(factors(0, 2, 0) == 2);
}

// A zero stride adds up what it repeats: over batch entries, steps, channels.
TEST_CASE_TEMPLATE("stored decays that repeat", Axis, time_major, channel_major) {
  constexpr bool rows_are_steps = std::is_same_v<Axis, time_major>;
  const extents size{3, 20, 5};
  const auto in = integers<Axis>(size, 60, false), dh = integers<Axis>(size, 61, false);
  const auto start = integers<time_major>({3, 1, 5}, 62, false);
  const ebb::sequences<float> where{.initial_states = start.view()};
  const ebb::array<float> none(extents{3, 1, 5});
  const index_t row = rows_are_steps ? 5 : 20, rows = rows_are_steps ? 20 : 5;
  for (const bool over_batches : {false, true})
    for (const bool over_rows : {false, true}) {
      if (!over_batches && !over_rows) continue;
      const index_t by_batch = over_batches ? 0 : over_rows ? row : row * rows;
      const index_t by_row = over_rows ? 0 : row;
      const auto memory = integers<time_major>({1, 1, 300}, 63, true);
      const strided_view<const float, Axis> a(memory.data(), size, {by_batch, by_row});
      ebb::array<float, Axis> full(size), h(size);
      for (index_t b = 0; b < 3; ++b)
        for (index_t t = 0; t < 20; ++t)
          for (index_t k = 0; k < 5; ++k) full(b, t, k) = a(b, t, k);
      ebb::scan(full, in, h, where);
      gradients<Axis> right(size, none.size());
      go_back(full, h, dh, none, where, direction::forward, right);
      std::vector<float> got(300, 10), sum(300, 10);
      const strided_view<float, Axis> sum_view(sum.data(), size, {by_batch, by_row});
      for (index_t b = 0; b < 3; ++b)
        for (index_t t = 0; t < 20; ++t)
          for (index_t k = 0; k < 5; ++k) sum_view(b, t, k) += right.factors(b, t, k);
      const auto decay = ebb::stored_factors(a);
      typename decltype(decay)::gradients sums{{got.data(), size, {by_batch, by_row}}};
      ebb::scan_vjp(decay, in, h, ebb::scan_cotangents<float, float, Axis>{.outputs = dh.view()},
                    ebb::scan_gradients<float, decltype(sums), float, Axis>{.decay = &sums}, where,
                    {}, crowd{});
      CHECK(got == sum);
    }
}

template <class Call>
std::string refusal(const Call& call) {
  const index_t before = crowd::shared_launcher().launches();
  std::string got = "nothing thrown";
  try {
    call();
  } catch (const std::exception& error) {
    got = error.what();
  }
  CHECK(crowd::shared_launcher().launches() == before);
  return got;
}

/// A decay whose parameters' gradients no kernel makes.
template <class Decay>
struct foreign : Decay {
  explicit foreign(const Decay& decay) : Decay(decay) {}
};

}  // namespace

template <class Decay, class State>
struct ebb::detail::gpu::gate_maker<foreign<Decay>, State> : gate_maker<Decay, State> {};

namespace {

TEST_CASE("what is not made on a device is refused before anything is launched") {
  const extents size{1, 4, 3};
  ebb::array<float> in(size), out(size), given(size), inputs(size);
  const std::vector<double> rates{1, 2, 3};
  const foreign decay(ebb::constant_decay().bind(std::span<const double>(rates)));
  std::vector<double> d_rates(3);
  typename decltype(decay)::gradients sums{d_rates};
  using asked = ebb::scan_gradients<float, decltype(sums)>;
  const ebb::scan_cotangents<float> known{.outputs = given.view()};
  CHECK(refusal([&] {
          ebb::scan_vjp(decay, in, out, known, asked{.inputs = inputs.view(), .decay = &sums}, {},
                        {}, crowd{});
        }).substr(0, 60) == "ebb::cuda: no kernel makes the gradients of this decay's par");
  ebb::scan_vjp(decay, in, out, known, asked{.inputs = inputs.view()}, {}, {}, crowd{});

  // Rows that overlap, but do not repeat.
  std::vector<float> memory(20);
  const auto stored = ebb::stored_factors(in);
  typename decltype(stored)::gradients overlapping{{memory.data(), size, {0, 2}}};
  CHECK(refusal([&] {
          ebb::scan_vjp(stored, in, out, known,
                        ebb::scan_gradients<float, decltype(overlapping)>{.decay = &overlapping},
                        {}, {}, crowd{});
        }).substr(0, 60) == "ebb::cuda: need gradients of a decay's array that repeat alo");
}

TEST_CASE("nothing asked, nothing there: nothing is launched") {
  const extents size{1, 4, 3};
  ebb::array<float> a(size), empty(extents{0, 4, 3});
  const index_t before = crowd::shared_launcher().launches();
  ebb::scan_vjp(a, a, a, ebb::scan_cotangents<float>{.outputs = a.view()},
                ebb::scan_gradients<float>{}, {}, {}, crowd{});
  ebb::scan_vjp(empty, empty, empty, ebb::scan_cotangents<float>{.outputs = empty.view()},
                ebb::scan_gradients<float>{.inputs = empty.view()}, {}, {}, crowd{});
  CHECK(crowd::shared_launcher().launches() == before);
}

// Sums in an order of their own: the schedule changes no bit.
TEST_CASE_TEMPLATE("the same bits whatever the order of threads", Axis, time_major, channel_major) {
  const extents size{1, 140, 5};  // more than a chunk of the sums
  const auto in = ebb::test::random_inputs<float, Axis>(size, 1);
  const auto given = ebb::test::random_inputs<float, Axis>(size, 2);
  const std::vector<double> rates{0.001, 0.01, 0.03, 0.1, 0.5};
  const auto decay = ebb::post_taper::absolute().bind(std::span<const double>(rates));
  ebb::array<float, Axis> out(size);
  ebb::scan(decay, in, out);
  std::vector<double> first, first_alpha;
  for (const auto& how : emulator::schedules(11)) {
    if (how.switch_at_accesses) continue;
    crowd::shared_launcher() = crowd::make_launcher(how);
    std::vector<double> d_rates(5), d_alpha(5);
    typename decltype(decay)::gradients sums{d_rates, d_alpha};
    ebb::scan_vjp(decay, in, out, ebb::scan_cotangents<float, float, Axis>{.outputs = given.view()},
                  ebb::scan_gradients<float, decltype(sums), float, Axis>{.decay = &sums}, {}, {},
                  crowd{});
    if (first.empty()) first = d_rates, first_alpha = d_alpha;
    CHECK(first == d_rates);
    CHECK(first_alpha == d_alpha);
  }
  CHECK(std::abs(first[2]) > 0.01);
}

}  // namespace
