// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/workspace.hpp
/// @brief  The memory that calls on a GPU need besides their data, kept from call to call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include <cuda_runtime.h>

#include <ebb/core/numeric.hpp>
#include <ebb/recurrence/backend/cuda/context.hpp>
#include <ebb/recurrence/backend/cuda/device_array.hpp>
#include <ebb/recurrence/backend/cuda/error.hpp>
#include <ebb/recurrence/backend/cuda/launcher.hpp>

namespace ebb::inline EBB_ABI {

namespace detail::gpu {

struct free_host_memory {
  void operator()(void* memory) const { static_cast<void>(cudaFreeHost(memory)); }
};
/// Host memory that the device copies from by itself.
using pinned_memory = std::unique_ptr<void, free_host_memory>;

struct destroy_event {
  void operator()(CUevent_st* event) const { static_cast<void>(cudaEventDestroy(event)); }
};

/// A place in the order of a stream's work.
class stream_event {
 public:
  /// After all that has been given to the stream so far.
  void record(cudaStream_t stream) {
    if (!event_) {
      cudaEvent_t made = nullptr;
      require_success(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreate");
      event_.reset(made);
    }
    require_success(cudaEventRecord(event_.get(), stream), "cudaEventRecord");
  }
  /// Whether the work before it is done, or there is none.
  bool passed() const {
    if (!event_) return true;
    const cudaError_t state = cudaEventQuery(event_.get());
    if (state == cudaErrorNotReady) return false;
    require_success(state, "cudaEventQuery");
    return true;
  }
  /// Until then: the caller, or what is given to a stream from now on.
  void wait() const {
    if (event_) require_success(cudaEventSynchronize(event_.get()), "cudaEventSynchronize");
  }
  void wait_in(cudaStream_t stream) const {
    if (event_) require_success(cudaStreamWaitEvent(stream, event_.get()), "cudaStreamWaitEvent");
  }

 private:
  std::unique_ptr<CUevent_st, destroy_event> event_;
};

/// Room for a call's small host arrays, on both sides. Memory of the host is written over only once
/// its copy has been made.
struct staging {
  explicit staging(std::size_t bytes) : capacity(bytes), device(allocate_on_device(bytes)) {
    void* memory = nullptr;
    require_success(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "cudaHostAlloc");
    host.reset(memory);
  }

  std::size_t capacity, used = 0, copied = 0;
  device_memory device;
  pinned_memory host;
  stream_event done;
  std::uint64_t turn = 0;  // of its last use
};

/// What a workspace holds. A call begins with `begin`; then the rest, in any order. All of it only
/// grows, so that a call like an earlier one allocates nothing.
class workspace_memory {
 public:
  /// Calls whose small arrays may be on their way at once; the next one waits for the first.
  static constexpr std::size_t most_staged = 16;

  int device() const { return device_; }
  int processors() const { return processors_; }
  std::size_t device_bytes() const {
    std::size_t sum = tile_bytes_;
    for (const auto& some : blocks_) sum += some.bytes;
    for (const auto& some : staged_) sum += some->capacity;
    return sum;
  }

  /// A call on a stream of the current device.
  /// @throws domain_error for another device than the first call's.
  void begin(int device, cudaStream_t stream) {
    if (device_ < 0) {
      require_success(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device),
                      "cudaDeviceGetAttribute");
      device_ = device;
    }
    require_domain(device == device_, "cuda",
                   "need a workspace of the current device (its device, current)", device_, device);
    stream_ = stream;
    block_ = offset_ = 0;
    current_ = nullptr;
    ++turn_;
    draws_tickets_ = false;
  }

  /// `bytes` of uninitialised device memory until the end of the call.
  void* scratch(std::size_t bytes) {
    bytes = rounded(bytes);
    while (block_ < blocks_.size() && blocks_[block_].bytes - offset_ < bytes) {
      ++block_;
      offset_ = 0;
    }
    if (block_ == blocks_.size()) {
      const std::size_t last = blocks_.empty() ? 0 : blocks_.back().bytes;
      const std::size_t size = std::max({bytes, 2 * last, std::size_t{1} << 16});
      blocks_.push_back({allocate_on_device(size), size});
    }
    void* const result = static_cast<std::byte*>(blocks_[block_].memory.get()) + offset_;
    offset_ += bytes;
    return result;
  }

  /// The device's copy of host memory, valid until the end of the call. Nothing may be launched
  /// that reads it before `copy_uploads`.
  const void* upload(const void* values, std::size_t bytes) {
    if (current_ == nullptr || current_->capacity - current_->used < rounded(bytes)) {
      copy_uploads();
      current_ = &free_staging(rounded(bytes));
    }
    const std::size_t at = current_->used;
    std::memcpy(static_cast<std::byte*>(current_->host.get()) + at, values, bytes);
    current_->used += rounded(bytes);
    return static_cast<const std::byte*>(current_->device.get()) + at;
  }
  void copy_uploads() {
    if (current_ == nullptr || current_->used == current_->copied) return;
    const std::size_t from = current_->copied;
    require_success(cudaMemcpyAsync(static_cast<std::byte*>(current_->device.get()) + from,
                                    static_cast<const std::byte*>(current_->host.get()) + from,
                                    current_->used - from, cudaMemcpyHostToDevice, stream_),
                    "cudaMemcpyAsync");
    current_->copied = current_->used;
    current_->done.record(stream_);
  }

  /// Words for the next launch, whose blocks draw one ticket each.
  tile_buffer tiles(index_t words) {
    const std::size_t bytes = ticket_bytes + static_cast<std::size_t>(words) * sizeof(word64);
    if (bytes > tile_bytes_) {
      const std::size_t size = std::max({bytes, 2 * tile_bytes_, std::size_t{1} << 16});
      device_memory larger = allocate_on_device(size);
      if (tiles_) old_tiles_.push_back(std::move(tiles_));  // launches under way work on it
      tiles_ = std::move(larger);
      tile_bytes_ = size;
      numbering_ = tile_numbering();
    }
    if (numbering_.next()) {
      require_success(cudaMemsetAsync(tiles_.get(), 0, tile_bytes_, stream_), "cudaMemsetAsync");
      numbering_ = tile_numbering();
      numbering_.next();
    }
    draws_tickets_ = true;
    auto* const first = static_cast<std::byte*>(tiles_.get());
    return numbering_.number(reinterpret_cast<word64*>(first + ticket_bytes),
                             reinterpret_cast<word32*>(first));
  }
  /// So many blocks were launched.
  void launched(index_t blocks) {
    if (draws_tickets_) numbering_.draw(blocks);
    draws_tickets_ = false;
  }

 private:
  static constexpr std::size_t ticket_bytes = 256;
  struct block {
    device_memory memory;
    std::size_t bytes;
  };

  static std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

  staging& free_staging(std::size_t bytes) {
    staging* oldest = nullptr;
    for (auto& some : staged_) {
      if (some->turn == turn_ || some->capacity < bytes) continue;
      if (oldest == nullptr || some->turn < oldest->turn) oldest = some.get();
    }
    if (oldest == nullptr || (staged_.size() < most_staged && !oldest->done.passed())) {
      std::size_t size = std::size_t{1} << 16;
      while (size < bytes) size *= 2;
      staged_.push_back(std::make_unique<staging>(size));
      oldest = staged_.back().get();
    }
    oldest->done.wait();
    oldest->used = oldest->copied = 0;
    oldest->turn = turn_;
    return *oldest;
  }

  int device_ = -1, processors_ = 0;
  cudaStream_t stream_ = nullptr;
  std::vector<block> blocks_;
  std::size_t block_ = 0, offset_ = 0;
  std::vector<std::unique_ptr<staging>> staged_;
  staging* current_ = nullptr;
  std::uint64_t turn_ = 0;
  device_memory tiles_;
  std::vector<device_memory> old_tiles_;
  std::size_t tile_bytes_ = 0;
  tile_numbering numbering_;
  bool draws_tickets_ = false;
};

}  // namespace detail::gpu

/// Memory that calls on a GPU need besides their data: words in which blocks meet, room for
/// intermediate states, and for the small host arrays of `sequences` and decays. It belongs to the
/// device of its first call.
///
/// Calls that share a workspace must come in an order: on one stream, or on streams that wait for
/// each other. It grows where a call needs more than those before, which allocates; it never
/// shrinks. Not for several threads at once.
class cuda_workspace {
 public:
  cuda_workspace() : memory_(std::make_unique<detail::gpu::workspace_memory>()) {}

  /// Device memory held, in bytes.
  std::size_t device_bytes() const { return memory_->device_bytes(); }

 private:
  friend class cuda;
  std::unique_ptr<detail::gpu::workspace_memory> memory_;
};

}  // namespace ebb::inline EBB_ABI
