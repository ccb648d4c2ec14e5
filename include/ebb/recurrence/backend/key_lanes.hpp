// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/key_lanes.hpp
/// @brief  Outer-product states of one value a head, vectors along the keys: Mamba-1.
#pragma once

#include <algorithm>
#include <string_view>

#include <ebb/recurrence/backend/key_walk.hpp>
#include <ebb/recurrence/matrix.hpp>

namespace ebb::inline EBB_ABI {

/// States of many heads with V = 1, h_t = w_t * h_{t-1} + c_t v_t k_t: heads whose states fill a
/// small part of the nearest cache pass through time together, a few steps of their decays filled
/// each time; sums over the keys are made for as many heads at once as a vector has lanes.
///
/// Cost: 3 T H K operations and the decay's own; one exponential for each log-decay, in vectors for
/// float. Keys fill whole vectors, so K should be a multiple of their lanes. Stack: 100 KB.
/// Allocates only for more than 24 KB of keys, 6000 in float.
/// Accuracy: error_bound below (docs/accuracy.md). Log-decays near 0 keep their digits. Cutting a
/// sequence into pieces or steps changes no operation: same bits.
struct key_lanes {
  static constexpr std::string_view name = "key_lanes";
  static constexpr determinism repeats = determinism::any_thread_count;

  /// 6 a step (recurrence/update.hpp); c v k 4; the sum over K keys and its products K + 1; those
  /// of unit rows, scale and skip the rest.
  static constexpr double error_bound(index_t steps, index_t keys) {
    return 6 * static_cast<double>(steps) + 2 * static_cast<double>(keys) + 16;
  }

  /// @throws shape_error unless V = 1; nothing has been written then.
  template <class Decay, class T, class State>
  void run(const Decay& decay, const outer_data<T>& data, const sequences<State>& where) const {
    const detail::matrix_shape size = detail::shape_of(data);
    detail::require_shape(size.values == 1, name, "need values of width 1", size.values);
    for (index_t b = 0; b < size.batches; ++b)
      for (index_t s = 0; s < where.count(); ++s)
        run_piece(decay, data, where, {b, s, 0, size.heads, 0, 1});
  }

  /// The part of `run` for some heads of one sequence: the same bits, however heads are cut.
  template <class Decay, class T, class State>
  static void run_piece(const Decay& decay, const outer_data<T>& data,
                        const sequences<State>& where, const detail::walk_piece& piece) {
    using walk = detail::key_walk<Decay, T, State>;
    const index_t together = walk::heads_together(data.keys.width());
    for (index_t h = 0; h < piece.heads; h += together) {
      detail::walk_piece some = piece;
      some.first_head = piece.first_head + h;
      some.heads = std::min(together, piece.heads - h);
      walk(decay, data, where, some).run();
    }
  }
};

}  // namespace ebb::inline EBB_ABI
