// SPDX-License-Identifier: Apache-2.0
// Reads of memory that nobody has written.
#include <doctest/doctest.h>

#include <cmath>
#include <span>
#include <vector>

#include "support/emulator/trial.hpp"

namespace {

namespace emulator = ebb::test::emulator;
using emulator::fault;
using emulator::small_kernel;

// The threads below `Written` write a cell each; all read theirs.
template <int Written>
struct reads_shared : small_kernel<32> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>& m, const params&) {
    if (c.thread() < Written) m.cells.put(c, c.thread(), 1.0f);
    c.sync_block();
    m.cells.get(c, c.thread());
  }
};
template <int Written>
struct reads_global : small_kernel<32> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params& p) {
    float* const mine = p.out + c.block() * threads + c.thread();
    if (c.thread() < Written) c.template store<1>(mine, {{1.0f}});
    c.template load<1>(mine);
  }
};

TEST_CASE("shared memory") {
  emulator::check_fault<reads_shared<31>>(fault::unwritten);
  emulator::check_clean<reads_shared<32>>();
}

TEST_CASE("a block does not find what another left in shared memory") {
  emulator::for_all_schedules([](const emulator::config& how) {
    emulator::small_memory m;
    const auto found =
        emulator::launch<reads_shared<31>>(6, m.params<reads_shared<31>>(), m.ranges, how);
    REQUIRE(found.findings.size() == 1);
    CHECK(found.findings[0].times == 6);
  });
}

TEST_CASE("outputs") {
  emulator::check_fault<reads_global<31>>(fault::unwritten);
  emulator::check_clean<reads_global<32>>();
}

// out[i] = in[i], by the first threads.
template <int Count>
struct copies : small_kernel<32> {
  template <class Context>
  static void run(Context& c, shared_memory<Context>&, const params& p) {
    if (c.thread() < Count) c.store(p.out + c.thread(), c.template load<1>(p.in + c.thread()));
  }
};

TEST_CASE("allocated memory is NaN and counts what is missing; copies are there") {
  emulator::memory m;
  const std::vector<float> values(32, 3.0f);
  const float* const in = m.copy(std::span<const float>(values));
  float* const out = m.allocate<float>(32);
  CHECK(std::isnan(out[31]));
  CHECK(m.unwritten(out, 32) == 32);
  CHECK(m.unwritten(in, 32) == 0);
  CHECK(emulator::launch<copies<30>>(1, {in, out, nullptr, nullptr}, m).clean());
  CHECK(m.unwritten(out, 32) == 2);
  CHECK(out[29] == 3.0f);
  CHECK(std::isnan(out[30]));
}

}  // namespace
