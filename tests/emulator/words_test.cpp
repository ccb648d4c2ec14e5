// SPDX-License-Identifier: Apache-2.0
// Words by which blocks meet: torn, late and out of order, but coherent.
#include <doctest/doctest.h>

#include "support/emulator/trial.hpp"

namespace {

namespace emulator = ebb::test::emulator;
using ebb::index_t;
using emulator::small_kernel;
using emulator::word64;

// Block 0 writes 1, 1 and later 2, 2 to two words; block 1 waits until it sees 2 in the first, or
// in both, and keeps what it saw.
template <bool Both>
struct pair : small_kernel<32> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params& p) {
    if (c.thread() != 0) return;
    word64 w[2];
    if (c.block() == 0) {
      w[0] = w[1] = 1;
      c.store_words(p.words, w);
      w[0] = w[1] = 2;
      c.store_words(p.words, w);
      return;
    }
    for (;;) {
      c.load_words(p.words, w);
      if (w[0] == 2 && (!Both || w[1] == 2)) break;
      c.pause();
    }
    c.template store<2>(p.out, {{static_cast<float>(w[0]), static_cast<float>(w[1])}});
  }
};

// Block 0 writes one word, then another; block 1 waits for the second, or for both.
template <bool Both>
struct message : small_kernel<32> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params& p) {
    if (c.thread() != 0) return;
    word64 one[1] = {1}, first[1], second[1];
    if (c.block() == 0) {
      c.store_words(p.words, one);
      c.store_words(p.words + 1, one);
      return;
    }
    for (;;) {
      c.load_words(p.words + 1, second);
      c.load_words(p.words, first);
      if (second[0] == 1 && (!Both || first[0] == 1)) break;
      c.pause();
    }
    c.template store<2>(p.out, {{static_cast<float>(first[0]), static_cast<float>(second[0])}});
  }
};

// In how many of some launches the two numbers of block 1 differ.
template <class Kernel>
int differ() {
  int count = 0;
  for (const emulator::order how : {emulator::order::uniform, emulator::order::priority})
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      emulator::config c;
      c.how = how;
      c.seed = seed;
      emulator::small_memory m;
      const auto found = emulator::launch<Kernel>(2, m.template params<Kernel>(), m.ranges, c);
      CHECK(found.clean());
      count += m.out[0] < m.out[1] || m.out[0] > m.out[1];
    }
  return count;
}

TEST_CASE("several words tear, in either order") {
  CHECK(differ<pair<false>>() > 0);
  CHECK(differ<pair<true>>() == 0);
}

TEST_CASE("who sees the second word need not see the first") {
  CHECK(differ<message<false>>() > 0);
  CHECK(differ<message<true>>() == 0);
}

// Block 0 counts to 20 in a word; the threads of block 1 read it and a barrier stands between two
// reads. out[0] becomes 1 where a count falls, within a thread or across the barrier.
struct counts : small_kernel<64> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>& m, const params& p) {
    word64 w[1];
    if (c.block() == 0) {
      if (c.thread() == 0)
        for (w[0] = 1; w[0] <= 20; ++w[0]) c.store_words(p.words, w);
      return;
    }
    bool falls = false;
    for (int round = 0; round < 3; ++round) {
      word64 before = 0;
      for (int i = 0; i < 4; ++i) {
        c.load_words(p.words, w);
        falls = falls || w[0] < before;
        before = w[0];
      }
      m.cells.put(c, c.thread(), static_cast<float>(before));
      c.sync_block();
      c.load_words(p.words, w);
      for (int i = 0; i < 64; ++i) falls = falls || static_cast<float>(w[0]) < m.cells.get(c, i);
      c.sync_block();
    }
    m.cells.put(c, c.thread(), falls ? 1.0f : 0.0f);
    c.sync_block();
    if (c.thread() != 0) return;
    float any = 0;
    for (int i = 0; i < 64; ++i) any += m.cells.get(c, i);
    c.template store<1>(p.out, {{any}});
  }
};

TEST_CASE("a word never goes back: not for a thread, not across a barrier") {
  emulator::for_all_schedules([](const emulator::config& how) {
    emulator::small_memory m;
    const auto found = emulator::launch<counts>(2, m.params<counts>(), m.ranges, how);
    CAPTURE(found.text());
    CHECK(found.clean());
    CHECK(m.out[0] == 0.0f);
  });
}

TEST_CASE("additions are atomic") {
  struct adds : small_kernel<64> {
    static void run(emulator::emulated_context& c, shared_memory<emulator::emulated_context>&,
                    const params& p) {
      c.template store<1>(p.out + c.fetch_add(p.ticket, 1), {{1.0f}});
    }
  };
  emulator::for_all_schedules([](const emulator::config& how) {
    emulator::small_memory m;
    CHECK(emulator::launch<adds>(4, m.params<adds>(), m.ranges, how).clean());
    CHECK(m.ticket == 256);
    CHECK(m.ranges.unwritten(m.out.data(), 256) == 0);
  });
}

}  // namespace
