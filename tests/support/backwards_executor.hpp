// SPDX-License-Identifier: Apache-2.0
/// @file   support/backwards_executor.hpp
/// @brief  An executor that tests look into.
#pragma once

#include <ebb/core/numeric.hpp>

namespace ebb::test {

/// Runs calls on the calling thread in the order last to first, as if there were so many threads,
/// and counts them and the runs that they came in.
struct backwards {
  explicit backwards(index_t count) : threads(count) {}

  template <class F>
  void run(index_t count, const F& call) {
    ++runs;
    calls += count;
    for (index_t i = count - 1; i >= 0; --i) call(i);
  }
  index_t concurrency() const { return threads; }

  index_t threads, calls = 0, runs = 0;
};

}  // namespace ebb::test
