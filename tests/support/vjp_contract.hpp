// SPDX-License-Identifier: Apache-2.0
/// @file   support/vjp_contract.hpp
/// @brief  All gradients of scans of all kinds against their definition, for any types and axes.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/scan_contract.hpp"
#include "support/vjp_oracle.hpp"

namespace ebb::test {

/// What the test is run over.
/// @tparam Backend  the backend that goes back
/// @tparam Way      how it rounds
template <class T, class State, class InAxis, class OutAxis, class CotangentAxis,
          class Backend = rows, class Way = own_steps_back>
struct vjp_config {
  using backend = Backend;
  using way = Way;
  using value = T;
  using state = State;
  using in_axis = InAxis;
  using out_axis = OutAxis;
  using cotangent_axis = CotangentAxis;
  using wide = std::conditional_t<ebb::is_complex<State>, std::complex<long double>, long double>;
};

/// What surrounds the data of a test.
struct vjp_surroundings {
  std::vector<index_t> offsets{}, first{}, kept{};
  std::vector<std::uint8_t> resets{};
};

/// All gradients of one scan against their definition; the same again over the cotangents.
template <class Config, class Decay>
void check_vjp_definition(const Decay& inner, const extents& size, const vjp_surroundings& around,
                          direction order) {
  using T = typename Config::value;
  using State = typename Config::state;
  using Wide = typename Config::wide;
  using Axis = typename Config::cotangent_axis;
  const observed<Decay, State> decay{inner};
  sequences<State> where{.offsets = around.offsets,
                         .first_positions = around.first,
                         .resets = around.resets,
                         .snapshot_steps = around.kept};
  const extents states{size.batches, where.count(), size.channels};
  const extents kept{size.batches, static_cast<index_t>(around.kept.size()), size.channels};
  const auto in = random_inputs<T, typename Config::in_axis>(size, 31);
  const auto start = random_inputs<State, time_major>(states, 32);
  auto given = random_inputs<T, Axis>(size, 33);
  auto last = random_inputs<State, time_major>(states, 34);
  const auto at_kept = random_inputs<State, time_major>(kept, 35);
  ebb::array<State> snapshots(kept), final_states(states);
  where.initial_states = start.view();
  where.final_states = final_states.view();
  where.snapshots = snapshots.view();
  ebb::array<T, typename Config::out_axis> out(size);
  ebb::scan(decay, in, out, where, {order});

  const scan_cotangents<T, State, Axis> cotangents{std::as_const(given).view(),
                                                   std::as_const(last).view(), at_kept.view()};
  ebb::array<T, Axis> inputs(size);
  for (index_t i = 0; i < size.batches * size.steps * size.channels; ++i) inputs.data()[i] = T(-7);
  ebb::array<State> filled(size), initial(states);
  typename observed<Decay, State>::gradients sums{filled.view()};
  const scan_gradients<T, decltype(sums), State, Axis> gradients{inputs.view(), initial.view(),
                                                                 &sums};
  const auto finals_before = final_states, snapshots_before = snapshots;
  const typename Config::backend backend{};
  ebb::scan_vjp(decay, in, out, cotangents, gradients, where, {order}, backend);
  const auto truth = vjp_truth_of<Wide, typename Config::way>(decay, std::as_const(in).view(),
                                                              cotangents, where, order);
  check_expected("inputs", std::as_const(inputs).view(), truth.inputs, T(-7));
  check_expected("filled", std::as_const(filled).view(), truth.filled, State(0));
  check_expected("initial", std::as_const(initial).view(), truth.initial, State(-7));
  CHECK(sums.wrong_blocks == 0);
  CHECK(same_bits(final_states, finals_before));
  CHECK(same_bits(snapshots, snapshots_before));

  // In place; the padding keeps the cotangents it had.
  for (index_t b = 0; b < size.batches; ++b)
    for (index_t t = 0; t < size.steps; ++t)
      for (index_t k = 0; k < size.channels; ++k)
        if (truth.inputs(b, t, k).allowed < 0) inputs(b, t, k) = given(b, t, k);
  const scan_gradients<T, ebb::no_gradients, State, Axis> same{given.view(), last.view()};
  ebb::scan_vjp(decay, in, out, cotangents, same, where, {order}, backend);
  CHECK(same_bits(given, inputs));
  CHECK(same_bits(last, initial));
}

/// The decays of the scan's contract on the shapes that break kernels.
/// @param longest  steps, and channels, of the largest of them
template <class Config>
void check_vjp_contract(index_t longest = 270, index_t widest = 530) {
  constexpr auto forward = direction::forward, reverse = direction::reverse;
  const auto check = [](const extents& size, const vjp_surroundings& around, direction order) {
    for_each_decay<Config>(
        size, [&](const auto& decay) { check_vjp_definition<Config>(decay, size, around, order); });
  };
  check({1, 1, 1}, {}, forward);
  check({1, 0, 3}, {}, forward);
  check({1, 7, 0}, {}, reverse);
  // Padding on both sides, empty sequences, a sequence of one step, resets everywhere.
  vjp_surroundings packed{{2, 2, 9, 10, 30, 30, 38},
                          {1, 2, 3, 4, 5, 6, 70, 80, 90, 100, 110, 120},
                          {0, 2, 8, 9, 29, 37, 39},
                          random_resets({2, 40, 1}, 36)};
  check({2, 40, 5}, packed, forward);
  check({2, 40, 5}, packed, reverse);
  check({1, 6, 2}, {{4}, {}, {5}, {}}, forward);  // nothing but padding
  // Across the edges of blocks and of tiles.
  const vjp_surroundings whole{{}, {}, {0, longest / 3, longest / 3 + 1, longest - 1}, {}};
  check({1, longest, 20}, whole, forward);
  check({1, longest, 20}, {{}, {1000}, {3}, random_resets({1, longest, 1}, 37)}, reverse);
  check({1, 6, widest}, {}, reverse);
}

}  // namespace ebb::test
