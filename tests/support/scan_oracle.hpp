// SPDX-License-Identifier: Apache-2.0
/// @file   support/scan_oracle.hpp
/// @brief  The recurrence in a wide type with its majorant, and the check against a derived bound.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/recurrence/concept.hpp>

namespace ebb::test {

/// Small seeded numbers for test data (a linear congruential generator, upper bits).
class draws {
 public:
  explicit draws(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t bits() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 33;
  }
  double uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(bits()) + 0.5) * 0x1p-31;
  }
  index_t integer(index_t low, index_t high) {
    return low + static_cast<index_t>(bits() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::uint64_t state_;
};

/// h, the majorant H (the recurrence on absolute values), and how many steps led to an element
/// (0 where no sequence covers it).
template <class Wide>
struct scan_truth {
  ebb::array<Wide> h, majorant;
  ebb::array<index_t> steps;
  ebb::array<Wide> final_h, final_majorant;
};

/// The recurrence by its definition, from the decays as the kernel's state type receives them.
template <class Wide, class Decay, class T, class Axis, class State>
scan_truth<Wide> truth_of(const Decay& decay, const strided_view<const T, Axis>& in,
                          const sequences<State>& where, direction order) {
  using std::abs;
  using std::exp;
  const extents states{in.batches(), where.count(), in.channels()};
  scan_truth<Wide> truth{ebb::array<Wide>(in.size()), ebb::array<Wide>(in.size()),
                         ebb::array<index_t>(in.size()), ebb::array<Wide>(states),
                         ebb::array<Wide>(states)};
  for (index_t b = 0; b < in.batches(); ++b)
    for (index_t s = 0; s < where.count(); ++s) {
      const index_t begin = where.begin(s), length = where.end(s, in.steps()) - begin;
      ebb::array<State> filled(length, in.channels());
      decay.fill({b, begin, 0, where.first_position(b, s)}, filled.view());
      for (index_t k = 0; k < in.channels(); ++k) {
        Wide h = 0;
        if (where.initial_states.data()) h = Wide(where.initial_states(b, s, k));
        Wide bound = abs(h);
        for (index_t i = 0; i < length; ++i) {
          const index_t t = order == direction::forward ? i : length - 1 - i;
          const Wide value(filled(t, k));
          const Wide a = Decay::form == decay_form::factor ? value : Wide(exp(value));
          const Wide x(in(b, begin + t, k));
          h = a * h + x;
          bound = abs(a) * bound + abs(x);
          truth.h(b, begin + t, k) = h;
          truth.majorant(b, begin + t, k) = bound;
          truth.steps(b, begin + t, k) = i + 1;
        }
        truth.final_h(b, s, k) = h;
        truth.final_majorant(b, s, k) = bound;
      }
    }
  return truth;
}

/// n of the backend's error bound after some steps.
template <class Backend>
double roundings(index_t steps, decay_form form) {
  if constexpr (requires { Backend::error_bound(steps, form); })
    return Backend::error_bound(steps, form);
  else
    return Backend::error_bound(steps);
}

/// |got - truth| <= ((1 + u)^n - 1) H + the oracle's own error + a subnormal a step (+ a rounding
/// to T), everywhere; one report of the worst place. Elements of no sequence must be `untouched`.
template <class Backend, class State, class Wide, class T, class Axis>
void check_bound(const strided_view<const T, Axis>& got, const scan_truth<Wide>& truth,
                 decay_form form, T untouched) {
  const double u = static_cast<double>(std::numeric_limits<State>::epsilon()) / 2;
  const Wide oracle_u = std::numeric_limits<Wide>::epsilon() / 2;
  const Wide tiny(static_cast<double>(std::numeric_limits<State>::denorm_min()));
  double worst = 0;
  std::string place = "nowhere";
  bool padding_intact = true;
  for (index_t b = 0; b < got.batches(); ++b)
    for (index_t t = 0; t < got.steps(); ++t)
      for (index_t k = 0; k < got.channels(); ++k) {
        const index_t steps = truth.steps(b, t, k);
        if (steps == 0) {
          padding_intact = padding_intact && got(b, t, k) == untouched;
          continue;
        }
        using std::abs;
        const double n = roundings<Backend>(steps, form);
        Wide allowed = Wide(std::expm1(n * std::log1p(u))) * truth.majorant(b, t, k);
        allowed += Wide(4.0 * static_cast<double>(steps)) * oracle_u * truth.majorant(b, t, k);
        allowed += Wide(static_cast<double>(steps)) * tiny;
        if (sizeof(T) < sizeof(State)) {
          const Wide size = abs(truth.h(b, t, k)) + allowed;
          allowed += size * Wide(static_cast<double>(std::numeric_limits<T>::epsilon()) / 2) +
                     Wide(static_cast<double>(std::numeric_limits<T>::denorm_min()));
        }
        const Wide error = abs(Wide(got(b, t, k)) - truth.h(b, t, k));
        const double ratio = error <= 0 ? 0 : static_cast<double>(Wide(error / allowed));
        if (!(ratio <= worst)) {
          worst = ratio;
          place = "batch " + std::to_string(b) + ", step " + std::to_string(t) + ", channel " +
                  std::to_string(k);
        }
      }
  INFO("worst error / bound = " << worst << " at " << place);
  CHECK(worst <= 1.0);
  CHECK(padding_intact);
}

/// Bitwise equality, so that NaN equals itself and zeros keep their sign.
template <class A, class B>
bool same_bits(const A& a, const B& b) {
  const auto one = as_view(a);
  const auto two = as_view(b);
  if (one.size() != two.size()) return false;
  for (index_t i = 0; i < one.batches(); ++i)
    for (index_t t = 0; t < one.steps(); ++t)
      for (index_t k = 0; k < one.channels(); ++k) {
        const auto x = one(i, t, k), y = two(i, t, k);
        const bool nans = std::isnan(x) && std::isnan(y);
        if (!nans && (x != y || std::signbit(x) != std::signbit(y))) return false;
      }
  return true;
}

}  // namespace ebb::test
