// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/device_context.hpp
/// @brief  The execution context of a GPU, and the entry point of every kernel; for nvcc only.
#pragma once

#if defined(__CUDACC__)

#include <bit>
#include <cstddef>
#include <type_traits>

#include <cuda_runtime.h>

#include <ebb/core/numeric.hpp>
#include <ebb/recurrence/backend/cuda/context.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// The built-in types of 1, 2, 4, 8 and 16 bytes, which the hardware moves in one piece.
template <std::size_t Bytes>
struct machine_word;
template <>
struct machine_word<1> {
  using type = unsigned char;
};
template <>
struct machine_word<2> {
  using type = unsigned short;
};
template <>
struct machine_word<4> {
  using type = unsigned int;
};
template <>
struct machine_word<8> {
  using type = uint2;
};
template <>
struct machine_word<16> {
  using type = uint4;
};

/// The widest piece that objects of `bytes` bytes, at multiples of `alignment`, fall into.
constexpr std::size_t piece_of(std::size_t bytes, std::size_t alignment) {
  std::size_t piece = 16;
  while (alignment % piece != 0 || bytes % piece != 0) piece /= 2;
  return piece;
}

/// A value as an array of such pieces.
template <class T, std::size_t Alignment = alignof(T)>
struct pieces {
  static_assert(std::is_trivially_copyable_v<T>);
  static constexpr std::size_t size = piece_of(sizeof(T), Alignment);
  static constexpr int count = static_cast<int>(sizeof(T) / size);
  using word = typename machine_word<size>::type;
  word w[count];
};

/// The context that nvcc compiles kernels for. See context.hpp for what each member means.
class device_context {
 public:
  /// N objects in shared memory. They lie there as plain words, so T needs no trivial constructor,
  /// at multiples of their size where that is a power of two up to 16.
  template <class T, int N>
  class shared {
    static constexpr std::size_t alignment =
        (sizeof(T) & (sizeof(T) - 1)) == 0 && sizeof(T) <= 16 ? sizeof(T) : alignof(T);
    using value = pieces<T, alignment>;
    alignas(alignment) value memory_[N];

   public:
    __device__ __forceinline__ T get(const device_context&, int i) const {
      return std::bit_cast<T>(memory_[i]);
    }
    __device__ __forceinline__ void put(const device_context&, int i, const T& x) {
      memory_[i] = std::bit_cast<value>(x);
    }
  };

  __device__ __forceinline__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ int lane() const { return static_cast<int>(threadIdx.x & 31u); }
  __device__ __forceinline__ int warp() const { return static_cast<int>(threadIdx.x >> 5); }
  __device__ __forceinline__ index_t block() const { return static_cast<index_t>(blockIdx.x); }

  __device__ __forceinline__ void sync_block() { __syncthreads(); }
  __device__ __forceinline__ void sync_warp() { __syncwarp(); }

  template <class T>
  __device__ __forceinline__ T shuffle(const T& v, int lane) {
    return exchange(v, [lane](unsigned w) { return __shfl_sync(~0u, w, lane); });
  }
  template <class T>
  __device__ __forceinline__ T shuffle_up(const T& v, int d) {
    return exchange(v, [d](unsigned w) { return __shfl_up_sync(~0u, w, unsigned(d)); });
  }
  template <class T>
  __device__ __forceinline__ T shuffle_down(const T& v, int d) {
    return exchange(v, [d](unsigned w) { return __shfl_down_sync(~0u, w, unsigned(d)); });
  }
  template <class T>
  __device__ __forceinline__ T shuffle_xor(const T& v, int mask) {
    return exchange(v, [mask](unsigned w) { return __shfl_xor_sync(~0u, w, mask); });
  }
  __device__ __forceinline__ word32 ballot(bool flag) { return __ballot_sync(~0u, flag); }

  __device__ __forceinline__ word32 fetch_add(word32* p, word32 v) { return atomicAdd(p, v); }
  __device__ __forceinline__ void pause() { __nanosleep(20); }

  template <int W>
  __device__ __forceinline__ void store_words(word64* p, const word64 (&o)[W]) {
    if constexpr (W % 2 == 0) {
      EBB_UNROLL for (int i = 0; i < W; i += 2) asm volatile(
          "st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(p + i), "l"(o[i]),
          "l"(o[i + 1]) : "memory");
    } else {
      EBB_UNROLL for (int i = 0; i < W; ++i) asm volatile(
          "st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p + i), "l"(o[i]) : "memory");
    }
  }
  template <int W>
  __device__ __forceinline__ void load_words(const word64* p, word64 (&o)[W]) {
    if constexpr (W % 2 == 0) {
      EBB_UNROLL for (int i = 0; i < W; i += 2) asm volatile(
          "ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(o[i]),
          "=l"(o[i + 1]) : "l"(p + i) : "memory");
    } else {
      EBB_UNROLL for (int i = 0; i < W; ++i) asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" :
                                                          "=l"(o[i]) : "l"(p + i) : "memory");
    }
  }

  template <int N, class T>
  __device__ __forceinline__ packed<T, N> load(const T* p) {
    using raw = pieces<packed<T, N>>;
    const auto* from = reinterpret_cast<const typename raw::word*>(p);
    raw r;
    EBB_UNROLL for (int i = 0; i < raw::count; ++i) r.w[i] = __ldcs(from + i);
    return std::bit_cast<packed<T, N>>(r);
  }
  template <int N, class T>
  __device__ __forceinline__ void store(T* p, const packed<T, N>& x) {
    using raw = pieces<packed<T, N>>;
    auto* to = reinterpret_cast<typename raw::word*>(p);
    const auto r = std::bit_cast<raw>(x);
    EBB_UNROLL for (int i = 0; i < raw::count; ++i) __stcs(to + i, r.w[i]);
  }
  template <class T>
  __device__ __forceinline__ T load_cached(const T* p) {
    using raw = pieces<T>;
    const auto* from = reinterpret_cast<const typename raw::word*>(p);
    raw r;
    EBB_UNROLL for (int i = 0; i < raw::count; ++i) r.w[i] = __ldg(from + i);
    return std::bit_cast<T>(r);
  }

  __device__ __forceinline__ float exp(float x) const { return ::expf(x); }
  __device__ __forceinline__ double exp(double x) const { return ::exp(x); }
  __device__ __forceinline__ float exp2(float x) const { return ::exp2f(x); }
  __device__ __forceinline__ double exp2(double x) const { return ::exp2(x); }
  __device__ __forceinline__ float expm1(float x) const { return ::expm1f(x); }
  __device__ __forceinline__ double expm1(double x) const { return ::expm1(x); }
  __device__ __forceinline__ float log2(float x) const { return ::log2f(x); }
  __device__ __forceinline__ double log2(double x) const { return ::log2(x); }
  __device__ __forceinline__ float log1p(float x) const { return ::log1pf(x); }
  __device__ __forceinline__ double log1p(double x) const { return ::log1p(x); }
  __device__ __forceinline__ float multiply_add(float a, float b, float c) const {
    return __fmaf_rn(a, b, c);
  }
  __device__ __forceinline__ double multiply_add(double a, double b, double c) const {
    return __fma_rn(a, b, c);
  }

 private:
  // Shuffles move 32 bits at a time.
  template <class T, class Move>
  __device__ __forceinline__ T exchange(const T& v, const Move& move) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16);
    if constexpr (sizeof(T) < 4) {
      using word = typename machine_word<sizeof(T)>::type;
      return std::bit_cast<T>(static_cast<word>(move(std::bit_cast<word>(v))));
    } else {
      auto r = std::bit_cast<pieces<T, 4>>(v);
      EBB_UNROLL for (int i = 0; i < pieces<T, 4>::count; ++i) r.w[i] = move(r.w[i]);
      return std::bit_cast<T>(r);
    }
  }
};

/// Shared memory of a block, in bytes; above 48 KiB the launch has to ask for all of it.
template <kernel_body Kernel>
inline constexpr std::size_t shared_bytes =
    sizeof(typename Kernel::template shared_memory<device_context>);
template <kernel_body Kernel>
inline constexpr std::size_t dynamic_shared_bytes =
    shared_bytes<Kernel> > 48 * 1024 ? shared_bytes<Kernel> : 0;

/// Kernel::run on the GPU: kernel<Kernel><<<blocks, Kernel::threads,
/// dynamic_shared_bytes<Kernel>>>>(params).
template <kernel_body Kernel>
__global__ void __launch_bounds__(Kernel::threads, 1)  // registers before blocks: none spilled
    kernel(const __grid_constant__ typename Kernel::params p) {
  using memory = typename Kernel::template shared_memory<device_context>;
  device_context c;
  if constexpr (dynamic_shared_bytes<Kernel> == 0) {
    __shared__ memory m;
    Kernel::run(c, m, p);
  } else {
    extern __shared__ uint4 dynamic_memory[];
    Kernel::run(c, *reinterpret_cast<memory*>(dynamic_memory), p);
  }
}

}  // namespace ebb::inline EBB_ABI::detail::gpu

#endif
