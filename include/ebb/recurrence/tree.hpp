// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/tree.hpp
/// @brief  The scan over a tree of steps: drafts that branch, of which one path is accepted.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>

#include <ebb/core/overlap.hpp>
#include <ebb/decay/shifted.hpp>
#include <ebb/recurrence/layer.hpp>
#include <ebb/recurrence/scan.hpp>

namespace ebb::inline EBB_ABI {

/// A tree of T steps in each of B batch entries. Every step names the step that it continues.
///
/// | member            | shape     | meaning                                     | if left out  |
/// |-------------------|-----------|---------------------------------------------|--------------|
/// | `parents`         | T or B T  | parents[t] < t, or -1: the initial state    | needed       |
/// | `first_positions` | B         | position of the steps whose parent is -1;   | all 1        |
/// |                   |           | a step stands one behind its parent         |              |
/// | `initial_states`  | (B, 1, N) | the state before the tree                   | zero         |
/// | `states`          | (B, T, N) | gets the state after each step, all digits; | `out` keeps  |
/// |                   |           | needed unless `out` is time_major and of    | them         |
/// |                   |           | type State                                  |              |
template <class State>
struct step_tree {
  std::span<const index_t> parents{};
  std::span<const index_t> first_positions{};
  strided_view<const State> initial_states{};
  strided_view<State> states{};

  /// The parent of a step of a batch entry, in data of `steps` steps; -1 for none.
  index_t parent(index_t b, index_t t, index_t steps) const {
    const index_t entry = static_cast<index_t>(parents.size()) == steps ? 0 : b;
    return parents[static_cast<std::size_t>(entry * steps + t)];
  }
  /// How many steps lead to step t, itself included: 1 behind the initial state. Cost: O(result).
  index_t depth(index_t b, index_t t, index_t steps) const {
    index_t count = 0;
    for (; t >= 0; t = parent(b, t, steps)) ++count;
    return count;
  }

  /// @throws shape_error or domain_error unless all of the above holds for data of this size.
  void check(std::string_view where, const extents& size) const {
    check_parents(where, size);
    detail::require_shape(
        first_positions.empty() || static_cast<index_t>(first_positions.size()) == size.batches,
        where, "need one first position per batch entry (got, batches)", first_positions.size(),
        size.batches);
    for (const index_t position : first_positions)
      detail::require_domain(position >= 1 && position <= (index_t{1} << 62), where,
                             "need first positions in 1 .. 2^62", position);
    detail::require_optional(initial_states, {size.batches, 1, size.channels}, where,
                             "need initial states of shape (batches, 1, channels)");
    detail::require_optional(states, size, where,
                             "need tree.states of shape (batches, steps, channels)");
  }

  /// @throws shape_error unless every step of data of this size has a parent before it, or -1.
  void check_parents(std::string_view where, const extents& size) const {
    const auto count = static_cast<index_t>(parents.size());
    detail::require_shape(
        count == size.steps || detail::is_product(parents.size(), size.batches, size.steps), where,
        "need a parent for each step (got, steps, batches)", count, size.steps, size.batches);
    for (index_t i = 0; i < count; ++i) {
      const index_t p = parents[static_cast<std::size_t>(i)];
      detail::require_shape(p >= -1 && p < i % size.steps, where,
                            "need parents before their steps, or -1 (parent, step)", p,
                            i % size.steps);
    }
  }
};

/// Evaluate h_t = a_t h_parent(t) + b_t for every step of a tree.
///
/// The numbers of each path are those of `scan` along it, to the bit where the backend says so.
/// Decays see the position of a step, first position + depth - 1; decays that read arrays of the
/// caller read row t.
///
/// Shapes: in, out (batch, time, channel); steps stand after their parents.
///
/// @param decay    a bound decay, or an array or view of factors of the shape of `out`
/// @param in       b, anything view_of const T
/// @param out      h, anything view_of T; may be `in` itself
/// @param tree     parents, states and positions
/// @param backend  how; it gets one step at a time
/// @throws shape_error or domain_error as `scan` does, and unless `tree` is as documented; nothing
///   has been written then.
/// Cost: T calls of the backend for one step each, and the depth of each step; no allocation.
template <class Decay, class In, class Out, class State, class Backend = rows>
void scan_tree(const Decay& decay, const In& in, Out&& out, const step_tree<State>& tree,
               const Backend& backend = {}) {
  static_assert(detail::are_data<In, Out>());
  using T = view_value<Out>;
  static_assert(view_of<Out, T>, "ebb::scan_tree: out must be mutable");
  static_assert(outlives_call<Out>, "ebb::scan_tree: out must be a named object or a view of one");
  static_assert(view_of<const In, const T>, "ebb::scan_tree: in must have the element type of out");
  static_assert(detail::is_state_for<State, T>());
  static_assert(holds_digits_of<State, T>,
                "ebb::scan_tree: the state must be at least as wide as the data");
  const strided_view<const T, view_axis<const In>> from = as_view(in);
  const auto to = as_view(out);
  auto&& bound = detail::as_decay<State>(decay);
  tree.check("scan_tree", to.size());
  // Rows of states are what a step starts from; `out` has them in this form, or tree.states must.
  constexpr bool out_keeps_states = std::same_as<T, State> && view_type<Out>::channels_adjacent;
  detail::require_shape(out_keeps_states || tree.states.data() != nullptr || to.empty(),
                        "scan_tree",
                        "need tree.states where out is not time_major and of its type");
  detail::require_shape(elements_apart(tree.states), "scan_tree",
                        "need tree.states whose elements do not share memory");
  detail::require_shape(!overlap(tree.states, from) && !overlap(tree.states, to) &&
                            !overlap(tree.states, tree.initial_states),
                        "scan_tree", "need tree.states apart from in, out and the initial states");
  if constexpr (requires { bound.view(); })
    detail::require_shape(!overlap(bound.view(), tree.states), "scan_tree",
                          "need tree.states apart from the decay's data");
  detail::check_memory(
      "scan_tree", bound, from, to,
      sequences<State>{.initial_states = tree.initial_states, .final_states = tree.states});

  for (index_t b = 0; b < to.batches(); ++b)
    for (index_t t = 0; t < to.steps(); ++t) {
      const index_t parent = tree.parent(b, t, to.steps());
      const index_t offsets[2] = {t, t + 1};
      const index_t before =
          tree.first_positions.empty() ? 0 : tree.first_positions[static_cast<std::size_t>(b)] - 1;
      const index_t position = before + tree.depth(b, t, to.steps());
      const auto state_after = [&](index_t step) -> strided_view<State> {
        if (tree.states.data()) return tree.states.batch_entry(b).steps_from(step, 1);
        if constexpr (out_keeps_states)
          return to.batch_entry(b).steps_from(step, 1);
        else
          return {};
      };
      sequences<State> step{.offsets = offsets, .first_positions = {&position, 1}};
      if (parent >= 0)
        step.initial_states = state_after(parent);
      else if (tree.initial_states.data())
        step.initial_states = tree.initial_states.batch_entry(b);
      if (tree.states.data()) step.final_states = state_after(t);
      const shifted_decay<std::remove_cvref_t<decltype(bound)>> entry(bound, {.batch = b});
      backend.scan(entry, from.batch_entry(b), to.batch_entry(b), step, scan_options{});
    }
}

/// Take over the path that ends at a step: its state becomes the running one.
///
/// @param states  (1, T, N), the states of one batch entry of a tree that began at `state`, of its
///                type: `tree.states`, or `out` where it keeps them
/// @param tree    the tree; where batch entries have parents or first positions of their own, with
///                those of this entry only: `parents.subspan(b * T, T)`
/// @param step    the last accepted step, or -1 to accept none
/// @param state   the state before the tree; values and next position are moved along the path
/// @throws shape_error unless -1 <= step < T, the states have one batch entry and the state's
///   channels, and every step a parent before it; domain_error where the tree's first position is
///   not the state's next one. Nothing has been written then.
/// Cost: a look at the parents and one copy of N values; no allocation.
template <class View, class State>
void accept_path(const View& states, const step_tree<State>& tree, index_t step,
                 layer_state<State>& state) {
  static_assert(std::same_as<view_value<const View>, State>,
                "ebb::accept_path: the states must have the type of the running state, as "
                "tree.states has; data that is narrower has lost digits");
  const auto from = as_view(states);
  const auto channels = static_cast<index_t>(state.values.size());
  detail::require_shape(from.batches() == 1 && from.channels() == channels, "accept_path",
                        "need states of one batch entry and N channels (batches, channels, N)",
                        from.batches(), from.channels(), channels);
  detail::require_shape(step >= -1 && step < from.steps(), "accept_path",
                        "need -1 <= step < steps (got, steps)", step, from.steps());
  tree.check_parents("accept_path", from.size());
  if (!tree.first_positions.empty()) {
    detail::require_shape(tree.first_positions.size() == 1, "accept_path",
                          "need the first position of one batch entry (got)",
                          tree.first_positions.size());
    detail::require_domain(tree.first_positions[0] == state.next_position, "accept_path",
                           "need a tree that begins at the state's next position (first, next)",
                           tree.first_positions[0], state.next_position);
  }
  if (step < 0) return;
  for (index_t k = 0; k < channels; ++k)
    state.values[static_cast<std::size_t>(k)] = from(0, step, k);
  state.next_position += tree.depth(0, step, from.steps());
}

}  // namespace ebb::inline EBB_ABI
