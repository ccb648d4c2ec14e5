// SPDX-License-Identifier: Apache-2.0
// The pool of threads: every call once, whoever asks, however often, and its errors.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <ebb/core/executor.hpp>

namespace {

using ebb::index_t;
using ebb::thread_pool;

// How often each call of a run was made; plain numbers, so that a race is seen by ThreadSanitizer.
std::vector<int> counts(thread_pool& pool, index_t count) {
  std::vector<int> made(static_cast<std::size_t>(count));
  pool.run(count, [&](index_t i) { ++made[static_cast<std::size_t>(i)]; });
  return made;
}

TEST_CASE("every call is made once, and its work is there when run returns") {
  for (const index_t threads : {1, 2, 3, 8}) {
    thread_pool pool(threads);
    CHECK(pool.concurrency() == threads);
    for (int round = 0; round < 300; ++round)
      for (const index_t count : {0, 1, 2, 5, 40})
        REQUIRE(counts(pool, count) == std::vector<int>(static_cast<std::size_t>(count), 1));
  }
}

TEST_CASE("runs after the workers have gone to sleep") {
  thread_pool pool(3);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(10 * thread_pool::patience);
    REQUIRE(counts(pool, 7) == std::vector<int>(7, 1));
  }
}

TEST_CASE("a worker takes part where there is enough to do") {
  thread_pool pool(2);
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> helped{false};
  // Each call takes a while, so that the worker has time to come.
  for (int round = 0; round < 1000 && !helped; ++round)
    pool.run(20, [&](index_t) {
      if (std::this_thread::get_id() != caller) helped = true;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    });
  CHECK(helped);
}

TEST_CASE("many callers, and calls within calls, share one pool") {
  thread_pool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        std::vector<int> made(30);
        pool.run(6, [&](index_t i) {
          pool.run(5, [&](index_t j) { ++made[static_cast<std::size_t>(5 * i + j)]; });
        });
        if (made != std::vector<int>(30, 1)) ++wrong;
      }
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("an exception comes back to the caller, and the pool goes on") {
  thread_pool pool(3);
  for (int round = 0; round < 200; ++round) {
    CHECK_THROWS_AS(pool.run(20,
                             [](index_t i) {
                               if (i == 3) throw std::runtime_error("three");
                             }),
                    std::runtime_error);
    REQUIRE(counts(pool, 9) == std::vector<int>(9, 1));
  }
}

TEST_CASE("pools come and go, used or not") {
  for (int round = 0; round < 100; ++round) {
    thread_pool pool(4);
    if (round % 2 == 0) REQUIRE(counts(pool, 10) == std::vector<int>(10, 1));
  }
  CHECK_THROWS_AS(thread_pool(0), ebb::domain_error);
  CHECK_THROWS_AS(thread_pool(4097), ebb::domain_error);
}

}  // namespace
