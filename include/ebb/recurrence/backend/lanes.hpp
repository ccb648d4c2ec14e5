// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/lanes.hpp
/// @brief  What xsimd 8.1 lacks: fused multiply-adds and shuffles for every `Arch`, transposes.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <xsimd/xsimd.hpp>

#include <ebb/core/scalar.hpp>

namespace ebb::inline EBB_ABI::detail {

/// a b + c, with one rounding where `Arch` has an instruction for it. Before 11.0 xsimd has none
/// for AVX-512 and leaves the choice to the compiler, which may differ from place to place.
template <class T, class Arch>
xsimd::batch<T, Arch> multiply_add(const xsimd::batch<T, Arch>& a, const xsimd::batch<T, Arch>& b,
                                   const xsimd::batch<T, Arch>& c) {
#if XSIMD_VERSION_MAJOR < 11 && defined(__AVX512F__)
  if constexpr (sizeof(a) == 64) {
    if constexpr (sizeof(T) == 4)
      return _mm512_fmadd_ps(a, b, c);
    else
      return _mm512_fmadd_pd(a, b, c);
  }
#endif
  return xsimd::fma(a, b, c);
}

/// Through the caches, or past them where a whole vector is aligned: then stream_fence() has to come
/// before other threads are told of the data.
enum class store_kind { cached, streamed };

/// Stores v; streamed: at least its lanes first .. first + count - 1, so that no line is first filled
/// past the caches and then fetched for the sake of others that are there already (2 to 3 times as
/// long).
template <store_kind Store, class T, class Arch>
[[gnu::always_inline]] inline void store(T* to, const xsimd::batch<T, Arch>& v, index_t first,
                                         index_t count) {
  if constexpr (Store == store_kind::streamed) {
    constexpr std::size_t size = sizeof(v.data), lanes = xsimd::batch<T, Arch>::size;
    if (count < static_cast<index_t>(lanes)) {
      alignas(64) T values[lanes];
      v.store_aligned(values);
      std::copy_n(values + first, count, to + first);
      return;
    }
#if defined(__SSE2__)
    if (reinterpret_cast<std::uintptr_t>(to) % size == 0) {
      if constexpr (size == 16 && std::same_as<T, float>) return _mm_stream_ps(to, v);
      if constexpr (size == 16 && std::same_as<T, double>) return _mm_stream_pd(to, v);
#if defined(__AVX__)
      if constexpr (size == 32 && std::same_as<T, float>) return _mm256_stream_ps(to, v);
      if constexpr (size == 32 && std::same_as<T, double>) return _mm256_stream_pd(to, v);
#endif
#if defined(__AVX512F__)
      if constexpr (size == 64 && std::same_as<T, float>) return _mm512_stream_ps(to, v);
      if constexpr (size == 64 && std::same_as<T, double>) return _mm512_stream_pd(to, v);
#endif
    }
#endif
  }
  v.store_unaligned(to);
}

inline void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

/// Lane i of the result is lane Lane::of(i) of v, or, from the number of lanes on, of w.
template <class Lane, class Batch, std::size_t... I>
Batch lanes_from(const Batch& v, const Batch& w, std::index_sequence<I...>) {
  return Batch(__builtin_shufflevector(v.data, w.data, (Lane::of(static_cast<int>(I)))...));
}
template <class Lane, class Batch>
Batch lanes_from(const Batch& v, const Batch& w) {
  return lanes_from<Lane>(v, w, std::make_index_sequence<Batch::size>());
}

/// In every `Block` lanes: pairs of `Size` lanes, one of v and one of w in turn, of the low or the
/// high half of the block.
template <int Size, bool High, int Block, int Lanes>
struct interleaved {
  static constexpr int of(int i) {
    const int in_block = i % Block, pair = in_block / (2 * Size), from_w = in_block / Size % 2;
    return i - in_block + (High ? Block / 2 : 0) + pair * Size + in_block % Size +
           (from_w ? Lanes : 0);
  }
};

/// Transposes the blocks of `Block` lanes of `Block` vectors, each for itself; 1, 2 or 4.
template <int Block, class Batch>
void transpose_blocks(std::array<Batch, static_cast<std::size_t>(Block)>& v) {
  constexpr int lanes = static_cast<int>(Batch::size);
  if constexpr (Block == 2) {
    const auto [a, b] = v;
    v = {lanes_from<interleaved<1, false, 2, lanes>>(a, b),
         lanes_from<interleaved<1, true, 2, lanes>>(a, b)};
  } else if constexpr (Block == 4) {
    using low = interleaved<1, false, 4, lanes>;
    using high = interleaved<1, true, 4, lanes>;
    using low_pair = interleaved<2, false, 4, lanes>;
    using high_pair = interleaved<2, true, 4, lanes>;
    const Batch a = lanes_from<low>(v[0], v[1]), b = lanes_from<high>(v[0], v[1]),
                c = lanes_from<low>(v[2], v[3]), d = lanes_from<high>(v[2], v[3]);
    v = {lanes_from<low_pair>(a, c), lanes_from<high_pair>(a, c), lanes_from<low_pair>(b, d),
         lanes_from<high_pair>(b, d)};
  }
}

/// In every 2 Size lanes: the first (Second: the second) Size lanes of v, then those of w.
template <int Size, bool Second, int Lanes>
struct exchanged {
  static constexpr int of(int i) {
    const int from_w = i / Size % 2;
    return i - from_w * Size + (Second ? Size : 0) + (from_w ? Lanes : 0);
  }
};

// Halves of ever larger squares of lanes change places.
template <int Size, class Batch, std::size_t Lanes>
void exchange_squares(std::array<Batch, Lanes>& v) {
  if constexpr (Size < static_cast<int>(Lanes)) {
    constexpr auto size = static_cast<std::size_t>(Size);
    for (std::size_t i = 0; i < Lanes; i += 2 * size)
      for (std::size_t j = i; j < i + size; ++j) {
        const Batch a = v[j], b = v[j + size];
        v[j] = lanes_from<exchanged<Size, false, static_cast<int>(Lanes)>>(a, b);
        v[j + size] = lanes_from<exchanged<Size, true, static_cast<int>(Lanes)>>(a, b);
      }
    exchange_squares<2 * Size>(v);
  }
}

/// to[j to_row + i] = from[i from_row + j], i < rows, j < columns; `to` overlaps nothing.
///
/// Squares of one vector by as many steps in registers, the rest one by one.
template <class Arch, class T>
void transpose(const T* from, index_t from_row, T* to, index_t to_row, index_t rows,
               index_t columns) {
  using batch = xsimd::batch<T, Arch>;
  constexpr std::size_t lanes = batch::size, block = 16 / sizeof(T);
  constexpr auto side = static_cast<index_t>(lanes);
  const index_t whole_rows = rows / side * side, whole_columns = columns / side * side;
  for (index_t j = 0; j < whole_columns; j += side)
    for (index_t i = 0; i < whole_rows; i += side) {
      std::array<batch, lanes> v;
      const T* const in = from + i * from_row + j;
      T* const out = to + j * to_row + i;
      for (std::size_t n = 0; n < lanes; ++n)
        v[n] = batch::load_unaligned(in + static_cast<index_t>(n) * from_row);
      for (std::size_t n = 0; n < lanes; n += block) {
        std::array<batch, block> few;
        std::copy_n(v.begin() + n, block, few.begin());
        transpose_blocks<static_cast<int>(block)>(few);
        std::copy_n(few.begin(), block, v.begin() + n);
      }
      exchange_squares<static_cast<int>(block)>(v);
      for (std::size_t n = 0; n < lanes; ++n)
        v[n].store_unaligned(out + static_cast<index_t>(n) * to_row);
    }
  for (index_t j = 0; j < columns; ++j)
    for (index_t i = j < whole_columns ? whole_rows : 0; i < rows; ++i)
      to[j * to_row + i] = from[i * from_row + j];
}

}  // namespace ebb::inline EBB_ABI::detail
