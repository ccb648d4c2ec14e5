// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/silu_kernel.hpp
/// @brief  The gate behind a mixer, y = y z sigma(z) (readout/gate.hpp), on a GPU.
#pragma once

#include <ebb/core/head_view.hpp>
#include <ebb/core/scalar.hpp>
#include <ebb/core/storage.hpp>
#include <ebb/recurrence/backend/cuda/context.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// One thread an element. Accuracy: with exp within 2u, 6 unit roundoffs of the state's type and one
/// of T.
template <class T>
struct silu_kernel {
  struct params {
    const T* gate;
    T* outputs;
    head_strides gate_strides, output_strides;
    index_t steps, heads, width, count;
  };
  static constexpr int threads = 256;
  template <class Context>
  struct shared_memory {};

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void run(Context& c, shared_memory<Context>&, const params& p) {
    using State = default_state_t<T>;
    const index_t n = c.block() * threads + c.thread();
    if (n >= p.count) return;
    const index_t i = n % p.width, h = n / p.width % p.heads, row = n / p.width / p.heads;
    const index_t t = row % p.steps, b = row / p.steps;
    const auto at = [&](const head_strides& by) {
      return b * by.batch + t * by.step + h * by.head + i;
    };
    const auto z = static_cast<State>(c.template load<1>(p.gate + at(p.gate_strides)).v[0]);
    T* const to = p.outputs + at(p.output_strides);
    const auto y = static_cast<State>(c.template load<1>(static_cast<const T*>(to)).v[0]);
    const State e = c.exp(z < 0 ? z : -z);  // sigma without overflow
    const State sigma = (z < 0 ? e : State(1)) / (1 + e);
    packed<T, 1> result;
    result.v[0] = static_cast<T>(y * (sigma == 0 ? sigma : z * sigma));  // 0 at z = -inf, too
    c.template store<1>(to, result);
  }

  /// Outputs times the silu of a gate of the same shape.
  template <class Launcher>
  static void enqueue(Launcher& launcher, const head_view<const T>& gate,
                      const head_view<T>& outputs) {
    if (outputs.empty()) return;
    const head_extents& size = outputs.size();
    const index_t count = size.batches * size.steps * size.heads * size.width;
    launcher.template launch<silu_kernel>(
        (count + threads - 1) / threads,
        params{gate.data(), outputs.data(), gate.stride(), outputs.stride(), size.steps, size.heads,
               size.width, count});
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
