// SPDX-License-Identifier: Apache-2.0
// The layer: whole sequences, pieces, steps, rollback; and a user's own parts in it.
#include <doctest/doctest.h>

#include <cmath>
#include <utility>
#include <vector>

#include <ebb/decay/constant.hpp>
#include <ebb/decay/irregular.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/recurrence/backend/reference.hpp>
#include <ebb/recurrence/layer.hpp>
#include <ebb/spectrum/geometric.hpp>
#include <ebb/spectrum/listed.hpp>

#include "support/scan_contract.hpp"

namespace {

using ebb::array;
using ebb::index_t;
using ebb::test::same_bits;

TEST_CASE_TEMPLATE("prefill, pieces and steps give the same bits", Real, float, double) {
  const index_t steps = 100, channels = 24;
  const auto memory = ebb::make_layer<Real>(ebb::geometric_spectrum::timescales(1, 4096),
                                            ebb::post_taper::relative(4096), channels, ebb::rows{});
  const auto b = ebb::test::random_inputs<Real, ebb::time_major>({1, steps, channels}, 1);
  array<Real> whole(steps, channels), pieces(steps, channels);
  memory(b, whole);

  auto state = memory.start();
  memory(b.view().steps_from(0, 37), pieces.view().steps_from(0, 37), state);
  CHECK(state.next_position == 38);
  for (index_t t = 37; t < 60; ++t) {
    memory.step(std::span<const Real>(&b(t, 0), channels), state);
    for (index_t k = 0; k < channels; ++k) pieces(t, k) = state.values[static_cast<std::size_t>(k)];
  }
  const auto saved = state;  // four steps drafted, none accepted
  for (index_t t = 0; t < 4; ++t) memory.step(std::span<const Real>(&b(t, 0), channels), state);
  CHECK(state.values != saved.values);
  state = saved;
  memory(b.view().steps_from(60, 40), pieces.view().steps_from(60, 40), state);
  CHECK(state.next_position == 101);
  CHECK(same_bits(whole, pieces));
  for (index_t k = 0; k < channels; ++k)
    CHECK(state.values[static_cast<std::size_t>(k)] == whole(steps - 1, k));
}

TEST_CASE("rollback: two of four drafted steps accepted") {
  const auto memory =
      ebb::make_layer<double>(ebb::listed_spectrum::half_lives({1}), ebb::constant_decay(), 1);
  auto state = memory.start();
  std::vector<ebb::layer_state<double>> snapshots{state};
  for (int t = 0; t < 4; ++t) {
    memory.step(std::vector<double>{1}, state);
    snapshots.push_back(state);
  }
  CHECK(snapshots[2].values[0] == doctest::Approx(1.5).epsilon(1e-15));
  CHECK(snapshots[0].values[0] == 0);
  CHECK(snapshots[2].next_position == 3);
}

TEST_CASE("a layer is the scan with its bound decay, and agrees with the reference") {
  const ebb::extents size{2, 65, 12};
  const auto spectrum = ebb::geometric_spectrum::extended(1e4, 2, 1);
  const auto taper = ebb::post_taper::relative(1e4).with_offset(30);
  const auto memory = ebb::make_layer<float>(spectrum, taper, 12, ebb::rows{});
  const auto oracle = ebb::make_layer<float>(spectrum, taper, 12, ebb::reference{});
  const auto b = ebb::test::random_inputs<float, ebb::time_major>(size, 2);
  array<float> by_layer(size), by_scan(size), by_oracle(size);
  memory(b, by_layer);
  const auto rates = ebb::rates_of<double>(spectrum, 12);
  ebb::scan(taper.bind(std::span<const double>(rates)), b, by_scan);
  CHECK(same_bits(by_layer, by_scan));
  oracle(b, by_oracle);
  const auto truth = ebb::test::truth_of<long double>(
      memory.decay(), b.view(), ebb::sequences<float>{}, ebb::direction::forward);
  ebb::test::check_bound<ebb::rows, float>(std::as_const(by_layer).view(), truth,
                                           {ebb::decay_form::log_factor}, 0.0f);
  ebb::test::check_bound<ebb::reference, float>(std::as_const(by_oracle).view(), truth,
                                                {ebb::decay_form::log_factor}, 0.0f);
}

TEST_CASE("an impulse decays as the closed form says") {
  const index_t steps = 3000;
  const auto memory = ebb::make_layer<double>(ebb::geometric_spectrum::timescales(1, 512),
                                              ebb::post_taper::relative(512), 6);
  array<double> b(steps, 6), h(steps, 6);
  const index_t impulse = 700;
  for (index_t k = 0; k < 6; ++k) b(impulse - 1, k) = 1;
  memory(b, h);
  for (const index_t t : {impulse, impulse + 1, impulse + 100, steps})
    for (index_t k = 0; k < 6; ++k) {
      // 6 roundoffs a step, plus those of each decay (below 100) times the log of the result.
      const double expected = memory.decay().impulse_response(k, t, impulse);
      const double log_response = memory.decay().log_impulse_response(k, t, impulse);
      const double n = 6.0 * double(t - impulse) - 200 * log_response;
      CHECK(std::abs(h(t - 1, k) - expected) <= n * 0x1p-53 * expected + 1e-300);
    }
}

TEST_CASE("sequences and the reverse direction through a layer") {
  const auto memory =
      ebb::make_layer<double>(ebb::listed_spectrum::half_lives({1}), ebb::constant_decay(), 1);
  array<double> b(4, 1), h(4, 1), last(2, 1);
  for (index_t t = 0; t < 4; ++t) b(t, 0) = double(t + 1);
  const std::vector<index_t> offsets{0, 1, 4};
  memory(b, h, ebb::sequences<double>{.offsets = offsets, .final_states = last.view()},
         {ebb::direction::reverse});
  CHECK(h(0, 0) == 1);
  CHECK(h(3, 0) == 4);
  CHECK(h(1, 0) == doctest::Approx(2 + 0.5 * (3 + 0.5 * 4)).epsilon(1e-15));
  CHECK(last(1, 0) == h(1, 0));

  // Without sequences the options may stand alone.
  array<double> turned(4, 1);
  ebb::scan(memory.decay(), b, turned, {ebb::direction::reverse});
  CHECK(turned(3, 0) == 4);
  CHECK(turned(0, 0) == doctest::Approx(1 + 0.5 * h(1, 0)).epsilon(1e-15));

  // And a backend behind the sequences, without options.
  array<double> whole(4, 1), exact(4, 1), end(1, 1);
  memory(b, whole);
  ebb::scan(memory.decay(), b, exact, ebb::sequences<double>{.final_states = end.view()},
            ebb::reference{});
  CHECK(exact(3, 0) == doctest::Approx(whole(3, 0)).epsilon(1e-15));
  CHECK(end(0, 0) == exact(3, 0));
  // As a scan does, a step takes factors as they are.
  const array<double> factors(1, 1);
  std::vector<double> next{7};
  ebb::step(factors, 1, std::vector<double>{2}, std::span<double>(next));
  CHECK(next[0] == 2);
  CHECK_THROWS_AS(
      ebb::step(array<double>(2, 1), 1, std::vector<double>{2}, std::span<double>(next)),
      ebb::shape_error);
}

TEST_CASE("intervals that come with the data: prefill, then steps, give the bits of the whole") {
  const index_t steps = 30, cut = 18, channels = 7;
  const auto b = ebb::test::random_inputs<float, ebb::time_major>({1, steps, channels}, 3);
  array<float> dt(steps, 1), whole(steps, channels), h(cut, channels);
  for (index_t t = 0; t < steps; ++t) dt(t, 0) = static_cast<float>(t % 5) / 4;
  const auto spectrum = ebb::geometric_spectrum::timescales(1, 50);
  ebb::make_layer<float>(spectrum, ebb::irregular_decay(dt), channels)(b, whole);

  const ebb::irregular_decay first(dt.view().steps_from(0, cut));
  auto memory = ebb::make_layer<float>(spectrum, first, channels);
  auto state = memory.start();
  memory(b.view().steps_from(0, cut), h, state);
  CHECK(same_bits(h, whole.view().steps_from(0, cut)));
  const std::span<const float> next(&b(cut, 0), channels);
  CHECK_THROWS_AS(memory.step(next, state), ebb::shape_error);  // it still has the prompt's
  for (index_t t = cut; t < steps; ++t) {
    memory.decay().read_from(dt.view().steps_from(t, 1));
    memory.step(std::span<const float>(&b(t, 0), channels), state);
    for (index_t k = 0; k < channels; ++k)
      CHECK(state.values[static_cast<std::size_t>(k)] == whole(t, k));
  }
}

// A user's own backend, spectrum and decay: plain structs.
struct own_backend {
  static constexpr std::string_view name = "own";
  static constexpr ebb::determinism repeats = ebb::determinism::run_to_run;
  static constexpr double error_bound(index_t steps) { return 6.0 * double(steps); }
  template <class Decay, class T, class In, class Out, class State>
  void scan(const Decay& decay, const ebb::strided_view<const T, In>& in,
            const ebb::strided_view<T, Out>& out, const ebb::sequences<State>& where,
            const ebb::scan_options& options) const {
    ebb::rows{}.scan(decay, in, out, where, options);
  }
};
struct own_spectrum {
  static constexpr std::string_view name = "own";
  template <class Real>
  void fill(std::span<Real> rates) const {
    for (std::size_t k = 0; k < rates.size(); ++k) rates[k] = Real(double(k) + 0.5);
  }
};
struct own_decay {
  static constexpr ebb::decay_kind kind = ebb::decay_kind::position;
  struct bound {
    static constexpr ebb::decay_kind kind = ebb::decay_kind::position;
    static constexpr ebb::decay_form form = ebb::decay_form::factor;
    using gradients = ebb::no_gradients;
    template <class Real, class Axis>
    void fill(const ebb::block_origin& where, const ebb::strided_view<Real, Axis>& block) const {
      for (index_t t = 0; t < block.steps(); ++t)
        for (index_t k = 0; k < block.channels(); ++k)
          block(t, k) = Real((where.position + t) % 3 == 0 ? 0 : 1);
    }
  };
  template <class Real>
  bound bind(std::span<const Real>) const {
    return {};
  }
};
static_assert(ebb::scan_backend_for<own_backend, own_decay::bound, float>);
static_assert(ebb::scan_backend_for<ebb::rows, own_decay::bound, double>);
static_assert(ebb::scan_backend_for<ebb::reference, own_decay::bound, double>);
static_assert(!ebb::scan_backend_for<own_decay, own_decay::bound, float>);
static_assert(!ebb::scan_backend_for<ebb::rows, own_decay::bound, int>);

TEST_CASE("a layer of the user's own parts") {
  const auto memory = ebb::make_layer<float>(own_spectrum(), own_decay(), 2, own_backend());
  array<float> b(7, 2), h(7, 2);
  for (index_t t = 0; t < 7; ++t) b(t, 0) = b(t, 1) = 1;
  memory(b, h);
  const float right[] = {1, 2, 1, 2, 3, 1, 2};  // resets at positions 3 and 6
  for (index_t t = 0; t < 7; ++t) CHECK(h(t, 1) == right[t]);
}

}  // namespace
