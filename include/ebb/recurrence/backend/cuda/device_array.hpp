// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/device_array.hpp
/// @brief  A (batch, time, channel) array in the memory of a GPU.
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>
#include <memory>
#include <string_view>
#include <type_traits>

#include <cuda_runtime.h>

#include <ebb/core/array.hpp>
#include <ebb/core/view.hpp>
#include <ebb/recurrence/backend/cuda/error.hpp>

namespace ebb::inline EBB_ABI {

namespace detail::gpu {
struct free_device_memory {
  void operator()(void* memory) const { static_cast<void>(cudaFree(memory)); }
};
/// Memory of the device that was current when it was made.
using device_memory = std::unique_ptr<void, free_device_memory>;

/// @throws cuda_error where there is not enough.
inline device_memory allocate_on_device(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes > 0) require_success(cudaMalloc(&memory, bytes), "cudaMalloc");
  return device_memory(memory);
}
}  // namespace detail::gpu

/// A dense array of (batch, time, channel) data in the memory of the current device, uninitialised.
///
/// Its view has device pointers: `ebb::scan` and the others take it with the backend `ebb::cuda`,
/// and with that alone, for the processor cannot read it. Any other device memory goes into a
/// `strided_view` or `head_view` the same way.
///
/// Cost: one cudaMalloc; the end is a cudaFree, which waits for the device.
template <class T, unit_stride_axis Axis = time_major>
class device_array {
 public:
  using value_type = T;
  static_assert(std::is_trivially_copyable_v<T>);

  device_array() = default;

  /// @throws shape_error unless every extent >= 0 and all elements fit into 2^63 bytes; cuda_error
  ///   where the memory does not suffice.
  device_array(index_t steps, index_t channels) : device_array(extents{1, steps, channels}) {}
  explicit device_array(const extents& size)
      : size_(size), memory_(detail::gpu::allocate_on_device(bytes_of(size))) {}

  /// A copy of an array or view of the same axis in host memory, made on a stream.
  template <class V>
  requires view_of<const V, const T> && std::same_as<view_axis<const V>, Axis>
  explicit device_array(const V& values, cudaStream_t stream = nullptr)
      : device_array(as_view(values).size()) {
    copy_from(values, stream);
  }

  const extents& size() const { return size_; }
  index_t batches() const { return size_.batches; }
  index_t steps() const { return size_.steps; }
  index_t channels() const { return size_.channels; }
  T* data() { return static_cast<T*>(memory_.get()); }
  const T* data() const { return static_cast<const T*>(memory_.get()); }

  strided_view<T, Axis> view() { return {data(), size_}; }
  strided_view<const T, Axis> view() const { return {data(), size_}; }

  /// Copies from, or to, an array or view of the same shape and axis in host memory (or another
  /// device array), in the order of a stream.
  ///
  /// Pinned host memory is copied while the caller goes on, and must stay as it is until the stream
  /// has come past; other host memory the caller may use again at once, but what it gets from the
  /// device is there only after the stream has been waited for.
  /// @throws shape_error unless the shapes agree and the rows of the view lie one behind the other,
  ///   at any distance; cuda_error.
  template <class V>
  requires view_of<const V, const T> && std::same_as<view_axis<const V>, Axis>
  void copy_from(const V& values, cudaStream_t stream = nullptr) {
    const strided_view<const T, Axis> from = as_view(values);
    copy("device_array::copy_from", from, stream);
  }
  template <class V>
  requires view_of<V, T> && std::same_as<view_axis<V>, Axis> && outlives_call<V>
  void copy_to(V&& values, cudaStream_t stream = nullptr) const {
    const strided_view<T, Axis> to = as_view(values);
    copy("device_array::copy_to", to, stream);
  }

 private:
  static std::size_t bytes_of(const extents& size) {
    const bool valid = size.batches >= 0 && size.steps >= 0 && size.channels >= 0;
    detail::require_shape(valid, "device_array", "need extents >= 0 (batches, steps, channels)",
                          size.batches, size.steps, size.channels);
    if (size.empty()) return 0;
    index_t room = std::numeric_limits<index_t>::max() / static_cast<index_t>(sizeof(T));
    for (const index_t extent : {size.batches, size.steps, size.channels}) room /= extent;
    detail::require_shape(room > 0, "device_array",
                          "need less than 2^63 bytes (batches, steps, channels)", size.batches,
                          size.steps, size.channels);
    return static_cast<std::size_t>(size.batches * size.steps * size.channels) * sizeof(T);
  }

  // To the view where its elements are mutable, else from it: in one piece where its rows touch,
  // else a batch entry at a time.
  template <class Element>
  void copy(std::string_view where, const strided_view<Element, Axis>& there,
            cudaStream_t stream) const {
    detail::require_shape(there.size() == size_, where,
                          "need a view of the array's shape (batches, steps, channels of each)",
                          there.batches(), there.steps(), there.channels(), batches(), steps(),
                          channels());
    if (size_.empty()) return;
    constexpr bool by_steps = std::same_as<Axis, time_major>;
    const index_t rows = by_steps ? steps() : channels(), row = by_steps ? channels() : steps();
    const index_t distance = rows == 1 ? row : there.stride().row;
    detail::require_shape(distance >= row, where,
                          "need rows one behind the other (distance, length)", distance, row);
    const auto bytes = [](index_t count) { return static_cast<std::size_t>(count) * sizeof(T); };
    // A row may be longer than cudaMemcpy2D takes.
    const auto go = [&](T* own, Element* other, index_t count) {
      constexpr bool inwards = std::is_const_v<Element>;
      void* const to = inwards ? static_cast<void*>(own) : const_cast<T*>(other);
      const void* const from = inwards ? static_cast<const void*>(other) : own;
      const auto many = static_cast<std::size_t>(count);
      detail::gpu::require_success(
          distance == row ? cudaMemcpyAsync(to, from, many * bytes(row), cudaMemcpyDefault, stream)
                          : cudaMemcpy2DAsync(to, bytes(inwards ? row : distance), from,
                                              bytes(inwards ? distance : row), bytes(row), many,
                                              cudaMemcpyDefault, stream),
          where);
    };
    auto* const own = static_cast<T*>(memory_.get());
    if (batches() == 1 || there.stride().batch == rows * distance)
      go(own, there.data(), batches() * rows);
    else
      for (index_t b = 0; b < batches(); ++b)
        go(own + b * rows * row, there.data() + b * there.stride().batch, rows);
  }

  extents size_{1, 0, 0};
  detail::gpu::device_memory memory_;
};

}  // namespace ebb::inline EBB_ABI
