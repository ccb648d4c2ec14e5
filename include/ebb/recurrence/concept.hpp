// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/concept.hpp
/// @brief  What a scan backend must offer.
#pragma once

#include <complex>
#include <concepts>
#include <limits>
#include <string_view>

#include <ebb/core/sequences.hpp>
#include <ebb/core/storage.hpp>
#include <ebb/decay/concept.hpp>

namespace ebb::inline EBB_ABI {

/// forward: h_t = a_t h_{t-1} + b_t. reverse: h_t = a_t h_{t+1} + b_t.
enum class direction { forward, reverse };

/// How a scan is to be done; every member has its usual value.
struct scan_options {
  direction order = direction::forward;
};

/// What makes two runs give the same bits.
enum class determinism {
  none,             ///< nothing
  run_to_run,       ///< the same call with the same number of threads
  any_thread_count  ///< the same call, however many threads
};

/// What data may be made of: float, double, complex of both, bfloat16, half. For a storage type of
/// your own specialise `default_state` (core/scalar.hpp).
template <class T>
concept scan_scalar = requires {
  typename default_state<T>::type;
};

/// What states may be made of: a real_scalar (float, double, long double), or complex of one.
/// Integers would cut off what decays, and 16-bit types only store.
template <class State>
concept scan_state = real_scalar<real_of_t<State>>;

/// Whether a state holds data of type T, complex data a complex one, and every digit of it: a scan
/// rounds to T once, at its end, never on the way in. Storage types without std::numeric_limits
/// count as narrow.
template <class State, class T>
inline constexpr bool holds_digits_of =
    scan_state<State>&& is_complex<State> ==
    is_complex<T>&& std::numeric_limits<real_of_t<State>>::digits >=
        std::numeric_limits<real_of_t<T>>::digits;

namespace detail {
// What the state of a call must be whatever its width, in sentences that come before any look at
// it: in a static_assert a compiler has to look in here first.
template <class State, class T>
constexpr bool is_state_for() {
  static_assert(scan_state<State>,
                "ebb: the state must be float, double, long double or complex of these, as in "
                "ebb::sequences<float>; no integer, and no 16-bit type, holds one");
  if constexpr (scan_state<State>)
    static_assert(is_complex<State> == is_complex<T>,
                  "ebb: complex data need complex states, and real data real ones");
  return true;
}
}  // namespace detail

/// A way to evaluate h_t = a_t h_{t-1} + b_t, channel by channel, on one memory space.
///
///   b.scan(decay, in, out, sequences, options)
///
///   decay      a bound_decay for the state's type
///   in, out    views of (batch, time, channel), of const T and T, either axis, any row stride
///   sequences  where sequences begin and end; `sequences<State>` names the type of the state,
///              which may be wider than T (double states for float data)
///   B::name, B::repeats (a determinism), and the bound below
///
/// Contract, checked by tests/support/scan_contract.hpp for every model:
///  * inclusive: step t of `out` is the state after step t, rounded to T;
///  * the caller (ebb::scan) has validated everything; nothing is validated again;
///  * `out` may be the same memory as `in`, but must not overlap it otherwise; a channel's initial
///    state is read before any output of its sequence and channel is written;
///  * no steps or no channels: only final states are written, equal to the initial ones; steps
///    outside all sequences are left alone;
///  * before a step with a reset flag the state becomes 0, whatever it was; a snapshot is the state
///    after its step, in all digits, and is written where the step belongs to a sequence;
///  * where gain_of<Decay> is one_minus_decay, (1 - a_t) b_t enters in place of b_t;
///  * each element depends on its own sequence and channel only, NaN and infinity included:
///    they go where a_t h_{t-1} + b_t takes them in IEEE arithmetic (0 * inf is NaN; of complex
///    numbers: by components, without recovery of infinities);
///  * forward error |h_t - exact| <= ((1 + u)^n - 1) H_t, n = B::error_bound(t, kind) after t steps
///    (of a step_kind, update.hpp; a backend may leave it out, and means all kinds then),
///    u the unit roundoff of the state, H the same recurrence on |a|, |gain b|, |h_0|, the decays
///    taken as filled, or, of a decay that offers polynomials in log-time (decay/post.hpp), within
///    the relative error of log a that it states for them; then one rounding to T where T is
///    narrower than the state; barring overflow.
///    Underflow adds to the error of a step the smallest subnormal d of the state's type, and
///    d |h_{t-1}| where a log-decay stands for an a below the smallest normal number (log a below
///    -87.3 in float, -708.4 in double); of complex states three times as much.
template <class B, class Decay, class T>
concept scan_backend_for = scan_scalar<T> && bound_decay<Decay, default_state_t<T>> &&
    requires(const B& backend, const Decay& decay, const strided_view<const T, time_major>& in_rows,
             const strided_view<T, time_major>& rows,
             const strided_view<const T, channel_major>& in_columns,
             const strided_view<T, channel_major>& columns,
             const sequences<default_state_t<T>>& where, const scan_options& options) {
  { backend.scan(decay, in_rows, rows, where, options) } -> std::same_as<void>;
  { backend.scan(decay, in_columns, columns, where, options) } -> std::same_as<void>;
  { B::name } -> std::convertible_to<std::string_view>;
  { B::repeats } -> std::convertible_to<determinism>;
  { B::error_bound(index_t{1}) } -> std::convertible_to<double>;
};

}  // namespace ebb::inline EBB_ABI
