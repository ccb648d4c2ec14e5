// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/tiles.hpp
/// @brief  What the backends on one thread share: the scan, tile by tile.
#pragma once

#include <algorithm>
#include <concepts>
#include <type_traits>

#include <ebb/recurrence/backend/column_tile.hpp>
#include <ebb/recurrence/backend/row_tile.hpp>

namespace ebb::inline EBB_ABI::detail {

/// The whole scan on one thread, tile by tile.
template <class Kernel, class Decay, class T, class InAxis, class OutAxis, class State>
void scan_tiles(const Decay& decay, const strided_view<const T, InAxis>& in,
                const strided_view<T, OutAxis>& out, const sequences<State>& where,
                const scan_options& options) {
  using tile = std::conditional_t<std::same_as<OutAxis, time_major>, row_tile<Kernel, Decay, State>,
                                  column_tile<Kernel, Decay, State>>;
  for (index_t b = 0; b < out.batches(); ++b)
    for (index_t s = 0; s < where.count(); ++s)
      for (index_t k = 0; k < out.channels(); k += tile::widest) {
        tile work(std::min(tile::widest, out.channels() - k));
        work.scan(decay, in, out, where, range_of(where, b, s, out.steps(), options.order), k);
      }
}

}  // namespace ebb::inline EBB_ABI::detail
