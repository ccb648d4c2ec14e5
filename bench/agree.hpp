// SPDX-License-Identifier: Apache-2.0
/// @file   bench/agree.hpp
/// @brief  Whether a candidate computed what it is timed for: outside the timed region, once.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <type_traits>

#include <ebb/recurrence/update.hpp>

#include "problem.hpp"

namespace bench {

/// How a candidate may differ from the exact recurrence on the decays as filled: `each` roundings a
/// step, and `per_log` more for each unit of |log a| where it computes its decays in another way.
struct roundings {
  double each, per_log = 0;
};

/// What a backend states for one step; of a taper's polynomials 10 more for each unit of |log a|
/// (ebb/decay/post.hpp). A scan by vectors of steps keeps the bound of t steps, but makes up to 5
/// sums of two roundings at the size of the last step: the bound below, which forgets faster, has
/// to allow them.
template <class Backend, class T, class Axis, class Decay>
roundings stated() {
  constexpr bool vectors_of_steps = std::same_as<Axis, ebb::channel_major> &&
                                    Decay::form == ebb::decay_form::factor &&
                                    std::floating_point<T> && Backend::name != "rows";
  // Over time a single channel goes by vectors of steps in either layout, and between chunks the
  // state is made with up to 4 roundings.
  constexpr bool over_time = Backend::name == "over_time";
  return {Backend::error_bound(1, ebb::step_kind_of<Decay, T>) +
              (vectors_of_steps || over_time ? 10 : 0) + (over_time ? 4 : 0),
          Decay::kind == ebb::decay_kind::position ? 10.0 : 0.0};
}

/// What a taper by its formula makes, in steps of `each` roundings and exponentials within
/// `exponential` u: two of those; the exponent: 2u of log, u each of t/t_ref, alpha, two products,
/// the sum of which is times |log(t / t_ref)| <= reach; and what the filled value has of its own
/// (docs/accuracy.md, section 2).
inline roundings taper_roundings(double each, double exponential, double reach) {
  return {each + exponential, 8 + exponential + 9 * reach};
}

[[noreturn]] inline void disagree(const std::string& row, const std::string& who, index_t t,
                                  index_t k, double error, double allowed) {
  std::fprintf(stderr,
               "bench: %s: %s is off by %.3g at step %td of channel %td; %.3g is allowed. Nothing "
               "was written.\n",
               row.c_str(), who.c_str(), error, t, k, allowed);
  std::exit(1);
}

/// Ends the program unless out holds the recurrence of the row.
///
/// The exact h is walked in a wider type. Beside it go H, the recurrence on absolute values, and
/// the bound E on the error of a computation that makes e = (1 + u)^n - 1 at a step:
///
///   E_t = |a| E_{t-1} (1 + e) + e H_t + smallest subnormal,   H_t = |a| H_{t-1} + |b_t|
///
/// Of large rows so many channels are looked at as make about 2^19 elements.
template <class T, class Axis, class Decay>
void require_agreement(const std::string& row, const std::string& who, const Decay& decay,
                       problem<T, Axis>& p, index_t first_position, const roundings& made) {
  using Real = ebb::real_of_t<T>;
  using Wider = std::conditional_t<std::is_same_v<Real, float>, double, long double>;
  using Wide = std::conditional_t<ebb::is_complex<T>, std::complex<Wider>, Wider>;
  constexpr double u = static_cast<double>(std::numeric_limits<Real>::epsilon()) / 2;
  constexpr double smallest = static_cast<double>(std::numeric_limits<Real>::denorm_min());
  constexpr bool logs = Decay::form == ebb::decay_form::log_factor;
  constexpr bool constant = Decay::kind == ebb::decay_kind::constant;
  constexpr index_t block = 256;
  const index_t stride = (p.count >> 19) | 1;  // odd, so that all lanes of a vector have a turn
  for (index_t k = 0; k < p.size.channels; k += stride) {
    T filled[block];
    Wide h(0), a(0);
    double reach = 0, error = 0, log_size = 0;
    for (index_t t = 0; t < p.size.steps; ++t) {
      if (t % block == 0 && (t == 0 || !constant))
        decay.fill(
            {0, t, k, first_position + t},
            ebb::strided_view<T, ebb::channel_major>(filled, std::min(block, p.size.steps - t), 1));
      if (t == 0 || !constant) {
        const Wide value(filled[t % block]);
        if constexpr (logs) {
          a = std::exp(value);
          log_size = static_cast<double>(std::abs(value));
        } else {
          a = value;
        }
      }
      const Wide b(p.in(t, k));
      h = ebb::detail::product(a, h) + b;
      const auto decay_size = static_cast<double>(std::abs(a));
      const double n = (made.each + made.per_log * log_size) * u;
      const double e = n / (1 - n);
      reach = decay_size * reach + static_cast<double>(std::abs(b));
      error = decay_size * error * (1 + e) + e * reach + smallest;
      const auto difference = static_cast<double>(std::abs(Wide(p.out(t, k)) - h));
      // The walk's own rounding: 2^-11 of a rounding of T or less.
      const double allowed = error * 1.01;
      if (!(difference <= allowed)) disagree(row, who, t, k, difference, allowed);
    }
  }
}

/// Ends the program unless numbers, `width` for each step, are those expected, up to a share of the
/// largest.
inline void require_close(const std::string& row, const std::string& who,
                          std::span<const float> got, std::span<const double> expected,
                          index_t width, double share) {
  double largest = 0;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - expected[i]);
    const auto at = static_cast<index_t>(i);
    if (!(difference <= share * largest))
      disagree(row, who, at / width, at % width, difference, share * largest);
  }
}

}  // namespace bench
