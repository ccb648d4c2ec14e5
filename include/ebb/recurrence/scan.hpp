// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/scan.hpp
/// @brief  The entry points of the vector-state recurrence: a whole sequence, and one step.
#pragma once

#include <concepts>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ebb/core/overlap.hpp>
#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/backend/rows.hpp>
#include <ebb/recurrence/concept.hpp>

namespace ebb::inline EBB_ABI {

namespace detail {
// What the data of a call must be, in sentences that come before any look at its type: in a
// static_assert a compiler has to look in here first.
template <class In, class Out>
constexpr bool are_data() {
  static_assert(viewable<const In> && viewable<Out>,
                "ebb: in and out must be views or something ebb::as_view takes; a std::vector's "
                "view is ebb::strided_view(v.data(), steps, channels)");
  if constexpr (viewable<const In> && viewable<Out>)
    static_assert(scan_scalar<view_value<Out>>,
                  "ebb: the data must be float, double, complex of both, bfloat16 or half "
                  "(scan_scalar)");
  return true;
}

// Whether a type is a list of values in memory; whether it is one that std::span<T> is not deduced
// from.
template <class V>
concept list = requires(V& values) {
  std::span(values);
};
template <class V>
inline constexpr bool is_span = false;
template <class T>
inline constexpr bool is_span<std::span<T>> = true;
template <class V>
concept other_list = list<V> && !is_span<std::remove_cv_t<V>>;

// What ebb::scan promises to refuse about shapes and shared memory, before anything is written.
template <class Decay, class T, class InAxis, class OutAxis, class State>
void check_memory(std::string_view name, const Decay& decay,
                  const strided_view<const T, InAxis>& in, const strided_view<T, OutAxis>& out,
                  const sequences<State>& where) {
  require_shape(in.size() == out.size(), name,
                "need in and out of one shape (batches, steps, channels of each)", in.batches(),
                in.steps(), in.channels(), out.batches(), out.steps(), out.channels());
  if constexpr (requires { decay.check(out.size()); }) decay.check(out.size());
  const auto apart = [&](const auto& view, std::string_view rule) {
    require_shape(!overlap(view, out) && !overlap(view, where.final_states) &&
                      !overlap(view, where.snapshots),
                  name, rule);
  };
  require_shape(elements_apart(out), name, "need an out whose elements do not share memory");
  require_shape(elements_apart(where.final_states), name,
                "need final states that do not share memory");
  require_shape(elements_apart(where.snapshots), name, "need snapshots that do not share memory");
  require_shape(!overlap(where.snapshots, in) && !overlap(where.snapshots, out) &&
                    !overlap(where.snapshots, where.initial_states) &&
                    !overlap(where.snapshots, where.final_states),
                name, "need snapshots apart from in, out and the other states");
  require_shape(same_memory(in, out) || !overlap(in, out), name,
                "need in to be out itself, or apart from it");
  require_shape(!overlap(where.final_states, in) && !overlap(where.final_states, out), name,
                "need final states apart from in and out");
  require_shape(!overlap(where.initial_states, out), name, "need initial states apart from out");
  require_shape(same_memory(where.initial_states, where.final_states) ||
                    !overlap(where.initial_states, where.final_states),
                name, "need final states to be the initial ones, or apart from them");
  if constexpr (requires { decay.view(); })
    apart(decay.view(), "need the decay's data apart from out, final states and snapshots");
}

template <class Decay, class T, class InAxis, class OutAxis, class State>
void check_scan(std::string_view name, const Decay& decay, const strided_view<const T, InAxis>& in,
                const strided_view<T, OutAxis>& out, const sequences<State>& where) {
  where.check(name, out.size());
  check_memory(name, decay, in, out, where);
}
}  // namespace detail

/// Evaluate the diagonal linear recurrence h_t = a_t h_{t-1} + b_t, channel by channel.
///
/// Shapes: in, out (batch, time, channel). Units: whatever `in` has; decays none.
///
/// @param decay    a bound decay (`policy.bind(rates)`, `stored_logs(l)`), or an array or view of
///                 factors a of the shape of `out`
/// @param in       b, anything view_of const T
/// @param out      h, anything view_of T; may be `in` itself
/// @param where    the sequences in the data, their states and positions (core/sequences.hpp);
///                 `sequences<State>` sets the type of the state. Left out: one sequence per
///                 batch entry, from position 1 and state 0
/// @param options  the direction; reverse is h_t = a_t h_{t+1} + b_t, the initial state standing
///                 after the last step, positions unchanged
/// @param backend  how; `rows` by default
/// @throws shape_error when shapes disagree, offsets do not ascend within the data, or memory is
///   shared otherwise than allowed; domain_error for a first position outside 1 .. 2^62. Nothing
///   has been written then. Values are not inspected.
/// Cost: see the backend. Accuracy: the backend's error_bound (recurrence/concept.hpp).
template <class Decay, class In, class Out, class State, class Backend = rows>
void scan(const Decay& decay, const In& in, Out&& out, const sequences<State>& where,
          const scan_options& options = {}, const Backend& backend = {}) {
  static_assert(detail::are_data<In, Out>());
  using T = view_value<Out>;
  static_assert(view_of<Out, T>, "ebb::scan: out must be mutable");
  static_assert(outlives_call<Out>, "ebb::scan: out must be a named object or a view of one");
  static_assert(view_of<const In, const T>, "ebb::scan: in must have the element type of out");
  static_assert(detail::is_state_for<State, T>());
  static_assert(holds_digits_of<State, T>,
                "ebb::scan: the state must be at least as wide as the data");
  const strided_view<const T, view_axis<const In>> from = as_view(in);
  const auto to = as_view(out);
  auto&& bound = detail::as_decay<State>(decay);
  static_assert(scan_backend_for<Backend, std::remove_cvref_t<decltype(bound)>, T>,
                "ebb::scan: the last argument is not a scan_backend_for this decay and type");
  detail::check_scan("scan", bound, from, to, where);
  backend.scan(bound, from, to, where, options);
}

/// The same forward.
template <class Decay, class In, class Out, class State, class Backend>
requires(!std::convertible_to<const Backend&, scan_options>) void scan(
    const Decay& decay, const In& in, Out&& out, const sequences<State>& where,
    const Backend& backend) {
  scan(decay, in, std::forward<Out>(out), where, scan_options{}, backend);
}

/// The same for one sequence per batch entry, from position 1 and state 0.
template <class Decay, class In, class Out, class Backend = rows>
void scan(const Decay& decay, const In& in, Out&& out, const scan_options& options,
          const Backend& backend = {}) {
  static_assert(detail::are_data<In, Out>());
  scan(decay, in, std::forward<Out>(out), sequences<default_state_t<view_value<Out>>>{}, options,
       backend);
}
template <class Decay, class In, class Out, class Backend = rows>
void scan(const Decay& decay, const In& in, Out&& out, const Backend& backend = {}) {
  scan(decay, in, std::forward<Out>(out), scan_options{}, backend);
}

/// One step of one sequence: state <- a_t state + b, h <- state rounded, at the absolute position
/// t.
///
/// The same numbers as the scan of a longer piece on the same backend, to the bit where
/// the backend says so (`rows` does). Decays that read arrays of the caller read their first step.
///
/// @param decay     a bound decay, or an array or view of the factors of one step, (1, N)
/// @param position  t, 1 <= t <= 2^62
/// @param b         (N), read
/// @param h         (N), gets the state in the type of the data; may be `b` itself
/// @param state     (N), read and written
/// @throws shape_error unless all have the decay's N channels, or where memory is shared otherwise;
///   domain_error for the position. Nothing has been written then.
/// Cost: touches the state once; no allocation.
template <class Decay, scan_scalar T, class State, class Backend = rows>
void step(const Decay& decay, index_t position, std::type_identity_t<std::span<const T>> b,
          std::span<T> h, std::span<State> state, const Backend& backend = {}) {
  static_assert(detail::is_state_for<State, T>());
  static_assert(holds_digits_of<State, T>,
                "ebb::step: the state must be at least as wide as the data");
  auto&& bound = detail::as_decay<State>(decay);
  static_assert(scan_backend_for<Backend, std::remove_cvref_t<decltype(bound)>, T>,
                "ebb::step: the last argument is not a scan_backend_for this decay and type");
  const auto channels = static_cast<index_t>(state.size());
  detail::require_shape(b.size() == state.size() && h.size() == state.size(), "step",
                        "need b, h and state of one size", b.size(), h.size(), state.size());
  sequences<State> where;
  where.first_positions = std::span<const index_t>(&position, 1);
  where.initial_states = where.final_states = strided_view<State>(state.data(), 1, channels);
  const strided_view<const T> in(b.data(), 1, channels);
  const strided_view<T> out(h.data(), 1, channels);
  detail::check_scan("step", bound, in, out, where);
  backend.scan(bound, in, out, where, scan_options{});
}

/// The same where data and state have one type: state <- a_t state + b; b may be `state` itself.
template <class Decay, scan_scalar State, class Backend = rows>
requires(!detail::list<const Backend>) void step(const Decay& decay, index_t position,
                                                 std::type_identity_t<std::span<const State>> b,
                                                 std::span<State> state,
                                                 const Backend& backend = {}) {
  static_assert(detail::is_state_for<State, State>());
  auto&& bound = detail::as_decay<State>(decay);
  static_assert(scan_backend_for<Backend, std::remove_cvref_t<decltype(bound)>, State>,
                "ebb::step: the last argument is not a scan_backend_for this decay and type");
  const auto channels = static_cast<index_t>(state.size());
  detail::require_shape(b.size() == state.size(), "step", "need b and state of one size", b.size(),
                        state.size());
  sequences<State> where;
  where.first_positions = std::span<const index_t>(&position, 1);
  const strided_view<const State> in(b.data(), 1, channels);
  const strided_view<State> out(state.data(), 1, channels);
  detail::check_scan("step", bound, in, out, where);
  // A backend reads a channel's initial state before it writes that channel's first output.
  where.initial_states = out;
  backend.scan(bound, in, out, where, scan_options{});
}

/// Not a step, but a sentence for what is written to: a vector does not become a span by itself.
template <class Decay, class Inputs, class... Others>
requires(detail::other_list<const Others> || ...) void step(const Decay&, index_t, const Inputs&,
                                                            const Others&...) {
  static_assert(
      (!detail::other_list<const Others> && ...),
      "ebb::step: h and state must be spans without a fixed extent: std::span<float>(state)");
}

}  // namespace ebb::inline EBB_ABI
