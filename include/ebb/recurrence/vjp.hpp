// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/vjp.hpp
/// @brief  The gradients of the scan: its vector-Jacobian product, for all that a scan can do.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <type_traits>

#include <ebb/core/overlap.hpp>
#include <ebb/recurrence/concept.hpp>
#include <ebb/recurrence/scan.hpp>
#include <ebb/recurrence/vjp_inputs.hpp>
#include <ebb/recurrence/vjp_tile.hpp>

namespace ebb::inline EBB_ABI {

/// What is known of the loss: its gradients with respect to what the scan has written. A member
/// left out is zero.
///
/// | member         | shape     | gradient with respect to                      |
/// |----------------|-----------|-----------------------------------------------|
/// | `outputs`      | (B, T, N) | the outputs h_t                               |
/// | `final_states` | (B, S, N) | the final states                              |
/// | `snapshots`    | (B, M, N) | the snapshots; rows of padding steps are idle |
template <class T, class State = default_state_t<T>, unit_stride_axis Axis = time_major>
struct scan_cotangents {
  strided_view<const T, Axis> outputs{};
  strided_view<const State> final_states{};
  strided_view<const State> snapshots{};
};

/// What is asked for. A member left out is not computed.
///
/// | member           | shape     | gradient with respect to                                     |
/// |------------------|-----------|--------------------------------------------------------------|
/// | `inputs`         | (B, T, N) | the inputs b_t; overwritten, padding left alone              |
/// | `initial_states` | (B, S, N) | the initial states; overwritten                              |
/// | `decay`          |           | the decay's parameters: an object of its type `gradients`,   |
/// |                  |           | memory of its own; added to what is there                    |
///
/// @tparam DecayGradients  the bound decay's `gradients`, or no_gradients
template <class T, class DecayGradients = no_gradients, class State = default_state_t<T>,
          unit_stride_axis Axis = time_major>
struct scan_gradients {
  strided_view<T, Axis> inputs{};
  strided_view<State> initial_states{};
  DecayGradients* decay = nullptr;
};

namespace detail {

/// Does a view share no element with any of the others?
template <class View, class... Others>
bool alone(const View& view, const Others&... others) {
  return (!overlap(view, others) && ...);
}

// The arrays among the members that gradients of decays have, as views; a span is one row.
template <class Sums, class Body>
void each_sum(const Sums& sums, const Body& body) {
  const auto row = [&](const auto& list) {
    const std::span values(list);
    body(strided_view(values.data(), 1, static_cast<index_t>(values.size())));
  };
  if constexpr (requires { as_view(sums.values); }) body(as_view(sums.values));
  if constexpr (requires { as_view(sums.raw); }) body(as_view(sums.raw));
  if constexpr (requires { as_view(sums.dt); }) body(as_view(sums.dt));
  if constexpr (requires { std::span(sums.rates); }) row(sums.rates);
  if constexpr (requires { std::span(sums.alpha); }) row(sums.alpha);
  if constexpr (requires { std::span(sums.bias); }) row(sums.bias);
  if constexpr (requires { std::span(sums.logits); }) row(sums.logits);
}

// The gradients of a decay must be memory of their own. Elements of one array may share memory:
// they are sums over what they repeat.
template <class Decay, class Sums, class... Others>
void check_sums(std::string_view name, const Decay& decay, const Sums& sums,
                const Others&... others) {
  constexpr std::string_view rule =
      "need the gradients of the decay apart from all other data and from each other";
  constexpr bool reads_array = requires { decay.view(); };  // nvcc cannot ask in a generic lambda
  index_t one = 0;
  each_sum(sums, [&](const auto& array) {
    require_shape(alone(array, others...), name, rule);
    if constexpr (reads_array) require_shape(alone(array, decay.view()), name, rule);
    index_t two = 0;
    each_sum(sums, [&](const auto& other) {
      require_shape(one == two || !overlap(array, other), name, rule);
      ++two;
    });
    ++one;
  });
}

// Everything ebb::scan_vjp promises to refuse, before anything is written.
template <class Call>
void check_vjp(const Call& call) {
  constexpr std::string_view name = "scan_vjp";
  const auto& in = call.in;
  const auto& out = call.out;
  const auto& where = call.where;
  const auto& given = call.cotangents;
  const auto& asked = call.gradients;
  const extents& size = out.size();
  const extents states{size.batches, where.count(), size.channels};
  const extents kept{size.batches, static_cast<index_t>(where.snapshot_steps.size()),
                     size.channels};
  require_shape(in.size() == size, name,
                "need in and out of one shape (batches, steps, channels of each)", in.batches(),
                in.steps(), in.channels(), out.batches(), out.steps(), out.channels());
  if constexpr (requires { call.decay.check(size); }) call.decay.check(size);
  where.check_without_snapshots(name, size);

  require_optional(given.outputs, size, name, "need output cotangents of the shape of out");
  require_optional(given.final_states, states, name,
                   "need final-state cotangents of shape (batches, sequences, channels)");
  require_optional(given.snapshots, kept, name,
                   "need snapshot cotangents of shape (batches, snapshot steps, channels)");
  require_optional(asked.inputs, size, name, "need input gradients of the shape of out");
  require_optional(asked.initial_states, states, name,
                   "need initial-state gradients of shape (batches, sequences, channels)");

  require_shape(elements_apart(asked.inputs) && elements_apart(asked.initial_states), name,
                "need gradients whose elements do not share memory");
  require_shape(alone(asked.inputs, in, out, where.initial_states, given.final_states,
                      given.snapshots, asked.initial_states),
                name, "need input gradients apart from in, out and all states");
  require_shape(
      alone(asked.initial_states, in, out, where.initial_states, given.outputs, given.snapshots),
      name, "need initial-state gradients apart from in, out and the other states");
  require_shape(same_memory(asked.inputs, given.outputs) || alone(asked.inputs, given.outputs),
                name, "need input gradients to be the output cotangents, or apart from them");
  require_shape(
      same_memory(asked.initial_states, given.final_states) ||
          alone(asked.initial_states, given.final_states),
      name, "need initial-state gradients to be the final-state cotangents, or apart from them");
  if constexpr (requires { call.decay.view(); })
    require_shape(alone(call.decay.view(), asked.inputs, asked.initial_states), name,
                  "need the decay's data apart from input and initial-state gradients");
  if constexpr (Call::has_decay_gradients) {
    if (!asked.decay) return;
    auto& sums = *asked.decay;
    require_shape(gain_of<typename Call::decay_type> == input_gain::one || !overlap(in, out), name,
                  "need in as it was, apart from out, where the gain is 1 - a");
    require_shape(!overlap(where.initial_states, where.final_states), name,
                  "need initial states as they were, apart from the final states, for the gradients"
                  " of the decay");
    if constexpr (requires { call.decay.check(size, sums); }) call.decay.check(size, sums);
    check_sums(name, call.decay, sums, in, out, where.initial_states, given.outputs,
               given.final_states, given.snapshots, asked.inputs, asked.initial_states);
  }
}
}  // namespace detail

/// The vector-Jacobian product of ebb::scan: from the gradients of a loss with respect to what the
/// scan has written to those with respect to what it has read.
///
///   g_t = dh_t + conj(a_{t+1}) g_{t+1}      g: the gradient at h_t, final state included
///   db_t = g_t,                             gain 1 - a: conj(1 - a_t) g_t
///   da_t = g_t conj(h_{t-1}),               gain 1 - a: g_t conj(h_{t-1} - b_t)
///   d log a_t = conj(a_t) da_t,             dh_0 = conj(a_1) g_1
///
/// in the order of the scan: in reverse t + 1 stands for the step before. A reset before step t
/// stops the way back, whatever there was: h_{t-1} counts as 0, and nothing comes from g_t. The
/// decays' gradients are handed block by block to the decay's own `vjp`. Where a decay is an
/// array of factors, its gradients are those of stored_factors.
///
/// Complex: the gradient of a real loss L with respect to x is dL/dRe x + i dL/dIm x, that is
/// 2 dL/d(conj x); of an analytic y = f(x), g_x = conj(f'(x)) g_y. Any other multiple goes through
/// unchanged.
///
/// Shapes: in, out (batch, time, channel). Units: those of the loss over those of each value.
///
/// @param decay       as in the scan
/// @param in          b, as the scan read it. Its values count only for the decay's gradients
///                    where the gain is 1 - a; else `out` will do
/// @param out         h, as the scan wrote it; its values count only for the decay's gradients
/// @param cotangents  what is known; a member left out is zero
/// @param gradients   what is asked for. `inputs` may be the cotangents' `outputs`,
///                    `initial_states` their `final_states`
/// @param where       as in the scan, the initial states as they were before it: their values count
///                    only for the decay's gradients. Final states and snapshots are neither read
///                    nor written, and may be left out
/// @param options     as in the scan
/// @param backend     goes all the way back itself, as `ebb::cuda` does; else walks the recurrence
///                    of g where the output cotangents are known and only the gradients of inputs
///                    and initial states asked for, real numbers in states of their own type with
///                    gain one: it is a scan. Otherwise not used
/// @throws shape_error when shapes disagree or memory is shared otherwise than allowed, also if
///   `in` was overwritten by `out`, or the initial states by the final ones, where they count; else
///   as ebb::scan. Nothing has been written then.
///
/// Cost: where the backend walks, that of a scan; else O(T N) and the decays filled once more. No
/// allocation, about 60 KB of stack or the backend's.
/// Accuracy, u the unit roundoff of the state, G the recurrence of g on absolute values, m steps
/// from t to the end, c = step_roundings of the scan's form with gain one:
/// |g_t - exact| <= ((1 + u)^(c m + 2) - 1) G_t; each product with it as docs/accuracy.md says.
/// h_{t-1} is the stored one: data narrower than the state adds its rounding to da.
template <class Decay, class In, class Out, class T, class State, class DecayGradients,
          unit_stride_axis CotangentAxis, unit_stride_axis GradientAxis, class Backend = rows>
void scan_vjp(const Decay& decay, const In& in, const Out& out,
              const scan_cotangents<T, State, CotangentAxis>& cotangents,
              const scan_gradients<T, DecayGradients, State, GradientAxis>& gradients,
              const sequences<State>& where = {}, const scan_options& options = {},
              const Backend& backend = {}) {
  static_assert(detail::are_data<In, const Out>());
  static_assert(view_of<const In, const T> && view_of<const Out, const T>,
                "ebb::scan_vjp: in and out must have the element type of the gradients");
  static_assert(detail::is_state_for<State, T>());
  static_assert(holds_digits_of<State, T>,
                "ebb::scan_vjp: the state must be at least as wide as the data");
  const strided_view<const T, view_axis<const In>> from = as_view(in);
  const strided_view<const T, view_axis<const Out>> to = as_view(out);
  auto&& bound = detail::as_decay<State>(decay);
  using Bound = std::remove_cvref_t<decltype(bound)>;
  static_assert(std::is_same_v<DecayGradients, no_gradients> ||
                    std::is_same_v<DecayGradients, typename Bound::gradients>,
                "ebb::scan_vjp: the decay has another type of gradients");
  const detail::vjp_call<Bound, decltype(from), decltype(to), State,
                         scan_cotangents<T, State, CotangentAxis>,
                         scan_gradients<T, DecayGradients, State, GradientAxis>>
      call{bound, from, to, where, cotangents, gradients};
  detail::check_vjp(call);
  if constexpr (requires { backend.scan_vjp(call, options); }) {
    backend.scan_vjp(call, options);
  } else {
    using tile = detail::vjp_tile<Bound, State, view_axis<const Out>>;
    tile work;
    for (index_t b = 0; b < to.batches(); ++b)
      for (index_t s = 0; s < where.count(); ++s) {
        const detail::walk_range range = detail::range_of(where, b, s, to.steps(), options.order);
        if constexpr (detail::goes_back_by_scan<decltype(call), T, State, Backend>)
          if (range.length >= 2 && detail::only_inputs_asked(call)) {
            detail::go_back_by_scan<State>(call, range, backend);
            continue;
          }
        for (index_t k = 0; k < to.channels(); k += tile::widest)
          work.walk(call, range, k, std::min(tile::widest, to.channels() - k));
      }
  }
}

}  // namespace ebb::inline EBB_ABI
