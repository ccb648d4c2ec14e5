// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/lane_scan.hpp
/// @brief  One channel whose steps are adjacent in memory, a vector of steps at a time.
#pragma once

#include <cstddef>
#include <limits>
#include <utility>

#include <xsimd/xsimd.hpp>

#include <ebb/core/numeric.hpp>
#include <ebb/recurrence/backend/rows.hpp>

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

/// v with its lanes moved on by `Shift` in the order of the steps, `fill` where none comes from.
/// The first step lies in lane 0 (forward) or in the last.
template <int Shift, bool Forward, class Batch, std::size_t... I>
Batch moved_on(const Batch& v, const Batch& fill, std::index_sequence<I...>) {
  constexpr int lanes = static_cast<int>(Batch::size);
  return Batch(__builtin_shufflevector(
      v.data, fill.data,
      (Forward ? (static_cast<int>(I) < Shift ? lanes + static_cast<int>(I)
                                              : static_cast<int>(I) - Shift)
               : (static_cast<int>(I) + Shift < lanes ? static_cast<int>(I) + Shift
                                                      : lanes + static_cast<int>(I)))...));
}

/// The value of the lane with the last step, in all lanes.
template <bool Forward, class Batch, std::size_t... I>
Batch of_last_step(const Batch& v, std::index_sequence<I...>) {
  return Batch(__builtin_shufflevector(
      v.data, v.data, (static_cast<void>(I), Forward ? static_cast<int>(Batch::size) - 1 : 0)...));
}

// Kogge and Stone's scan over the maps h -> a h + b of the lanes: after the round with distance d
// each lane holds the composition of 2 d maps.
template <int Distance, bool Forward, class Batch>
void compose_lanes(Batch& a, Batch& b) {
  if constexpr (Distance < static_cast<int>(Batch::size)) {
    constexpr auto lanes = std::make_index_sequence<Batch::size>();
    const Batch before = moved_on<Distance, Forward>(b, Batch(0), lanes);
    b = multiply_add(a, before, b);
    a = a * moved_on<Distance, Forward>(a, Batch(1), lanes);
    compose_lanes<2 * Distance, Forward>(a, b);
  }
}

/// Values of a vector of steps, `stride` apart, in the order of memory.
template <class Batch, bool Forward, class T>
Batch load_steps(const T* first, index_t stride) {
  constexpr auto lanes = static_cast<index_t>(Batch::size);
  if (stride == (Forward ? 1 : -1))
    return Batch::load_unaligned(Forward ? first : first - (lanes - 1));
  T values[Batch::size];
  for (index_t i = 0; i < lanes; ++i) values[Forward ? i : lanes - 1 - i] = first[i * stride];
  return Batch::load_unaligned(values);
}

/// h <- a h + gain b over `count` steps of one channel, a multiple of the vector's length; weights,
/// x and y point to the first step. Those of y follow in memory (Forward) or precede it.
/// @return the state after the last step
///
/// The chain from vector to vector is one product and sum for a vector of steps. Products of
/// factors are formed that a step-by-step scan does not form: a vector in which |a| > 1, a product
/// is no normal number or a state is not finite goes step by step, so that no other overflow or
/// underflow than the scan's own is felt.
/// Accuracy: a state is a sum of products of at most t factors and one input, in which each
/// product and each sum rounds once: not more than the 2 t roundings of the scan by steps.
template <class Arch, bool Forward, input_gain Gain, class T>
T lane_scan(const T* weights, index_t weight_stride, T state, const T* x, index_t x_stride, T* y,
            index_t count) {
  using batch = xsimd::batch<T, Arch>;
  constexpr auto lanes = static_cast<index_t>(batch::size);
  constexpr auto every = std::make_index_sequence<batch::size>();
  constexpr index_t sign = Forward ? 1 : -1;
  const batch least(std::numeric_limits<T>::min()), most(std::numeric_limits<T>::max());
  batch carried(state);
  for (index_t i = 0; i < count; i += lanes) {
    const T* const w = weights + i * weight_stride;
    const T* const from = x + i * x_stride;
    T* const to = y + i * sign;
    batch a = load_steps<batch, Forward>(w, weight_stride);
    batch b = load_steps<batch, Forward>(from, x_stride);
    const auto decays = xsimd::abs(a) <= batch(1);
    if constexpr (Gain == input_gain::one_minus_decay) b = (batch(1) - a) * b;
    compose_lanes<1, Forward>(a, b);
    const batch h = multiply_add(a, carried, b);
    const batch last = of_last_step<Forward>(h, every);
    // |a| <= 1: the product of the last lane is the smallest.
    const auto sound = decays & (xsimd::abs(h) <= most) & (xsimd::abs(a) >= least);
    if (xsimd::all(sound)) {
      h.store_unaligned(Forward ? to : to - (lanes - 1));
      carried = last;
    } else {
      carried = batch(rows::kernel::column<decay_form::factor, Gain>(
          w, weight_stride, carried.get(0), from, x_stride, to, sign, lanes));
    }
  }
  return carried.get(0);
}

}  // namespace ebb::inline EBB_ABI::detail
