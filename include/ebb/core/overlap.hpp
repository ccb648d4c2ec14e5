// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/overlap.hpp
/// @brief  Exact questions about memory: do two views share elements, does one repeat its own?
#pragma once

#include <cstdint>
#include <utility>

#include <ebb/core/view.hpp>

namespace ebb::inline EBB_ABI {
namespace detail {

// A view as bytes: outer x inner runs of `length` bytes, without the repeats of a zero stride.
struct byte_runs {
  std::intptr_t base, outer_stride, inner_stride, length;
  index_t outer, inner;

  std::intptr_t lowest() const { return base; }
  std::intptr_t end() const {
    return base + (outer - 1) * outer_stride + (inner - 1) * inner_stride + length;
  }
};

template <class T, class Axis>
byte_runs runs_of(const strided_view<T, Axis>& view) {
  constexpr bool rows_are_steps = strided_view<T, Axis>::channels_adjacent;
  constexpr auto bytes = static_cast<std::intptr_t>(sizeof(T));
  byte_runs runs{reinterpret_cast<std::intptr_t>(view.data()),
                 view.stride().batch * bytes,
                 view.stride().row * bytes,
                 (rows_are_steps ? view.channels() : view.steps()) * bytes,
                 view.batches(),
                 rows_are_steps ? view.steps() : view.channels()};
  // Backwards is forwards from the other end.
  const auto forwards = [&](std::intptr_t& stride, index_t& count) {
    if (stride == 0 || count == 1) stride = 0, count = 1;
    if (stride < 0) runs.base += (count - 1) * stride, stride = -stride;
  };
  forwards(runs.outer_stride, runs.outer);
  forwards(runs.inner_stride, runs.inner);
  return runs;
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

}  // namespace detail

/// Do two views share an element?
///
/// Exact for any strides: side by side columns of one buffer do not overlap.
/// Cost: O(1) when the memory ranges are apart; one division per batch entry when row and batch
/// strides agree, per pair of them when row strides agree; else one per row and pair.
template <class T, class AxisT, class U, class AxisU>
bool overlap(const strided_view<T, AxisT>& one, const strided_view<U, AxisU>& two) {
  if (one.empty() || two.empty()) return false;
  const detail::byte_runs a = detail::runs_of(one), b = detail::runs_of(two);
  if (a.end() <= b.lowest() || b.end() <= a.lowest()) return false;
  const bool same_step = a.inner_stride == b.inner_stride;
  // With equal strides only the difference of the two row numbers matters.
  const index_t rows = same_step ? 1 : a.inner;
  const index_t first = same_step ? 1 - a.inner : 0;
  // And of the two batch entries, so that one of them may be the first.
  const bool same_entry = same_step && a.outer_stride == b.outer_stride;
  for (index_t i = 0; i < a.outer; ++i)
    for (index_t row = 0; row < rows; ++row)
      for (index_t j = 0; j < (same_entry && i > 0 ? 1 : b.outer); ++j) {
        const std::intptr_t gap =
            a.base + i * a.outer_stride + row * a.inner_stride - b.base - j * b.outer_stride;
        if (detail::multiple_between(gap - b.length, gap + a.length, b.inner_stride, first,
                                     b.inner - 1))
          return true;
      }
  return false;
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
  const detail::byte_runs runs = detail::runs_of(view);
  const index_t rows = strided_view<T, Axis>::channels_adjacent ? view.steps() : view.channels();
  if (runs.inner != rows || runs.outer != view.batches()) return false;  // a zero stride
  std::pair<std::intptr_t, index_t> near{runs.inner_stride, rows};
  std::pair<std::intptr_t, index_t> far{runs.outer_stride, runs.outer};
  if (far.second > 1 && (near.second == 1 || far.first < near.first)) std::swap(near, far);
  const bool near_apart = near.second == 1 || near.first >= runs.length;
  const bool far_apart =
      far.second == 1 || far.first >= near.first * (near.second - 1) + runs.length;
  return near_apart && far_apart;
}

}  // namespace ebb::inline EBB_ABI
