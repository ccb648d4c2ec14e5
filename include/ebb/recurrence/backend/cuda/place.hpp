// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/place.hpp
/// @brief  Where a step stands: in which sequence, at which position, and what happens there.
#pragma once

#include <cstdint>

#include <ebb/core/sequences.hpp>
#include <ebb/recurrence/backend/cuda/operand.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// The sequences of a call (core/sequences.hpp) on the device. Null: left out.
template <class State>
struct device_sequences {
  const index_t* offsets = nullptr;
  index_t count = 1;
  const index_t* first_positions = nullptr;
  operand<const State> initial;
  operand<State> final;
  const std::uint8_t* resets = nullptr;
  const index_t* snapshot_steps = nullptr;
  index_t snapshot_count = 0;
  operand<State> snapshots;
};

/// The same from those of the host, whose lists go up with the call.
template <class Launcher, class State>
device_sequences<State> sequences_of(Launcher& launcher, const sequences<State>& where) {
  device_sequences<State> result;
  const auto list = [&](const auto& values) {
    return values.empty() ? nullptr : launcher.upload(values);
  };
  result.offsets = list(where.offsets);
  result.count = where.count();
  result.first_positions = list(where.first_positions);
  result.initial = operand_of(where.initial_states);
  result.final = operand_of(where.final_states);
  result.resets = list(where.resets);
  result.snapshot_steps = list(where.snapshot_steps);
  result.snapshot_count = static_cast<index_t>(where.snapshot_steps.size());
  result.snapshots = operand_of(where.snapshots);
  return result;
}

/// How many of `count` ascending values are <= x.
EBB_NO_EXEC_CHECK template <class Context>
EBB_DEVICE index_t count_up_to(Context& c, const index_t* values, index_t count, index_t x) {
  index_t low = 0, high = count;
  while (low < high) {
    const index_t middle = low + (high - low) / 2;
    if (c.load_cached(values + middle) <= x)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// What is to be known of one step.
struct step_place {
  index_t sequence = 0;
  index_t position = 1;
  bool inside = false;  ///< of a sequence
  bool first = false;   ///< of its sequence as it is walked
  bool last = false;
  bool reset = false;  ///< before it the state becomes 0
};

/// Finds the places of steps, of neighbouring ones without a search.
class place_finder {
 public:
  EBB_NO_EXEC_CHECK template <class Context, class State>
  EBB_DEVICE step_place at(Context& c, const device_sequences<State>& where, index_t steps,
                           bool reverse, index_t b, index_t t) {
    if (t < begin_ || t >= end_) find(c, where, steps, t);
    step_place place;
    place.inside = sequence_ >= 0;
    if (!place.inside) return place;
    place.sequence = sequence_;
    place.position = t - begin_ + 1;
    if (where.first_positions != nullptr)
      place.position =
          t - begin_ + c.load_cached(where.first_positions + (b * where.count + sequence_));
    place.first = reverse ? t == end_ - 1 : t == begin_;
    place.last = reverse ? t == begin_ : t == end_ - 1;
    place.reset = where.resets != nullptr && c.load_cached(where.resets + (b * steps + t)) != 0;
    return place;
  }

 private:
  EBB_NO_EXEC_CHECK template <class Context, class State>
  EBB_DEVICE void find(Context& c, const device_sequences<State>& where, index_t steps, index_t t) {
    if (where.offsets == nullptr) {
      sequence_ = 0, begin_ = 0, end_ = steps;
      return;
    }
    // The last of those that begin at t or before: not an empty one, if t is inside.
    const index_t begun = count_up_to(c, where.offsets, where.count + 1, t);
    sequence_ = begun > where.count ? -1 : begun - 1;
    begin_ = begun > 0 ? c.load_cached(where.offsets + (begun - 1)) : 0;
    end_ = begun <= where.count ? c.load_cached(where.offsets + begun) : steps;
  }

  index_t sequence_ = -1, begin_ = 0, end_ = 0;
};

/// Writes the state after a step where it is asked for.
EBB_NO_EXEC_CHECK template <class Context, class State>
EBB_DEVICE void keep_state(Context& c, const device_sequences<State>& where,
                           const step_place& place, index_t b, index_t t, index_t k,
                           const State& h) {
  if (place.last && where.final.data != nullptr)
    c.store(where.final.at(b, place.sequence, k), packed<State, 1>{{h}});
  if (where.snapshot_count > 0) {
    const index_t n = count_up_to(c, where.snapshot_steps, where.snapshot_count, t) - 1;
    if (n >= 0 && c.load_cached(where.snapshot_steps + n) == t)
      c.store(where.snapshots.at(b, n, k), packed<State, 1>{{h}});
  }
}

}  // namespace ebb::inline EBB_ABI::detail::gpu
