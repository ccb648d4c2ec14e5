// SPDX-License-Identifier: Apache-2.0
/// @file   support/decay_contract.hpp
/// @brief  The contract of a bound decay (decay/concept.hpp), checked on 7 steps of 5 channels.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/decay/concept.hpp>

namespace ebb::test {

inline constexpr index_t contract_steps = 7, contract_channels = 5;

template <class Real>
bool finite_number(const Real& x) {
  using std::abs;
  return abs(x) <= std::numeric_limits<real_of_t<Real>>::max();
}

/// Whole blocks, single elements, and everything between give the same values, and nothing
/// outside the block is touched.
template <class Real, class Axis, class Decay>
void check_decay_contract(const Decay& decay, index_t batch, index_t position) {
  static_assert(bound_decay<Decay, Real>);
  constexpr index_t steps = contract_steps, channels = contract_channels;
  const block_origin start{batch, 0, 0, position};
  array<Real> whole(steps, channels);
  decay.fill(start, whole.view());
  for (index_t t = 0; t < steps; ++t)
    for (index_t k = 0; k < channels; ++k) {
      CHECK(finite_number(whole(t, k)));
      if (Decay::form == decay_form::log_factor) CHECK(detail::real_part(whole(t, k)) <= 0);
    }
  for (const index_t height : {1, 3, 7})
    for (const index_t width : {1, 2, 5})
      for (index_t t = 0; t < steps; t += height)
        for (index_t k = 0; k < channels; k += width) {
          const index_t h = std::min(height, steps - t), w = std::min(width, channels - k);
          const index_t row = 9;
          std::vector<Real> memory(100, Real(-7));
          const strided_view<Real, Axis> block(memory.data() + 3, extents{1, h, w}, {0, row});
          decay.fill({batch, t, k, position + t}, block);
          for (index_t i = 0; i < h; ++i)
            for (index_t j = 0; j < w; ++j) {
              CHECK(block(i, j) == whole(t + i, k + j));
              block(i, j) = Real(-7);
            }
          CHECK(memory == std::vector<Real>(100, Real(-7)));
        }
  decay.fill(start, strided_view<Real, Axis>(nullptr, 0, channels));
  decay.fill(start, strided_view<Real, Axis>(nullptr, steps, 0));
}

}  // namespace ebb::test
