// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/config.hpp
/// @brief  Every macro of the library: the ABI namespace, the throw hook, the assertion.
#pragma once

// The compiler flags of the including file decide how a template is compiled. The inline namespace
// names them, so that two objects compiled differently never share a function (one-definition
// rule).
#if defined(__AVX512F__)
#define EBB_DETAIL_ISA avx512
#elif defined(__AVX2__)
#define EBB_DETAIL_ISA avx2
#elif defined(__AVX__)
#define EBB_DETAIL_ISA avx
#elif defined(__SSE4_2__)
#define EBB_DETAIL_ISA sse42
#elif defined(__SSE2__)
#define EBB_DETAIL_ISA sse2
#else
#define EBB_DETAIL_ISA generic
#endif

#if defined(__FAST_MATH__)
#define EBB_DETAIL_MATH fast
#elif defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#define EBB_DETAIL_MATH finite
#elif defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define EBB_DETAIL_MATH fma
#else
#define EBB_DETAIL_MATH ieee
#endif

#define EBB_DETAIL_CONCAT3(a, b, c) a##_##b##_##c
#define EBB_DETAIL_ABI(isa, math) EBB_DETAIL_CONCAT3(abi, isa, math)
#define EBB_ABI EBB_DETAIL_ABI(EBB_DETAIL_ISA, EBB_DETAIL_MATH)

#if !defined(EBB_EXCEPTIONS)
#if defined(__cpp_exceptions)
#define EBB_EXCEPTIONS 1
#else
#define EBB_EXCEPTIONS 0
#endif
#endif

/// EBB_THROW(exception): how an error leaves the library. Define it before the first include to
/// route errors elsewhere; it must not return. Without exceptions it prints nothing and aborts.
#if !defined(EBB_THROW)
#if EBB_EXCEPTIONS
#define EBB_THROW(exception) throw exception
#else
#include <cstdlib>
#define EBB_THROW(exception) ((void)(exception), std::abort())
#endif
#endif

/// EBB_ASSERT(condition): an internal precondition that a caller cannot break; free with NDEBUG.
#if !defined(EBB_ASSERT)
#include <cassert>
#define EBB_ASSERT(condition) assert(condition)
#endif

// Kernels are templates over an execution context (recurrence/backend/cuda/context.hpp): nvcc
// compiles them for the device, every other compiler for the processor.
//   EBB_DEVICE         in place of `inline`: a function of host and device, expanded where called
//   EBB_UNROLL         before a `for`: expand it fully, so that its arrays stay in registers
//   EBB_NO_UNROLL      before a `for`: do not expand it, so that registers are left
//   EBB_NO_EXEC_CHECK  before `template`: nvcc need not see that its callees run on the device
#if defined(__CUDACC__)
#define EBB_DEVICE __host__ __device__ __forceinline__
#define EBB_NO_EXEC_CHECK _Pragma("nv_exec_check_disable")
#else
#define EBB_DEVICE inline
#define EBB_NO_EXEC_CHECK
#endif
#if defined(__CUDA_ARCH__)
#define EBB_UNROLL _Pragma("unroll")
#define EBB_NO_UNROLL _Pragma("unroll 1")
#else
#define EBB_UNROLL
#define EBB_NO_UNROLL
#endif
