// SPDX-License-Identifier: Apache-2.0
// Copies between the memory of the host and of a device, of every layout.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <ebb/recurrence/backend/cuda/device_array.hpp>
#include <ebb/recurrence/backend/cuda/memory_check.hpp>

namespace {

using ebb::extents;
using ebb::index_t;
using ebb::strided_view;

std::vector<float> counted(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

TEST_CASE_TEMPLATE("what is copied in and out again is the same", Axis, ebb::time_major,
                   ebb::channel_major) {
  const extents size{3, 5, 4};
  const index_t rows = std::is_same_v<Axis, ebb::time_major> ? 5 : 4, row = 20 / rows;
  CUstream_st stream;
  for (const index_t distance : {row, row + 3})
    for (const index_t entry : {rows * distance, rows * distance + 7, index_t{0}}) {
      CAPTURE(distance);
      CAPTURE(entry);
      const auto memory = counted(static_cast<std::size_t>(3 * (rows * distance + 7)));
      const strided_view<const float, Axis> from(memory.data(), size, {entry, distance});
      ebb::device_array<float, Axis> array(from, &stream);
      CHECK(array.size() == size);

      ebb::array<float, Axis> dense(size);
      array.copy_to(dense, &stream);
      cudaStreamSynchronize(&stream);
      for (index_t b = 0; b < 3; ++b)
        for (index_t t = 0; t < 5; ++t)
          for (index_t k = 0; k < 4; ++k) CHECK(dense(b, t, k) == from(b, t, k));

      if (entry == 0) continue;  // not to be written
      std::vector<float> back(memory.size(), -1);
      const strided_view<float, Axis> to(back.data(), size, {entry, distance});
      array.copy_to(to, &stream);
      cudaStreamSynchronize(&stream);
      auto expected = std::vector<float>(memory.size(), -1);
      const strided_view<float, Axis> written(expected.data(), size, {entry, distance});
      for (index_t b = 0; b < 3; ++b)
        for (index_t t = 0; t < 5; ++t)
          for (index_t k = 0; k < 4; ++k) written(b, t, k) = from(b, t, k);
      CHECK(back == expected);
    }
}

TEST_CASE("host memory that is not pinned may be used again at once") {
  CUstream_st stream;
  ebb::array<float> values(2, 2);
  values(1, 1) = 3;
  const ebb::device_array<float> array(values, &stream);
  values(1, 1) = 4;
  cudaStreamSynchronize(&stream);
  CHECK(array.data()[3] == 3);
}

TEST_CASE("empty arrays own no memory") {
  const int before = fake_cuda::the().allocations;
  ebb::device_array<double> none, no_steps(0, 4);
  ebb::array<double> host(0, 4);
  no_steps.copy_from(host);
  no_steps.copy_to(host);
  CHECK(none.view().left_out());
  CHECK(no_steps.data() == nullptr);
  CHECK(fake_cuda::the().allocations == before);
}

TEST_CASE("what cannot be copied is refused") {
  ebb::device_array<float> array(4, 3);
  ebb::array<float> other(3, 4);
  CHECK_THROWS_AS(array.copy_from(other), ebb::shape_error);
  CHECK_THROWS_AS(array.copy_to(other), ebb::shape_error);
  float memory[12] = {};
  for (const index_t distance : {0, -3, 2})
    CHECK_THROWS_AS(
        array.copy_from(strided_view<const float>(memory + 9, extents{1, 4, 3}, {0, distance})),
        ebb::shape_error);
  CHECK_THROWS_AS(ebb::device_array<float>(-1, 3), ebb::shape_error);
  const index_t large = index_t{1} << 21;
  CHECK_THROWS_AS(ebb::device_array<double>({large, large, large}), ebb::shape_error);
  CHECK_NOTHROW(ebb::device_array<double>({large, 0, index_t{1} << 62}));
}

TEST_CASE("a failed call is an exception that names it") {
  fake_cuda::the().most_bytes = 1000;
  try {
    const ebb::device_array<float> array(100, 100);
    CHECK(false);
  } catch (const ebb::cuda_error& error) {
    CHECK(error.code() == cudaErrorMemoryAllocation);
    CHECK(std::string(error.what()) == "cudaMalloc: out of memory (cudaErrorMemoryAllocation, 2)");
  }
  fake_cuda::the().most_bytes = ~std::size_t{0};
}

TEST_CASE("memory of another space is refused by name") {
  const ebb::detail::gpu::memory_check check{0, "scan"};
  ebb::array<float> host(2, 3);
  ebb::device_array<float> device(2, 3);
  CHECK_NOTHROW(check(device.view(), "out"));
  CHECK_NOTHROW(check(device.view().steps_from(1, 1), "out"));
  CHECK_NOTHROW(check(strided_view<float>(), "initial states"));
  CHECK_THROWS_WITH_AS(check(host.view(), "in"),
                       "scan: need in in the current device's memory, got host memory",
                       ebb::domain_error);
  void* pinned = nullptr;
  cudaHostAlloc(&pinned, 64, cudaHostAllocDefault);
  CHECK_THROWS_AS(check(strided_view<float>(static_cast<float*>(pinned), 2, 3), "in"),
                  ebb::domain_error);
  cudaFreeHost(pinned);
  fake_cuda::the().device = 1;
  ebb::device_array<float> foreign(2, 3);
  fake_cuda::the().device = 0;
  CHECK_THROWS_WITH_AS(
      check(foreign.view(), "out"),
      "scan: need out in the current device's memory (device of the data, current), got 1, 0",
      ebb::domain_error);
  void* managed = nullptr;
  fake_cuda::allocate(&managed, 64, cudaMemoryTypeManaged);
  CHECK_NOTHROW(check(strided_view<float>(static_cast<float*>(managed), 2, 3), "in"));
  cudaFree(managed);

  const ebb::sequences<float> where{.final_states = host.view()};
  CHECK_THROWS_AS(check.states(where), ebb::domain_error);
}

}  // namespace
