// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/running_state.hpp
/// @brief  Where the matrix states of a walk live: in the caller's memory, or in blocks of lanes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ebb/core/pack.hpp>
#include <ebb/recurrence/matrix.hpp>

namespace ebb::inline EBB_ABI::detail {

/// A part of a call that depends on no other: heads and lanes of V of one sequence.
struct walk_piece {
  index_t batch, sequence;
  index_t first_head, heads;
  index_t first_lane, lanes;
};

/// The states of a piece while it goes through time.
///
/// In place, in `final_states`, where that is a good layout or the steps are few. Else in memory of
/// its own, lanes in blocks of 256 bytes, each block its K rows one after the other: rows of a wide V
/// lie a multiple of 512 bytes apart, where a cache finds room for half of them or fewer, and lanes
/// that do not fill a pack get zeros beside them.
template <class State>
class running_state {
 public:
  static constexpr index_t lanes = pack_of<State>::lanes;
  static constexpr index_t block_lanes =
      std::max<index_t>(256 / static_cast<index_t>(sizeof(State)), 1);

  running_state(const sequences<State>& where, const walk_piece& piece, const matrix_shape& size,
                index_t steps)
      : where_(where), piece_(piece), size_(size), final_(of(where.final_states)) {
    const bool good = size.values <= block_lanes && piece.lanes % lanes == 0 &&
                      reinterpret_cast<std::uintptr_t>(final_) % 64 == 0;
    constexpr index_t few = 16;  // steps that do not pay for moving the state there and back
    in_place_ = final_ != nullptr && (good || steps < few);
    if (in_place_) return;
    lanes_up_ = (piece.lanes + lanes - 1) / lanes * lanes;
    constexpr index_t slack = 64 / std::min<index_t>(static_cast<index_t>(sizeof(State)), 64);
    memory_.resize(static_cast<std::size_t>(piece.heads * size.keys * lanes_up_ + slack));
    own_ = memory_.data();
    while (reinterpret_cast<std::uintptr_t>(own_) % 64 != 0 && own_ < memory_.data() + slack)
      ++own_;
  }

  /// Gets the initial state of a head (counted in the piece): just before its first steps, so that
  /// it is still in a near cache then.
  void begin(index_t head) {
    const State* const initial = of(where_.initial_states);
    if (initial == nullptr && !in_place_) return;  // zeros already
    if (initial == final_ && in_place_) return;
    move(head, [&](State* row, index_t at, index_t count) {
      if (initial != nullptr)
        std::copy_n(initial + at, count, row);
      else
        std::fill_n(row, count, State(0));
    });
  }

  /// The first number of lane `lane` of head `head` (counted in the piece), and the distance of rows.
  struct place {
    State* first;
    index_t row;
  };
  place at(index_t head, index_t lane) const {
    if (in_place_) return {final_ + head * size_.state() + lane, size_.values};
    const index_t in_piece = lane - piece_.first_lane;
    const index_t block = in_piece / block_lanes * block_lanes;
    return {own_ + head * size_.keys * lanes_up_ + block * size_.keys + (in_piece - block),
            std::min(block_lanes, lanes_up_ - block)};
  }
  /// Whether whole packs may be read and written where only some lanes are there.
  bool padded() const { return !in_place_; }

  void erase() {
    each_head([&](State* row, index_t, index_t count) { std::fill_n(row, count, State(0)); });
  }
  /// Writes the states to a row of snapshots.
  void keep(index_t number) {
    State* const to =
        where_.snapshots.pointer(piece_.batch, number, piece_.first_head * size_.state());
    each_head(
        [&](const State* row, index_t at, index_t count) { std::copy_n(row, count, to + at); });
  }
  /// Writes the states to `final_states`, if there are any.
  void finish() {
    if (in_place_ || final_ == nullptr) return;
    each_head(
        [&](const State* row, index_t at, index_t count) { std::copy_n(row, count, final_ + at); });
  }

 private:
  template <class S>
  S* of(const strided_view<S>& states) const {
    return states.data() == nullptr
               ? nullptr
               : states.pointer(piece_.batch, piece_.sequence, piece_.first_head * size_.state());
  }
  // f(numbers of a row, where they are in the caller's layout, how many) for a head.
  template <class F>
  void move(index_t head, const F& f) const {
    const index_t width = in_place_ ? std::max<index_t>(piece_.lanes, 1) : block_lanes;
    for (index_t block = 0; block < piece_.lanes; block += width) {
      const place from = at(head, piece_.first_lane + block);
      const index_t count = std::min(width, piece_.lanes - block);
      for (index_t j = 0; j < size_.keys; ++j)
        f(from.first + j * from.row,
          (head * size_.keys + j) * size_.values + piece_.first_lane + block, count);
    }
  }
  template <class F>
  void each_head(const F& f) const {
    for (index_t head = 0; head < piece_.heads; ++head) move(head, f);
  }

  const sequences<State>& where_;
  walk_piece piece_;
  matrix_shape size_;
  State* final_;
  bool in_place_ = true;
  index_t lanes_up_ = 0;
  std::vector<State> memory_;
  State* own_ = nullptr;
};

}  // namespace ebb::inline EBB_ABI::detail
