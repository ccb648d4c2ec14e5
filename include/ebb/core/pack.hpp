// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/pack.hpp
/// @brief  As many numbers as a vector register holds, in the compiler's own vector types.
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>

#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI::detail {

/// The bytes of a vector register, and how many of them there are, by the compiler's flags.
#if defined(__AVX512F__)
inline constexpr int register_bytes = 64, registers = 32;
#elif defined(__AVX__)
inline constexpr int register_bytes = 32, registers = 16;
#elif defined(__ARM_NEON)
inline constexpr int register_bytes = 16, registers = 32;
#else
inline constexpr int register_bytes = 16, registers = 16;
#endif

/// A pack of Real: float and double in vectors, any other type by itself. The operators + - * work
/// on either; a * b + c in one expression is fused where the compiler's flags allow it.
template <class Real>
struct pack_of {
  using type = Real;
  static constexpr int lanes = 1;
};
#if defined(__GNUC__)
template <>
struct pack_of<float> {
  typedef float type __attribute__((vector_size(register_bytes)));  // NOLINT(modernize-use-using)
  static constexpr int lanes = register_bytes / 4;
};
template <>
struct pack_of<double> {
  typedef double type __attribute__((vector_size(register_bytes)));  // NOLINT(modernize-use-using)
  static constexpr int lanes = register_bytes / 8;
};
#endif
template <class Real>
using pack = typename pack_of<Real>::type;

/// Numbers at any address.
template <class V, class Real>
[[gnu::always_inline]] inline V load(const Real* from) {
  V result;
  std::memcpy(&result, from, sizeof(V));
  return result;
}
template <class V, class Real>
[[gnu::always_inline]] inline void store(Real* to, const V& x) {
  std::memcpy(to, &x, sizeof(V));
}
/// The same number in all lanes.
template <class V, class Real>
[[gnu::always_inline]] inline V broadcast(const Real& x) {
  if constexpr (std::is_same_v<V, Real>)
    return x;
  else
    return x - V{};
}
#if defined(__GNUC__)
#if defined(__CUDACC__)
// nvcc loses parameter packs among the arguments of builtins: the same sums, lane by lane.
template <class Real, int Lanes>
struct lanes_of {
  typedef Real type __attribute__((vector_size(Lanes * sizeof(Real))));  // NOLINT(modernize*)
};
template <class V, int... Low>
inline auto sum_of_halves(const V& x, std::integer_sequence<int, Low...>) {
  constexpr int half = static_cast<int>(sizeof...(Low));
  typename lanes_of<std::remove_cvref_t<decltype(x[0])>, half>::type sum{};
  for (int i = 0; i < half; ++i) sum[i] = x[i] + x[i + half];
  return sum;
}
template <int Width, class V, int... Lane>
inline V sum_of_neighbours(const V& x, const V& y, std::integer_sequence<int, Lane...>) {
  V sum{};
  for (int i = 0; i < static_cast<int>(sizeof...(Lane)); ++i) {
    const V& from = i / Width % 2 == 0 ? x : y;
    const int first = i / Width / 2 * 2 * Width + i % Width;
    sum[i] = from[first] + from[first + Width];
  }
  return sum;
}
#else
template <class V, int... Low>
[[gnu::always_inline]] inline auto sum_of_halves(const V& x, std::integer_sequence<int, Low...>) {
  constexpr int half = static_cast<int>(sizeof...(Low));
  return __builtin_shufflevector(x, x, Low...) + __builtin_shufflevector(x, x, (Low + half)...);
}
// Lane i of the result: the sum of the lanes of x (i < half) or y that are i modulo half.
template <int Width, class V, int... Lane>
[[gnu::always_inline]] inline V sum_of_neighbours(const V& x, const V& y,
                                                  std::integer_sequence<int, Lane...>) {
  constexpr int lanes = static_cast<int>(sizeof...(Lane));
  // Blocks of `Width` lanes: the first of each pair of blocks, and the second, of x and of y.
  constexpr auto from = [](int lane, int second) {
    const int block = lane / Width, at = lane % Width;
    return (block % 2 == 0 ? 0 : lanes) + (block / 2 * 2 + second) * Width + at;
  };
  return __builtin_shufflevector(x, y, from(Lane, 0)...) +
         __builtin_shufflevector(x, y, from(Lane, 1)...);
}
#endif
// Sums of 2 Width packs at a time: lane i of the result is the sum of x[i].
template <int Width, class V>
[[gnu::always_inline]] inline V sums_of_packs(const V* x) {
  constexpr int lanes = static_cast<int>(sizeof(V) / sizeof(x[0][0]));
  if constexpr (Width == 0) {
    return x[0];
  } else {
    const V low = sums_of_packs<Width / 2>(x), high = sums_of_packs<Width / 2>(x + Width);
    return sum_of_neighbours<Width>(low, high, std::make_integer_sequence<int, lanes>{});
  }
}
#endif
/// The sum of the lanes, by halves.
template <class Real, class V>
[[gnu::always_inline]] inline Real sum_of_lanes(const V& x) {
  constexpr int lanes = static_cast<int>(sizeof(V) / sizeof(Real));
  if constexpr (std::is_same_v<V, Real>) return x;
#if defined(__GNUC__)
  else if constexpr (lanes == 2)
    return x[0] + x[1];
  else
    return sum_of_lanes<Real>(sum_of_halves(x, std::make_integer_sequence<int, lanes / 2>{}));
#endif
}

#if defined(__GNUC__) && !defined(__CUDACC__)
// Lanes of x and y in turns, from lane `First` of each on.
template <int First, class V, int... Lane>
[[gnu::always_inline]] inline V in_turns(const V& x, const V& y,
                                         std::integer_sequence<int, Lane...>) {
  constexpr int lanes = static_cast<int>(sizeof...(Lane));
  return __builtin_shufflevector(x, y, (First + Lane / 2 + Lane % 2 * lanes)...);
}
#endif
/// to[i * Count + e] = lane i of x[e]. @tparam Count  a power of two
template <int Count, class V, class Real>
[[gnu::always_inline]] inline void store_in_turns(const V (&x)[Count], Real* to) {
  constexpr int lanes = static_cast<int>(sizeof(V) / sizeof(Real));
  if constexpr (lanes == 1) {
    for (int e = 0; e < Count; ++e) to[e] = x[e];
#if defined(__GNUC__) && !defined(__CUDACC__)
  } else if constexpr (Count == 1) {
    store(to, x[0]);
  } else {
    constexpr std::make_integer_sequence<int, lanes> each;
    V low[Count / 2], high[Count / 2];
    for (int e = 0; e < Count / 2; ++e) {
      low[e] = in_turns<0>(x[e], x[e + Count / 2], each);
      high[e] = in_turns<lanes / 2>(x[e], x[e + Count / 2], each);
    }
    store_in_turns<Count / 2>(low, to);
    store_in_turns<Count / 2>(high, to + Count / 2 * lanes);
#else
  } else {
    for (int i = 0; i < lanes; ++i)
      for (int e = 0; e < Count; ++e) to[i * Count + e] = x[e][i];
#endif
  }
}

/// Asks for a line of memory ahead of its use, into the L1 cache; any address is allowed.
inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}
/// The lines of a row, into the L2 cache: rows that lie a multiple of 4 KB apart would throw each
/// other out of L1.
template <class T>
void prefetch_row([[maybe_unused]] const T* row, [[maybe_unused]] index_t count) {
#if defined(__GNUC__)
  for (index_t i = 0; i < count; i += 64 / static_cast<index_t>(sizeof(T)))
    __builtin_prefetch(row + i);
#endif
}

}  // namespace ebb::inline EBB_ABI::detail
