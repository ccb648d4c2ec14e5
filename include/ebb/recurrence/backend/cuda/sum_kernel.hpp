// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/sum_kernel.hpp
/// @brief  Sums over some axes of an array, in an order of their own.
#pragma once

#include <ebb/core/view.hpp>
#include <ebb/recurrence/backend/cuda/context.hpp>
#include <ebb/recurrence/backend/cuda/map.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// Three counts, and the distances that go with them.
struct three {
  index_t v[3] = {1, 1, 1};

  EBB_DEVICE index_t count() const { return v[0] * v[1] * v[2]; }
  /// Where the n-th of so many lies, the last axis running first.
  EBB_DEVICE index_t place(index_t n, const three& distances) const {
    const index_t z = n % v[2], rest = n / v[2];
    return rest / v[1] * distances.v[0] + rest % v[1] * distances.v[1] + z * distances.v[2];
  }
};

/// to[i] += sum over j of from[i, j]: 32 sums a block, each by 8 threads, whose parts are added in
/// their order. The same bits every time.
template <class T>
struct sum_kernel {
  struct params {
    const T* from;
    T* to;
    three kept, summed;                     ///< counts of i and of j
    three from_kept, from_summed, to_kept;  ///< distances in elements
  };
  static constexpr int warps = 8, threads = warp_size * warps;
  template <class Context>
  struct shared_memory {
    typename Context::template shared<T, threads> parts;
  };

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void run(Context& c, shared_memory<Context>& m, const params& p) {
    const index_t i = c.block() * warp_size + c.lane();
    T total{};
    if (i < p.kept.count()) {
      const T* const first = p.from + p.kept.place(i, p.from_kept);
      const index_t count = p.summed.count();
      for (index_t j = c.warp(); j < count; j += warps)
        total = plus(total, c.template load<1>(first + p.summed.place(j, p.from_summed)).v[0]);
    }
    m.parts.put(c, c.thread(), total);
    c.sync_block();
    if (c.warp() != 0 || i >= p.kept.count()) return;
    EBB_UNROLL for (int w = 1; w < warps; ++w) {
      total = plus(total, m.parts.get(c, w * warp_size + c.lane()));
    }
    T* const to = p.to + p.kept.place(i, p.to_kept);
    c.store(to, packed<T, 1>{{plus(c.template load<1>(static_cast<const T*>(to)).v[0], total)}});
  }

  static index_t blocks(const params& p) { return (p.kept.count() + warp_size - 1) / warp_size; }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
