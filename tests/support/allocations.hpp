// SPDX-License-Identifier: Apache-2.0
/// @file   support/allocations.hpp
/// @brief  Counts allocations. It replaces operator new: for one file of a program.
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace ebb::test {
inline std::atomic<long> allocations{0};

/// How often a call allocates.
template <class Call>
long allocations_in(Call call) {
  const long before = allocations;
  call();
  return allocations - before;
}
}  // namespace ebb::test

// Not inlined: g++ 12 would take malloc and free for a mismatch of new and delete.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++ebb::test::allocations;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("the counter counts") {
  CHECK(ebb::test::allocations_in([] { ::operator delete(::operator new(8)); }) == 1);
}
