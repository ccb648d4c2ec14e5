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

/// Whether runs of N elements along an axis lie side by side at multiples of their size, if the
/// first run begins at the data and runs are N apart. @param rows  of how many elements away rows
/// of runs are, along the other axis
template <int N, class T>
bool has_runs(const operand<T>& values, index_t along, index_t across) {
  const auto at_multiple = [](index_t stride) { return stride % N == 0; };
  return along == 1 && at_multiple(across) && at_multiple(values.batch) &&
         reinterpret_cast<std::uintptr_t>(values.data) % (sizeof(T) * N) == 0;
}

}  // namespace ebb::inline EBB_ABI::detail::gpu
