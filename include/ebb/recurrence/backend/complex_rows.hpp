// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/complex_rows.hpp
/// @brief  Rows of complex channels as plain loops over their parts, which compilers make vectors
///   of.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>

#include <ebb/recurrence/backend/log_time_weights.hpp>
#include <ebb/recurrence/backend/weight_block.hpp>
#include <ebb/recurrence/update.hpp>

namespace ebb::inline EBB_ABI::detail {

template <class Real>
const Real* values_of(const std::complex<Real>* weights) {
  return parts_of(weights);
}
template <class Real>
const Real* values_of(const complex_weights<Real>& weights) {
  return parts_of(weights.value);
}
/// Of factors, which have none, something that is not read.
template <class Real>
const Real* wholes_of(const std::complex<Real>* weights) {
  return parts_of(weights);
}
template <class Real>
const Real* wholes_of(const complex_weights<Real>& weights) {
  return parts_of(weights.whole);
}

/// The new states of a row; x_stride counts complex numbers.
template <decay_form Form, input_gain Gain, class Real, class X>
void advance_row(const Real* w, const Real* whole, Real* h, const X* x, index_t x_stride,
                 index_t width) {
  for (index_t c = 0; c < width; ++c) {
    const Real one = Form == decay_form::factor ? Real(0) : whole[2 * c];
    const auto next = advance_parts<Form, Gain, Real>(
        {w[2 * c], w[2 * c + 1]}, one, {h[2 * c], h[2 * c + 1]},
        {static_cast<Real>(x[2 * c * x_stride]), static_cast<Real>(x[2 * c * x_stride + 1])});
    h[2 * c] = next.re, h[2 * c + 1] = next.im;
  }
}

/// `rows` of `ebb::rows`, for complex states. A row is stored when all of it is read: in and out
/// may be one memory, at which a loop over both would have to go number by number.
template <decay_form Form, input_gain Gain, class Real, class X>
void complex_rows(weight_pointer_t<std::complex<Real>, Form> weights, index_t weight_row,
                  std::complex<Real>* state, const std::complex<X>* x, index_t x_row,
                  index_t x_stride, std::complex<X>* y, index_t y_row, index_t width,
                  index_t count) {
  Real* const h = parts_of(state);
  for (index_t i = 0; i < count; ++i, weights += weight_row, x += x_row, y += y_row) {
    const Real *const w = values_of(weights), *const whole = wholes_of(weights);
    if (x_stride == 1)
      advance_row<Form, Gain>(w, whole, h, parts_of(x), 1, width);
    else
      advance_row<Form, Gain>(w, whole, h, parts_of(x), x_stride, width);
    X* const out = parts_of(y);
    for (index_t c = 0; c < 2 * width; ++c) out[c] = static_cast<X>(h[c]);
  }
}

/// `log_time` of a kernel, for complex states: some rows of weights at a time for its `rows`.
template <class Kernel, int Degree, input_gain Gain, class Real, class X>
void complex_log_time(const log_time_weights<Real>& flight, index_t i, index_t i_step,
                      std::complex<Real>* state, const std::complex<X>* x, index_t x_row,
                      index_t x_stride, std::complex<X>* y, index_t y_row, index_t width,
                      index_t count, bool far) {
  constexpr auto form = decay_form::log_factor;
  constexpr index_t room = log_time_weights<Real>::widest;
  weight_block<std::complex<Real>, form, room> weights;
  const index_t most = std::min(room / width, log_time_weights<Real>::longest);
  for (index_t done = 0, rows = 0; done < count; done += rows) {
    rows = std::min(most, count - done);
    const index_t from = i + done * i_step;
    weights.set(0, rows * width, [&](Real* w) {
      if (width >= 16) {
        for (index_t n = 0; n < rows; ++n)
          flight.template row<Degree>(from + n * i_step, w + n * width, 1);
        return;
      }
      // Few channels: polynomials over steps are the longer loops.
      Real column[static_cast<std::size_t>(log_time_weights<Real>::longest)];
      const index_t first = i_step > 0 ? from : from - (rows - 1);
      for (index_t k = 0; k < width; ++k) {
        flight.template column<Degree>(k, first, rows, column);
        for (index_t n = 0; n < rows; ++n) w[n * width + k] = column[from - first + n * i_step];
      }
    });
    Kernel::template rows<form, Gain>(weights.begin(), width, state, x + done * x_row, x_row,
                                      x_stride, y + done * y_row, y_row, width, rows, far);
  }
}

}  // namespace ebb::inline EBB_ABI::detail
