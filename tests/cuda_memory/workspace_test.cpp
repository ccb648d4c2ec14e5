// SPDX-License-Identifier: Apache-2.0
// What calls on a GPU keep from call to call, with a device that works as late as it may.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include <ebb/recurrence/backend/cuda/workspace_pool.hpp>

namespace {

constexpr auto last_epoch = ebb::detail::gpu::tile_numbering::last_epoch;

using ebb::index_t;
using ebb::detail::gpu::tile_buffer;
using ebb::detail::gpu::word32;
using ebb::detail::gpu::word64;
using ebb::detail::gpu::workspace_memory;
using ebb::detail::gpu::workspace_pool;

/// A kernel that looks at an upload once the stream comes to it.
void read_later(CUstream_st& stream, const void* there, std::vector<int> expected, int& wrong) {
  stream.work.emplace_back([there, expected = std::move(expected), &wrong] {
    wrong += std::memcmp(there, expected.data(), expected.size() * sizeof(int)) != 0;
  });
}

TEST_CASE("uploads arrive as they were, however late") {
  CUstream_st stream;
  workspace_memory memory;
  int wrong = 0, waits = fake_cuda::the().waits_of_host;
  for (int call = 0; call < 100; ++call) {
    memory.begin(0, &stream);
    std::vector<int> values(static_cast<std::size_t>(10 + call));
    std::vector<const void*> there;
    for (int i = 0; i < 3; ++i) {
      for (int& value : values) value = 1000 * call + i;
      there.push_back(memory.upload(values.data(), values.size() * sizeof(int)));
    }
    memory.copy_uploads();
    for (int i = 0; i < 3; ++i)
      read_later(stream, there[static_cast<std::size_t>(i)],
                 std::vector<int>(values.size(), 1000 * call + i), wrong);
  }
  // The host waits only where as many earlier calls are on their way.
  CHECK(fake_cuda::the().waits_of_host - waits == 100 - int(workspace_memory::most_staged));
  cudaStreamSynchronize(&stream);
  CHECK(wrong == 0);
}

TEST_CASE("uploads of one call that need more room, and between launches") {
  CUstream_st stream;
  workspace_memory memory;
  int wrong = 0;
  for (int call = 0; call < 3; ++call) {
    memory.begin(0, &stream);
    for (int i = 0; i < 6; ++i) {
      const std::vector<int> values(std::size_t{1} << (12 + i), 10 * call + i);
      const void* const there = memory.upload(values.data(), values.size() * sizeof(int));
      memory.copy_uploads();
      read_later(stream, there, values, wrong);
    }
  }
  cudaStreamSynchronize(&stream);
  CHECK(wrong == 0);
}

TEST_CASE("a call like an earlier one allocates nothing") {
  CUstream_st stream;
  workspace_memory memory;
  const auto call = [&](index_t size) {
    memory.begin(0, &stream);
    const std::vector<int> values(static_cast<std::size_t>(size));
    memory.upload(values.data(), values.size() * sizeof(int));
    memory.copy_uploads();
    memory.scratch(static_cast<std::size_t>(100 * size));
    memory.scratch(static_cast<std::size_t>(100 * size));
    memory.tiles(10 * size);
    memory.launched(size);
    cudaStreamSynchronize(&stream);
  };
  for (const index_t size : {1000, 100000}) {
    call(size);
    call(size);
    const int warm = fake_cuda::the().allocations;
    const auto bytes = memory.device_bytes();
    CHECK(bytes > 0);
    for (int i = 0; i < 50; ++i) call(size - i);
    CHECK(fake_cuda::the().allocations == warm);
    CHECK(memory.device_bytes() == bytes);
  }
}

TEST_CASE("scratch memory of a call does not overlap, and is aligned") {
  CUstream_st stream;
  workspace_memory memory;
  for (int call = 0; call < 3; ++call) {
    memory.begin(0, &stream);
    std::vector<std::pair<std::uintptr_t, std::size_t>> parts;
    for (const std::size_t bytes : {1u, 255u, 256u, 70000u, 5u, 1000000u, 300u, 60000u}) {
      const auto at = reinterpret_cast<std::uintptr_t>(memory.scratch(bytes));
      CHECK(at % 256 == 0);
      CHECK(fake_cuda::find(reinterpret_cast<void*>(at + bytes - 1)) ==
            fake_cuda::find(reinterpret_cast<void*>(at)));
      for (const auto& [other, size] : parts) CHECK((at + bytes <= other || other + size <= at));
      parts.emplace_back(at, bytes);
    }
  }
}

TEST_CASE("words of tiles hold nothing of their launch's epoch, and tickets go on") {
  CUstream_st stream;
  workspace_memory memory;
  word32 next = 0, drawn = 0;
  const word32* counter = nullptr;
  int wrong = 0;
  for (const index_t words : {10, 9000, 3, 9000, 200000, 200000}) {
    memory.begin(0, &stream);
    const tile_buffer tiles = memory.tiles(words);
    if (tiles.ticket != counter) drawn = 0;
    counter = tiles.ticket;
    CHECK(tiles.epoch >= 1);
    CHECK(tiles.epoch <= last_epoch);
    CHECK(tiles.first_ticket == drawn);
    CHECK(fake_cuda::find(tiles.words + words - 1) != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(tiles.words) % 16 == 0);
    next = static_cast<word32>(words / 3 + 1);
    // The launch: draws, and leaves its epoch in every word.
    stream.work.emplace_back([tiles, words, next, &wrong] {
      wrong += *tiles.ticket != tiles.first_ticket;
      *tiles.ticket += next;
      for (index_t i = 0; i < words; ++i) {
        wrong += tiles.words[i] >> 40 >= tiles.epoch;
        tiles.words[i] = word64{tiles.epoch} << 40;
      }
    });
    memory.launched(next);
    drawn += next;
    memory.launched(1000);  // another launch of the call, which draws nothing
  }
  cudaStreamSynchronize(&stream);
  CHECK(wrong == 0);
}

TEST_CASE("epochs begin again in cleared words") {
  CUstream_st stream;
  workspace_memory memory;
  memory.begin(0, &stream);
  tile_buffer tiles = memory.tiles(4);
  cudaStreamSynchronize(&stream);
  for (word32 epoch = 2; epoch <= last_epoch; ++epoch) tiles = memory.tiles(4);
  CHECK(tiles.epoch == last_epoch);
  tiles.words[0] = ~word64{0};
  tiles = memory.tiles(4);
  cudaStreamSynchronize(&stream);
  CHECK(tiles.epoch == 1);
  CHECK(tiles.words[0] == 0);
  CHECK(*tiles.ticket == tiles.first_ticket);
}

TEST_CASE("a workspace stays on its device, and moves") {
  workspace_memory memory;
  memory.begin(0, nullptr);
  CHECK(memory.processors() == 7);
  CHECK_THROWS_AS(memory.begin(1, nullptr), ebb::domain_error);
  ebb::cuda_workspace one;
  ebb::cuda_workspace two = std::move(one);
  CHECK(two.device_bytes() == 0);
}

TEST_CASE("memory that does not suffice leaves a workspace as it was") {
  CUstream_st stream;
  workspace_memory memory;
  memory.begin(0, &stream);
  const tile_buffer before = memory.tiles(100);
  fake_cuda::the().most_bytes = 1 << 20;
  CHECK_THROWS_AS(memory.tiles(1 << 20), ebb::cuda_error);
  CHECK_THROWS_AS(memory.scratch(std::size_t{1} << 30), ebb::cuda_error);
  const std::vector<int> values(1 << 20);
  CHECK_THROWS_AS(memory.upload(values.data(), values.size() * sizeof(int)), ebb::cuda_error);
  fake_cuda::the().most_bytes = ~std::size_t{0};
  memory.begin(0, &stream);
  const tile_buffer after = memory.tiles(100);
  CHECK(after.words == before.words);
  CHECK(after.epoch > before.epoch);
  memory.upload(values.data(), 4);
  memory.copy_uploads();
  cudaStreamSynchronize(&stream);
}

TEST_CASE("streams have workspaces of their own, a few") {
  workspace_pool pool;
  std::vector<CUstream_st> streams(workspace_pool::most_streams + 1);
  std::vector<workspace_pool::entry*> entries;
  for (std::size_t i = 0; i < workspace_pool::most_streams; ++i) {
    auto& entry = pool.take(0, &streams[i]);
    for (auto* const other : entries) CHECK(&entry != other);
    entry.last.record(&streams[i]);  // a kernel that has not run
    entries.push_back(&entry);
    CHECK(&pool.take(0, &streams[i]) == &entry);
  }
  // One more waits for the longest unused, on the device.
  const int waits = fake_cuda::the().waits_of_host;
  bool first_done = false;
  streams[0].work.emplace_back([&] { first_done = true; });
  entries[0]->last.record(&streams[0]);
  auto& more = pool.take(0, &streams.back());
  CHECK(&more == entries[0]);
  CHECK(!first_done);
  bool in_order = false;
  streams.back().work.emplace_back([&] { in_order = first_done; });
  cudaStreamSynchronize(&streams.back());
  CHECK(in_order);
  CHECK(fake_cuda::the().waits_of_host == waits);
  // An idle one is taken rather than a new one made; other devices have their own.
  for (auto& stream : streams) cudaStreamSynchronize(&stream);
  workspace_pool idle;
  auto& first = idle.take(0, &streams[0]);
  first.last.record(&streams[0]);
  cudaStreamSynchronize(&streams[0]);
  CHECK(&idle.take(0, &streams[1]) == &first);
  CHECK(&idle.take(1, &streams[1]) != &first);
}

}  // namespace
