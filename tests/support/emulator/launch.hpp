// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulator/launch.hpp
/// @brief  Runs a kernel on the processor, every thread in turn, and reports what it does wrong.
#pragma once

#include <memory>
#include <vector>

#include "support/emulator/context.hpp"

namespace ebb::test::emulator {

/// Kernel::run by `blocks` blocks, on the memory given.
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
