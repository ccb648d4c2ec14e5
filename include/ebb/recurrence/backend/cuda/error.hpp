// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/error.hpp
/// @brief  What a failed call of the CUDA runtime becomes.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <cuda_runtime.h>

#include <ebb/core/error.hpp>

namespace ebb::inline EBB_ABI {

/// A call of the CUDA runtime failed: what() has the call, CUDA's sentence and the code.
///
/// Kernels run later than the call that starts them. What fails in one is reported by a later call,
/// by any of this library or by the caller's own synchronisation.
class cuda_error : public std::runtime_error {
 public:
  cuda_error(std::string_view call, cudaError_t code)
      : std::runtime_error(text(call, code)), code_(code) {}

  cudaError_t code() const { return code_; }

 private:
  static std::string text(std::string_view call, cudaError_t code) {
    std::string result(call);
    result += ": ";
    result += cudaGetErrorString(code);
    result += " (";
    result += cudaGetErrorName(code);
    result += ", ";
    result += std::to_string(static_cast<int>(code));
    result += ')';
    return result;
  }

  cudaError_t code_;
};

namespace detail::gpu {

/// @throws cuda_error unless a call of the runtime succeeded.
inline void require_success(cudaError_t code, std::string_view call) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // told once is enough
  EBB_THROW(cuda_error(call, code));
}

/// The device that calls of this thread go to.
inline int current_device() {
  int device = 0;
  require_success(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

}  // namespace detail::gpu
}  // namespace ebb::inline EBB_ABI
