// SPDX-License-Identifier: Apache-2.0
// Functions with stacks of their own.
#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "support/emulator/fiber.hpp"

namespace {

using ebb::test::emulator::fiber;

// A sum on the stack, with a switch at each depth.
double deep(fiber& f, int depth, double x) {
  f.suspend();
  const double below = depth == 0 ? 0.0 : deep(f, depth - 1, x + 1);
  f.suspend();
  return below + x;
}

TEST_CASE("many fibers keep what is theirs") {
  constexpr int count = 50, depth = 40;
  std::vector<std::unique_ptr<fiber>> fibers;
  std::vector<double> sums(count, 0.0);
  for (int i = 0; i < count; ++i) {
    fibers.push_back(std::make_unique<fiber>());
    fiber& f = *fibers.back();
    CHECK(f.idle());
    f.start([&f, &sums, i] { sums[static_cast<std::size_t>(i)] = deep(f, depth, i); });
    CHECK_FALSE(f.idle());
  }
  int rounds = 0;
  for (bool running = true; running; ++rounds) {
    running = false;
    for (auto& f : fibers)
      if (!f->idle()) {
        f->resume();
        running = true;
      }
  }
  CHECK(rounds == 2 * (depth + 1) + 2);
  for (int i = 0; i < count; ++i)
    CHECK(sums[static_cast<std::size_t>(i)] == (depth + 1) * i + depth * (depth + 1) / 2);
}

TEST_CASE("a fiber does one task after another, and exceptions stay inside") {
  fiber f;
  for (int task = 0; task < 3; ++task) {
    bool caught = false;
    f.start([&] {
      try {
        f.suspend();
        throw std::runtime_error("within");
      } catch (const std::runtime_error&) {
        caught = true;
      }
      f.suspend();
    });
    f.resume();
    CHECK_FALSE(caught);
    f.resume();
    CHECK(caught);
    CHECK_FALSE(f.idle());
    f.resume();
    CHECK(f.idle());
  }
}

}  // namespace
