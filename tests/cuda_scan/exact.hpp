// SPDX-License-Identifier: Apache-2.0
/// @file   cuda_scan/exact.hpp
/// @brief  Decays of 1 and -1 and whole numbers: no rounding in any order of operations, nothing
///   forgotten.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>

#include "support/emulated_scan.hpp"

namespace ebb::test {

template <class Axis>
ebb::array<float, Axis> integers(const ebb::extents& size, std::uint64_t seed, bool signs) {
  ebb::array<float, Axis> values(size);
  draws random(seed);
  for (index_t i = 0; i < size.batches * size.steps * size.channels; ++i)
    values.data()[i] =
        signs ? (random.bits() % 2 == 0 ? 1.0f : -1.0f) : static_cast<float>(random.integer(-3, 3));
  return values;
}

// New data in every launch: what an old descriptor says is wrong.
template <class Backend, class Axis>
void check_exact(const ebb::extents& size, std::uint64_t launches, std::uint64_t seed) {
  for (std::uint64_t n = 0; n < launches; ++n) {
    const auto factors = integers<Axis>(size, seed + 10 * n, true);
    const auto in = integers<Axis>(size, seed + 10 * n + 1, false);
    const auto initial = integers<time_major>({size.batches, 1, size.channels}, seed + n, false);
    for (const ebb::direction order : {ebb::direction::forward, ebb::direction::reverse}) {
      ebb::array<float, Axis> out(size), right(size);
      ebb::array<float> last(initial.size()), right_last(initial.size());
      ebb::sequences<float> where{.initial_states = initial.view(), .final_states = last.view()};
      scan(factors, in, out, where, {order}, Backend{});
      where.final_states = right_last.view();
      scan(factors, in, right, where, {order});
      CHECK(same_bits(out, right));
      CHECK(same_bits(last, right_last));
    }
  }
}

}  // namespace ebb::test
