// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/readout/gate.hpp
/// @brief  The elementwise gate of Mamba's outputs.
#pragma once

#include <string_view>

#include <ebb/core/head_view.hpp>
#include <ebb/core/numeric.hpp>
#include <ebb/core/scalar.hpp>

namespace ebb::inline EBB_ABI {

/// x sigma(x), with sigma the logistic function.
/// Accuracy: within 5 unit roundoffs (exp taken within 1 ulp).
template <real_scalar Real>
Real silu(const Real& x) {
  return Real(x * logistic(x));
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

}  // namespace ebb::inline EBB_ABI
