// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/update.hpp
/// @brief  One step of the recurrence, without losing slow timescales. Every backend is built on
///   it.
#pragma once

#include <cmath>
#include <complex>
#include <type_traits>

#include <ebb/core/scalar.hpp>
#include <ebb/decay/concept.hpp>
#include <ebb/decay/weight.hpp>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ && !defined(EBB_ALLOW_FAST_MATH)
#error "ebb needs IEEE arithmetic: drop -ffast-math (or EBB_ALLOW_FAST_MATH: docs/backends.md)"
#endif

namespace ebb::inline EBB_ABI {

/// The state after one step of a decay of this form and gain:
///
///   one: a h + b    one_minus_decay: a h + (1 - a) b
///
/// evaluated as h + (b + (a - 1) h), or h + (a - 1)(h - b), where the weight holds a - 1.
template <decay_form Form, input_gain Gain, class State>
State advance(const step_weight_t<State>& weight, const State& h, const State& b) {
  constexpr bool average = Gain == input_gain::one_minus_decay;
  if constexpr (is_complex<State>) {
    const State& w = weight.value;
    if constexpr (average) {
      if (weight.slow) return h + detail::product(w, State(h - b));
      return detail::product(w, h) + detail::product(State(State(1) - w), b);
    } else {
      const State change = detail::product(w, h) + b;
      return weight.slow ? State(h + change) : change;
    }
  } else {
    const State fast = detail::multiply_add(weight, h, average ? State((1 - weight) * b) : b);
    if constexpr (Form == decay_form::factor) return fast;
    const State slow = average ? detail::multiply_add(weight, State(h - b), h) : State(h + fast);
    // An infinite state would meet its own decrement, inf - inf; its decay is infinite again.
    const State slow_or_infinite = std::isnan(slow) ? h + b : slow;
    return weight < 0 ? slow_or_infinite : fast;
  }
}

/// The decay a that a weight stands for, rounded.
template <decay_form Form, class State>
State factor_of(const step_weight_t<State>& weight) {
  if constexpr (is_complex<State>)
    return weight.slow ? State(State(1) + weight.value) : weight.value;
  else if constexpr (Form == decay_form::factor)
    return weight;
  else
    return weight < 0 ? 1 + weight : weight;
}

/// What the rounding of a step depends on.
struct step_kind {
  decay_form form = decay_form::log_factor;
  input_gain gain = input_gain::one;
  bool complex = false;
};

/// The kind of steps that a decay makes in states of a type.
template <class Decay, class State>
inline constexpr step_kind step_kind_of{Decay::form, gain_of<Decay>, is_complex<State>};

/// How many roundings `weight_of` and `advance` count for in a step, exponentials taken within 3u
/// (of complex numbers 2u): |computed - exact| <= ((1 + u)^n - 1)(|a| |h| + |gain b|).
/// docs/accuracy.md
constexpr double step_roundings(const step_kind& kind) {
  if (kind.complex) return kind.form == decay_form::factor ? 6 : 16;
  if (kind.form == decay_form::log_factor) return 6;
  return kind.gain == input_gain::one ? 2 : 3;
}

}  // namespace ebb::inline EBB_ABI
