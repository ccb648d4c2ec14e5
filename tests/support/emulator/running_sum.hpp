// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulator/running_sum.hpp
/// @brief  A kernel whose blocks hand a value on, each to the next, to try the emulator with.
#pragma once

#include <ebb/core/numeric.hpp>
#include <ebb/recurrence/backend/cuda/launcher.hpp>

namespace ebb::test::emulator {

/// out[i] = in[0] + ... + in[i] of whole numbers; a tile of 64 a block, `length` a multiple of 64.
///
/// A block takes a ticket for its tile, waits for the sum of the tile before, and hands on its own:
/// 64 bits in two words, the epoch in the upper half of each.
struct running_sum {
  using word32 = detail::gpu::word32;
  using word64 = detail::gpu::word64;
  struct params {
    const word32* in;
    word64* out;
    detail::gpu::tile_buffer tiles;
  };
  static constexpr int threads = 64;
  template <class Context>
  struct shared_memory {
    typename Context::template shared<word32, 1> ticket;
    typename Context::template shared<word64, 2> totals;  // of the warps
    typename Context::template shared<word64, 1> before;  // of the tiles before
  };

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void run(Context& c, shared_memory<Context>& m, const params& p) {
    if (c.thread() == 0) m.ticket.put(c, 0, c.fetch_add(p.tiles.ticket, 1) - p.tiles.first_ticket);
    c.sync_block();
    const index_t tile = m.ticket.get(c, 0);
    const index_t i = tile * threads + c.thread();
    word64 sum = c.template load<1>(p.in + i)[0];
    for (int d = 1; d < detail::gpu::warp_size; d *= 2) {
      const word64 below = c.shuffle_up(sum, d);
      if (c.lane() >= d) sum += below;
    }
    if (c.lane() == 31) m.totals.put(c, c.warp(), sum);
    c.sync_block();
    if (c.thread() == 0) {
      const word64 before = tile == 0 ? 0 : receive(c, p.tiles, tile - 1);
      send(c, p.tiles, tile, before + m.totals.get(c, 0) + m.totals.get(c, 1));
      m.before.put(c, 0, before);
    }
    c.sync_block();
    sum += m.before.get(c, 0);
    if (c.warp() == 1) sum += m.totals.get(c, 0);
    c.template store<1>(p.out + i, {{sum}});
  }

 private:
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE word64 receive(Context& c, const detail::gpu::tile_buffer& tiles,
                                   index_t tile) {
    word64 w[2];
    for (;;) {
      c.load_words(tiles.words + 2 * tile, w);
      if (w[0] >> 32 == tiles.epoch && w[1] >> 32 == tiles.epoch)
        return (w[1] << 32) | (w[0] & 0xffffffffu);
      c.pause();
    }
  }
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void send(Context& c, const detail::gpu::tile_buffer& tiles, index_t tile,
                              word64 value) {
    const word64 flag = word64{tiles.epoch} << 32;
    c.store_words(tiles.words + 2 * tile, {flag | (value & 0xffffffffu), flag | (value >> 32)});
  }
};

}  // namespace ebb::test::emulator
