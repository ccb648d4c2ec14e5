// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/simd.hpp
/// @brief  The scan in vector registers, written with xsimd.
#pragma once

#if !__has_include(<xsimd/xsimd.hpp>)
#error \
    "ebb/recurrence/backend/simd.hpp needs xsimd >= 8.1: install libxsimd-dev and link ebb::simd."
#endif

#include <string_view>

#include <xsimd/xsimd.hpp>

#include <ebb/recurrence/backend/lane_scan.hpp>
#include <ebb/recurrence/backend/rows.hpp>
#include <ebb/recurrence/backend/vector_rows.hpp>

#if XSIMD_VERSION_MAJOR < 8 || (XSIMD_VERSION_MAJOR == 8 && XSIMD_VERSION_MINOR < 1)
#error \
    "ebb/recurrence/backend/simd.hpp needs xsimd >= 8.1: this one is older (libxsimd-dev has it)."
#endif

namespace ebb::inline EBB_ABI {

/// The scan over tiles, as `rows`, with the channels of a step in vector registers of `Arch`.
///
/// float and double data, and complex of both, in states of their own type go by vectors: of
/// channels, or of steps where each channel's real factors, inputs and outputs lie one after the
/// other (`channel_major` data; one channel alone). Other data whose steps are adjacent is turned
/// into rows on the stack. The rest (16-bit storage, states wider than the data, rows of less than
/// a vector) takes the loops of `rows`. Vectors of a row may overlap, so where an element lies in
/// its row does not change its bits.
///
/// Where rows take more than 16 MB in all, outputs go past the caches, if all rows are aligned alike
/// (their distance is a multiple of a vector): whoever reads them soon after finds them in memory.
///
/// Cost: as rows, but not at the mercy of the compiler's vectoriser; no allocation, no alignment
/// needed.
/// Accuracy: error_bound of rows, and its bits, where `Arch` fuses products and sums just as the
/// compiler's flags say (the default does). Vectors of steps change the order of operations: there
/// the bits are others, within the same bound, and depend on where a sequence, a reset or a
/// snapshot cuts the steps; pieces of a sequence agree within the bound.
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

  /// Vectors, for the tiles of tiles.hpp.
  struct kernel {
    template <decay_form Form, input_gain Gain, class State, class T>
    static void rows(detail::weight_pointer_t<State, Form> weights, index_t weight_row,
                     State* state, const T* x, index_t x_row, index_t x_stride, T* y, index_t y_row,
                     index_t width, index_t count, bool far) {
      if constexpr (detail::in_vectors<T, State>) {
        if (x_stride == 1 && width >= lanes_of<T>) {
          vectors::template weighted<Form, Gain, T>(weights, weight_row,
                                                    {state, x, x_row, y, y_row, width, count, far});
          return;
        }
      }
      if constexpr (complex_vectors<T, State>) {
        if (x_stride == 1 && 2 * width >= lanes_of<real_of_t<T>>)
          return vectors::template pairs<Form, Gain, real_of_t<T>>(
              weights, 2 * weight_row,
              {detail::parts_of(state), detail::parts_of(x), 2 * x_row, detail::parts_of(y),
               2 * y_row, 2 * width, count, far, 2});
      }
      portable::rows<Form, Gain>(weights, weight_row, state, x, x_row, x_stride, y, y_row, width,
                                 count, far);
    }

    template <int Degree, input_gain Gain, class State, class T>
    static void log_time(const detail::log_time_weights<real_of_t<State>>& flight, index_t i,
                         index_t i_step, State* state, const T* x, index_t x_row, index_t x_stride,
                         T* y, index_t y_row, index_t width, index_t count, bool far) {
      if constexpr (is_complex<State>)
        return detail::complex_log_time<kernel, Degree, Gain>(
            flight, i, i_step, state, x, x_row, x_stride, y, y_row, width, count, far);
      else if constexpr (detail::in_vectors<T, State>) {
        if (x_stride == 1 && width >= lanes_of<T>) {
          vectors::template in_flight<Degree, Gain, T>(
              flight, i, i_step, {state, x, x_row, y, y_row, width, count, far});
          return;
        }
      }
      portable::log_time<Degree, Gain>(flight, i, i_step, state, x, x_row, x_stride, y, y_row,
                                       width, count, far);
    }

    template <decay_form Form, class State, class T>
    static constexpr bool walks_columns = ebb::rows::kernel::walks_columns<Form, State, T>;

    template <input_gain Gain, class State, class T>
    static State column(const State* weight, index_t weight_stride, State h, const T* x,
                        index_t x_stride, T* y, index_t stride, index_t count) {
      index_t whole = 0;
      if constexpr (detail::in_vectors<T, State>) {
        const auto vectors_of_steps = [&]<bool Forward>() {
          using scan = detail::lane_scan<Arch, Forward, Gain, T>;
          whole = count / scan::steps * scan::steps;
          h = scan::run(weight, weight_stride, h, x, x_stride, y, whole);
        };
        if (stride > 0)
          vectors_of_steps.template operator()<true>();
        else
          vectors_of_steps.template operator()<false>();
      }
      return portable::template column<Gain>(weight + whole * weight_stride, weight_stride, h,
                                             x + whole * x_stride, x_stride, y + whole * stride,
                                             stride, count - whole);
    }

    template <class T>
    static void transpose(const T* from, index_t from_row, T* to, index_t to_row, index_t rows,
                          index_t columns) {
      if constexpr (detail::in_vectors<T, T>)
        detail::transpose<Arch>(from, from_row, to, to_row, rows, columns);
      else
        portable::transpose(from, from_row, to, to_row, rows, columns);
    }

   private:
    using portable = ebb::rows::kernel;
    using vectors = detail::vector_rows<Arch>;
    template <class T, class State>
    static constexpr bool complex_vectors =
        is_complex<T>&& detail::in_vectors<real_of_t<T>, real_of_t<State>>;
    template <class T>
    static constexpr index_t lanes_of = vectors::template lanes_of<T>;
  };
};

}  // namespace ebb::inline EBB_ABI
