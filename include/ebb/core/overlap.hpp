// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/overlap.hpp
/// @brief  Exact questions about memory: do two views share elements, does one repeat its own?
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ebb/core/view.hpp>

namespace ebb::inline EBB_ABI {
namespace detail {

/// Copies of what lies on an axis, `stride` bytes apart.
struct byte_axis {
  std::intptr_t stride = 0;
  index_t count = 1;

  std::intptr_t reach() const { return stride * (count - 1); }
};

/// Memory as runs of `length` bytes that repeat along up to three axes.
struct byte_runs {
  std::intptr_t base, length;
  std::array<byte_axis, 3> axes;

  std::intptr_t lowest() const {
    std::intptr_t first = base;
    for (const byte_axis& axis : axes) first += std::min(axis.reach(), std::intptr_t{0});
    return first;
  }
  std::intptr_t end() const {
    std::intptr_t last = base + length;
    for (const byte_axis& axis : axes) last += std::max(axis.reach(), std::intptr_t{0});
    return last;
  }
};

/// The same memory with as few axes as it takes, strides positive, the widest first: zero strides
/// repeat nothing new, backwards is forwards from the other end, and axes that continue each other
/// are one. Unused axes come first, with a count of 1.
inline byte_runs simplified(byte_runs runs) {
  auto& axes = runs.axes;
  for (auto& [stride, count] : axes) {
    if (stride == 0 || count == 1) stride = 0, count = 1;
    if (stride < 0) runs.base += (count - 1) * stride, stride = -stride;
  }
  std::sort(axes.begin(), axes.end(),
            [](const byte_axis& a, const byte_axis& b) { return a.stride > b.stride; });
  byte_runs result{runs.base, runs.length, {}};
  std::size_t next = axes.size();  // axes from here on are set
  for (std::size_t i = axes.size(); i-- > 0;) {
    const byte_axis& axis = axes[i];
    if (axis.count == 1) continue;
    if (next == axes.size() && axis.stride == result.length)
      result.length *= axis.count;
    else if (next < axes.size() &&
             axis.stride == result.axes[next].stride * result.axes[next].count)
      result.axes[next].count *= axis.count;
    else
      result.axes[--next] = axis;
  }
  return result;
}

template <class T, class Axis>
byte_runs runs_of(const strided_view<T, Axis>& view) {
  constexpr bool rows_are_steps = strided_view<T, Axis>::channels_adjacent;
  constexpr auto bytes = static_cast<std::intptr_t>(sizeof(T));
  const auto base = reinterpret_cast<std::intptr_t>(view.data());
  const index_t rows = rows_are_steps ? view.steps() : view.channels();
  const index_t row = rows_are_steps ? view.channels() : view.steps();
  return {
      base,
      row * bytes,
      {{{0, 1}, {view.stride().batch * bytes, view.batches()}, {view.stride().row * bytes, rows}}}};
}

// Is there an r in first .. last with low < r * stride < high?
constexpr bool multiple_between(std::intptr_t low, std::intptr_t high, std::intptr_t stride,
                                std::intptr_t first, std::intptr_t last) {
  if (stride == 0) return low < 0 && 0 < high;
  const auto floor_div = [](std::intptr_t a, std::intptr_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
  };
  const std::intptr_t from = floor_div(low, stride) + 1, to = -floor_div(-high, stride) - 1;
  return (from > first ? from : first) <= (to < last ? to : last);
}

/// Do two simplified ones share a byte?
inline bool runs_meet(const byte_runs& a, const byte_runs& b) {
  const byte_axis &a_rows = a.axes[2], &b_rows = b.axes[2];
  const bool same_step = a_rows.stride == b_rows.stride;
  // With equal strides only the difference of the two row numbers matters.
  const index_t rows = same_step ? 1 : a_rows.count;
  const index_t first = same_step ? 1 - a_rows.count : 0;
  // And of the two entries, so that one of them may be the first.
  const bool same_entry = same_step && a.axes[1].stride == b.axes[1].stride;
  for (index_t g = 0; g < a.axes[0].count; ++g)
    for (index_t h = 0; h < b.axes[0].count; ++h) {
      const std::intptr_t from = a.base + g * a.axes[0].stride - b.base - h * b.axes[0].stride;
      for (index_t i = 0; i < a.axes[1].count; ++i)
        for (index_t row = 0; row < rows; ++row)
          for (index_t j = 0; j < (same_entry && i > 0 ? 1 : b.axes[1].count); ++j) {
            const std::intptr_t gap =
                from + i * a.axes[1].stride + row * a_rows.stride - j * b.axes[1].stride;
            if (multiple_between(gap - b.length, gap + a.length, b_rows.stride, first,
                                 b_rows.count - 1))
              return true;
          }
    }
  return false;
}

/// Do they share a byte? Of arrays far apart it takes two comparisons: every call asks this of most
/// pairs of its arrays, and a step of decoding is short.
inline bool overlap(const byte_runs& a, const byte_runs& b) {
  if (a.end() <= b.lowest() || b.end() <= a.lowest()) return false;
  return runs_meet(simplified(a), simplified(b));
}

}  // namespace detail

/// Do two views share an element?
///
/// Exact for any strides: side by side columns of one buffer do not overlap.
/// Cost: O(1) when the memory ranges are apart, and where batch entries continue each other and
/// rows are equally far apart; one division per batch entry when row and batch strides agree, per
/// pair of them when row strides agree; else one per row and pair.
template <class T, class AxisT, class U, class AxisU>
bool overlap(const strided_view<T, AxisT>& one, const strided_view<U, AxisU>& two) {
  if (one.empty() || two.empty()) return false;
  return detail::overlap(detail::runs_of(one), detail::runs_of(two));
}

/// Is every element of one view the same memory as that element of the other?
template <class T, class AxisT, class U, class AxisU>
bool same_memory(const strided_view<T, AxisT>& one, const strided_view<U, AxisU>& two) {
  if (sizeof(T) != sizeof(U) || one.size() != two.size()) return false;
  if (static_cast<const void*>(one.data()) != static_cast<const void*>(two.data())) return false;
  return (one.batches() <= 1 || one.stride().batch == two.stride().batch) &&
         (one.steps() <= 1 || one.step_stride() == two.step_stride()) &&
         (one.channels() <= 1 || one.channel_stride() == two.channel_stride());
}

/// Does no element of the view share memory with another element of it? (Sufficient: rows inside
/// batch entries or batch entries inside rows.)
template <class T, class Axis>
bool elements_apart(const strided_view<T, Axis>& view) {
  if (view.empty()) return true;
  constexpr bool rows_are_steps = strided_view<T, Axis>::channels_adjacent;
  const index_t row = rows_are_steps ? view.channels() : view.steps();
  const index_t rows = rows_are_steps ? view.steps() : view.channels();
  const auto distance = [](index_t stride) { return stride < 0 ? -stride : stride; };
  std::pair<index_t, index_t> near{distance(view.stride().row), rows};
  std::pair<index_t, index_t> far{distance(view.stride().batch), view.batches()};
  if (far.second > 1 && (near.second == 1 || far.first < near.first)) std::swap(near, far);
  const bool near_apart = near.second == 1 || near.first >= row;
  const bool far_apart = far.second == 1 || far.first >= near.first * (near.second - 1) + row;
  return near_apart && far_apart;
}

}  // namespace ebb::inline EBB_ABI
