// SPDX-License-Identifier: Apache-2.0
// Waiting in a loop for what does not come.
#include <doctest/doctest.h>

#include "support/emulator/trial.hpp"

namespace {

namespace emulator = ebb::test::emulator;
using ebb::index_t;
using emulator::fault;
using emulator::small_kernel;
using emulator::word64;

// A block waits for the word of the block before and then writes its own; the order is that of
// tickets, or of block numbers. `Pauses`: whether the loop says that it waits.
template <bool Tickets, bool Pauses>
struct chain : small_kernel<32> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>& m, const params& p) {
    if (c.thread() == 0) {
      const auto mine = Tickets ? static_cast<index_t>(c.fetch_add(p.ticket, 1)) : c.block();
      word64 w[1] = {mine == 0};
      while (w[0] == 0) {
        c.load_words(p.words + mine - 1, w);
        if (Pauses) c.pause();
      }
      c.store_words(p.words + mine, w);
      m.cells.put(c, 0, 1.0f);
    }
    c.sync_block();
    m.cells.get(c, 0);
  }
};

TEST_CASE("blocks start in any order, so that only tickets say who is before") {
  emulator::check_clean<chain<true, true>>(9);
  emulator::check_clean<chain<true, false>>(9);
  emulator::for_all_schedules([](const emulator::config& how) {
    // Some order starts three blocks that wait for others; with all resident there is none.
    using kernel = chain<false, true>;
    emulator::config patient = how;
    patient.patience = 100;
    int endless = 0;
    for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u}) {
      patient.seed = seed;
      patient.resident = 3;
      emulator::small_memory m, all;
      endless +=
          emulator::launch<kernel>(9, m.params<kernel>(), m.ranges, patient).has(fault::endless);
      patient.resident = 9;
      CHECK(emulator::launch<kernel>(9, all.params<kernel>(), all.ranges, patient).clean());
    }
    CHECK(endless > 0);
  });
}

// Waits for a word that nobody writes.
template <bool Pauses, bool Written>
struct waits : small_kernel<64> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params& p) {
    word64 w[1] = {1};
    if (Written && c.thread() == 63) c.store_words(p.words, w);
    c.sync_block();
    if (c.thread() != 0) return;
    for (w[0] = 0; w[0] == 0;) {
      c.load_words(p.words, w);
      if (Pauses) c.pause();
    }
  }
};

TEST_CASE("a word that is never written, with and without pauses") {
  emulator::check_fault<waits<true, false>>(fault::endless);
  emulator::check_fault<waits<false, false>>(fault::endless);
  emulator::check_clean<waits<true, true>>();
  emulator::check_clean<waits<false, true>>();
}

// A warp that asks all lanes whether they have seen it.
template <bool Written>
struct waits_together : small_kernel<32> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params& p) {
    word64 w[1] = {1};
    if (Written && c.thread() == 0) c.store_words(p.words + c.block(), w);
    do c.load_words(p.words + c.block(), w);
    while (c.ballot(w[0] == 1) == 0);
  }
};

TEST_CASE("a warp that waits together") {
  emulator::check_fault<waits_together<false>>(fault::endless);
  emulator::check_clean<waits_together<true>>();
}

}  // namespace
