// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/history.hpp
/// @brief  The last K states of a running sequence, to roll back to any of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <ebb/recurrence/layer.hpp>

namespace ebb::inline EBB_ABI {

/// A ring of the last K states. Rejected steps are undone by rolling back; the scan has no inverse.
///
/// Cost: construction allocates K N values; nothing else does. `keep` and `roll_back` copy N
/// values.
template <class State>
class state_history {
 public:
  /// @param capacity  K >= 1, how many states are remembered
  /// @param channels  N >= 0
  /// @throws domain_error outside these domains, or where K N values or K positions fit into no
  ///   memory.
  state_history(index_t capacity, index_t channels)
      : capacity_(checked(capacity, 1)),
        channels_(checked(channels, 0)),
        values_(count(capacity, channels)),
        positions_(static_cast<std::size_t>(capacity)) {}

  state_history(const state_history&) = default;
  state_history& operator=(const state_history&) = default;
  /// What has been moved from remembers nothing and keeps nothing: K = 0, until it is assigned to.
  state_history(state_history&& other) noexcept
      : capacity_(std::exchange(other.capacity_, 0)),
        channels_(other.channels_),
        first_(std::exchange(other.first_, 0)),
        size_(std::exchange(other.size_, 0)),
        values_(std::move(other.values_)),
        positions_(std::move(other.positions_)) {}
  state_history& operator=(state_history&& other) noexcept {
    if (this == &other) return *this;
    capacity_ = std::exchange(other.capacity_, 0);
    channels_ = other.channels_;
    first_ = std::exchange(other.first_, 0);
    size_ = std::exchange(other.size_, 0);
    values_ = std::move(other.values_);
    positions_ = std::move(other.positions_);
    return *this;
  }
  ~state_history() = default;

  /// How many states can be rolled back to, 0 .. K.
  index_t size() const { return size_; }

  /// Remember a state; the oldest goes when there are K. At the position of the newest one, as
  /// after a roll-back to it, it takes that one's place.
  /// @throws shape_error unless it has N channels; domain_error where its position comes before
  ///   that of the newest one, and by a history that has been moved from.
  void keep(const layer_state<State>& state) { keep(state.values, state.next_position); }

  /// Remember the state before the step at a position: for the rows of `sequences::snapshots`.
  void keep(std::span<const State> values, index_t next_position) {
    detail::require_shape(static_cast<index_t>(values.size()) == channels_, "state_history",
                          "need a state of N channels (got, N)", values.size(), channels_);
    detail::require_domain(capacity_ > 0, "state_history", "need a history that is still there");
    detail::require_domain(size_ == 0 || next_position >= position(size_ - 1), "state_history",
                           "need a position not before the newest one (got, newest)", next_position,
                           size_ > 0 ? position(size_ - 1) : 0);
    const bool again = size_ > 0 && next_position == position(size_ - 1);
    if (!again && size_ == capacity_)
      first_ = (first_ + 1) % capacity_;
    else if (!again)
      ++size_;
    const index_t at = slot(size_ - 1);
    std::copy(values.begin(), values.end(), values_.begin() + at * channels_);
    positions_[static_cast<std::size_t>(at)] = next_position;
  }

  /// Restore the state before the step at a position, and forget what came after it.
  /// @throws domain_error unless that state is remembered; shape_error unless `state` has N
  ///   channels.
  void roll_back(index_t next_position, layer_state<State>& state) {
    detail::require_shape(static_cast<index_t>(state.values.size()) == channels_, "state_history",
                          "need a state of N channels (got, N)", state.values.size(), channels_);
    index_t i = size_;
    while (i > 0 && position(i - 1) > next_position) --i;
    detail::require_domain(i > 0 && position(i - 1) == next_position, "state_history",
                           "need a remembered position (got, remembered)", next_position, size_);
    const auto from = values_.begin() + slot(i - 1) * channels_;
    std::copy(from, from + channels_, state.values.begin());
    state.next_position = next_position;
    size_ = i;
  }

 private:
  static index_t checked(index_t value, index_t least) {
    detail::require_domain(value >= least, "state_history", "need capacity >= 1, channels >= 0",
                           value);
    return value;
  }
  static std::size_t count(index_t capacity, index_t channels) {
    constexpr index_t bytes = std::numeric_limits<index_t>::max();
    constexpr auto value = static_cast<index_t>(sizeof(State));
    constexpr auto position = static_cast<index_t>(sizeof(index_t));
    detail::require_domain(capacity <= bytes / position && channels <= bytes / value / capacity,
                           "state_history", "need capacity * channels values that fit into memory",
                           capacity, channels);
    return static_cast<std::size_t>(capacity * channels);
  }
  index_t slot(index_t i) const { return (first_ + i) % capacity_; }
  index_t position(index_t i) const { return positions_[static_cast<std::size_t>(slot(i))]; }

  index_t capacity_, channels_, first_ = 0, size_ = 0;
  std::vector<State> values_;
  std::vector<index_t> positions_;
};

}  // namespace ebb::inline EBB_ABI
