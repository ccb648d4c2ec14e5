// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/update.hpp
/// @brief  One step of the recurrence from a log-decay, without losing slow timescales.
#pragma once

#include <cmath>

#include <ebb/core/config.hpp>
#include <ebb/decay/concept.hpp>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "ebb/recurrence: infinite values and NaN are part of the contract; drop -ffinite-math-only."
#endif

namespace ebb::inline EBB_ABI::detail {

/// A decay as the kernels keep it, one number w for both regimes:
///
///   w >= 0:  the factor a;    w < 0:  a - 1 = expm1(log a), for 1/2 <= a < 1
///
/// Next to 1 a float holds no more of the timescale than a's distance from 1 in units of 2^-24,
/// while a - 1 keeps all digits; below 1/2 it is the other way round.
template <class State>
State weight_of_log(State log_decay) {
  constexpr auto half = static_cast<State>(-0.693147180559945309417232121458L);
  // A NaN takes the second branch and stays one.
  if (!(log_decay >= half)) return std::exp(log_decay);
  const State minus = std::expm1(log_decay);
  return minus < 0 ? minus : 1 + minus;
}

/// The weight of one filled value of a block.
template <decay_form Form, class State>
State weight_of(State filled) {
  if constexpr (Form == decay_form::factor)
    return filled;
  else
    return weight_of_log(filled);
}

/// The state after one step: a h + b, or h + (b - (1 - a) h) where the weight says so.
template <decay_form Form, class State>
State advance(State weight, State h, State b) {
  const State change = weight * h + b;
  if constexpr (Form == decay_form::factor) return change;
  const State slow = h + change;
  // An infinite state would meet its own decrement, inf - inf; its decay is infinite again.
  const State slow_or_infinite = std::isnan(slow) ? h + b : slow;
  return weight < 0 ? slow_or_infinite : change;
}

}  // namespace ebb::inline EBB_ABI::detail
