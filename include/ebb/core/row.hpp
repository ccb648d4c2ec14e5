// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/row.hpp
/// @brief  Rows of numbers at a distance from each other, and their copies in other types.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>

#include <ebb/core/numeric.hpp>
#include <ebb/core/scalar.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Numbers at a distance from each other.
template <class T>
struct row {
  T* data;
  index_t stride;
};
/// Copies `count` numbers in another type, to other memory.
template <class From, class To>
void copy_row(const row<const From>& from, index_t count, const row<To>& to) {
  const From* const a = from.data;
  To* __restrict const b = to.data;
  if (from.stride == 1 && to.stride == 1)
    for (index_t i = 0; i < count; ++i) b[i] = scalar_as<To>(a[i]);
  else
    for (index_t i = 0; i < count; ++i) b[i * to.stride] = scalar_as<To>(a[i * from.stride]);
}
/// The numbers themselves if they are adjacent and of this type, else a copy of them in `memory`.
template <class To, class From, std::size_t Size>
const To* in_a_row(const row<const From>& from, index_t count, std::array<To, Size>& memory) {
  if constexpr (std::same_as<From, To>)
    if (from.stride == 1) return from.data;
  copy_row(from, count, row<To>{memory.data(), 1});
  return memory.data();
}
/// Where to calculate what goes to a row: there if it is adjacent and of this type, else `memory`,
/// from which `put_row` copies it.
template <class From, class To, std::size_t Size>
From* place_for(const row<To>& to, std::array<From, Size>& memory) {
  if constexpr (std::same_as<From, To>)
    if (to.stride == 1) return to.data;
  return memory.data();
}
template <class From, class To>
void put_row(const From* from, index_t count, const row<To>& to) {
  if constexpr (std::same_as<From, To>)
    if (from == to.data) return;
  copy_row(row<const From>{from, 1}, count, to);
}
/// The rows of a block: channels of a step, steps of its only channel.
template <class Block>
row<typename Block::element_type> channel_row_of(const Block& block, index_t t, index_t k) {
  return {block.pointer(0, t, k), block.channel_stride()};
}
template <class Block>
row<typename Block::element_type> time_row_of(const Block& block, index_t t) {
  return {block.pointer(0, t, 0), block.step_stride()};
}

}  // namespace ebb::inline EBB_ABI::detail
