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

template <template <class...> class Tile, class Kernel, class Decay, class T, class InAxis,
          class OutAxis, class State>
void scan_tiles_of(const Decay& decay, const strided_view<const T, InAxis>& in,
                   const strided_view<T, OutAxis>& out, const sequences<State>& where,
                   const scan_options& options) {
  using tile = Tile<Kernel, Decay, State, T, InAxis, OutAxis>;
  for (index_t b = 0; b < out.batches(); ++b)
    for (index_t s = 0; s < where.count(); ++s)
      for (index_t k = 0; k < out.channels(); k += tile::widest) {
        tile work(std::min(tile::widest, out.channels() - k));
        work.scan(decay, in, out, where, range_of(where, b, s, out.steps(), options.order), k);
      }
}

/// The whole scan on one thread, tile by tile.
template <class Kernel, class Decay, class T, class InAxis, class OutAxis, class State>
void scan_tiles(const Decay& decay, const strided_view<const T, InAxis>& in,
                const strided_view<T, OutAxis>& out, const sequences<State>& where,
                const scan_options& options) {
  if constexpr (walks_columns<Kernel, Decay, State, T>) {
    // The steps of one channel are adjacent in either layout.
    if (std::same_as<OutAxis, channel_major> || (out.channels() == 1 && out.step_stride() == 1))
      return scan_tiles_of<column_tile, Kernel>(decay, in, out, where, options);
  }
  scan_tiles_of<row_tile, Kernel>(decay, in, out, where, options);
}

}  // namespace ebb::inline EBB_ABI::detail
