// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/operand.hpp
/// @brief  The arrays of a scan as kernels see them: a pointer and strides.
#pragma once

#include <cstdint>

#include <ebb/core/view.hpp>
#include <ebb/recurrence/backend/cuda/context.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// Element (b, t, k) at data[b batch + t step + k channel], in the memory of the device; strides of
/// any sign, in elements. Null: left out.
template <class T>
struct operand {
  T* data = nullptr;
  index_t batch = 0, step = 0, channel = 0;
  /// Whether runs of a kernel's elements lie side by side, at multiples of their size.
  bool runs = false;

  EBB_DEVICE T* at(index_t b, index_t t, index_t k) const {
    return data + (b * batch + t * step + k * channel);
  }
};

/// Nothing is read.
struct no_values {};

/// The operand of a view.
template <class T, class Axis>
operand<T> operand_of(const strided_view<T, Axis>& view) {
  return {view.data(), view.stride().batch, view.step_stride(), view.channel_stride(), false};
}

/// Whether runs of N elements lie side by side at multiples of their size: of steps or of channels,
/// the first of them at the data.
template <int N, class T>
bool has_runs(const operand<T>& values, bool of_steps, const extents& size) {
  const index_t along = of_steps ? values.step : values.channel;
  const index_t across = of_steps ? values.channel : values.step;
  const index_t rows = of_steps ? size.channels : size.steps;
  return along == 1 && (rows <= 1 || across % N == 0) &&
         (size.batches <= 1 || values.batch % N == 0) &&
         reinterpret_cast<std::uintptr_t>(values.data) % (sizeof(T) * N) == 0;
}

}  // namespace ebb::inline EBB_ABI::detail::gpu
