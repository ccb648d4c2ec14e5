// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/view.hpp
/// @brief  Views of (batch, time, channel) data whose unit-stride axis is a type.
#pragma once

#include <concepts>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {

/// The unit-stride axis of a view. time_major: the channels of a step are adjacent, a row is a
/// step. channel_major: the steps of a channel are adjacent, a row is a channel.
struct time_major {};
struct channel_major {};

template <class Axis>
concept unit_stride_axis = std::same_as<Axis, time_major> || std::same_as<Axis, channel_major>;

/// How many batch entries, steps and channels a view has.
struct extents {
  index_t batches = 1;
  index_t steps = 0;
  index_t channels = 0;

  friend constexpr bool operator==(const extents&, const extents&) = default;
  constexpr bool empty() const { return batches == 0 || steps == 0 || channels == 0; }
};

/// Distances in elements between neighbouring batch entries and between neighbouring rows.
///
/// Larger than the row: padded. Zero: the same row again (inputs only). Negative: backwards.
struct strides {
  index_t batch = 0;
  index_t row = 0;
};

/// A view of (batch, time, channel) data in somebody else's memory.
///
///   time_major:     element (b, t, k) at data[b * batch_stride + t * row_stride + k]
///   channel_major:  element (b, t, k) at data[b * batch_stride + k * row_stride + t]
///
/// A mutable view converts to a const one. Copying a view copies no data.
template <class T, unit_stride_axis Axis = time_major>
class strided_view {
 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  using axis = Axis;
  static constexpr bool channels_adjacent = std::same_as<Axis, time_major>;

  constexpr strided_view() = default;

  /// Dense rows, one batch entry: (steps x channels) in time_major order or its transpose.
  /// @throws shape_error unless steps, channels >= 0, and data != nullptr unless empty.
  constexpr strided_view(T* data, index_t steps, index_t channels)
      : strided_view(data, extents{1, steps, channels}) {}

  /// Dense rows and batch entries.
  /// @throws shape_error unless every extent >= 0, steps * channels < 2^63, and data != nullptr
  ///   unless empty.
  constexpr strided_view(T* data, const extents& size)
      : strided_view(data, size, {dense_batch(size), row_length(size)}) {}

  /// Rows and batch entries at the given distances.
  /// @throws shape_error unless every extent >= 0, and data != nullptr unless empty.
  constexpr strided_view(T* data, const extents& size, const strides& step)
      : data_(data), extents_(size), strides_(step) {
    detail::require_shape(size.batches >= 0 && size.steps >= 0 && size.channels >= 0,
                          "strided_view", "need extents >= 0 (batches, steps, channels)",
                          size.batches, size.steps, size.channels);
    detail::require_shape(data != nullptr || size.empty(), "strided_view",
                          "need memory for a view that is not empty");
  }

  /// A view of const elements from one of mutable elements.
  template <class U>
  requires std::same_as<const U, T>
  constexpr strided_view(const strided_view<U, Axis>& other)  // NOLINT(google-explicit-constructor)
      : data_(other.data()), extents_(other.size()), strides_(other.stride()) {}

  constexpr T* data() const { return data_; }
  constexpr const extents& size() const { return extents_; }
  constexpr const strides& stride() const { return strides_; }
  constexpr index_t batches() const { return extents_.batches; }
  constexpr index_t steps() const { return extents_.steps; }
  constexpr index_t channels() const { return extents_.channels; }
  constexpr bool empty() const { return extents_.empty(); }
  /// Whether the view is as the default constructor makes it: how optional arrays are left out. An
  /// empty array of another shape is not left out.
  constexpr bool left_out() const { return data_ == nullptr && extents_ == extents{}; }

  /// Distance between the same channel of neighbouring steps; a constant 1 in channel_major.
  constexpr index_t step_stride() const { return channels_adjacent ? strides_.row : 1; }
  /// Distance between neighbouring channels of a step; a constant 1 in time_major.
  constexpr index_t channel_stride() const { return channels_adjacent ? 1 : strides_.row; }

  constexpr T* pointer(index_t batch, index_t step, index_t channel) const {
    return data_ + (batch * strides_.batch + step * step_stride() + channel * channel_stride());
  }

  constexpr T& operator()(index_t batch, index_t step, index_t channel) const {
    EBB_ASSERT(batch >= 0 && batch < batches() && step >= 0 && step < steps() && channel >= 0 &&
               channel < channels());
    return *pointer(batch, step, channel);
  }
  constexpr T& operator()(index_t step, index_t channel) const { return (*this)(0, step, channel); }

  /// The view of `count` steps from `first` on, and of `count` channels from `first` on.
  constexpr strided_view steps_from(index_t first, index_t count) const {
    return part({batches(), count, channels()}, 0, first, 0);
  }
  constexpr strided_view channels_from(index_t first, index_t count) const {
    return part({batches(), steps(), count}, 0, 0, first);
  }
  /// The view of one batch entry.
  constexpr strided_view batch_entry(index_t batch) const {
    return part({1, steps(), channels()}, batch, 0, 0);
  }

 private:
  // Checked here because the product is formed before the other constructor can look at its
  // factors.
  static constexpr index_t dense_batch(const extents& size) {
    if (size.steps <= 0 || size.channels <= 0) return 0;
    detail::require_shape(size.steps <= std::numeric_limits<index_t>::max() / size.channels,
                          "strided_view", "need steps * channels < 2^63", size.steps,
                          size.channels);
    return size.steps * size.channels;
  }

  static constexpr index_t row_length(const extents& size) {
    return channels_adjacent ? size.channels : size.steps;
  }

  constexpr strided_view part(const extents& size, index_t batch, index_t step,
                              index_t channel) const {
    const auto inside = [](index_t first, index_t count, index_t all) {
      return first >= 0 && count >= 0 && first <= all && count <= all - first;
    };
    detail::require_shape(inside(batch, size.batches, batches()) &&
                              inside(step, size.steps, steps()) &&
                              inside(channel, size.channels, channels()),
                          "strided_view", "need a part inside the view");
    if (size.empty()) return strided_view(nullptr, size, strides_);
    return strided_view(pointer(batch, step, channel), size, strides_);
  }

  T* data_ = nullptr;
  extents extents_{};
  strides strides_{};
};

namespace detail {
/// @throws shape_error unless a view is left out or has this shape.
template <class T, class Axis>
constexpr void require_optional(const strided_view<T, Axis>& view, const extents& size,
                                std::string_view where, std::string_view rule) {
  if (view.left_out() || view.size() == size) return;
  require_shape(false, where, std::string(rule) + " (got, then wanted)", view.batches(),
                view.steps(), view.channels(), size.batches, size.steps, size.channels);
}
}  // namespace detail

/// How the library looks at an object: `view_traits<V>::of(object)` gives a strided_view.
/// Specialise it for your own container; objects with a member `view()` need nothing.
template <class V>
struct view_traits {};

template <class T, class Axis>
struct view_traits<strided_view<T, Axis>> {
  static constexpr strided_view<T, Axis> of(const strided_view<T, Axis>& view) { return view; }
};

template <class V>
requires requires(V& object) { strided_view(object.view()); }
struct view_traits<V> {
  static constexpr auto of(V& object) { return object.view(); }
};

/// The view of an object in place; never copies data. A const object gives a view of const data.
template <class V>
requires requires(V& object) {
  view_traits<std::remove_reference_t<V>>::of(object);
} || requires(V& object) {
  view_traits<std::remove_cvref_t<V>>::of(object);
}
constexpr auto as_view(V&& object) {
  if constexpr (requires { view_traits<std::remove_reference_t<V>>::of(object); })
    return view_traits<std::remove_reference_t<V>>::of(object);
  else
    return view_traits<std::remove_cvref_t<V>>::of(object);
}

/// Whether `as_view` takes an object of type V.
template <class V>
concept viewable = requires(V& object) {
  as_view(object);
};

/// Whether objects of a type point to somebody else's data, so that it outlives them. Specialise it
/// for your own kinds of views.
template <class V>
inline constexpr bool borrows_data = false;
template <class T, class Axis>
inline constexpr bool borrows_data<strided_view<T, Axis>> = true;

/// Whether the data of an argument, declared as V&&, is still there after the call: V is a named
/// object or a view. What is written to another temporary would be lost.
template <class V>
concept outlives_call = std::is_lvalue_reference_v<V> || borrows_data<std::remove_cvref_t<V>>;

/// The view type of an object, and its axis and value type.
template <class V>
using view_type = decltype(as_view(std::declval<V&>()));
template <class V>
using view_axis = typename view_type<V>::axis;
template <class V>
using view_value = typename view_type<V>::value_type;

/// Whatever can be seen as (batch, time, channel) data of T in place: a view, an array, an Eigen
/// object (with interop/eigen.hpp). `view_of<V, const T>` also takes mutable data,
/// `view_of<V, T>` only that.
template <class V, class T>
concept view_of = requires(V& object) {
  { as_view(object) } -> std::convertible_to<strided_view<T, view_axis<V>>>;
};

}  // namespace ebb::inline EBB_ABI
