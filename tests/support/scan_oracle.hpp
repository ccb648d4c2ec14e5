// SPDX-License-Identifier: Apache-2.0
/// @file   support/scan_oracle.hpp
/// @brief  The recurrence in a wide type with its majorant, and the check against a derived bound.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/recurrence/backend/log_time_weights.hpp>
#include <ebb/recurrence/concept.hpp>
#include <ebb/recurrence/update.hpp>

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

/// h, the majorant H (the recurrence on absolute values), how many steps led to an element (0 where
/// no sequence covers it), and what underflow and the decays used (`log_slack`) may add to its
/// error.
template <class Wide>
struct scan_truth {
  using Real = real_of_t<Wide>;
  ebb::array<Wide> h;
  ebb::array<Real> majorant;
  ebb::array<index_t> steps;
  ebb::array<Real> slack;
  ebb::array<Wide> final_h;
  ebb::array<Real> final_majorant, final_slack;
};

/// How far, relatively, the log-decay that a backend uses may lie from the one filled in: 10 u of
/// the state, and twice (4 + 5 L) u of double, L = |log(t + t_0)| + |log t_ref| <= 60 for positions
/// up to 2^62 and horizons up to 1e7, where it is a polynomial in log-time (decay/post.hpp). A decay
/// of a test may state its own, `log_error`, in u of the state.
template <class Decay, class State>
double log_slack() {
  if constexpr (requires { Decay::log_error; })
    return Decay::log_error *
           static_cast<double>(std::numeric_limits<real_of_t<State>>::epsilon()) / 2;
  else if constexpr (detail::in_log_time<Decay, State>)
    return 5 * static_cast<double>(std::numeric_limits<real_of_t<State>>::epsilon()) +
           608 * 0x1p-53;
  else
    return 0;
}

/// What underflow may add to the error in one step, in smallest subnormals d of the state's type
/// (docs/accuracy.md, section 3).
///
/// Always: two products, a h and gain b, each off by d/2 (a complex one by d in each component),
/// and d/2 where a state wider than its type is rounded to it. Where exp(log a) is no normal
/// number, a is off by d, so that a h is by d |h| (complex: by d in size, d/2 more in each
/// component).
template <decay_form Form, class State, class Real>
Real step_underflow(const Real& a, const Real& before) {
  constexpr double parts = is_complex<State> ? 1.415 : 1;
  const Real always(parts * ((is_complex<State> ? 2.0 : 1.0) + 0.5));
  const Real normal(static_cast<double>(std::numeric_limits<real_of_t<State>>::min()));
  if (Form == decay_form::factor || !(a < normal)) return always;
  return always + Real(is_complex<State> ? 1 + parts / 2 : 1.0) * before;
}

/// Wide from any number, storage types and other complex types included.
template <class Wide, class T>
Wide widened(const T& x) {
  if constexpr (is_complex<T>)
    return Wide(x.real(), x.imag());
  else if constexpr (std::is_constructible_v<Wide, T>)
    return Wide(x);
  else
    return Wide(static_cast<double>(x));
}

/// a and the gain of the input from what a decay filled in.
template <decay_form Form, input_gain Gain, class Wide>
std::pair<Wide, Wide> factor_and_gain(const Wide& filled) {
  using Real = real_of_t<Wide>;
  using std::cos;
  using std::exp;
  using std::expm1;
  using std::sin;
  Wide a = filled, rest = Wide(1) - filled;
  if constexpr (Form == decay_form::log_factor) {
    if constexpr (is_complex<Wide>) {
      const Real x = filled.real(), y = filled.imag(), s = sin(y / 2);
      const bool gone = x < std::numeric_limits<Real>::lowest();
      a = gone ? Wide(0) : Wide(exp(x) * cos(y), exp(x) * sin(y));
      rest = gone ? Wide(1) : Wide(2 * s * s - expm1(x) * cos(y), -exp(x) * sin(y));
    } else {
      a = exp(filled);
      rest = -expm1(filled);
    }
  }
  return {a, Gain == input_gain::one ? Wide(1) : rest};
}

/// The recurrence by its definition, from the decays as the kernel's state type receives them.
template <class Wide, class Decay, class T, class Axis, class State>
scan_truth<Wide> truth_of(const Decay& decay, const strided_view<const T, Axis>& in,
                          const sequences<State>& where, direction order) {
  using std::abs;
  using Real = real_of_t<Wide>;
  const extents states{in.batches(), where.count(), in.channels()};
  scan_truth<Wide> truth{ebb::array<Wide>(in.size()),    ebb::array<Real>(in.size()),
                         ebb::array<index_t>(in.size()), ebb::array<Real>(in.size()),
                         ebb::array<Wide>(states),       ebb::array<Real>(states),
                         ebb::array<Real>(states)};
  const Real log_error(log_slack<Decay, State>());
  const Real smallest(static_cast<double>(std::numeric_limits<real_of_t<State>>::denorm_min()));
  for (index_t b = 0; b < in.batches(); ++b)
    for (index_t s = 0; s < where.count(); ++s) {
      const index_t begin = where.begin(s), length = where.end(s, in.steps()) - begin;
      ebb::array<State> filled(length, in.channels());
      decay.fill({b, begin, 0, where.first_position(b, s)}, filled.view());
      for (index_t k = 0; k < in.channels(); ++k) {
        Wide h(0);
        if (where.initial_states.data()) h = widened<Wide>(where.initial_states(b, s, k));
        Real bound = abs(h), slack(0);
        for (index_t i = 0; i < length; ++i) {
          const index_t t = order == direction::forward ? i : length - 1 - i;
          const auto [a, gain] =
              factor_and_gain<Decay::form, gain_of<Decay>>(widened<Wide>(filled(t, k)));
          const Wide x = gain * widened<Wide>(in(b, begin + t, k));
          if (!where.resets.empty() &&
              where.resets[static_cast<std::size_t>(b * in.steps() + begin + t)])
            h = Wide(0), bound = Real(0), slack = Real(0);
          // d(a h) = a h d(log a); each of up to 14 operations of a polynomial may underflow.
          Real added = smallest * step_underflow<Decay::form, State>(Real(abs(a)), bound);
          if (log_error > 0) {
            added += Real(14) * smallest * bound;
            if (abs(a) > 0) added += log_error * abs(widened<Wide>(filled(t, k))) * abs(a) * bound;
          }
          slack = abs(a) * slack + added;
          h = a * h + x;
          bound = abs(a) * bound + abs(x);
          truth.h(b, begin + t, k) = h;
          truth.majorant(b, begin + t, k) = bound;
          truth.slack(b, begin + t, k) = slack;
          truth.steps(b, begin + t, k) = i + 1;
        }
        truth.final_h(b, s, k) = h;
        truth.final_majorant(b, s, k) = bound;
        truth.final_slack(b, s, k) = slack;
      }
    }
  return truth;
}

/// n of the backend's error bound after some steps.
template <class Backend>
double roundings(index_t steps, const step_kind& kind) {
  if constexpr (requires { Backend::error_bound(steps, kind); })
    return Backend::error_bound(steps, kind);
  else
    return Backend::error_bound(steps);
}

/// |got - h| over the bound ((1 + u)^n - 1) H + slack + the oracle's own error (+ a rounding to T):
/// at most 1 where the backend keeps its word.
template <class Backend, class State, class Wide, class T>
double error_over_bound(const T& got, const Wide& h, const real_of_t<Wide>& majorant,
                        const real_of_t<Wide>& slack, index_t steps, const step_kind& kind) {
  using Real = real_of_t<Wide>;
  using Part = std::numeric_limits<real_of_t<State>>;
  using Stored = std::numeric_limits<real_of_t<T>>;
  using std::abs;
  const double u = static_cast<double>(Part::epsilon()) / 2;
  const Real oracle_u = std::numeric_limits<Real>::epsilon() / 2;
  const double many = static_cast<double>(steps);
  const Real growth(std::expm1(roundings<Backend>(steps, kind) * std::log1p(u)));
  Real allowed = growth * majorant;
  allowed += Real((kind.complex ? 8 : 4) * many) * oracle_u * majorant;
  allowed += (1 + growth) * slack;
  const Real size = abs(h) + allowed;
  if (sizeof(T) < sizeof(State)) {
    // Beyond the largest number of a storage type infinity is right.
    if (size > Real(static_cast<double>(Stored::max()))) return 0;
    allowed += size * Real(static_cast<double>(Stored::epsilon()) / 2) +
               Real(static_cast<double>(Stored::denorm_min()));
  }
  const Real error = abs(widened<Wide>(got) - h);
  return error <= 0 ? 0 : static_cast<double>(Real(error / allowed));
}

/// The bound everywhere, with one report of the worst place. Elements of no sequence must be
/// `untouched`.
template <class Backend, class State, class Wide, class T, class Axis>
void check_bound(const strided_view<const T, Axis>& got, const scan_truth<Wide>& truth,
                 const step_kind& kind, T untouched) {
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
        const double ratio = error_over_bound<Backend, State>(got(b, t, k), truth.h(b, t, k),
                                                              truth.majorant(b, t, k),
                                                              truth.slack(b, t, k), steps, kind);
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

/// Whether a number, or a part of it, is NaN.
template <class T>
bool is_nan(const T& x) {
  if constexpr (is_complex<T>)
    return std::isnan(x.real()) || std::isnan(x.imag());
  else
    return std::isnan(static_cast<double>(x));
}

/// Equal bits of two numbers; one NaN is as good as another.
template <class T>
bool same_number(const T& x, const T& y) {
  if constexpr (is_complex<T>) {
    return same_number(x.real(), y.real()) && same_number(x.imag(), y.imag());
  } else if constexpr (requires { x.bits(); }) {
    return x.bits() == y.bits() || (is_nan(x) && is_nan(y));
  } else {
    return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
  }
}

/// Bitwise equality, so that NaN equals itself and zeros keep their sign.
template <class A, class B>
bool same_bits(const A& a, const B& b) {
  const auto one = as_view(a);
  const auto two = as_view(b);
  if (one.size() != two.size()) return false;
  for (index_t i = 0; i < one.batches(); ++i)
    for (index_t t = 0; t < one.steps(); ++t)
      for (index_t k = 0; k < one.channels(); ++k)
        if (!same_number(one(i, t, k), two(i, t, k))) return false;
  return true;
}

}  // namespace ebb::test
