// SPDX-License-Identifier: Apache-2.0
// Blocks that hand values to one another through flagged words, on the CPU as on a GPU.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "support/emulator/launcher.hpp"
#include "support/emulator/running_sum.hpp"

namespace {

namespace emulator = ebb::test::emulator;
using ebb::index_t;
using ebb::detail::gpu::tile_numbering;
using ebb::detail::gpu::word32;
using ebb::detail::gpu::word64;

// The sums of values that no call before had; whether all are right.
bool sums_are_right(emulator::launcher& l, index_t blocks, word32 seed) {
  const index_t n = blocks * emulator::running_sum::threads;
  std::vector<word32> in(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<word32>((i + seed) * 2654435761u);
  std::vector<word64> out(in.size());
  emulator::memory& m = l.begin_call();
  m.add(static_cast<const word32*>(in.data()), n, emulator::usage::input, "in");
  m.add(out.data(), n, emulator::usage::output, "out");
  l.launch<emulator::running_sum>(blocks, {in.data(), out.data(), l.tiles(2 * blocks)});
  word64 sum = 0;
  bool right = m.unwritten(out.data(), n) == 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    sum += in[i];
    right = right && out[i] == sum;
  }
  return right;
}

TEST_CASE("tiles hand sums on, up to 40 of them at once, by every schedule") {
  for (const int resident : {1, 3, 40})
    for (const std::uint64_t seed : {1u, 2u, 3u})
      for (const emulator::config& how : emulator::schedules(seed, resident)) {
        CAPTURE(resident);
        CAPTURE(seed);
        CAPTURE(static_cast<int>(how.how));
        emulator::launcher l(how);
        // Twice: the words of the first call are still there in the second.
        CHECK(sums_are_right(l, 45, 1));
        CHECK(sums_are_right(l, 33, 2));
      }
}

TEST_CASE("epochs start anew with cleared words, and tickets pass 2^32") {
  emulator::launcher l({}, 4, tile_numbering(tile_numbering::last_epoch - 2, 0xffffffffu - 7));
  for (word32 call = 0; call < 5; ++call) CHECK(sums_are_right(l, 6, call));
}

TEST_CASE("a numbering") {
  tile_numbering fresh;
  CHECK(fresh.next());
  CHECK(fresh.number(nullptr, nullptr).epoch == 1);
  fresh.draw(7);
  CHECK_FALSE(fresh.next());
  CHECK(fresh.number(nullptr, nullptr).epoch == 2);
  CHECK(fresh.number(nullptr, nullptr).first_ticket == 7);
}

TEST_CASE("the same seed gives the same course, another one another") {
  const auto switches = [](const emulator::config& how) {
    emulator::launcher l(how);
    CHECK(sums_are_right(l, 12, 1));
    return l.latest().switches;
  };
  const emulator::config one, other{.seed = 2};
  CHECK(switches(one) == switches(one));
  CHECK(switches(one) != switches(other));
}

}  // namespace
