// SPDX-License-Identifier: Apache-2.0
// Scans, steps and calls of a layer do not allocate.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/recurrence/backend/automatic.hpp>
#include <ebb/recurrence/backend/reference.hpp>
#include <ebb/recurrence/backend/threads.hpp>
#include <ebb/recurrence/layer.hpp>
#include <ebb/recurrence/vjp.hpp>
#include <ebb/spectrum/geometric.hpp>

namespace {
std::atomic<long> allocations{0};
}

// Not inlined: g++ 12 would take malloc and free for a mismatch of new and delete.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

template <class Call>
long allocations_in(Call call) {
  const long before = allocations;
  call();
  return allocations - before;
}

TEST_CASE("the counter counts") {
  CHECK(allocations_in([] { ::operator delete(::operator new(8)); }) == 1);
}

TEST_CASE_TEMPLATE("no allocation in calls", Backend, ebb::rows, ebb::reference) {
  const auto memory = ebb::make_layer<float>(ebb::geometric_spectrum::timescales(1, 100),
                                             ebb::post_taper::relative(100), 600, Backend{});
  ebb::array<float> b(20, 600), h(20, 600), a(20, 600);
  auto state = memory.start();
  const std::vector<float> row(600);
  CHECK(allocations_in([&] { memory(b, h); }) == 0);
  CHECK(allocations_in([&] { memory(b, h, state); }) == 0);
  CHECK(allocations_in([&] { memory.step(row, state); }) == 0);
  CHECK(allocations_in([&] { ebb::scan(a, b, h, Backend{}); }) == 0);
  CHECK(allocations_in([&] { ebb::scan(ebb::stored_logs(a), b, b, Backend{}); }) == 0);
}

TEST_CASE("no allocation in gradients") {
  const auto memory = ebb::make_layer<float>(ebb::geometric_spectrum::timescales(1, 100),
                                             ebb::post_taper::relative(100), 600);
  ebb::array<float> b(20, 600), h(20, 600), a(20, 600);
  std::vector<double> rates(600), alpha(600);
  ebb::post_taper::bound<double>::gradients sums{rates, alpha};
  const ebb::scan_cotangents<float> known{.outputs = b.view()};
  const ebb::scan_gradients<float, decltype(sums)> asked{.inputs = b.view(), .decay = &sums};
  CHECK(allocations_in([&] { ebb::scan_vjp(memory.decay(), h, h, known, asked); }) == 0);
  const auto logs = ebb::stored_logs(a);
  ebb::array<float> values(20, 600);
  decltype(logs)::gradients each{values.view()};
  const ebb::scan_gradients<float, decltype(each)> all{.inputs = b.view(), .decay = &each};
  CHECK(allocations_in([&] { ebb::scan_vjp(logs, h, h, known, all); }) == 0);
}

TEST_CASE_TEMPLATE("no allocation on threads that are there", Backend, ebb::threads<>,
                   ebb::automatic<>) {
  const Backend backend(ebb::threads<>(3, {}, 1));
  ebb::array<float> b(500, 600), h(500, 600), a(500, 600);
  const auto call = [&] {
    ebb::scan(a, b, h, backend);
    ebb::scan(ebb::stored_logs(a), b, b, backend);
  };
  CHECK(allocations_in(call) > 0);
  for (int i = 0; i < 20; ++i) CHECK(allocations_in(call) == 0);
}

}  // namespace
