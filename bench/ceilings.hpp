// SPDX-License-Identifier: Apache-2.0
/// @file   bench/ceilings.hpp
/// @brief  What the memory allows: loops that move the same bytes as a scan and compute nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <benchmark/benchmark.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <ebb/core/numeric.hpp>
#include <ebb/core/scalar.hpp>

namespace bench {

using ebb::index_t;

/// y = s x: reads one array and writes one, as a scan does that makes its decays itself.
template <class Real>
void scale(const Real* x, Real* y, index_t count) {
  for (index_t i = 0; i < count; ++i) y[i] = Real(0.5) * x[i];
  benchmark::DoNotOptimize(y);
  benchmark::ClobberMemory();
}

/// y = x + s z: reads two arrays and writes one, as a scan of stored decays does.
template <class Real>
void triad(const Real* x, const Real* z, Real* y, index_t count) {
  for (index_t i = 0; i < count; ++i) y[i] = x[i] + Real(0.5) * z[i];
  benchmark::DoNotOptimize(y);
  benchmark::ClobberMemory();
}

#if defined(__AVX512F__)
inline constexpr std::size_t stream_bytes = 64;
inline void stream(void* to, const void* from) {
  _mm512_stream_si512(static_cast<__m512i*>(to), _mm512_loadu_si512(from));
}
#elif defined(__AVX__)
inline constexpr std::size_t stream_bytes = 32;
inline void stream(void* to, const void* from) {
  _mm256_stream_si256(static_cast<__m256i*>(to),
                      _mm256_loadu_si256(static_cast<const __m256i*>(from)));
}
#elif defined(__SSE2__)
inline constexpr std::size_t stream_bytes = 16;
inline void stream(void* to, const void* from) {
  _mm_stream_si128(static_cast<__m128i*>(to), _mm_loadu_si128(static_cast<const __m128i*>(from)));
}
#else
inline constexpr std::size_t stream_bytes = 0;  // not known here
#endif

/// The triad with stores that go past the caches: no line is read only to be overwritten. It pays
/// where the arrays are larger than the last cache.
template <class Real>
void triad_past_caches(const Real* x, const Real* z, Real* y, index_t count) {
#if defined(__SSE2__)
  using vector [[gnu::vector_size(stream_bytes)]] = Real;
  constexpr auto width = static_cast<index_t>(stream_bytes / sizeof(Real));
  index_t i = 0;
  for (; i < count && reinterpret_cast<std::uintptr_t>(y + i) % stream_bytes != 0; ++i)
    y[i] = x[i] + Real(0.5) * z[i];
  for (; i + width <= count; i += width) {
    vector first, second;
    std::memcpy(&first, x + i, sizeof first);
    std::memcpy(&second, z + i, sizeof second);
    const vector sum = first + Real(0.5) * second;
    stream(y + i, &sum);
  }
  for (; i < count; ++i) y[i] = x[i] + Real(0.5) * z[i];
  _mm_sfence();
  benchmark::DoNotOptimize(y);
  benchmark::ClobberMemory();
#else
  triad(x, z, y, count);
#endif
}

/// body(first, count) on equal parts of an array, one for each thread of an executor.
template <class Executor, class Body>
void in_parts(Executor& executor, index_t count, const Body& body) {
  const index_t parts = executor.concurrency();
  executor.run(parts, [&](index_t i) {
    const index_t first = count * i / parts;
    body(first, count * (i + 1) / parts - first);
  });
}

/// The real numbers that an array consists of: complex ones are two each.
template <class T>
auto* reals(T* data) {
  return reinterpret_cast<ebb::real_of_t<T>*>(data);
}
template <class T>
auto* reals(const T* data) {
  return reinterpret_cast<const ebb::real_of_t<T>*>(data);
}
template <class T>
inline constexpr index_t reals_each = ebb::is_complex<T> ? 2 : 1;

}  // namespace bench
