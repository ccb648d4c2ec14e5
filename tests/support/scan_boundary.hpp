// SPDX-License-Identifier: Apache-2.0
/// @file   support/scan_boundary.hpp
/// @brief  Small inputs that break scans, each for a kind of fault, with the right values.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <ebb/recurrence/scan.hpp>

#include "support/scan_oracle.hpp"

namespace ebb::test {

/// Runs one backend on short one-channel problems, placed in the middle channel of several.
template <class Backend, class T, class Axis>
struct small_scans {
  static constexpr index_t channels = 3, middle = 1;

  /// A column of values in the middle channel; the others hold something else.
  static ebb::array<T, Axis> column(const std::vector<double>& values, double elsewhere) {
    ebb::array<T, Axis> result(static_cast<index_t>(values.size()), channels);
    for (index_t t = 0; t < result.steps(); ++t)
      for (index_t k = 0; k < channels; ++k)
        result(t, k) =
            static_cast<T>(k == middle ? values[static_cast<std::size_t>(t)] : elsewhere);
    return result;
  }

  /// The scan in pieces of `piece` steps (the last one shorter), state carried over.
  template <class Make>
  static std::vector<T> run(Make make, const std::vector<double>& a, const std::vector<double>& b,
                            double initial, direction order, index_t piece) {
    const auto decays = column(a, 0.5), in = column(b, 1);
    ebb::array<T, Axis> out(in.size());
    ebb::array<T> state(1, channels);
    state(0, middle) = static_cast<T>(initial);
    sequences<T> where{.initial_states = state.view(), .final_states = state.view()};
    for (index_t done = 0; done < in.steps(); done += piece) {
      const index_t count = std::min(piece, in.steps() - done);
      const index_t begin = order == direction::forward ? done : in.steps() - done - count;
      scan(make(decays.view().steps_from(begin, count)), in.view().steps_from(begin, count),
           out.view().steps_from(begin, count), where, {order}, Backend{});
    }
    std::vector<T> result;
    for (index_t t = 0; t < in.steps(); ++t) result.push_back(out(t, middle));
    const std::size_t last = order == direction::forward ? result.size() - 1 : 0;
    CHECK((result.empty() ? static_cast<T>(initial) : result[last]) == state(0, middle));
    return result;
  }

  /// Checks the expected outputs to `units` roundoffs of T, whole and in every size of pieces,
  /// forwards and, with everything turned round, in reverse.
  template <class Make>
  static void expect(Make make, std::vector<double> a, std::vector<double> b, double initial,
                     std::vector<double> right, double units) {
    for (const direction order : {direction::forward, direction::reverse}) {
      for (index_t piece = 1; piece <= static_cast<index_t>(b.size()); ++piece) {
        INFO("reverse: " << (order == direction::reverse) << ", pieces of " << piece);
        const auto got = run(make, a, b, initial, order, piece);
        for (std::size_t t = 0; t < right.size(); ++t) {
          INFO("t = " << t);
          const double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
          const double error = std::abs(static_cast<double>(got[t]) - right[t]);
          CHECK(
              (static_cast<double>(got[t]) == right[t] || error <= units * u * std::abs(right[t])));
        }
      }
      std::reverse(a.begin(), a.end());
      std::reverse(b.begin(), b.end());
      std::reverse(right.begin(), right.end());
    }
  }
};

inline std::vector<double> ones(std::size_t count) { return std::vector<double>(count, 1.0); }

/// Every kind that concerns a plain scan, on few steps.
template <class Backend, class T, class Axis>
void check_short_boundary_cases() {
  using run = small_scans<Backend, T, Axis>;
  const auto factors = [](const auto& view) { return stored_factors(view); };
  const auto logs = [](const auto& view) { return stored_logs(view); };
  const double inf = std::numeric_limits<double>::infinity(), ln_half = -0.69314718055994531;
  // Roundoffs of the result: 5 a step, as derived, plus the rounding of log a to T where it is not
  // exact, at most |log a| u a step.

  SUBCASE("huge log-decays between small ones: no prefix sums, no exp of a positive number") {
    run::expect(logs, {-1.6e9, 0, 0, 0, -40, -40, -80, 0}, ones(8), 0, {1, 2, 3, 4, 1, 1, 1, 2},
                40);
  }
  SUBCASE("a huge log-decay does not swallow later small ones") {
    run::expect(logs, {-1e8, -3, -3, -3}, ones(4), 0,
                {1, 1.049787068367864, 1.0522658205445303, 1.052389230348617}, 20);
  }
  SUBCASE("a reset by a very negative log-decay does not leak") {
    run::expect(logs, {ln_half, ln_half, -3.4e37, ln_half}, ones(4), 0, {1, 1.5, 1, 1.5}, 24);
  }
  SUBCASE("a = 0 and log a = -inf are exact") {
    run::expect(factors, {1, 0, .5}, {1, 2, 3}, 0, {1, 2, 4}, 0);
    run::expect(logs, {0, -inf, 0}, {1, 2, 3}, 0, {1, 2, 5}, 0);
    run::expect(logs, {0, -inf, 0}, {1, 2, 3}, 1e30, {1e30, 2, 5}, 4);
  }
  SUBCASE("no division by a cumulative product") {
    std::vector<double> right(64, 0), a(64, .01);
    double h = 0;
    for (double& r : right) r = h = .01 * h + 1;
    CHECK(right[63] == doctest::Approx(1.0101010101).epsilon(1e-11));
    run::expect(factors, a, ones(64), 0, right, 2 * 64 + 64);  // .01 itself is rounded
  }
  SUBCASE("a suffix sum is not total minus prefix") {
    const auto got =
        run::run(factors, ones(8), {1e8, 1e8, 1e8, 1e8, 1, 1, 1, 1}, 0, direction::reverse, 8);
    CHECK(std::vector<T>(got.begin() + 4, got.end()) == std::vector<T>{4, 3, 2, 1});
  }
  SUBCASE("the operator's order: exact integers") {
    run::expect(factors, {2, 3, 5}, ones(3), 0, {1, 4, 21}, 0);
    const auto back = run::run(factors, {2, 3, 5}, ones(3), 0, direction::reverse, 3);
    CHECK(back == std::vector<T>{9, 4, 1});
    for (std::size_t length = 1; length <= 130; ++length) {
      draws random(length);
      std::vector<double> a, b, right;
      double product = 1, h = 0;
      for (std::size_t t = 0; t < length; ++t) {
        static constexpr double values[] = {1, -1, 2, .5};
        double next = values[random.integer(0, 3)];
        if (std::abs(product * next) > 256 || std::abs(product * next) < 1.0 / 256) next = 1;
        product *= next;
        a.push_back(next);
        b.push_back(static_cast<double>(random.integer(-4, 4)));
        // Running products stay in [2^-8, 2^8], so all states are multiples of 2^-16 below 2^8:
        // exact in float as in double wherever this is.
        h = next * h + b.back();
        right.push_back(h);
      }
      const auto got =
          run::run(factors, a, b, 0, direction::forward, static_cast<index_t>(1 + length / 3));
      bool exact = true;
      for (std::size_t t = 0; t < length; ++t) exact = exact && got[t] == static_cast<T>(right[t]);
      CHECK(exact);
    }
  }
  SUBCASE("reverse direction") {
    const auto got = run::run(factors, std::vector<double>(9, .5), {1, 2, 3, 4, 5, 6, 7, 8, 9}, 0,
                              direction::reverse, 4);
    CHECK(got == std::vector<T>{T(3.95703125), T(5.9140625), T(7.828125), T(9.65625), T(11.3125),
                                T(12.625), T(13.25), T(12.5), 9});
  }
  SUBCASE("the initial state enters once") {
    run::expect(factors, ones(4), ones(4), 100, {101, 102, 103, 104}, 0);
    run::expect(factors, {.5, .5, .5}, ones(3), 4, {3, 2.5, 2.25}, 0);
    run::expect(logs, {0, 0, 0, 0}, ones(4), 100, {101, 102, 103, 104}, 0);
  }
  SUBCASE("sequences of lengths 3 and 5 keep apart") {
    ebb::array<T, Axis> a(8, 2), in(8, 2), out(8, 2);
    ebb::array<T> initial(2, 2), last(2, 2);
    for (index_t i = 0; i < 16; ++i) a.data()[i] = T(.5);
    initial(0, 0) = initial(0, 1) = 8;
    initial(1, 0) = initial(1, 1) = 32;
    const std::vector<index_t> offsets{0, 3, 8};
    sequences<T> where{
        .offsets = offsets, .initial_states = initial.view(), .final_states = last.view()};
    scan(a, in, out, where, {}, Backend{});
    const T right[] = {4, 2, 1, 16, 8, 4, 2, 1};
    for (index_t t = 0; t < 8; ++t) CHECK(out(t, 1) == right[t]);
    CHECK(last(0, 1) == 1);
    CHECK(last(1, 1) == 1);
  }
  SUBCASE("padding after the real steps: outputs and final state are those of the real ones") {
    ebb::array<T, Axis> a(4, 1), in(4, 1), out(4, 1);
    ebb::array<T> last(1, 1);
    for (index_t t = 0; t < 4; ++t) a(t, 0) = T(.5), in(t, 0) = 1, out(t, 0) = -9;
    const std::vector<index_t> real{0, 2};
    sequences<T> where{.offsets = real, .final_states = last.view()};
    scan(a, in, out, where, {}, Backend{});
    CHECK(last(0, 0) == T(1.5));
    CHECK(out(1, 0) == T(1.5));
    CHECK(out(2, 0) == T(-9));
    scan(a, in, out, where, {direction::reverse}, Backend{});
    CHECK(last(0, 0) == T(1.5));
    CHECK(out(0, 0) == T(1.5));
    CHECK(out(2, 0) == T(-9));
    // The neutral padding (1, 0) changes nothing either.
    a(2, 0) = a(3, 0) = 1;
    in(2, 0) = in(3, 0) = 0;
    scan(a, in, out, sequences<T>{.final_states = last.view()}, {}, Backend{});
    CHECK(last(0, 0) == T(1.5));
  }
  SUBCASE("empty sequences in a pack") {
    ebb::array<T, Axis> a(2, 1), in(2, 1), out(2, 1);
    for (index_t t = 0; t < 2; ++t) a(t, 0) = T(.5), in(t, 0) = 1;
    ebb::array<T> state(3, 1);
    state(0, 0) = 7;
    state(2, 0) = 9;
    const std::vector<index_t> offsets{0, 0, 2, 2}, nothing{0, 0, 0, 0};
    sequences<T> where{
        .offsets = offsets, .initial_states = state.view(), .final_states = state.view()};
    scan(a, in, out, where, {}, Backend{});
    CHECK(out(0, 0) == 1);
    CHECK(out(1, 0) == T(1.5));
    CHECK(std::vector<T>(state.data(), state.data() + 3) == std::vector<T>{7, T(1.5), 9});
    where.offsets = nothing;
    scan(a, in, out, where, {}, Backend{});
    CHECK(std::vector<T>(state.data(), state.data() + 3) == std::vector<T>{7, T(1.5), 9});
  }
  SUBCASE("strides: every third") {
    const std::vector<T> memory{1, 9, 9, 1, 9, 9, 1}, half{T(.5)};
    std::vector<T> result(7, T(-1));
    const strided_view<const T> in(memory.data(), {1, 3, 1}, {0, 3});
    const strided_view<const T> a(half.data(), {1, 3, 1}, {0, 0});
    scan(a, in, strided_view<T>(result.data(), {1, 3, 1}, {0, 3}), Backend{});
    CHECK(result == std::vector<T>{1, -1, -1, T(1.5), -1, -1, T(1.75)});
    // Backwards through memory, with a negative stride.
    scan(a, in, strided_view<T>(result.data() + 6, {1, 3, 1}, {0, -3}), Backend{});
    CHECK(result == std::vector<T>{T(1.75), -1, -1, T(1.5), -1, -1, 1});
  }
  SUBCASE("overflow stays where it belongs") {
    const double big = static_cast<double>(std::numeric_limits<T>::max()) * 0.5625;
    for (const double log_decay : {0.0, -1e-30}) {
      const auto got = run::run(logs, std::vector<double>(3, log_decay), {big, big, 1}, 0,
                                direction::forward, 3);
      const T inf_t = std::numeric_limits<T>::infinity();
      CHECK(got == std::vector<T>{static_cast<T>(big), inf_t, inf_t});
    }
    const auto got = run::run(factors, ones(3), {big, big, 1}, 0, direction::forward, 3);
    CHECK(got[2] == std::numeric_limits<T>::infinity());
  }
  SUBCASE("a log-decay above 0 grows, as written") {
    run::expect(logs, {0.5, 0.5}, ones(2), 0, {1, 2.6487212707001282}, 20);
  }
}

/// On up to a million steps.
template <class Backend, class T, class Axis>
void check_long_boundary_cases() {
  SUBCASE("a million steps of b = 0.1f: within the bound of the exact sum") {
    const index_t steps = 1000000;
    const T tenth = static_cast<T>(0.1f), one = 1;
    std::vector<T> h(1);
    ebb::array<T> state(1, 1);
    // Zero strides everywhere but in the output, which is not kept either: a piece at a time.
    ebb::array<T, Axis> out(1000, 1);
    sequences<T> where{.initial_states = state.view(), .final_states = state.view()};
    for (index_t done = 0; done < steps; done += 1000)
      scan(strided_view<const T>(&one, {1, 1000, 1}, {0, 0}),
           strided_view<const T>(&tenth, {1, 1000, 1}, {0, 0}), out, where, {}, Backend{});
    const double exact = 1e6 * static_cast<double>(0.1f);  // 100000.00149...
    const double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
    const double n = roundings<Backend>(1000, {decay_form::factor}) * 1000 + 1000;
    CHECK(std::abs(static_cast<double>(state(0, 0)) - exact) <= n * u * exact);
  }
  SUBCASE("a decaying state fades through the subnormals without trouble") {
    const index_t steps = 20000;
    const std::vector<T> log_decay{static_cast<T>(-0.01005033585)}, nothing{0};
    ebb::array<T, Axis> out(steps, 1);
    ebb::array<T> one(1, 1);
    one(0, 0) = 1;
    scan(stored_logs(strided_view<const T>(log_decay.data(), {1, steps, 1}, {0, 0})),
         strided_view<const T>(nothing.data(), {1, steps, 1}, {0, 0}), out,
         sequences<T>{.initial_states = one.view()}, {}, Backend{});
    // Each step rounds to a multiple of the smallest subnormal d, so what is left over is at most
    // the sum of all such roundings, d / (1 - a).
    const double d = static_cast<double>(std::numeric_limits<T>::denorm_min());
    bool right = true;
    for (index_t t = 0; t < steps; ++t) {
      const auto truth = static_cast<double>(
          std::exp(static_cast<long double>(log_decay[0]) * static_cast<long double>(t + 1)));
      const double n = roundings<Backend>(t + 1, {decay_form::log_factor});
      const double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
      right = right && std::abs(double(out(t, 0)) - truth) <= (n + 4) * u * truth + 101 * d;
    }
    CHECK(right);
    CHECK(double(out(steps - 1, 0)) <= 101 * d + 1e-80);
  }
  SUBCASE("a slow decay keeps its timescale in float") {
    // After 1 / r steps the state is 1 / e. With the decay rounded to float it would be 1.3 %
    // off (0.36268); what remains are unbiased roundings, a tenth of that at the very most.
    const index_t steps = 1000000, piece = 1000;
    const T rate = static_cast<T>(-1e-6), nothing = 0;
    ebb::array<T, Axis> out(piece, 1);
    ebb::array<T> state(1, 1);
    state(0, 0) = 1;
    sequences<T> where{.initial_states = state.view(), .final_states = state.view()};
    for (index_t done = 0; done < steps; done += piece)
      scan(stored_logs(strided_view<const T>(&rate, {1, piece, 1}, {0, 0})),
           strided_view<const T>(&nothing, {1, piece, 1}, {0, 0}), out, where, {}, Backend{});
    CHECK(std::abs(double(state(0, 0)) - 0.36787944117) < 0.0005);
  }
}

template <class Backend, class T, class Axis>
void check_boundary_cases() {
  check_short_boundary_cases<Backend, T, Axis>();
  check_long_boundary_cases<Backend, T, Axis>();
}

/// The state's type may be wider than the data's.
template <class Backend>
void check_wide_state() {
  // a = 1, h_0 = 1, b = 0.001: 1000 steps in float drift, a double state does not.
  const float one = 1, b = 0.001f;
  ebb::array<float> out(1000, 1);
  ebb::array<double> state(1, 1);
  state(0, 0) = 1;
  sequences<double> where{.initial_states = state.view(), .final_states = state.view()};
  scan(strided_view<const float>(&one, {1, 1000, 1}, {0, 0}),
       strided_view<const float>(&b, {1, 1000, 1}, {0, 0}), out, where, {}, Backend{});
  const double exact = 1 + 1000 * static_cast<double>(b);
  CHECK(std::abs(state(0, 0) - exact) <= 2000 * 0x1p-53 * exact);
  CHECK(out(999, 0) == static_cast<float>(state(0, 0)));
  // And in float alone still within 1e-4.
  ebb::array<float> narrow(1, 1);
  narrow(0, 0) = 1;
  scan(strided_view<const float>(&one, {1, 1000, 1}, {0, 0}),
       strided_view<const float>(&b, {1, 1000, 1}, {0, 0}), out,
       sequences<float>{.initial_states = narrow.view()}, {}, Backend{});
  CHECK(std::abs(out(999, 0) - 2.0) < 1e-4);
  // With data in bfloat16 the state stays float: 0.001 is stored as 0.00099945, but a state in
  // bfloat16 would stay at 1, whose neighbour is 1.0078.
  const bfloat16 small(0.001);
  ebb::array<bfloat16> stored(1000, 1);
  ebb::array<float> kept(1, 1);
  scan(strided_view<const float>(&one, {1, 1000, 1}, {0, 0}),
       strided_view<const bfloat16>(&small, {1, 1000, 1}, {0, 0}), stored,
       sequences<float>{.initial_states = narrow.view(), .final_states = kept.view()}, {},
       Backend{});
  CHECK(std::abs(kept(0, 0) - (1 + 1000 * static_cast<double>(static_cast<float>(small)))) < 1e-4);
  CHECK(static_cast<float>(stored(999, 0)) == 2.0f);  // 1.99945 to 8 digits
}

}  // namespace ebb::test
