// SPDX-License-Identifier: Apache-2.0
// Barriers, shuffles and ballots that a part of the block or warp comes to.
#include <doctest/doctest.h>

#include <stdexcept>

#include "support/emulator/trial.hpp"

namespace {

namespace emulator = ebb::test::emulator;
using emulator::fault;
using emulator::small_kernel;

enum class kind { block_barrier, warp_barrier, shuffle, ballot };
template <kind What, class Context>
EBB_DEVICE void come(Context& c) {
  if (What == kind::block_barrier) c.sync_block();
  if (What == kind::warp_barrier) c.sync_warp();
  if (What == kind::shuffle) c.shuffle(1, 0);
  if (What == kind::ballot) c.ballot(true);
}

// Some threads come to it and the others return, or wait at a barrier.
enum class others { return_first, wait_for_block };
template <kind What, others Do, int First>
struct parts : small_kernel<64> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params&) {
    if (c.thread() >= First) come<What>(c);
    if (Do == others::wait_for_block) c.sync_block();
  }
};

TEST_CASE("a part of a warp comes to a shuffle, a ballot or a barrier of the warp") {
  emulator::check_fault<parts<kind::shuffle, others::return_first, 16>>(fault::divergence);
  emulator::check_fault<parts<kind::ballot, others::return_first, 1>>(fault::divergence);
  emulator::check_fault<parts<kind::warp_barrier, others::return_first, 63>>(fault::divergence);
  emulator::check_fault<parts<kind::shuffle, others::wait_for_block, 16>>(fault::divergence);
  emulator::check_fault<parts<kind::ballot, others::wait_for_block, 1>>(fault::divergence);
  emulator::check_fault<parts<kind::warp_barrier, others::wait_for_block, 63>>(fault::divergence);
  // Whole warps may.
  emulator::check_clean<parts<kind::shuffle, others::return_first, 32>>();
  emulator::check_clean<parts<kind::ballot, others::wait_for_block, 32>>();
  emulator::check_clean<parts<kind::warp_barrier, others::wait_for_block, 0>>();
}

TEST_CASE("a part of a block comes to its barrier") {
  emulator::check_fault<parts<kind::block_barrier, others::return_first, 1>>(fault::divergence);
  emulator::check_fault<parts<kind::block_barrier, others::return_first, 32>>(fault::divergence);
  emulator::check_clean<parts<kind::block_barrier, others::return_first, 0>>();
}

// Two parts come to two different places.
template <kind What, int First>
struct two_places : small_kernel<64> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params&) {
    // NOLINTNEXTLINE(bugprone-branch-clone): the same in two places
    if (c.thread() < First) {
      if (What == kind::block_barrier) c.sync_block();
      if (What == kind::shuffle) c.shuffle(1, 0);
    } else {
      if (What == kind::block_barrier) c.sync_block();
      if (What == kind::shuffle) c.shuffle(1, 0);
    }
  }
};

TEST_CASE("two places are two barriers") {
  emulator::check_fault<two_places<kind::block_barrier, 32>>(fault::divergence);
  emulator::check_fault<two_places<kind::block_barrier, 1>>(fault::divergence);
  emulator::check_fault<two_places<kind::shuffle, 16>>(fault::divergence);
  emulator::check_clean<two_places<kind::block_barrier, 64>>();
  emulator::check_clean<two_places<kind::shuffle, 32>>();
}

struct throws : small_kernel<64> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params&) {
    c.sync_block();
    if (c.thread() == 40) throw std::runtime_error("thread 40 has had enough");
    c.sync_block();
  }
};

TEST_CASE("a kernel that throws ends its launch") {
  emulator::for_all_schedules([](const emulator::config& how) {
    emulator::small_memory m;
    const auto found = emulator::launch<throws>(2, m.params<throws>(), m.ranges, how);
    REQUIRE(found.findings.size() == 1);
    CHECK(found.has(fault::exception));
    CHECK(found.text().find("has had enough") != std::string::npos);
  });
}

}  // namespace
