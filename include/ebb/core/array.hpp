// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/array.hpp
/// @brief  A (batch, time, channel) array that owns its memory.
#pragma once

#include <cstddef>
#include <vector>

#include <ebb/core/view.hpp>

namespace ebb::inline EBB_ABI {

/// A dense array of (batch, time, channel) data, zero at the start.
///
/// Cost: one allocation. Copies are deep. `array` binds wherever a view does; a const array
/// binds as input only.
template <class T, unit_stride_axis Axis = time_major>
class array {
 public:
  using value_type = T;

  array() = default;

  /// @throws shape_error unless every extent >= 0 and all elements fit into 2^63 bytes.
  array(index_t steps, index_t channels) : array(extents{1, steps, channels}) {}
  explicit array(const extents& size) : size_(size), data_(checked_count(size)) {}

  const extents& size() const { return size_; }
  index_t batches() const { return size_.batches; }
  index_t steps() const { return size_.steps; }
  index_t channels() const { return size_.channels; }
  T* data() { return data_.data(); }
  const T* data() const { return data_.data(); }

  T& operator()(index_t step, index_t channel) { return view()(step, channel); }
  const T& operator()(index_t step, index_t channel) const { return view()(step, channel); }
  T& operator()(index_t batch, index_t step, index_t channel) {
    return view()(batch, step, channel);
  }
  const T& operator()(index_t batch, index_t step, index_t channel) const {
    return view()(batch, step, channel);
  }

  strided_view<T, Axis> view() { return {data_.data(), size_}; }
  strided_view<const T, Axis> view() const { return {data_.data(), size_}; }

 private:
  static constexpr std::size_t most = (~std::size_t{0} >> 1) / sizeof(T);

  static std::size_t checked_count(const extents& size) {
    detail::require_shape(size.batches >= 0 && size.steps >= 0 && size.channels >= 0, "array",
                          "need extents >= 0 (batches, steps, channels)", size.batches, size.steps,
                          size.channels);
    if (size.empty()) return 0;
    const auto times = [](std::size_t count, index_t factor) {
      const auto many = static_cast<std::size_t>(factor);
      detail::require_shape(count <= most / many, "array", "need less than 2^63 bytes", factor);
      return count * many;
    };
    return times(times(times(1, size.batches), size.steps), size.channels);
  }

  extents size_{1, 0, 0};
  std::vector<T> data_;
};

}  // namespace ebb::inline EBB_ABI
