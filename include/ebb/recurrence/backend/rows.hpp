// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/rows.hpp
/// @brief  The default backend: portable loops over rows, decays filled block by block.
#pragma once

#include <string_view>

#include <ebb/recurrence/backend/complex_rows.hpp>
#include <ebb/recurrence/backend/tiles.hpp>

namespace ebb::inline EBB_ABI {

/// The scan as plain loops that any compiler can vectorise.
///
/// A tile of channels goes through time in blocks: factors are read where the caller stores them,
/// decays that are polynomials in log-time are evaluated on the way, all others fill a block of
/// weights on the stack. The order of operations on an element never
/// depends on the blocks, so cutting a sequence into pieces or single steps gives the same bits.
///
/// Cost: 2 T N flops and the decay's own; no allocation, up to 120 KB of stack.
/// Accuracy: error_bound below, derived in docs/accuracy.md. Infinite states stay infinite; for
/// decays in [1/2, 1) the intermediate (1 - a) h - b must not overflow either. Complex products are
/// taken by components: an infinite component may turn the other into NaN.
/// Subnormals: gradual underflow as the processor is set; nothing is flushed or switched.
struct rows {
  static constexpr std::string_view name = "rows";
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

  /// Plain loops, for the tiles of tiles.hpp.
  struct kernel {
    // A chain of multiply-adds a channel costs less than turning three arrays.
    template <decay_form Form, class State, class T>
    static constexpr bool walks_columns = Form == decay_form::factor && !is_complex<State>;

    template <input_gain Gain, class State, class T>
    static State column(const State* weight, index_t weight_stride, State h, const T* x,
                        index_t x_stride, T* y, index_t stride, index_t count) {
      return column_of<decay_form::factor, Gain>(weight, weight_stride, h, x, x_stride, y, stride,
                                                 count);
    }

    /// to[j to_row + i] = from[i from_row + j], i < rows, j < columns.
    template <class T>
    static void transpose(const T* from, index_t from_row, T* to, index_t to_row, index_t rows,
                          index_t columns) {
      // Along the longer side, which lies in the caller's memory.
      if (columns > rows) {
        for (index_t i = 0; i < rows; ++i)
          for (index_t j = 0; j < columns; ++j) to[j * to_row + i] = from[i * from_row + j];
      } else {
        for (index_t j = 0; j < columns; ++j)
          for (index_t i = 0; i < rows; ++i) to[j * to_row + i] = from[i * from_row + j];
      }
    }

    template <decay_form Form, input_gain Gain, class State, class T>
    static void rows(detail::weight_pointer_t<State, Form> weights, index_t weight_row,
                     State* state, const T* x, index_t x_row, index_t x_stride, T* y, index_t y_row,
                     index_t width, index_t count, bool) {
      if (width == 1) {
        *state = column_of<Form, Gain>(weights, weight_row, *state, x, x_row, y, y_row, count);
        return;
      }
      if (width < 16) {
        few<Form, Gain, 8>(weights, weight_row, state, x, x_row, x_stride, y, y_row, width, count);
        return;
      }
      if constexpr (is_complex<State>)
        return detail::complex_rows<Form, Gain>(weights, weight_row, state, x, x_row, x_stride, y,
                                                y_row, width, count);
      else
        for (index_t i = 0; i < count; ++i, weights += weight_row, x += x_row, y += y_row)
          for (index_t c = 0; c < width; ++c) {
            state[c] = advance<Form, Gain, State>(weights[c], state[c],
                                                  static_cast<State>(x[c * x_stride]));
            y[c] = static_cast<T>(state[c]);
          }
    }

    template <int Degree, input_gain Gain, class State, class T>
    static void log_time(const detail::log_time_weights<real_of_t<State>>& flight, index_t i,
                         index_t i_step, State* state, const T* x, index_t x_row, index_t x_stride,
                         T* y, index_t y_row, index_t width, index_t count, bool far) {
      if constexpr (is_complex<State>) {
        detail::complex_log_time<kernel, Degree, Gain>(flight, i, i_step, state, x, x_row, x_stride,
                                                       y, y_row, width, count, far);
        return;
      } else {
        constexpr auto form = decay_form::log_factor;
        using flight_type = detail::log_time_weights<State>;
        State weights[static_cast<std::size_t>(flight_type::widest)];
        static_assert(flight_type::longest <= flight_type::widest);
        if (width < 16) {
          // Few channels: polynomials over steps are the longer loops.
          const index_t first = i_step > 0 ? i : i - (count - 1);
          for (index_t k = 0; k < width; ++k) {
            flight.template column<Degree>(k, first, count, weights);
            state[k] = column_of<form, Gain>(weights + (i - first), i_step, state[k],
                                             x + k * x_stride, x_row, y + k, y_row, count);
          }
          return;
        }
        for (index_t n = 0; n < count; ++n, i += i_step, x += x_row, y += y_row) {
          flight.template row<Degree>(i, weights, 1);
          rows<form, Gain>(weights, 0, state, x, x_row, x_stride, y, y_row, width, 1, far);
        }
      }
    }

    /// One channel, many steps, of any form.
    template <decay_form Form, input_gain Gain, class State, class T>
    static State column_of(detail::weight_pointer_t<State, Form> weight, index_t weight_stride,
                           State h, const T* x, index_t x_stride, T* y, index_t stride,
                           index_t count) {
      for (index_t i = 0; i < count; ++i) {
        h = advance<Form, Gain, State>(weight[i * weight_stride], h,
                                       static_cast<State>(x[i * x_stride]));
        y[i * stride] = static_cast<T>(h);
      }
      return h;
    }

   private:
    // Few channels, `Together` at a time and then half as many: their states stay in registers,
    // where a loop over a row would fetch each state from where the last step has just put it.
    template <decay_form Form, input_gain Gain, int Together, class State, class T>
    static void few(detail::weight_pointer_t<State, Form> weights, index_t weight_row, State* state,
                    const T* x, index_t x_row, index_t x_stride, T* y, index_t y_row, index_t width,
                    index_t count) {
      index_t k = 0;
      for (; k + Together <= width; k += Together) {
        State h[Together];
        for (int c = 0; c < Together; ++c) h[c] = state[k + c];
        for (index_t i = 0; i < count; ++i)
          for (int c = 0; c < Together; ++c) {
            h[c] =
                advance<Form, Gain, State>(weights[i * weight_row + k + c], h[c],
                                           static_cast<State>(x[i * x_row + (k + c) * x_stride]));
            y[i * y_row + k + c] = static_cast<T>(h[c]);
          }
        for (int c = 0; c < Together; ++c) state[k + c] = h[c];
      }
      if constexpr (Together > 1)
        few<Form, Gain, Together / 2>(weights + k, weight_row, state + k, x + k * x_stride, x_row,
                                      x_stride, y + k, y_row, width - k, count);
    }
  };
};

}  // namespace ebb::inline EBB_ABI
