// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/lane_scan.hpp
/// @brief  One channel whose steps are adjacent in memory, a vector of steps at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include <xsimd/xsimd.hpp>

#include <ebb/core/numeric.hpp>
#include <ebb/recurrence/backend/lanes.hpp>
#include <ebb/recurrence/backend/rows.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Lanes moved on by `Shift` in the order of the steps, those of w where none comes from. The first
/// step lies in lane 0 (forward) or in the last.
template <int Shift, bool Forward, int Lanes>
struct moved_on {
  static constexpr int of(int i) {
    if constexpr (Forward)
      return i < Shift ? Lanes + i : i - Shift;
    else
      return i + Shift < Lanes ? i + Shift : Lanes + i;
  }
};

/// The lane with the last step.
template <bool Forward, int Lanes>
struct last_step {
  static constexpr int of(int) { return Forward ? Lanes - 1 : 0; }
};

/// Lane `at` of each row of Width lanes taken for the rows in turn: the transpose of the lanes as a
/// matrix with rows of Width.
template <int Width, int Lanes>
struct transposed_lanes {
  static constexpr int of(int i) { return i % (Lanes / Width) * Width + i / (Lanes / Width); }
};

// Kogge and Stone's scan over the maps h -> a h + b of the lanes: after the round with distance d
// each lane holds the composition of 2 d maps.
template <int Distance, bool Forward, class Batch>
void compose_lanes(Batch& a, Batch& b) {
  constexpr int lanes = static_cast<int>(Batch::size);
  if constexpr (Distance < lanes) {
    using before = moved_on<Distance, Forward, lanes>;
    b = multiply_add(a, lanes_from<before>(b, Batch(0)), b);
    a = a * lanes_from<before>(a, Batch(1));
    compose_lanes<2 * Distance, Forward>(a, b);
  }
}

/// Values of a vector of steps, `stride` apart, in the order of memory.
template <class Batch, bool Forward, class T, class Stride>
[[gnu::always_inline]] inline Batch load_steps(const T* first, Stride stride) {
  constexpr auto lanes = static_cast<index_t>(Batch::size);
  if (stride == (Forward ? 1 : -1))
    return Batch::load_unaligned(Forward ? first : first - (lanes - 1));
  T values[Batch::size];
  for (index_t i = 0; i < lanes; ++i) values[Forward ? i : lanes - 1 - i] = first[i * stride];
  return Batch::load_unaligned(values);
}

/// The largest |a| and the least product met, and whether all states were finite. A NaN among
/// decays or products is one among the states.
template <class Batch>
class soundness {
 public:
  void decays(const Batch& a) { largest_ = xsimd::max(xsimd::abs(a), largest_); }
  void products(const Batch& a) { least_ = xsimd::min(xsimd::abs(a), least_); }
  /// 0 h is NaN of infinite states.
  void states(const Batch& h) { zero_ = multiply_add(h, Batch(0), zero_); }
  bool all() const {
    using T = typename Batch::value_type;
    return xsimd::all((largest_ <= Batch(1)) & (zero_ == Batch(0)) &
                      (least_ >= Batch(std::numeric_limits<T>::min())));
  }

 private:
  Batch largest_ = Batch(0), least_ = Batch(1), zero_ = Batch(0);
};

/// h <- a h + gain b over the steps of one channel, in vectors of steps.
///
/// As many vectors at a time as 16 bytes have lanes: transposed by blocks of 16 bytes, each lane
/// goes through that many steps in a row; the maps of the lanes are composed by Kogge and Stone;
/// what has come before enters all steps at once, so that the chain from group to group is one
/// product and sum. For 16 floats this takes 0.6 shuffles and 0.5 other operations an element;
/// composing the lanes of each vector by itself takes 0.7 and 0.9, and 1.4 times as long (bench row
/// scan/simd/stored/float/channel_major).
///
/// Products of factors are formed that a step-by-step scan does not form: a group in which |a| > 1,
/// a product is no normal number or a state is not finite goes step by step, so that no other
/// overflow or underflow than the scan's own is felt.
/// Accuracy: a state is a sum of products of at most t factors and one input, in which each
/// product and each sum rounds once: not more than the 2 t roundings of the scan by steps.
template <class Arch, bool Forward, input_gain Gain, class T>
class lane_scan {
  using batch = xsimd::batch<T, Arch>;
  // Blocks of 16 bytes are transposed without crossing what instructions keep apart.
  static constexpr int lanes = static_cast<int>(batch::size), block = 16 / int{sizeof(T)};
  using group = std::array<batch, static_cast<std::size_t>(block)>;

 public:
  /// The steps that a group takes; `run` takes a multiple of them.
  static constexpr index_t steps = block * lanes;

  /// weights, x and y point to the first step. Those of y follow in memory (Forward) or precede it.
  /// @return the state after the last step
  static T run(const T* weights, index_t weight_stride, T state, const T* x, index_t x_stride, T* y,
               index_t count) {
    constexpr index_t unit = Forward ? 1 : -1;
    // Strides that the compiler knows: half the time.
    const T last = weight_stride == unit && x_stride == unit
                       ? groups(weights, std::integral_constant<index_t, unit>(), state, x,
                                std::integral_constant<index_t, unit>(), y, count)
                       : groups(weights, weight_stride, state, x, x_stride, y, count);
    // The state is what was stored; what was carried may differ in its last digit.
    return count > 0 ? y[Forward ? count - 1 : 1 - count] : last;
  }

 private:
  template <class WeightStride, class Stride>
  static T groups(const T* weights, WeightStride weight_stride, T state, const T* x,
                  Stride x_stride, T* y, index_t count) {
    batch carried(state);
    for (index_t i = 0; i < count; i += steps) {
      const T* const w = weights + i * weight_stride;
      const T* const from = x + i * x_stride;
      T* const to = Forward ? y + i : y - i;
      if (!together(w, weight_stride, carried, from, x_stride, to))
        carried = batch(rows::kernel::column<Gain>(w, weight_stride, carried.get(0), from, x_stride,
                                                   to, Forward ? 1 : -1, steps));
    }
    return carried.get(0);
  }

  // False, with nothing done, where the steps have to be taken one by one.
  template <class WeightStride, class Stride>
  static bool together(const T* weights, WeightStride weight_stride, batch& carried, const T* x,
                       Stride x_stride, T* y) {
    group a, b;
    soundness<batch> sound;
    for (std::size_t g = 0; g < a.size(); ++g) {
      const index_t first = vector(g) * lanes;
      a[g] = load_steps<batch, Forward>(weights + first * weight_stride, weight_stride);
      b[g] = load_steps<batch, Forward>(x + first * x_stride, x_stride);
      sound.decays(a[g]);
      if constexpr (Gain == input_gain::one_minus_decay) b[g] = (batch(1) - a[g]) * b[g];
    }
    transpose_blocks<block>(a);
    transpose_blocks<block>(b);
    for (std::size_t j = 1; j < a.size(); ++j) {
      b[at(j)] = multiply_add(a[at(j)], b[at(j - 1)], b[at(j)]);
      a[at(j)] = a[at(j)] * a[at(j - 1)];
    }
    // The maps of the lanes, in the order of the steps, then their states and those before them.
    batch all = in_order(a[at(a.size() - 1)]), sum = in_order(b[at(a.size() - 1)]);
    compose_lanes<1, Forward>(all, sum);
    sound.products(all);  // |a| <= 1: the last of them is the least of all
    const batch after = multiply_add(all, carried, sum),
                before = back(lanes_from<moved_on<1, Forward, lanes>>(after, carried));
    sound.states(after);
    for (std::size_t j = 0; j < a.size(); ++j) {
      b[j] = multiply_add(a[j], before, b[j]);
      sound.states(b[j]);
    }
    if (!sound.all()) return false;
    transpose_blocks<block>(b);
    for (std::size_t g = 0; g < b.size(); ++g)
      b[g].store_unaligned(Forward ? y + vector(g) * lanes : y - (vector(g) + 1) * lanes + 1);
    carried = lanes_from<last_step<Forward, lanes>>(after, after);
    return true;
  }

  // Vector g in memory is the vector(g)-th in the order of the steps, and the j-th step of a lane
  // the at(j)-th in memory.
  static constexpr index_t vector(std::size_t g) {
    return static_cast<index_t>(Forward ? g : block - 1 - g);
  }
  static constexpr std::size_t at(std::size_t j) { return Forward ? j : block - 1 - j; }

  // Lane i of block q went through steps of vector i: into the order of memory, and back.
  static batch in_order(const batch& v) { return lanes_from<transposed_lanes<block, lanes>>(v, v); }
  static batch back(const batch& v) {
    return lanes_from<transposed_lanes<lanes / block, lanes>>(v, v);
  }
};

}  // namespace ebb::inline EBB_ABI::detail
