// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/pack_exponential.hpp
/// @brief  Decays from their logarithms, a pack of floats at a time.
#pragma once

#include <bit>
#include <cstdint>

#include <ebb/core/exponential.hpp>
#include <ebb/core/pack.hpp>

namespace ebb::inline EBB_ABI::detail {

#if defined(__GNUC__)
/// Packs of 32-bit integers, as many as of floats.
typedef std::int32_t int_pack  // NOLINT(modernize-use-using)
    __attribute__((vector_size(register_bytes)));

/// A pack of floats with x = high + low = -log a, |low| <= 2^-23 |high|, -88 < x <= inf:
/// a and m = 1 - a as decay_of<float> gives them, the latter where a >= 1/2 only; a below the
/// smallest normal number within the smallest subnormal. NaN stays NaN.
///
/// In floats all the way: k log 2 in two parts, of which k times the first is exact without a fused
/// multiply-add as well, 9 bits each; what is left out is below 2^-34 (|k| + 1).
[[gnu::always_inline]] inline decayed<pack<float>> decay_of_pack(const pack<float>& high,
                                                                 const pack<float>& low) {
  using V = pack<float>;
  const V zero{};
  const V largest = broadcast<V>(104.0F), magic = broadcast<V>(0x1.8p23F);
  const V x = high > largest ? largest : high;
  const V rest = high > largest ? zero : low;
  // The integer k stands in the low bits of `shifted`.
  const V shifted = x * broadcast<V>(-0x1.715476p0F) + magic;
  const V k = shifted - magic;
  V r = -x - k * broadcast<V>(0x1.63p-1F);
  r = (r - k * broadcast<V>(-0x1.bd0104p-13F)) - rest;
  V p = broadcast<V>(1.0F / 5040);
  p = p * r + broadcast<V>(1.0F / 720);
  p = p * r + broadcast<V>(1.0F / 120);
  p = p * r + broadcast<V>(1.0F / 24);
  p = p * r + broadcast<V>(1.0F / 6);
  p = p * r + broadcast<V>(0.5F);
  const V e = (p * r) * r + r;
  // 2^k in two factors, so that subnormal results pass as well.
  const int_pack whole = std::bit_cast<int_pack>(shifted) - std::bit_cast<int_pack>(magic);
  const int_pack half = whole >> 1;
  const V one = std::bit_cast<V>((half + 127) << 23);
  const V two = std::bit_cast<V>((whole - half + 127) << 23);
  const V a = (one * e + one) * two;
  const V power = one * two;
  const V m = -(power * e + (power - broadcast<V>(1.0F)));
  return {high > largest ? zero : a, m};
}

/// high + low = x + y exactly, of packs.
[[gnu::always_inline]] inline void add_exactly(pack<float>& high, pack<float>& low,
                                               const pack<float>& y) {
  const pack<float> sum = high + y, back = sum - high;
  low = low + ((high - (sum - back)) + (y - back));
  high = sum;
}
#endif

}  // namespace ebb::inline EBB_ABI::detail
