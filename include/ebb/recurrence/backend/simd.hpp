// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/simd.hpp
/// @brief  The scan in vector registers, written with xsimd.
#pragma once

#if !__has_include(<xsimd/xsimd.hpp>)
#error \
    "ebb/recurrence/backend/simd.hpp needs xsimd >= 8.1: install libxsimd-dev and link ebb::simd."
#endif

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <xsimd/xsimd.hpp>

#include <ebb/recurrence/backend/rows.hpp>

#if XSIMD_VERSION_MAJOR < 8 || (XSIMD_VERSION_MAJOR == 8 && XSIMD_VERSION_MINOR < 1)
#error \
    "ebb/recurrence/backend/simd.hpp needs xsimd >= 8.1: this one is older (libxsimd-dev has it)."
#endif

namespace ebb::inline EBB_ABI {

namespace detail {

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

/// `advance` (recurrence/update.hpp) on a batch of channels: the same forms, chosen by masks, with
/// at most one product left for each sum.
template <decay_form Form, input_gain Gain, class Batch>
Batch advance_batch(const Batch& weight, const Batch& h, const Batch& b) {
  constexpr bool average = Gain == input_gain::one_minus_decay;
  Batch fast;
  if constexpr (average)
    fast = multiply_add(weight, h, (Batch(1) - weight) * b);
  else
    fast = multiply_add(weight, h, b);
  if constexpr (Form == decay_form::factor) {
    return fast;
  } else {
    Batch slow;
    if constexpr (average)
      slow = multiply_add(weight, h - b, h);
    else
      slow = h + fast;
    const Batch slow_or_infinite = xsimd::select(xsimd::isnan(slow), h + b, slow);
    return xsimd::select(weight < Batch(0), slow_or_infinite, fast);
  }
}

}  // namespace detail

/// The scan over tiles, as `rows`, with the channels of a step in vector registers of `Arch`.
///
/// float and double data in states of their own type, channels adjacent in the output, go by
/// vectors; the rest (complex numbers, 16-bit storage, states wider than the data, and outputs
/// whose steps are adjacent) takes the loops of `rows` so far. A row that does not fill its last
/// vector is padded, not finished element by element, so where an element lies in its row does not
/// change its bits.
///
/// Cost: as rows, but not at the mercy of the compiler's vectoriser; no allocation, no alignment
/// needed.
/// Accuracy: error_bound of rows, and its bits, where `Arch` fuses products and sums just as the
/// compiler's flags say (the default does).
/// Subnormals: as rows.
///
/// @tparam Arch  an architecture of xsimd; by default the best the compiler's flags allow
template <class Arch = xsimd::default_arch>
struct simd {
  static constexpr std::string_view name = "simd";
  static constexpr determinism repeats = determinism::any_thread_count;

  static constexpr double error_bound(index_t steps, const step_kind& kind = {}) {
    return step_roundings(kind) * static_cast<double>(steps);
  }

  template <class Decay, scan_scalar T, class InAxis, class OutAxis, class State>
  void scan(const Decay& decay, const strided_view<const T, InAxis>& in,
            const strided_view<T, OutAxis>& out, const sequences<State>& where,
            const scan_options& options) const {
    detail::scan_tiles<kernel>(decay, in, out, where, options);
  }

  /// Vectors, for `detail::tile`.
  struct kernel {
    template <decay_form Form, input_gain Gain, class State, class T>
    static void row(const step_weight_t<State>* weight, State* state, const T* x, index_t x_stride,
                    T* y, index_t width) {
      if constexpr (std::same_as<T, State> && (std::same_as<T, float> || std::same_as<T, double>)) {
        using batch = xsimd::batch<T, Arch>;
        constexpr auto lanes = static_cast<index_t>(batch::size);
        index_t c = 0;
        if (x_stride == 1) {
          for (; c + lanes <= width; c += lanes)
            vector<Form, Gain, batch>(weight + c, state + c, x + c, y + c);
        }
        // What does not fill a vector, or is not adjacent, goes through one on the stack.
        for (; c < width; c += lanes) {
          const index_t count = std::min(lanes, width - c);
          T weights[batch::size] = {}, states[batch::size] = {}, inputs[batch::size] = {};
          std::copy_n(weight + c, count, weights);
          std::copy_n(state + c, count, states);
          for (index_t i = 0; i < count; ++i) inputs[i] = x[(c + i) * x_stride];
          vector<Form, Gain, batch>(weights, states, inputs, inputs);
          std::copy_n(states, count, state + c);
          std::copy_n(states, count, y + c);
        }
      } else {
        rows::kernel::row<Form, Gain>(weight, state, x, x_stride, y, width);
      }
    }

    template <decay_form Form, input_gain Gain, class State, class T>
    static State column(const step_weight_t<State>* weight, index_t weight_stride, State h,
                        const T* x, index_t x_stride, T* y, index_t stride, index_t count) {
      return rows::kernel::column<Form, Gain>(weight, weight_stride, h, x, x_stride, y, stride,
                                              count);
    }

   private:
    template <decay_form Form, input_gain Gain, class Batch, class T>
    static void vector(const T* weight, T* state, const T* x, T* y) {
      const Batch h = detail::advance_batch<Form, Gain>(Batch::load_unaligned(weight),
                                                        Batch(Batch::load_unaligned(state)),
                                                        Batch(Batch::load_unaligned(x)));
      h.store_unaligned(state);
      h.store_unaligned(y);
    }
  };
};

}  // namespace ebb::inline EBB_ABI
