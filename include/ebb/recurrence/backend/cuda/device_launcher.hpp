// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/device_launcher.hpp
/// @brief  The launcher of a GPU; for nvcc only.
#pragma once

#if defined(__CUDACC__)

#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>

#include <cuda_runtime.h>

#include <ebb/recurrence/backend/cuda/device_context.hpp>
#include <ebb/recurrence/backend/cuda/launcher.hpp>
#include <ebb/recurrence/backend/cuda/workspace.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// The launcher of one call on a stream, with the memory of a workspace. After each launch it
/// records an event, if there is one.
class device_launcher {
 public:
  device_launcher(workspace_memory& memory, int device, cudaStream_t stream,
                  stream_event* last = nullptr)
      : memory_(memory), stream_(stream), last_(last) {
    memory_.begin(device, stream);
  }

  template <kernel_body Kernel>
  void launch(index_t blocks, const typename Kernel::params& params) {
    require_domain(blocks <= std::numeric_limits<int>::max(), "cuda",
                   "need at most 2^31 - 1 blocks in a launch", blocks);
    if (blocks == 0) return;
    memory_.copy_uploads();
    const auto* const function = reinterpret_cast<const void*>(&kernel<Kernel>);
    constexpr std::size_t dynamic = dynamic_shared_bytes<Kernel>;
    if constexpr (dynamic > 0)
      require_success(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(dynamic)),
                      "cudaFuncSetAttribute");
    void* arguments[] = {const_cast<typename Kernel::params*>(&params)};
    require_success(
        cudaLaunchKernel(function, dim3(static_cast<unsigned>(blocks)),
                         dim3(static_cast<unsigned>(Kernel::threads)), arguments, dynamic, stream_),
        "cudaLaunchKernel");
    memory_.launched(blocks);
    if (last_ != nullptr) last_->record(stream_);
  }

  template <class T, std::size_t Extent>
  const std::remove_const_t<T>* upload(std::span<T, Extent> values) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 256);
    if (values.empty()) return nullptr;
    return static_cast<const T*>(memory_.upload(values.data(), values.size_bytes()));
  }

  template <class T>
  T* scratch(index_t count) {
    static_assert(alignof(T) <= 256);
    return static_cast<T*>(memory_.scratch(static_cast<std::size_t>(count) * sizeof(T)));
  }

  tile_buffer tiles(index_t words) { return memory_.tiles(words); }
  index_t processors() const { return memory_.processors(); }

 private:
  workspace_memory& memory_;
  cudaStream_t stream_;
  stream_event* last_;
};

}  // namespace ebb::inline EBB_ABI::detail::gpu

#endif
