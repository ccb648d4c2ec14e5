// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/head_view.hpp
/// @brief  Views of (batch, time, head, width) data: queries, keys, values, gates.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ebb/core/overlap.hpp>
#include <ebb/core/view.hpp>

namespace ebb::inline EBB_ABI {

/// How many batch entries, steps, heads and numbers per head a view has.
struct head_extents {
  index_t batches = 1;
  index_t steps = 0;
  index_t heads = 1;
  index_t width = 0;

  friend constexpr bool operator==(const head_extents&, const head_extents&) = default;
  constexpr bool empty() const { return batches == 0 || steps == 0 || heads == 0 || width == 0; }
};

/// Distances in elements between neighbouring batch entries, steps and heads; zero repeats.
struct head_strides {
  index_t batch = 0;
  index_t step = 0;
  index_t head = 0;
};

/// A view of (batch, time, head, width) data in somebody else's memory, the order in which users of
/// attention-like models keep it.
///
///   element (b, t, h, i) at data[b * batch + t * step + h * head + i]
///
/// The numbers of a head are adjacent. A mutable view converts to a const one; copying copies no
/// data.
template <class T>
class head_view {
 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;

  constexpr head_view() = default;

  /// Dense data: one head after the other, one step after the other, one batch entry after the
  /// other.
  /// @throws shape_error unless every extent >= 0, their product < 2^63, and data != nullptr unless
  ///   empty.
  constexpr head_view(T* data, const head_extents& size) : head_view(data, size, dense(size)) {}

  /// Data at the given distances.
  /// @throws shape_error unless every extent >= 0, and data != nullptr unless empty.
  constexpr head_view(T* data, const head_extents& size, const head_strides& stride)
      : data_(data), extents_(size), strides_(stride) {
    detail::require_shape(
        size.batches >= 0 && size.steps >= 0 && size.heads >= 0 && size.width >= 0, "head_view",
        "need extents >= 0 (batches, steps, heads, width)", size.batches, size.steps, size.heads,
        size.width);
    detail::require_shape(data != nullptr || size.empty(), "head_view",
                          "need memory for a view that is not empty");
  }

  /// A view of const elements from one of mutable elements.
  template <class U>
  requires std::same_as<const U, T>
  constexpr head_view(const head_view<U>& other)  // NOLINT(google-explicit-constructor)
      : data_(other.data()), extents_(other.size()), strides_(other.stride()) {}

  constexpr T* data() const { return data_; }
  constexpr const head_extents& size() const { return extents_; }
  constexpr const head_strides& stride() const { return strides_; }
  constexpr index_t batches() const { return extents_.batches; }
  constexpr index_t steps() const { return extents_.steps; }
  constexpr index_t heads() const { return extents_.heads; }
  constexpr index_t width() const { return extents_.width; }
  constexpr bool empty() const { return extents_.empty(); }
  /// Whether the view is as the default constructor makes it: how optional arrays are left out.
  constexpr bool left_out() const { return data_ == nullptr && extents_ == head_extents{}; }

  constexpr T* pointer(index_t batch, index_t step, index_t head) const {
    return data_ + (batch * strides_.batch + step * strides_.step + head * strides_.head);
  }
  constexpr T& operator()(index_t batch, index_t step, index_t head, index_t i) const {
    EBB_ASSERT(batch >= 0 && batch < batches() && step >= 0 && step < steps() && head >= 0 &&
               head < heads() && i >= 0 && i < width());
    return pointer(batch, step, head)[i];
  }

  /// The view of one head, (batch, time, width).
  constexpr strided_view<T> head(index_t h) const {
    EBB_ASSERT(h >= 0 && h < heads());
    const extents size{batches(), steps(), width()};
    return {size.empty() ? nullptr : pointer(0, 0, h), size, {strides_.batch, strides_.step}};
  }
  /// The view as (batch, time, heads * width): channel h * width + i is number i of head h.
  /// @throws shape_error unless the numbers of a head are followed by those of the next.
  constexpr strided_view<T> channels() const {
    detail::require_shape(empty() || heads() == 1 || strides_.head == width(), "head_view",
                          "need heads side by side (distance, width)", strides_.head, width());
    return {data_, {batches(), steps(), heads() * width()}, {strides_.batch, strides_.step}};
  }
  /// The view of `count` steps from `first` on.
  /// @throws shape_error unless they are inside.
  constexpr head_view steps_from(index_t first, index_t count) const {
    detail::require_shape(first >= 0 && count >= 0 && first <= steps() && count <= steps() - first,
                          "head_view", "need steps inside the view (first, count, steps)", first,
                          count, steps());
    const head_extents size{batches(), count, heads(), width()};
    return {size.empty() ? nullptr : pointer(0, first, 0), size, strides_};
  }

 private:
  static constexpr head_strides dense(const head_extents& size) {
    constexpr index_t most = std::numeric_limits<index_t>::max();
    index_t count = 1;
    for (const index_t extent : {size.width, size.heads, size.steps, size.batches}) {
      if (extent <= 0) return {};
      detail::require_shape(count <= most / extent, "head_view",
                            "need fewer than 2^63 elements (batches, steps, heads, width)",
                            size.batches, size.steps, size.heads, size.width);
      count *= extent;
    }
    return {size.steps * size.heads * size.width, size.heads * size.width, size.width};
  }

  T* data_ = nullptr;
  head_extents extents_{};
  head_strides strides_{};
};

template <class T>
inline constexpr bool borrows_data<head_view<T>> = true;

namespace detail {
template <class T>
byte_runs runs_of(const head_view<T>& view) {
  constexpr auto bytes = static_cast<std::intptr_t>(sizeof(T));
  return {reinterpret_cast<std::intptr_t>(view.data()),
          view.width() * bytes,
          {{{view.stride().batch * bytes, view.batches()},
            {view.stride().step * bytes, view.steps()},
            {view.stride().head * bytes, view.heads()}}}};
}
}  // namespace detail

/// Do two views share an element? Exact for any strides.
/// Cost: O(1) when the memory ranges are apart, and where heads, steps and batch entries continue
/// each other in rows equally far apart; else that of `overlap` of views, for each pair along the
/// axis of the largest stride.
template <class T, class U>
bool overlap(const head_view<T>& one, const head_view<U>& two) {
  if (one.empty() || two.empty()) return false;
  return detail::overlap(detail::runs_of(one), detail::runs_of(two));
}
template <class T, class U, class Axis>
bool overlap(const head_view<T>& one, const strided_view<U, Axis>& two) {
  if (one.empty() || two.empty()) return false;
  return detail::overlap(detail::runs_of(one), detail::runs_of(two));
}

/// Do two views walk memory alike? (Strides over a single element count for nothing.)
template <class T, class U>
constexpr bool strides_agree(const head_view<T>& one, const head_view<U>& two) {
  return one.size() == two.size() &&
         (one.batches() <= 1 || one.stride().batch == two.stride().batch) &&
         (one.steps() <= 1 || one.stride().step == two.stride().step) &&
         (one.heads() <= 1 || one.stride().head == two.stride().head);
}

/// Does no element of the view share memory with another? (Sufficient: of batch, time and head each
/// lies inside a stride of the next larger one.)
template <class T>
bool elements_apart(const head_view<T>& view) {
  if (view.empty()) return true;
  std::array<std::pair<index_t, index_t>, 3> axes{{{view.stride().batch, view.batches()},
                                                   {view.stride().step, view.steps()},
                                                   {view.stride().head, view.heads()}}};
  for (auto& [stride, count] : axes) stride = stride < 0 ? -stride : stride;
  std::sort(axes.begin(), axes.end());
  index_t reach = view.width();
  for (const auto& [stride, count] : axes) {
    if (count <= 1) continue;
    if (stride < reach) return false;
    reach += stride * (count - 1);
  }
  return true;
}

}  // namespace ebb::inline EBB_ABI
