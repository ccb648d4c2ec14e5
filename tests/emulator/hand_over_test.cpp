// SPDX-License-Identifier: Apache-2.0
// Blocks that hand values to one another through flagged words.
#include <doctest/doctest.h>

#include <vector>

#include "support/emulator/launch.hpp"

namespace {

namespace emulator = ebb::test::emulator;
using ebb::index_t;
using ebb::detail::gpu::word32;
using ebb::detail::gpu::word64;

// Block t, by its ticket, waits for the sum of block t - 1, and hands on that sum plus its own
// value, in two words with a flag each.
struct running_sum {
  struct params {
    const float* in;
    float* out;
    word64* words;
    word32* ticket;
    word32 epoch;
  };
  static constexpr int threads = 64;
  template <class Context>
  struct shared_memory {
    typename Context::template shared<word32, 1> ticket;
    typename Context::template shared<float, 1> before;
  };
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void run(Context& c, shared_memory<Context>& m, const params& p) {
    if (c.thread() == 0) m.ticket.put(c, 0, c.fetch_add(p.ticket, 1));
    c.sync_block();
    const index_t tile = m.ticket.get(c, 0);
    const float mine = c.template load<1>(p.in + tile * threads + c.thread())[0];
    float sum = mine;
    for (int d = 1; d < 32; d *= 2) {
      const float below = c.shuffle_up(sum, d);
      if (c.lane() >= d) sum += below;
    }
    const float total = c.shuffle(sum, 31);
    if (c.thread() == 32) m.before.put(c, 0, total);
    c.sync_block();
    const float upper = m.before.get(c, 0);
    float before = 0;
    if (c.warp() == 0) {
      if (tile > 0) {
        word64 w[2];
        for (;;) {
          c.load_words(p.words + 2 * (tile - 1), w);
          if (w[0] >> 32 == p.epoch && w[1] >> 32 == p.epoch) break;
          c.pause();
        }
        before =
            static_cast<float>(w[0] & 0xffffffffu) + 65536.0f * static_cast<float>(w[1] & 0xffffu);
      }
      if (c.lane() == 0) {
        const auto next = static_cast<word64>(before + total + upper);
        const word64 flag = word64{p.epoch} << 32;
        c.store_words(p.words + 2 * tile, {flag | (next % 65536), flag | (next / 65536)});
      }
    }
    c.sync_block();
    if (c.thread() == 0) m.before.put(c, 0, before);
    c.sync_block();
    const float start = m.before.get(c, 0) + (c.warp() == 1 ? c.shuffle(total, 0) * 0 : 0.0f);
    c.template store<1>(p.out + tile * threads + c.thread(), {{start + sum}});
  }
};

TEST_CASE("tiles hand sums on, 40 at once") {
  const index_t blocks = 50, n = blocks * 64;
  std::vector<float> in(n), out(n);
  for (index_t i = 0; i < n; ++i) in[static_cast<std::size_t>(i)] = static_cast<float>(i % 7 * 100);
  for (auto how : emulator::schedules(3, 40)) {
    emulator::memory m;
    m.add(static_cast<const float*>(in.data()), n, emulator::usage::input, "in");
    m.add(out.data(), n, emulator::usage::output, "out");
    std::vector<word64> words(2 * blocks + 1);
    word64* w =
        reinterpret_cast<word64*>((reinterpret_cast<std::uintptr_t>(words.data()) + 15) / 16 * 16);
    word32 ticket = 0;
    m.add(w, 2 * blocks, emulator::usage::words, "words");
    m.add(&ticket, 1, emulator::usage::words, "ticket");
    auto r = emulator::launch<running_sum>(blocks, {in.data(), out.data(), w, &ticket, 7}, m, how);
    INFO(r.text());
    CHECK(r.clean());
    CHECK(m.unwritten(out.data(), n) == 0);
  }
}

}  // namespace
