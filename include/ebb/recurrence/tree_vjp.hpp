// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/tree_vjp.hpp
/// @brief  The gradients of the scan over a tree of steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include <ebb/recurrence/tree.hpp>
#include <ebb/recurrence/vjp.hpp>

namespace ebb::inline EBB_ABI {

/// What is asked for of a tree. A member left out is not computed, but `inputs` is needed: the
/// branches are summed up in it.
///
/// | member           | shape     | gradient with respect to                            |
/// |------------------|-----------|-----------------------------------------------------|
/// | `inputs`         | (B, T, N) | the inputs b_t; overwritten                         |
/// | `initial_states` | (B, 1, N) | the initial states; overwritten                     |
/// | `decay`          |           | the decay's parameters; added to what is there      |
template <class State, class DecayGradients = no_gradients>
struct tree_gradients {
  strided_view<State> inputs{};
  strided_view<State> initial_states{};
  DecayGradients* decay = nullptr;
};

namespace detail {
// One tile of channels of one batch entry, from the last step to the first.
template <class Decay, class In, class State, class Cotangents, class Gradients>
void tree_tile_back(const Decay& decay, const In& in, const strided_view<const State>& states,
                    const Cotangents& cotangents, const Gradients& gradients,
                    const step_tree<State>& tree, index_t b, index_t k, index_t width) {
  constexpr index_t widest = 256;
  constexpr decay_form form = Decay::form;
  constexpr bool average = gain_of<Decay> == input_gain::one_minus_decay;
  const index_t steps = states.steps();
  State filled[static_cast<std::size_t>(widest)], change[static_cast<std::size_t>(widest)];
  const auto& sums = gradients.inputs;
  const auto& first_sums = gradients.initial_states;
  for (index_t c = k; c < k + width; ++c) {
    for (index_t t = 0; t < steps; ++t) sums(b, t, c) = State(0);
    if (first_sums.data()) first_sums(b, 0, c) = State(0);
  }
  for (index_t t = steps - 1; t >= 0; --t) {
    const index_t parent = tree.parent(b, t, steps);
    const index_t before =
        tree.first_positions.empty() ? 0 : tree.first_positions[static_cast<std::size_t>(b)] - 1;
    const block_origin origin{b, t, k, before + tree.depth(b, t, steps)};
    decay.fill(origin, strided_view<State>(filled, 1, width));
    for (index_t i = 0; i < width; ++i) {
      const index_t c = k + i;
      const auto weight = weight_of<form>(filled[i]);
      const State g = sums(b, t, c) + static_cast<State>(cotangents(b, t, c));
      const State carried =
          advance<form, input_gain::one, State>(conjugate_weight(weight), g, State(0));
      if (parent >= 0)
        sums(b, parent, c) += carried;
      else if (first_sums.data())
        first_sums(b, 0, c) += carried;
      State h(0);
      if (parent >= 0)
        h = states(b, parent, c);
      else if (tree.initial_states.data())
        h = tree.initial_states(b, 0, c);
      if constexpr (average) h -= static_cast<State>(in(b, t, c));
      change[i] = product(g, conjugate(h));
      if constexpr (form == decay_form::log_factor)
        change[i] = product(conjugate(factor_of<form, State>(weight)), change[i]);
      sums(b, t, c) = average ? product(conjugate(complement_of<form, State>(weight)), g) : g;
    }
    if constexpr (!std::is_empty_v<std::remove_pointer_t<decltype(Gradients::decay)>>)
      if (gradients.decay)
        decay.vjp(origin, strided_view<const State>(filled, 1, width),
                  strided_view<const State>(change, 1, width), *gradients.decay);
  }
}
}  // namespace detail

/// The vector-Jacobian product of ebb::scan_tree. With C(t) the steps whose parent is t:
///
///   g_t = dh_t + sum over s in C(t) of conj(a_s) g_s,   db_t = g_t (gain 1 - a: conj(1 - a_t) g_t)
///   da_t = g_t conj(h_parent(t)) (gain 1 - a: g_t conj(h_parent(t) - b_t)),
///   d log a_t = conj(a_t) da_t,   dh_0 = sum over steps without parent of conj(a_t) g_t
///
/// Complex gradients as in scan_vjp.
///
/// @param decay       as in the scan
/// @param in          b, as the scan read it; its values count only for the decay's gradients
///                    where the gain is 1 - a
/// @param states      (B, T, N), the states of the scan: tree.states, or its `out`
/// @param cotangents  (B, T, N), dh, anything view_of const T
/// @param gradients   what is asked for
/// @param tree        as in the scan; `states` in it is not used
/// @throws shape_error when shapes disagree, or a gradient, the decay's included, shares memory
///   with anything else, also if `in` was overwritten by the states where it counts; domain_error
///   as ebb::scan_tree. Nothing has been written then.
/// Cost: O(T N), and the depth of each step; no allocation.
/// Accuracy: with m the number of steps below t, itself included, and G the recurrence of g on
/// absolute values: |g_t - exact| <= ((1 + u)^(n m) - 1) G_t, n = step_roundings + 2.
template <class Decay, class In, class States, class Cotangents, class State, class DecayGradients>
void scan_tree_vjp(const Decay& decay, const In& in, const States& states,
                   const Cotangents& cotangents,
                   const tree_gradients<State, DecayGradients>& gradients,
                   const step_tree<State>& tree) {
  static_assert(detail::is_state_for<State, view_value<const In>>());
  static_assert(detail::is_state_for<State, view_value<const Cotangents>>());
  static_assert(holds_digits_of<State, view_value<const In>> &&
                    holds_digits_of<State, view_value<const Cotangents>>,
                "ebb::scan_tree_vjp: the state must be at least as wide as the data");
  constexpr std::string_view name = "scan_tree_vjp";
  const auto from = as_view(in);
  const strided_view<const State> kept = as_view(states);
  const auto given = as_view(cotangents);
  auto&& bound = detail::as_decay<State>(decay);
  using Bound = std::remove_cvref_t<decltype(bound)>;
  static_assert(std::is_same_v<DecayGradients, no_gradients> ||
                    std::is_same_v<DecayGradients, typename Bound::gradients>,
                "ebb::scan_tree_vjp: the decay has another type of gradients");
  const extents& size = kept.size();
  detail::require_shape(
      from.size() == size && given.size() == size && gradients.inputs.size() == size, name,
      "need in, cotangents and input gradients of the shape of the states", size.batches,
      size.steps, size.channels);
  if constexpr (requires { bound.check(size); }) bound.check(size);
  tree.check(name, size);
  detail::require_optional(gradients.initial_states, {size.batches, 1, size.channels}, name,
                           "need initial-state gradients of shape (batches, 1, channels)");
  const auto apart = [&](const auto& view) {
    return elements_apart(view) && detail::alone(view, from, kept, given, tree.initial_states);
  };
  detail::require_shape(apart(gradients.inputs) && apart(gradients.initial_states) &&
                            !overlap(gradients.inputs, gradients.initial_states),
                        name, "need gradients apart from all else");
  if constexpr (requires { bound.view(); })
    detail::require_shape(detail::alone(bound.view(), gradients.inputs, gradients.initial_states),
                          name, "need gradients apart from the decay's data");
  if constexpr (!std::is_empty_v<DecayGradients>)
    if (gradients.decay) {
      if constexpr (requires { bound.check(size, *gradients.decay); })
        bound.check(size, *gradients.decay);
      detail::require_shape(gain_of<Bound> == input_gain::one || !overlap(from, kept), name,
                            "need in as it was, apart from the states, where the gain is 1 - a");
      detail::check_sums(name, bound, *gradients.decay, from, kept, given, tree.initial_states,
                         gradients.inputs, gradients.initial_states);
    }
  for (index_t b = 0; b < size.batches; ++b)
    for (index_t k = 0; k < size.channels; k += 256)
      detail::tree_tile_back(bound, from, kept, given, gradients, tree, b, k,
                             std::min<index_t>(256, size.channels - k));
}

}  // namespace ebb::inline EBB_ABI
