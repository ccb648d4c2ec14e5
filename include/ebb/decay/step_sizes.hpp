// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/step_sizes.hpp
/// @brief  Step sizes in an array of the caller, one for each channel or one for all of them.
#pragma once

#include <limits>
#include <string_view>
#include <type_traits>

#include <ebb/core/row.hpp>
#include <ebb/decay/concept.hpp>

namespace ebb::inline EBB_ABI::detail {

/// The type in which gradients of stored values are added up: their own, at least float.
template <class T>
using gradient_sum_t =
    std::conditional_t<(std::numeric_limits<T>::digits < std::numeric_limits<float>::digits), float,
                       T>;

/// A view of step sizes of shape (batch, time, N), or (batch, time, 1) for all N channels alike.
template <class T, unit_stride_axis Axis>
class step_sizes {
 public:
  using gradient_view = strided_view<gradient_sum_t<T>, Axis>;

  explicit constexpr step_sizes(const strided_view<const T, Axis>& values) : values_(values) {}

  const strided_view<const T, Axis>& view() const { return values_; }
  bool shared() const { return values_.channels() == 1; }

  /// The value for step t and channel k of the block that begins at `where`.
  template <class Param>
  Param at(const block_origin& where, index_t t, index_t k) const {
    return static_cast<Param>(loaded(values_(where.batch, where.step + t, column(where, k))));
  }

  /// The values from there on: of the channels of the step, and of the steps.
  row<const T> channel_row(const block_origin& where, index_t t, index_t k) const {
    return {values_.pointer(where.batch, where.step + t, column(where, k)),
            shared() ? 0 : values_.channel_stride()};
  }
  row<const T> time_row(const block_origin& where, index_t t, index_t k) const {
    return {values_.pointer(where.batch, where.step + t, column(where, k)), values_.step_stride()};
  }

  /// Adds to the gradient of that value.
  template <class Param>
  void add(const gradient_view& sums, const block_origin& where, index_t t, index_t k,
           const Param& part) const {
    sums(where.batch, where.step + t, column(where, k)) += static_cast<gradient_sum_t<T>>(part);
  }

  /// The same of `count` channels from k on, each with a value of its own.
  template <class Param>
  void add_row(const gradient_view& sums, const block_origin& where, index_t t, index_t k,
               const Param* parts, index_t count) const {
    auto* const to = sums.pointer(where.batch, where.step + t, column(where, k));
    const index_t stride = sums.channel_stride();
    for (index_t i = 0; i < count; ++i) to[i * stride] += static_cast<gradient_sum_t<T>>(parts[i]);
  }

  /// @throws shape_error unless they fit data of this size.
  void check(const extents& size, std::string_view where) const {
    const extents& own = values_.size();
    require_shape(own.batches == size.batches && own.steps == size.steps &&
                      (own.channels == size.channels || own.channels == 1),
                  where,
                  "need step sizes of the data's shape, or with 1 channel (batches, steps, channels"
                  " of each)",
                  own.batches, own.steps, own.channels, size.batches, size.steps, size.channels);
  }
  /// @throws shape_error unless the sums have the shape of the step sizes, or there are none.
  void check_sums(const gradient_view& sums, std::string_view where) const {
    require_optional(sums, values_.size(), where,
                     "need gradients of the step sizes' shape (batches, steps, channels)");
  }

 private:
  index_t column(const block_origin& where, index_t k) const {
    return shared() ? 0 : where.channel + k;
  }

  strided_view<const T, Axis> values_;
};

}  // namespace ebb::inline EBB_ABI::detail
