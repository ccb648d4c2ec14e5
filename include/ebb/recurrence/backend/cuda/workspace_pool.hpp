// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/workspace_pool.hpp
/// @brief  Workspaces for calls that bring none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <cuda_runtime.h>

#include <ebb/recurrence/backend/cuda/workspace.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// A thread's workspaces, a few for each device, so that its streams need not wait for each other.
class workspace_pool {
 public:
  /// For each device; a stream more than that waits for the work of another.
  static constexpr std::size_t most_streams = 8;

  struct entry {
    int device;
    cudaStream_t stream;
    workspace_memory memory;
    stream_event last;  // after the work of its last call
    std::uint64_t turn = 0;
  };

  static workspace_pool& of_thread() {
    thread_local workspace_pool pool;
    return pool;
  }

  /// One for a call on a stream: of the same stream, or idle, or new, or the longest unused.
  entry& take(int device, cudaStream_t stream) {
    entry* chosen = nullptr;
    entry* oldest = nullptr;
    std::size_t count = 0;
    for (auto& some : entries_) {
      if (some->device != device) continue;
      ++count;
      if (some->stream == stream) chosen = some.get();
      if (oldest == nullptr || some->turn < oldest->turn) oldest = some.get();
    }
    if (chosen == nullptr && oldest != nullptr && (count == most_streams || oldest->last.passed()))
      chosen = oldest;
    if (chosen == nullptr) {
      entries_.push_back(std::make_unique<entry>(entry{device, stream, {}, {}}));
      chosen = entries_.back().get();
    }
    chosen->last.wait_in(stream);  // a stream of an old one's address is another stream
    chosen->stream = stream;
    chosen->turn = ++turn_;
    return *chosen;
  }

 private:
  std::vector<std::unique_ptr<entry>> entries_;
  std::uint64_t turn_ = 0;
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
