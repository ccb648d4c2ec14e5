// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/sequences.hpp
/// @brief  Where sequences begin and end, and the states they begin and end with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ebb/core/view.hpp>

namespace ebb::inline EBB_ABI {

/// The sequences in the data of one call. Every member may be left out, a view by being
/// default-constructed: an empty one of a shape that does not fit is refused.
///
/// Shapes: S sequences in each of B batch entries, N channels; all spans and views are the
/// caller's memory and must outlive the call.
///
/// | member            | shape                | meaning                        | if left out      |
/// |-------------------|----------------------|--------------------------------|------------------|
/// | `offsets`         | S + 1, ascending,    | sequence s: from offsets[s]    | S = 1, all steps |
/// |                   | in 0 .. T            | to before offsets[s + 1]       |                  |
/// | `first_positions` | B S, in 1 .. 2^62    | position of its earliest step  | all 1            |
/// | `initial_states`  | (B, S, N)            | state before the first step    | zero             |
/// | `final_states`    | (B, S, N)            | gets the state after the last  | not kept         |
/// | `resets`          | B T flags            | nonzero: the state before step | none             |
/// |                   |                      | t of batch entry b becomes 0   |                  |
/// | `snapshot_steps`  | M, strictly          | steps whose states are kept    | none             |
/// |                   | ascending in 0..T-1  |                                |                  |
/// | `snapshots`       | (B, M, N)            | gets the states after them     | needed for M > 0 |
///
/// The states are views with one "step" per sequence; entry s of batch entry b is row (b, s).
/// A single offset means S = 0: no sequences, all steps are padding.
/// `final_states` may be the same memory as `initial_states`. Steps before offsets[0] and from
/// offsets[S] on belong to no sequence: padding, neither read nor written. An empty sequence
/// passes its initial state on to its final state.
///
/// A reset erases whatever was there, NaN and infinity included; positions go on counting. A
/// snapshot keeps all digits of the state, also where the data is narrower; rows of steps in the
/// padding are left alone.
///
/// In the reverse direction a sequence is walked from its latest step to its earliest; the
/// initial state stands after the latest step. Positions stay those of the steps.
template <class State>
struct sequences {
  std::span<const index_t> offsets{};
  std::span<const index_t> first_positions{};
  strided_view<const State> initial_states{};
  strided_view<State> final_states{};
  std::span<const std::uint8_t> resets{};
  std::span<const index_t> snapshot_steps{};
  strided_view<State> snapshots{};

  /// S, the number of sequences in a batch entry.
  index_t count() const { return offsets.empty() ? 1 : static_cast<index_t>(offsets.size()) - 1; }
  /// First step of sequence s, and one past its last, in data of `steps` steps.
  index_t begin(index_t s) const {
    return offsets.empty() ? 0 : offsets[static_cast<std::size_t>(s)];
  }
  index_t end(index_t s, index_t steps) const {
    return offsets.empty() ? steps : offsets[static_cast<std::size_t>(s) + 1];
  }
  /// Absolute 1-based position of the earliest step of sequence s of batch entry b.
  index_t first_position(index_t b, index_t s) const {
    return first_positions.empty() ? 1 : first_positions[static_cast<std::size_t>(b * count() + s)];
  }

  /// Whether the state is erased before step t of batch entry b, in data of `steps` steps.
  bool resets_at(index_t b, index_t t, index_t steps) const {
    return !resets.empty() && resets[static_cast<std::size_t>(b * steps + t)] != 0;
  }
  /// The row of `snapshots` that keeps step t, or -1.
  index_t snapshot_of(index_t t) const {
    const auto at = std::lower_bound(snapshot_steps.begin(), snapshot_steps.end(), t);
    return at != snapshot_steps.end() && *at == t ? at - snapshot_steps.begin() : -1;
  }

  /// @throws shape_error or domain_error unless all of the above holds for data of this size.
  void check(std::string_view where, const extents& size) const { check_all(where, size, true); }
  /// The same for a call that neither reads nor writes snapshots, so that they may be left out.
  void check_without_snapshots(std::string_view where, const extents& size) const {
    check_all(where, size, false);
  }

 private:
  void check_all(std::string_view where, const extents& size, bool snapshots_needed) const {
    if (!offsets.empty()) {
      detail::require_shape(offsets.front() >= 0 && offsets.back() <= size.steps, where,
                            "need offsets in 0 .. steps (first, last, steps)", offsets.front(),
                            offsets.back(), size.steps);
      for (std::size_t s = 1; s < offsets.size(); ++s)
        detail::require_shape(offsets[s - 1] <= offsets[s], where, "need ascending offsets",
                              offsets[s - 1], offsets[s]);
    }
    if (!first_positions.empty()) {
      detail::require_shape(
          detail::is_product(first_positions.size(), size.batches, count()), where,
          "need one first position per sequence (got, batches, sequences of each)",
          first_positions.size(), size.batches, count());
      for (const index_t position : first_positions)
        detail::require_domain(position >= 1 && position <= (index_t{1} << 62), where,
                               "need first positions in 1 .. 2^62", position);
    }
    detail::require_shape(
        resets.empty() || detail::is_product(resets.size(), size.batches, size.steps), where,
        "need one reset flag per batch entry and step (got, batches, steps)", resets.size(),
        size.batches, size.steps);
    for (std::size_t m = 0; m < snapshot_steps.size(); ++m)
      detail::require_shape(snapshot_steps[m] >= (m > 0 ? snapshot_steps[m - 1] + 1 : 0) &&
                                snapshot_steps[m] < size.steps,
                            where, "need strictly ascending snapshot steps in 0 .. steps - 1",
                            snapshot_steps[m]);
    const extents kept{size.batches, static_cast<index_t>(snapshot_steps.size()), size.channels};
    const bool may_miss = kept.empty() || !snapshots_needed;
    detail::require_shape((snapshots.left_out() && may_miss) || snapshots.size() == kept, where,
                          "need snapshots of shape (batches, snapshot steps, channels)",
                          snapshots.batches(), snapshots.steps(), snapshots.channels());
    const extents states{size.batches, count(), size.channels};
    detail::require_optional(initial_states, states, where,
                             "need initial states of shape (batches, sequences, channels)");
    detail::require_optional(final_states, states, where,
                             "need final states of shape (batches, sequences, channels)");
  }
};

}  // namespace ebb::inline EBB_ABI
