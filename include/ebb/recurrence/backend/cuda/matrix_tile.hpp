// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/matrix_tile.hpp
/// @brief  How the threads of a block share a slice of a matrix state.
#pragma once

#include <ebb/recurrence/backend/cuda/context.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// How a block holds K x `columns` numbers of a state: a warp has whole columns; of each, lanes
/// `column_lanes` apart hold the keys, in packs of 16 bytes by turns.
template <int KeyLanes, int KeysEach, int ColumnsEach, int Warps>
struct matrix_tile {
  static constexpr int key_lanes = KeyLanes;        ///< lanes that share a column
  static constexpr int keys_each = KeysEach;        ///< keys of a thread
  static constexpr int columns_each = ColumnsEach;  ///< columns of a thread, side by side
  static constexpr int warps = Warps;
  static constexpr int threads = warp_size * Warps;
  static constexpr int keys = KeyLanes * KeysEach;  ///< most of a state
  static constexpr int column_lanes = warp_size / KeyLanes;
  static constexpr int warp_columns = column_lanes * ColumnsEach;
  static constexpr int columns = warp_columns * Warps;
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
