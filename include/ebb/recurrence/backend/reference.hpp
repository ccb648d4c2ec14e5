// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/reference.hpp
/// @brief  The definition, element by element, in long double.
#pragma once

#include <cmath>
#include <limits>
#include <string_view>

#include <ebb/recurrence/concept.hpp>
#include <ebb/recurrence/update.hpp>

namespace ebb::inline EBB_ABI {

/// The oracle: one channel after another, one step after another, the state in long double.
///
/// Cost: O(T N), a call of `decay.fill` per element; no allocation. Slow on purpose.
/// Accuracy: error_bound below; with a long double of 64 bits, two roundings for up to 500 steps.
/// The state is rounded at the end of a call, so pieces agree within the bound, not to the bit.
struct reference {
  static constexpr std::string_view name = "reference";
  static constexpr determinism repeats = determinism::any_thread_count;

  /// One rounding to the state's type after at most 4 of long double a step (exp counts two).
  static constexpr double error_bound(index_t steps) {
    constexpr double finer = static_cast<double>(std::numeric_limits<long double>::epsilon()) /
                             static_cast<double>(std::numeric_limits<double>::epsilon());
    return 1 + 4 * finer * static_cast<double>(steps);
  }

  template <class Decay, scan_scalar T, class InAxis, class OutAxis, class State>
  void scan(const Decay& decay, const strided_view<const T, InAxis>& in,
            const strided_view<T, OutAxis>& out, const sequences<State>& where,
            const scan_options& options) const {
    for (index_t b = 0; b < out.batches(); ++b)
      for (index_t s = 0; s < where.count(); ++s)
        for (index_t k = 0; k < out.channels(); ++k) {
          const index_t begin = where.begin(s), end = where.end(s, out.steps());
          long double h = where.initial_states.data() ? where.initial_states(b, s, k) : State(0);
          for (index_t i = 0; i < end - begin; ++i) {
            const index_t t = options.order == direction::forward ? begin + i : end - 1 - i;
            State filled{};
            decay.fill({b, t, k, where.first_position(b, s) + (t - begin)},
                       strided_view<State>(&filled, 1, 1));
            const long double a = Decay::form == decay_form::factor
                                      ? static_cast<long double>(filled)
                                      : std::exp(static_cast<long double>(filled));
            h = a * h + static_cast<long double>(in(b, t, k));
            out(b, t, k) = static_cast<T>(h);
          }
          if (where.final_states.data()) where.final_states(b, s, k) = static_cast<State>(h);
        }
  }
};

}  // namespace ebb::inline EBB_ABI
