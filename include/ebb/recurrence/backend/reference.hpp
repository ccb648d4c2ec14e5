// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/reference.hpp
/// @brief  The definition, element by element, in long double.
#pragma once

#include <cmath>
#include <complex>
#include <limits>
#include <string_view>
#include <type_traits>

#include <ebb/recurrence/concept.hpp>
#include <ebb/recurrence/update.hpp>

namespace ebb::inline EBB_ABI {

/// The oracle: one channel after another, one step after another, the state in long double.
///
/// Cost: O(T N), a call of `decay.fill` per element; no allocation. Slow on purpose.
/// Accuracy: error_bound below; with a long double of 64 bits, two roundings for up to 100 steps.
/// The state is rounded at the end of a call, so pieces agree within the bound, not to the bit.
struct reference {
  static constexpr std::string_view name = "reference";
  static constexpr determinism repeats = determinism::any_thread_count;

  /// One rounding to the state's type after at most 5 of long double a step (exp counts two), or 10
  /// of complex ones.
  static constexpr double error_bound(index_t steps, const step_kind& kind = {}) {
    constexpr double finer = static_cast<double>(std::numeric_limits<long double>::epsilon()) /
                             static_cast<double>(std::numeric_limits<double>::epsilon());
    return 1 + (kind.complex ? 10 : 5) * finer * static_cast<double>(steps);
  }

  template <class Decay, scan_scalar T, class InAxis, class OutAxis, class State>
  void scan(const Decay& decay, const strided_view<const T, InAxis>& in,
            const strided_view<T, OutAxis>& out, const sequences<State>& where,
            const scan_options& options) const {
    using Wide = std::conditional_t<is_complex<State>, std::complex<long double>, long double>;
    for (index_t b = 0; b < out.batches(); ++b)
      for (index_t s = 0; s < where.count(); ++s)
        for (index_t k = 0; k < out.channels(); ++k) {
          const index_t begin = where.begin(s), end = where.end(s, out.steps());
          auto h = Wide(where.initial_states.data() ? where.initial_states(b, s, k) : State(0));
          for (index_t i = 0; i < end - begin; ++i) {
            const index_t t = options.order == direction::forward ? begin + i : end - 1 - i;
            if (where.resets_at(b, t, out.steps())) h = Wide(0);
            State filled{};
            decay.fill({b, t, k, where.first_position(b, s) + (t - begin)},
                       strided_view<State>(&filled, 1, 1));
            const Wide a = factor<Decay::form>(Wide(filled));
            Wide x(static_cast<State>(in(b, t, k)));
            if (gain_of<Decay> == input_gain::one_minus_decay)
              x = detail::product(average_gain<Decay::form>(Wide(filled)), x);
            h = detail::product(a, h) + x;
            const auto rounded = static_cast<State>(h);
            out(b, t, k) = static_cast<T>(rounded);
            if (const index_t m = where.snapshot_of(t); m >= 0) where.snapshots(b, m, k) = rounded;
          }
          if (where.final_states.data()) where.final_states(b, s, k) = static_cast<State>(h);
        }
  }

 private:
  template <decay_form Form, class Wide>
  static Wide factor(const Wide& filled) {
    if constexpr (Form == decay_form::factor)
      return filled;
    else if constexpr (is_complex<Wide>)
      return filled.real() == -std::numeric_limits<long double>::infinity() ? Wide(0)
                                                                            : std::exp(filled);
    else
      return std::exp(filled);
  }

  // 1 - a, also next to a = 1.
  template <decay_form Form, class Wide>
  static Wide average_gain(const Wide& filled) {
    if constexpr (Form == decay_form::factor) {
      return Wide(1) - filled;
    } else if constexpr (is_complex<Wide>) {
      const long double half_sine = std::sin(filled.imag() / 2);
      if (filled.real() == -std::numeric_limits<long double>::infinity()) return Wide(1);
      return Wide(2 * half_sine * half_sine - std::expm1(filled.real()) * std::cos(filled.imag()),
                  -std::exp(filled.real()) * std::sin(filled.imag()));
    } else {
      return -std::expm1(filled);
    }
  }
};

}  // namespace ebb::inline EBB_ABI
