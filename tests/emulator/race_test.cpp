// SPDX-License-Identifier: Apache-2.0
// Accesses to one cell that no barrier orders, one of them a write.
#include <doctest/doctest.h>

#include "support/emulator/trial.hpp"

namespace {

namespace emulator = ebb::test::emulator;
using ebb::index_t;
using emulator::fault;
using emulator::small_kernel;

// What is done between the two accesses of a kernel.
enum class between { nothing, block_barrier, warp_barrier, shuffle, ballot };
template <between What, class Context>
EBB_DEVICE void pass(Context& c) {
  if (What == between::block_barrier) c.sync_block();
  if (What == between::warp_barrier) c.sync_warp();
  if (What == between::shuffle) c.shuffle(1.0f, 0);
  if (What == between::ballot) c.ballot(true);
}

// Every thread writes its cell, then reads that of the thread `Distance` further.
template <between What, int Distance>
struct writes_then_reads : small_kernel<64> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>& m, const params&) {
    m.cells.put(c, c.thread(), 1.0f);
    pass<What>(c);
    m.cells.get(c, c.thread() ^ Distance);
  }
};
// The same in global memory.
template <between What, int Distance>
struct stores_then_loads : small_kernel<64> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params& p) {
    float* const tile = p.out + c.block() * threads;
    c.template store<1>(tile + c.thread(), {{1.0f}});
    pass<What>(c);
    c.template load<1>(tile + (c.thread() ^ Distance));
  }
};

TEST_CASE("write, then read: a barrier of the block or of the warp they share orders them") {
  emulator::check_fault<writes_then_reads<between::nothing, 1>>(fault::race);
  emulator::check_fault<writes_then_reads<between::nothing, 32>>(fault::race);
  emulator::check_fault<writes_then_reads<between::warp_barrier, 32>>(fault::race);
  emulator::check_clean<writes_then_reads<between::nothing, 0>>();
  emulator::check_clean<writes_then_reads<between::warp_barrier, 1>>();
  emulator::check_clean<writes_then_reads<between::block_barrier, 32>>();

  emulator::check_fault<stores_then_loads<between::nothing, 1>>(fault::race);
  emulator::check_fault<stores_then_loads<between::warp_barrier, 32>>(fault::race);
  emulator::check_clean<stores_then_loads<between::nothing, 0>>();
  emulator::check_clean<stores_then_loads<between::warp_barrier, 1>>();
  emulator::check_clean<stores_then_loads<between::block_barrier, 32>>();
}

TEST_CASE("shuffles and ballots order no memory") {
  emulator::check_fault<writes_then_reads<between::shuffle, 1>>(fault::race);
  emulator::check_fault<writes_then_reads<between::ballot, 1>>(fault::race);
  emulator::check_fault<stores_then_loads<between::shuffle, 1>>(fault::race);
}

// All threads read a cell, or those of one warp, or one thread; then one writes it.
template <between What, int Readers, int Writer>
struct reads_then_writes : small_kernel<64> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>& m, const params&) {
    if (c.thread() == Writer) m.cells.put(c, 0, 1.0f);
    c.sync_block();
    if (c.thread() < Readers) m.cells.get(c, 0);
    pass<What>(c);
    if (c.thread() == Writer) m.cells.put(c, 0, 2.0f);
  }
};

TEST_CASE("read, then written") {
  emulator::check_fault<reads_then_writes<between::nothing, 64, 5>>(fault::race);
  emulator::check_fault<reads_then_writes<between::warp_barrier, 64, 5>>(fault::race);
  emulator::check_clean<reads_then_writes<between::block_barrier, 64, 5>>();

  emulator::check_fault<reads_then_writes<between::nothing, 32, 5>>(fault::race);
  emulator::check_fault<reads_then_writes<between::warp_barrier, 32, 40>>(fault::race);
  emulator::check_clean<reads_then_writes<between::warp_barrier, 32, 5>>();

  emulator::check_fault<reads_then_writes<between::nothing, 1, 5>>(fault::race);
  emulator::check_clean<reads_then_writes<between::nothing, 1, 0>>();
  emulator::check_clean<reads_then_writes<between::warp_barrier, 1, 5>>();
}

// Two threads write one cell.
template <between What, int Other>
struct writes_twice : small_kernel<64> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>& m, const params&) {
    if (c.thread() == 0) m.cells.put(c, 3, 1.0f);
    pass<What>(c);
    if (c.thread() == Other) m.cells.put(c, 3, 1.0f);
  }
};

TEST_CASE("written twice, though with the same value") {
  emulator::check_fault<writes_twice<between::nothing, 1>>(fault::race);
  emulator::check_fault<writes_twice<between::nothing, 32>>(fault::race);
  emulator::check_clean<writes_twice<between::nothing, 0>>();
  emulator::check_clean<writes_twice<between::warp_barrier, 1>>();
  emulator::check_clean<writes_twice<between::block_barrier, 32>>();
}

// Every block writes to out[0], or reads it and one writes, or keeps to its own.
enum class blocks_do { write_one, read_what_one_writes, write_their_own };
template <blocks_do What>
struct blocks_meet : small_kernel<32> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params& p) {
    if (c.thread() != 0) return;
    const index_t at = What == blocks_do::write_their_own ? c.block() : 0;
    if (What != blocks_do::read_what_one_writes || c.block() == 0)
      c.template store<1>(p.out + at, {{1.0f}});
    c.template load<1>(p.out + at);
  }
};

TEST_CASE("blocks that meet in data") {
  emulator::check_fault<blocks_meet<blocks_do::write_one>>(fault::race);
  emulator::check_clean<blocks_meet<blocks_do::write_their_own>>(5);
  emulator::check_fault<blocks_meet<blocks_do::read_what_one_writes>>(fault::race);
}

// Every block has an element of its own, and turns to the next one's after `Turns` turns.
template <int Turns>
struct reads_and_writes : small_kernel<32> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params& p) {
    if (c.thread() != 0) return;
    float* const mine = p.out + (c.block() + Turns) % 4;
    if (Turns > 0) c.template load<1>(mine);
    c.template store<1>(mine, {{1.0f}});
    c.template load<1>(mine);
  }
};

TEST_CASE("launches follow one another: the next may read and overwrite all of the one before") {
  using first = reads_and_writes<0>;
  using second = reads_and_writes<1>;
  emulator::small_memory m;
  CHECK(emulator::launch<first>(4, m.params<first>(), m.ranges).clean());
  const auto found = emulator::launch<second>(4, m.params<second>(), m.ranges);
  CAPTURE(found.text());
  CHECK(found.clean());
}

TEST_CASE("a report says who, where and what") {
  using kernel = writes_twice<between::nothing, 32>;
  emulator::small_memory m;
  const auto found = emulator::launch<kernel>(1, m.params<kernel>(), m.ranges);
  REQUIRE(found.findings.size() == 1);
  const std::string text = found.text();
  CAPTURE(text);
  CHECK(text.find("race at race_test.cpp:") == 0);
  CHECK(text.find("thread 0 of block 0") != std::string::npos);
  CHECK(text.find("thread 32 of block 0") != std::string::npos);
  CHECK(text.find("shared element 3") != std::string::npos);
}

}  // namespace
