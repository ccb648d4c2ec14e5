// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/complex_lanes.hpp
/// @brief  The step of complex states in vector registers, as they lie in memory: real part,
///   imaginary part, ... Nothing is taken apart; one permutation swaps the parts of each state.
#pragma once

#include <complex>
#include <cstddef>
#include <utility>

#include <xsimd/xsimd.hpp>

#include <ebb/recurrence/backend/complex_rows.hpp>
#include <ebb/recurrence/backend/lanes.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Lane i of the result is lane (i & And) ^ Xor: the parts of each complex number changed round
/// (~0, 1), its real part twice (~1, 0), its imaginary part twice (~1, 1). xsimd 8 has no
/// permutation of AVX-512.
template <std::size_t And, std::size_t Xor, class Batch, std::size_t... I>
[[gnu::always_inline]] inline Batch pairs_from(const Batch& z, std::index_sequence<I...>) {
  return Batch(__builtin_shufflevector(z.data, z.data, static_cast<int>((I & And) ^ Xor)...));
}
template <std::size_t And, std::size_t Xor, class Batch>
[[gnu::always_inline]] inline Batch pairs_from(const Batch& z) {
  return pairs_from<And, Xor>(z, std::make_index_sequence<Batch::size>{});
}
template <class Batch>
Batch swapped(const Batch& z) {
  return pairs_from<~std::size_t{0}, 1>(z);
}

/// A complex number of each pair of lanes as a product wants it: w z = same z + crossed swapped(z).
template <class Batch>
struct lane_factors {
  Batch same;     ///< re, re, ...
  Batch crossed;  ///< -im, im, ...

  lane_factors() = default;
  explicit lane_factors(const Batch& w)
      : same(pairs_from<~std::size_t{1}, 0>(w)),
        crossed(pairs_from<~std::size_t{1}, 1>(w) ^ minus_on_real_parts()) {}

  /// w h + b, in the order of `multiply_add` of parts (recurrence/update.hpp).
  Batch times(const Batch& h, const Batch& b) const {
    return multiply_add(same, h, multiply_add(crossed, swapped(h), b));
  }

 private:
  static Batch minus_on_real_parts() {
    return alternating(Batch(-0.0), Batch(0.0), std::make_index_sequence<Batch::size>{});
  }
  template <std::size_t... I>
  static Batch alternating(const Batch& even, const Batch& odd, std::index_sequence<I...>) {
    return Batch(
        __builtin_shufflevector(even.data, odd.data, static_cast<int>(I + I % 2 * Batch::size)...));
  }
};

/// `advance_parts` (recurrence/update.hpp) on pairs of lanes; whole where the mask is set.
template <decay_form Form, input_gain Gain, class Batch, class Mask>
Batch advance_pairs(const lane_factors<Batch>& w, const Mask& whole, const Batch& h,
                    const Batch& b) {
  Batch fast;
  if constexpr (Gain == input_gain::one) {
    fast = w.times(h, b);
    if constexpr (Form == decay_form::factor) return fast;
    return xsimd::select(whole, h + fast, fast);
  } else {
    // 1 - w: the signs of the second half are those of -im.
    const Batch other = swapped(b);
    const Batch gain = multiply_add(Batch(1) - w.same, b, -(w.crossed * other));
    fast = w.times(h, gain);
    if constexpr (Form == decay_form::factor) return fast;
    return xsimd::select(whole, w.times(h - b, h), fast);
  }
}

/// Weights that are the same for all rows, in the form that `walk` of `simd` asks for: the V vectors
/// of a part of a row.
template <decay_form Form, input_gain Gain, class Batch, int V>
struct constant_pairs {
  static constexpr bool may_need_care = false;
  using Real = typename Batch::value_type;
  lane_factors<Batch> w[V];
  typename Batch::batch_bool_type whole[V];

  template <class Part>
  constant_pairs(const Real* values, const Real* wholes, const Part& part) {
    for (int v = 0; v < V; ++v) {
      w[v] = lane_factors<Batch>(part.load(values, v));
      if constexpr (Form == decay_form::log_factor) whole[v] = part.load(wholes, v) != Batch(0);
    }
  }
  template <auto>
  Batch step(index_t, int v, const Batch& h, const Batch& b) const {
    return advance_pairs<Form, Gain>(w[v], whole[v], h, b);
  }
};

/// The same with weights of their own for each row, `row` real numbers apart.
template <decay_form Form, input_gain Gain, class Part, class Batch, int V>
struct varying_pairs {
  static constexpr bool may_need_care = false;
  using Real = typename Batch::value_type;
  const Real *values, *wholes;
  index_t row;
  Part part;

  template <auto>
  Batch step(index_t i, int v, const Batch& h, const Batch& b) const {
    const lane_factors<Batch> w(part.load(values + i * row, v));
    typename Batch::batch_bool_type whole{};
    if constexpr (Form == decay_form::log_factor)
      whole = part.load(wholes + i * row, v) != Batch(0);
    return advance_pairs<Form, Gain>(w, whole, h, b);
  }
};

}  // namespace ebb::inline EBB_ABI::detail
