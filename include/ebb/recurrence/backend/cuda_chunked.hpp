// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda_chunked.hpp
/// @brief  Outer products in chunks on the tensor cores of a GPU, by cuBLAS; for nvcc.
#pragma once

#if !defined(__CUDACC__)
#error "ebb/recurrence/backend/cuda_chunked.hpp is for nvcc: include it in a .cu file"
#endif

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <ebb/recurrence/backend/cuda.hpp>
#include <ebb/recurrence/backend/cuda/chunk_plan.hpp>

namespace ebb::inline EBB_ABI {

/// A call of cuBLAS failed: what() has the call and cuBLAS's sentence.
class cublas_error : public std::runtime_error {
 public:
  cublas_error(std::string_view call, cublasStatus_t code)
      : std::runtime_error(std::string(call) + ": " + cublasGetStatusString(code)), code_(code) {}

  cublasStatus_t code() const { return code_; }

 private:
  cublasStatus_t code_;
};

namespace detail::gpu {

/// Products of matrices on a stream; the handle goes there, and back to pointers as they were.
class cublas_products {
 public:
  /// @throws cublas_error.
  cublas_products(cublasHandle_t handle, cudaStream_t stream, bool tf32)
      : handle_(handle), tf32_(tf32) {
    require(cublasGetPointerMode(handle, &mode_), "cublasGetPointerMode");
    require(cublasSetStream(handle, stream), "cublasSetStream");
    require(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST), "cublasSetPointerMode");
  }
  cublas_products(const cublas_products&) = delete;
  cublas_products& operator=(const cublas_products&) = delete;
  ~cublas_products() { static_cast<void>(cublasSetPointerMode(handle_, mode_)); }

  template <class E>
  void operator()(const matrix_products<E>& p) {
    constexpr bool is_float = std::is_same_v<E, float>;
    constexpr cudaDataType_t type = is_float                      ? CUDA_R_32F
                                    : std::is_same_v<E, bfloat16> ? CUDA_R_16BF
                                                                  : CUDA_R_16F;
    static_assert(is_float || std::is_same_v<E, bfloat16> || std::is_same_v<E, half>,
                  "ebb::cuda_chunked: data are float, bfloat16 or half");
    const float one = 1, zero = 0;
    // Rows of ours are columns of cuBLAS: C^T = B^T A^T.
    const auto operation = [](const auto& f) { return f.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    const auto narrow = [](index_t n) { return static_cast<int>(n); };
    require(
        cublasGemmStridedBatchedEx(
            handle_, operation(p.b), operation(p.a), narrow(p.columns), narrow(p.rows),
            narrow(p.inner), &one, p.b.data, type, narrow(p.b.row), p.b.next, p.a.data, type,
            narrow(p.a.row), p.a.next, &zero, p.to, CUDA_R_32F, narrow(p.to_row), p.to_next,
            narrow(p.count), is_float && tf32_ ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
            CUBLAS_GEMM_DEFAULT),
        "cublasGemmStridedBatchedEx");
  }

 private:
  static void require(cublasStatus_t code, std::string_view call) {
    if (code != CUBLAS_STATUS_SUCCESS) EBB_THROW(cublas_error(call, code));
  }

  cublasHandle_t handle_;
  cublasPointerMode_t mode_ = CUBLAS_POINTER_MODE_HOST;
  bool tf32_;
};

}  // namespace detail::gpu

/// Outer products (Mamba-2, GLA with a decay a head, RetNet) in chunks of L steps, as products of
/// matrices by cuBLAS: a form of `ebb::outer`, for sources that link cuBLAS (`ebb::cublas`).
///
/// With L_i the sum of log a up to step i of a chunk, taken in double, whatever makes the decays
/// (tapers too), and c the weights:
///
///   O = scale (e^L_i Q S + M V) + D V,   M_ij = e^(L_i - L_j) c_j (Q K^T)_ij for j <= i
///   S <- e^L S + K^T (e^(L - L_j) c_j v_j)
///
/// No exponential is above 1 where decays are not: each has the sum between its two steps. Queries
/// and keys that are shared alike are multiplied once for their heads.
///
/// When to use it: long sequences. A chunk ends at resets, snapshots and ends of sequences, and is
/// filled up with zeros, so that many short ones waste what they save; single steps go faster by
/// `ebb::cuda`. This is an estimate: it has not run on a GPU yet.
///
/// Takes data of float, bfloat16 and half, states of float, decays by head whose logarithms are
/// stored or made in flight; unit rows, weights, the skip and all members of `sequences`. What
/// is not finite in a value spreads over its chunk, to steps before it as well: a product with 0 of
/// the mask is NaN.
///
/// Memory from the workspace, in bytes for T steps of H heads and G groups, w = 2 for 16-bit data,
/// else 4: about B T (H (L w + 2 V w + 8 V + 12) + G (2 K w + 4 L) + H K V (w + 4) / L), widths
/// rounded up to 8.
class cuda_chunked {
 public:
  static constexpr std::string_view name = "cuda_chunked";
  static constexpr determinism repeats = determinism::run_to_run;

  /// Float data without TF32; see detail::gpu::chunk_error_bound. 16-bit data: two roundings to
  /// their type besides, and two more where queries and keys are made of unit length.
  static constexpr double error_bound(index_t steps, index_t keys) {
    return detail::gpu::chunk_error_bound(steps, keys);
  }

  /// @param handle  of cuBLAS, for the current device; calls set its stream. It must outlive them
  /// @param gpu     the stream and the workspace
  /// @param steps   L, a multiple of 16, 16 <= L <= 256
  /// @throws domain_error otherwise.
  explicit cuda_chunked(cublasHandle_t handle, const cuda& gpu = {}, index_t steps = 64)
      : handle_(handle), gpu_(gpu), steps_(steps) {
    detail::require_domain(steps >= 16 && steps <= 256 && steps % 16 == 0, name,
                           "need chunks of 16 .. 256 steps, a multiple of 16", steps);
  }

  /// The same with the factors of float products rounded to TF32, 11 digits, as on tensor cores.
  cuda_chunked with_tf32() const {
    cuda_chunked result = *this;
    result.tf32_ = true;
    return result;
  }

  cudaStream_t stream() const { return gpu_.stream(); }

  /// @throws domain_error for corrections, decays by key or stored as factors, data in other
  ///   memory, or a stream's capture; shape_error for 2^31 blocks or products; cuda_error,
  ///   cublas_error. Nothing has been given to the device then, but where the last two come from a
  ///   later launch.
  template <class Decay, class Data, class State>
  void run(const Decay& decay, const Data& data, const sequences<State>& where) const {
    const int device = detail::gpu::current_device();
    cuda::check_memory(device, decay, data, where);
    gpu_.enqueue(device, [&](auto& launcher) {
      using launcher_type = std::remove_reference_t<decltype(launcher)>;
      detail::gpu::cublas_products multiply(handle_, gpu_.stream(), tf32_);
      detail::gpu::chunk_plan<launcher_type, detail::gpu::cublas_products, Decay, Data, State>::run(
          launcher, multiply, decay, data, where, steps_);
    });
  }

 private:
  cublasHandle_t handle_;
  cuda gpu_;
  index_t steps_;
  bool tf32_ = false;
};

}  // namespace ebb::inline EBB_ABI
