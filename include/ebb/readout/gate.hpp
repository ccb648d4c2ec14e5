// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/readout/gate.hpp
/// @brief  The elementwise gate of Mamba's outputs.
#pragma once

#include <string_view>

#include <ebb/core/head_view.hpp>
#include <ebb/core/numeric.hpp>
#include <ebb/core/scalar.hpp>

namespace ebb::inline EBB_ABI {

namespace detail {
/// x s, for an s that vanishes faster than x grows: 0 where s is, also for an infinite x.
template <real_scalar Real>
Real times_vanishing(const Real& x, const Real& s) {
  return s == Real(0) ? s : Real(x * s);
}
}  // namespace detail

/// x sigma(x), with sigma the logistic function; 0 at -inf.
/// Accuracy: within 5 unit roundoffs (exp taken within 1 ulp).
template <real_scalar Real>
Real silu(const Real& x) {
  return detail::times_vanishing(x, logistic(x));
}

namespace detail {
/// @throws shape_error unless a gate fits the outputs and shares no memory with them.
template <class T>
void check_gate(std::string_view name, const head_view<const T>& gate,
                const head_view<T>& outputs) {
  require_shape(gate.size() == outputs.size(), name,
                "need a gate of the outputs' shape (batches, steps, heads, width of each)",
                gate.batches(), gate.steps(), gate.heads(), gate.width(), outputs.batches(),
                outputs.steps(), outputs.heads(), outputs.width());
  require_shape(elements_apart(outputs), name, "need outputs that do not share memory");
  require_shape(!overlap(gate, outputs), name, "need a gate apart from the outputs");
}
}  // namespace detail

/// Multiply outputs by the silu of a gate: y = y z sigma(z), in the state's type, rounded once.
///
/// Shapes: both (batch, time, head, width). Units: those of y; z none.
/// @throws shape_error when shapes differ or memory is shared; nothing has been written then.
/// Cost: one exponential for each element, no allocation. Accuracy: 6 unit roundoffs of the state's
/// type and one of T. Source: [Mamba].
template <class T>
void silu_gate(const head_view<const T>& gate, const head_view<T>& outputs) {
  using State = default_state_t<T>;
  detail::check_gate("silu_gate", gate, outputs);
  for (index_t b = 0; b < outputs.batches(); ++b)
    for (index_t t = 0; t < outputs.steps(); ++t)
      for (index_t h = 0; h < outputs.heads(); ++h) {
        const T* const z = gate.pointer(b, t, h);
        T* const y = outputs.pointer(b, t, h);
        for (index_t i = 0; i < outputs.width(); ++i)
          y[i] = static_cast<T>(static_cast<State>(y[i]) * silu(static_cast<State>(z[i])));
      }
}

namespace detail {
/// @throws shape_error unless all arrays of a gate's gradients have one shape, and what is written
///   shares no memory.
template <class T>
void check_gate_vjp(std::string_view name, const head_view<const T>& gate,
                    const head_view<const T>& inputs, const head_view<const T>& cotangents,
                    const head_view<T>& d_inputs, const head_view<T>& d_gate) {
  const auto fits = [&](const auto& view, std::string_view rule) {
    require_shape(view.size() == gate.size(), name, rule, view.batches(), view.steps(),
                  view.heads(), view.width(), gate.batches(), gate.steps(), gate.heads(),
                  gate.width());
  };
  fits(inputs, "need inputs of the gate's shape (batches, steps, heads, width of each)");
  fits(cotangents, "need cotangents of the gate's shape (batches, steps, heads, width of each)");
  for (const auto* gradient : {&d_inputs, &d_gate}) {
    if (gradient->left_out()) continue;
    fits(*gradient,
         gradient == &d_inputs
             ? "need input gradients of the gate's shape (batches, steps, heads, width of"
               " each)"
             : "need gate gradients of the gate's shape (batches, steps, heads, width of"
               " each)");
    require_shape(elements_apart(*gradient), name,
                  "need gradients whose elements do not share memory");
    require_shape(!overlap(*gradient, gate) && !overlap(*gradient, inputs), name,
                  "need gradients apart from the gate and its inputs");
  }
  require_shape(!overlap(d_inputs, d_gate) && !overlap(d_gate, cotangents), name,
                "need gradients of the gate apart from all others");
  const bool in_place = !d_inputs.empty() && d_inputs.data() == cotangents.data();
  require_shape(in_place ? strides_agree(d_inputs, cotangents) : !overlap(d_inputs, cotangents),
                name, "need input gradients to be the cotangents, or apart from them");
}
}  // namespace detail

/// The vector-Jacobian product of silu_gate: from g, the gradient of a loss with respect to what it
/// has written, to those with respect to y, as it was before, and z,
///
///   dy = g z sigma(z)        dz = g y sigma(z) (1 + z sigma(-z))
///
/// in the state's type, each rounded once. At z = -inf both are 0; at z = inf dz = g y, and dy, as
/// y z, is infinite, or NaN where it is 0 times that.
///
/// Shapes: all (batch, time, head, width). Units: those of the loss over those of each value.
///
/// @param gate        z
/// @param inputs      y before the gate; silu_gate has overwritten it
/// @param cotangents  g
/// @param d_inputs    gets dy; may be the cotangents themselves, and may be left out
/// @param d_gate      gets dz; may be left out
/// @throws shape_error when shapes differ or memory is shared otherwise; nothing has been written
///   then.
/// Cost: two exponentials for each element, no allocation. Accuracy, u the unit roundoff of the
/// state's type, and one rounding of T each: dy within 6u; dz within 14u of
/// |g y| sigma(z) (1 + |z| sigma(-z)), which is more than |dz| for z < 0 (docs/accuracy.md).
template <class T>
void silu_gate_vjp(const head_view<const T>& gate, const head_view<const T>& inputs,
                   const head_view<const T>& cotangents, const head_view<T>& d_inputs,
                   const head_view<T>& d_gate) {
  using State = default_state_t<T>;
  detail::check_gate_vjp<T>("silu_gate_vjp", gate, inputs, cotangents, d_inputs, d_gate);
  for (index_t b = 0; b < gate.batches(); ++b)
    for (index_t t = 0; t < gate.steps(); ++t)
      for (index_t h = 0; h < gate.heads(); ++h) {
        const T *const z = gate.pointer(b, t, h), *const y = inputs.pointer(b, t, h);
        const T* const g = cotangents.pointer(b, t, h);
        T* const dy = d_inputs.left_out() ? nullptr : d_inputs.pointer(b, t, h);
        T* const dz = d_gate.left_out() ? nullptr : d_gate.pointer(b, t, h);
        for (index_t i = 0; i < gate.width(); ++i) {
          const auto x = static_cast<State>(z[i]), of_output = static_cast<State>(g[i]);
          const State rise = logistic(x);
          if (dz != nullptr) {
            const State turn = State(1) + detail::times_vanishing(x, logistic(State(-x)));
            const State slope = detail::times_vanishing(turn, rise);
            dz[i] = static_cast<T>(of_output * static_cast<State>(y[i]) * slope);
          }
          if (dy != nullptr) dy[i] = static_cast<T>(of_output * detail::times_vanishing(x, rise));
        }
      }
}

}  // namespace ebb::inline EBB_ABI
