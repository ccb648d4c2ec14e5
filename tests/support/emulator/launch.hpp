// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulator/launch.hpp
/// @brief  Runs a kernel on the processor, every thread in turn, and reports what it does wrong.
#pragma once

#include <memory>
#include <vector>

#include "support/emulator/context.hpp"

namespace ebb::test::emulator {

/// Kernel::run by `blocks` blocks, on the memory given.
///
/// Every thread is a fiber, and `resident` blocks run at once. Threads switch at barriers,
/// shuffles, ballots, additions, pauses and every word that is loaded or stored; with
/// `switch_at_accesses` at every access. The report names what no order excuses, whether or not it
/// did harm in this one:
///  * races in shared memory and global data: ordered are a thread, what barriers of the block or
///    warp stand between, and launches; blocks never are, also where a word handed the value on
///  * reads of what nobody has written, accesses out of bounds, misaligned or against the usage
///  * barriers, shuffles and ballots that not all of the block or warp come to, at one place
///  * loops that wait for ever: for a block that cannot start, or that has not sent
/// Words are as weak as relaxed accesses: they tear, and arrive late and out of order
/// (relaxed_words.hpp). What a kernel computes is checked by whoever reads its outputs.
///
/// Not covered: loads that take values from stores after them in the program of another thread, and
/// all else that the PTX memory model allows beyond coherence; the reach of caches (`load_cached`
/// only by its usage); device functions, whose exp and log differ by some ulp; contraction by nvcc;
/// registers, the size of shared memory, its banks, and time.
template <detail::gpu::kernel_body Kernel>
report launch(index_t blocks, const typename Kernel::params& params, memory& global,
              const config& how = {}) {
  using shared_memory = typename Kernel::template shared_memory<emulated_context>;
  machine all(global, how);
  return all.run(
      blocks, Kernel::threads, [] { return std::make_shared<shared_memory>(); },
      [&](thread_state& self) {
        emulated_context c(self, all);
        Kernel::run(c, *static_cast<shared_memory*>(self.block->shared_memory.get()), params);
      });
}

/// Configurations that tests run through: every order, with and without switches at every access.
inline std::vector<config> schedules(std::uint64_t seed, int resident = 3) {
  std::vector<config> all;
  for (const order how : {order::uniform, order::round_robin, order::priority})
    for (const bool at_accesses : {false, true}) {
      config c;
      c.seed = seed;
      c.how = how;
      c.resident = resident;
      c.switch_at_accesses = at_accesses;
      all.push_back(c);
    }
  return all;
}

}  // namespace ebb::test::emulator
