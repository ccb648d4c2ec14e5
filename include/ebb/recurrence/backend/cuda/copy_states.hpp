// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/copy_states.hpp
/// @brief  Initial states out of the way, where the final states will be written over them.
#pragma once

#include <ebb/recurrence/backend/cuda/operand.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// to[b, s, k] = from[b, s, k].
template <class State>
struct copy_states {
  struct params {
    operand<const State> from;
    operand<State> to;
    index_t batches, sequences, channels;
  };
  static constexpr int threads = 128;
  template <class Context>
  struct shared_memory {};

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void run(Context& c, shared_memory<Context>&, const params& p) {
    const index_t number = c.block() * threads + c.thread();
    if (number >= p.batches * p.sequences * p.channels) return;
    const index_t k = number % p.channels, row = number / p.channels;
    const index_t s = row % p.sequences, b = row / p.sequences;
    c.store(p.to.at(b, s, k), c.template load<1>(p.from.at(b, s, k)));
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
