// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/pack.hpp
/// @brief  As many numbers as a vector register holds, in the compiler's own vector types.
#pragma once

#include <cstring>
#include <type_traits>

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
/// The sum of the lanes, by halves.
template <class Real, class V>
[[gnu::always_inline]] inline Real sum_of_lanes(const V& x) {
  constexpr int lanes = static_cast<int>(sizeof(V) / sizeof(Real));
  Real part[static_cast<std::size_t>(lanes)];
  std::memcpy(part, &x, sizeof(V));
  for (int width = lanes / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) part[i] += part[i + width];
  return part[0];
}

/// Asks for a line of memory ahead of its use; any address is allowed.
inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

}  // namespace ebb::inline EBB_ABI::detail
