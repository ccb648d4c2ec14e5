// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulator/trial.hpp
/// @brief  Small kernels with a fault and without it, tried by every schedule.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include "support/emulator/launch.hpp"

namespace ebb::test::emulator {

/// What the small kernels have in common; they add `run`.
template <int Threads>
struct small_kernel {
  struct params {
    const float* in = nullptr;
    float* out = nullptr;
    word64* words = nullptr;
    word32* ticket = nullptr;
  };
  static constexpr int threads = Threads;
  template <class Context>
  struct shared_memory {
    typename Context::template shared<float, 64> cells;
  };
};

/// Memory for any of them: `size` floats 0, 1, 2 ... to read, as many to write, words and a ticket
/// that are 0.
struct small_memory {
  static constexpr int size = 256;
  std::array<float, size> in{};
  alignas(256) std::array<float, size> out{};
  alignas(256) std::array<word64, size> words{};
  word32 ticket = 0;
  memory ranges;

  small_memory() {
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
    ranges.add(static_cast<const float*>(in.data()), size, usage::input, "in");
    ranges.add(out.data(), size, usage::output, "out");
    ranges.add(words.data(), size, usage::words, "words");
    ranges.add(&ticket, 1, usage::words, "ticket");
  }
  template <class Kernel>
  typename Kernel::params params() {
    return {in.data(), out.data(), words.data(), &ticket};
  }
};

/// Every schedule with three seeds each.
template <class Each>
void for_all_schedules(const Each& each, int resident = 3) {
  for (const std::uint64_t seed : {1u, 2u, 3u})
    for (const config& how : schedules(seed, resident)) {
      CAPTURE(seed);
      CAPTURE(static_cast<int>(how.how));
      CAPTURE(how.switch_at_accesses);
      each(how);
    }
}

/// By every schedule a launch of the kernel finds this fault and no other; a race may show by a
/// read that comes before the write.
template <class Kernel>
void check_fault(fault kind, index_t blocks = 2) {
  for_all_schedules([&](const config& how) {
    small_memory m;
    const report found = launch<Kernel>(blocks, m.params<Kernel>(), m.ranges, how);
    CAPTURE(found.text());
    CHECK(found.has(kind));
    for (const finding& f : found.findings)
      CHECK((f.kind == kind || (kind == fault::race && f.kind == fault::unwritten)));
  });
}
/// By every schedule a launch of the kernel is clean.
template <class Kernel>
void check_clean(index_t blocks = 2) {
  for_all_schedules([&](const config& how) {
    small_memory m;
    const report found = launch<Kernel>(blocks, m.params<Kernel>(), m.ranges, how);
    CAPTURE(found.text());
    CHECK(found.clean());
  });
}

}  // namespace ebb::test::emulator
