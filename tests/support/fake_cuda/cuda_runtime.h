// SPDX-License-Identifier: Apache-2.0
/// @file   support/fake_cuda/cuda_runtime.h
/// @brief  The calls of the CUDA runtime that the library's host side makes, on the processor: streams
///         do their work as late as they may, so that what relies on earlier work shows.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>

// The names are the runtime's. NOLINTBEGIN(readability-identifier-naming)
enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorNotReady = 600
};
enum cudaMemoryType {
  cudaMemoryTypeUnregistered,
  cudaMemoryTypeHost,
  cudaMemoryTypeDevice,
  cudaMemoryTypeManaged
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDefault };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount };
inline constexpr unsigned cudaEventDisableTiming = 2, cudaHostAllocDefault = 0;
struct cudaPointerAttributes {
  cudaMemoryType type = cudaMemoryTypeUnregistered;
  int device = -2;
};

struct CUevent_st {
  int recorded = 0, passed = 0;
};
struct CUstream_st {
  std::deque<std::function<void()>> work;
};
using cudaEvent_t = CUevent_st*;
using cudaStream_t = CUstream_st*;

namespace fake_cuda {

struct memory {
  std::size_t bytes;
  cudaMemoryType type;
  int device;
};
struct machine {
  int device = 0;
  std::map<const std::byte*, memory> memories;
  CUstream_st default_stream;
  int allocations = 0;  // so far
  std::size_t most_bytes = ~std::size_t{0};
  int waits_of_host = 0;  // for work that was not done
  std::map<CUevent_st*, CUstream_st*> where_recorded;
};
inline machine& the() {
  static machine all;
  return all;
}
inline CUstream_st& stream_of(cudaStream_t stream) {
  return stream != nullptr ? *stream : the().default_stream;
}
inline void run_one(CUstream_st& stream) {
  const auto work = std::move(stream.work.front());
  stream.work.pop_front();
  work();
}
inline void run_all(CUstream_st& stream) {
  while (!stream.work.empty()) run_one(stream);
}
inline void run_until(CUevent_st& event, int time) {
  while (event.passed < time) run_one(*the().where_recorded.at(&event));
}
inline const memory* find(const void* address) {
  const auto* const at = static_cast<const std::byte*>(address);
  auto next = the().memories.upper_bound(at);
  if (next == the().memories.begin()) return nullptr;
  --next;
  return at < next->first + next->second.bytes ? &next->second : nullptr;
}
inline cudaError_t allocate(void** memory, std::size_t bytes, cudaMemoryType type) {
  if (bytes > the().most_bytes) return cudaErrorMemoryAllocation;
  auto* const made = static_cast<std::byte*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  std::memset(made, 0xa5, bytes);
  the().memories[made] = {bytes, type, the().device};
  ++the().allocations;
  *memory = made;
  return cudaSuccess;
}
inline cudaError_t release(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  for (auto* stream : {&the().default_stream}) run_all(*stream);
  the().memories.erase(static_cast<std::byte*>(memory));
  std::free(memory);
  return cudaSuccess;
}

}  // namespace fake_cuda

inline const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorMemoryAllocation ? "out of memory" : "a sentence";
}
inline const char* cudaGetErrorName(cudaError_t code) {
  return code == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "a name";
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaGetDevice(int* device) {
  *device = fake_cuda::the().device;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 7;
  return cudaSuccess;
}
inline cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return fake_cuda::allocate(memory, bytes, cudaMemoryTypeDevice);
}
inline cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return fake_cuda::allocate(memory, bytes, cudaMemoryTypeHost);
}
inline cudaError_t cudaFree(void* memory) { return fake_cuda::release(memory); }
inline cudaError_t cudaFreeHost(void* memory) { return fake_cuda::release(memory); }
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* found, const void* address) {
  *found = {};
  if (const auto* const memory = fake_cuda::find(address)) *found = {memory->type, memory->device};
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_row, const void* from,
                                     std::size_t from_row, std::size_t row, std::size_t rows,
                                     cudaMemcpyKind, cudaStream_t stream) {
  if (row > to_row || row > from_row) return cudaErrorInvalidValue;
  const auto go = [=](const void* source) {
    for (std::size_t i = 0; i < rows; ++i)
      std::memcpy(static_cast<std::byte*>(to) + i * to_row,
                  static_cast<const std::byte*>(source) + i * from_row, row);
  };
  const std::size_t bytes = (rows - 1) * from_row + row;
  if (fake_cuda::find(from) != nullptr) {
    fake_cuda::stream_of(stream).work.emplace_back([=] { go(from); });
  } else {  // memory that is not pinned is read during the call
    const std::shared_ptr<std::byte[]> copy(new std::byte[bytes]);
    std::memcpy(copy.get(), from, bytes);
    fake_cuda::stream_of(stream).work.emplace_back([=] { go(copy.get()); });
  }
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes,
                                   cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  fake_cuda::stream_of(stream).work.emplace_back([=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  fake_cuda::run_all(fake_cuda::stream_of(stream));
  return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  fake_cuda::run_until(*event, event->recorded);
  delete event;
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const int time = ++event->recorded;
  fake_cuda::the().where_recorded[event] = &fake_cuda::stream_of(stream);
  fake_cuda::stream_of(stream).work.emplace_back([=] { event->passed = time; });
  return cudaSuccess;
}
inline cudaError_t cudaEventQuery(cudaEvent_t event) {
  return event->passed == event->recorded ? cudaSuccess : cudaErrorNotReady;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event->passed < event->recorded) ++fake_cuda::the().waits_of_host;
  fake_cuda::run_until(*event, event->recorded);
  return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned = 0) {
  const int time = event->recorded;
  fake_cuda::stream_of(stream).work.emplace_back([=] { fake_cuda::run_until(*event, time); });
  return cudaSuccess;
}
// NOLINTEND(readability-identifier-naming)
