// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/state_pieces.hpp
/// @brief  A call on matrix states cut for several threads: over sequences, heads and lanes of V.
#pragma once

#include <algorithm>

#include <ebb/core/executor.hpp>
#include <ebb/recurrence/backend/running_state.hpp>
#include <ebb/recurrence/matrix.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Work, state elements times steps, that takes a thread of its own: two threads are taken from
/// twice as much on, so that waking one is a small part of it.
inline constexpr index_t usual_state_work = index_t{1} << 19;

/// In how many pieces a call is cut: 1 where it is too small to pay for several threads.
template <class State>
index_t state_pieces(const matrix_shape& size, const sequences<State>& where, index_t threads,
                     index_t minimum_work) {
  if (threads == 1 || size.steps == 0 || size.state() == 0 || size.heads == 0) return 1;
  const double most = size.work(where) / static_cast<double>(minimum_work);
  // Some pieces a thread, so that one held up by something else does not hold up the call.
  return most < 2 ? 1 : static_cast<index_t>(std::min(most, 4.0 * static_cast<double>(threads)));
}

/// Calls run(walk_piece) for pieces that make up a call: on the calling thread where it is small,
/// sequence by sequence; else on the executor.
template <class Executor, class State, class Run>
void run_state_pieces(Executor& executor, const matrix_shape& size, const sequences<State>& where,
                      index_t minimum_work, const Run& run) {
  const auto threads =
      std::clamp<index_t>(static_cast<index_t>(executor.concurrency()), 1, index_t{1} << 16);
  const index_t pieces = state_pieces(size, where, threads, minimum_work);
  if (pieces <= 1) {
    for (index_t b = 0; b < size.batches; ++b)
      for (index_t s = 0; s < where.count(); ++s)
        run(walk_piece{b, s, 0, size.heads, 0, size.values});
    return;
  }
  // Whole heads as long as there are enough of them, else blocks of lanes.
  constexpr index_t block = running_state<State>::block_lanes;
  const index_t count = size.batches * where.count(), rows = count * size.heads;
  const index_t cuts =
      rows >= pieces ? 1 : std::min((pieces + rows - 1) / rows, (size.values + block - 1) / block);
  const index_t blocks = ((size.values + block - 1) / block + cuts - 1) / cuts;
  // Neighbouring heads of one sequence go together, so that they share what they read.
  const index_t heads = cuts > 1 ? 1 : std::max<index_t>(1, rows / pieces);
  const index_t groups = (size.heads + heads - 1) / heads;
  executor.run(count * groups * cuts, [&](index_t task) {
    const index_t lane = task % cuts * blocks * block, row = task / cuts;
    const index_t head = row % groups * heads, sequence = row / groups;
    if (lane >= size.values) return;
    run(walk_piece{sequence / where.count(), sequence % where.count(), head,
                   std::min(heads, size.heads - head), lane,
                   std::min(blocks * block, size.values - lane)});
  });
}

}  // namespace ebb::inline EBB_ABI::detail
