// SPDX-License-Identifier: Apache-2.0
/// @file   support/vjp_oracle.hpp
/// @brief  The gradients of the scan by their definition, each with the error it may have.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <ebb/recurrence/vjp.hpp>

#include "support/scan_oracle.hpp"

namespace ebb::test {

/// A decay that reports the cotangents of its filled values: `gradients` is a view of the data's
/// shape. `Gain` may differ from the decay's own.
template <class Decay, class State, input_gain Gain = gain_of<Decay>>
struct observed {
  static constexpr decay_kind kind = Decay::kind;
  static constexpr decay_form form = Decay::form;
  static constexpr input_gain gain = Gain;
  struct gradients {
    strided_view<State> values{};
    index_t wrong_blocks = 0;
  };

  const Decay& decay;

  template <class Block>
  void fill(const block_origin& where, const Block& block) const {
    decay.fill(where, block);
  }
  template <class Block>
  void vjp(const block_origin& where, const Block& block, const Block& cotangent,
           gradients& sums) const {
    ebb::array<State> again(block.steps(), block.channels());
    decay.fill(where, again.view());
    if (!same_bits(block, again)) ++sums.wrong_blocks;
    for (index_t t = 0; t < cotangent.steps(); ++t)
      for (index_t k = 0; k < cotangent.channels(); ++k)
        sums.values(where.batch, where.step + t, where.channel + k) += cotangent(t, k);
  }
};

/// A number and how far from it the tested code may be; negative where nothing may be written.
template <class Wide>
struct expected {
  Wide value{};
  real_of_t<Wide> allowed = -1;
};

template <class Wide>
struct vjp_truth {
  ebb::array<expected<Wide>> inputs, filled, initial;
};

/// How a way back rounds (docs/accuracy.md, section 5): that of the processor. In roundings, of g
/// after some steps, of conj(1 - a) g besides, and of the cotangents of what is filled; and how
/// far, relatively, the log-decay used may lie from the one filled.
struct own_steps_back {
  static double states(double steps, const step_kind& kind) {
    return step_roundings({kind.form, input_gain::one, kind.complex}) * steps + 2;
  }
  static double gain(const step_kind& kind) {
    if (kind.gain == input_gain::one) return 0;
    const bool logs = kind.form == decay_form::log_factor;
    return kind.complex ? (logs ? 21 : 5) : (logs ? 5 : 2);
  }
  static double changes(const step_kind& kind) {
    const bool logs = kind.form == decay_form::log_factor;
    return kind.complex ? 4 + (logs ? 13 : 0) : 2 + (logs ? 4 : 0);
  }
  template <class Decay, class State>
  static double log_error() {
    return 0;
  }
};

/// g_i = sum over j >= i of conj(a_{i+1} .. a_j) dh_j, and what follows from it, along one sequence
/// and channel at a time, from the decays as the state's type receives them.
///
/// The allowed errors are those of docs/accuracy.md for the rows backend's h, with a subnormal a
/// step and the oracle's own roundings on top.
template <class Wide, class Way = own_steps_back, class Decay, class T, class InAxis, class State,
          class CotangentAxis>
vjp_truth<Wide> vjp_truth_of(const Decay& decay, const strided_view<const T, InAxis>& in,
                             const scan_cotangents<T, State, CotangentAxis>& given,
                             const sequences<State>& where, direction order) {
  using std::abs;
  using Real = real_of_t<Wide>;
  constexpr bool average = gain_of<Decay> == input_gain::one_minus_decay;
  constexpr bool logs = Decay::form == decay_form::log_factor;
  constexpr step_kind kind = step_kind_of<Decay, State>;
  const double forward = step_roundings(kind);
  const double gain_roundings = Way::gain(kind), decay_roundings = Way::changes(kind);
  const Real log_error(Way::template log_error<Decay, State>());
  const Real u = static_cast<Real>(std::numeric_limits<real_of_t<State>>::epsilon()) / 2;
  const Real tiny = 2 * static_cast<Real>(std::numeric_limits<real_of_t<State>>::denorm_min());
  const Real own_u = std::numeric_limits<Real>::epsilon() / 2;
  const auto power = [&](double n) { return std::expm1(static_cast<Real>(n) * std::log1p(u)); };
  const auto stored = [&](Real size, Real error) {  // with a rounding to T
    if (sizeof(T) >= sizeof(State)) return error;
    using Limits = std::numeric_limits<real_of_t<T>>;
    return error + (size + error) * static_cast<Real>(static_cast<double>(Limits::epsilon())) / 2 +
           static_cast<Real>(static_cast<double>(Limits::denorm_min()));
  };

  const extents states{in.batches(), where.count(), in.channels()};
  vjp_truth<Wide> truth{ebb::array<expected<Wide>>(in.size()),
                        ebb::array<expected<Wide>>(in.size()), ebb::array<expected<Wide>>(states)};
  for (index_t b = 0; b < in.batches(); ++b)
    for (index_t s = 0; s < where.count(); ++s) {
      const index_t begin = where.begin(s), length = where.end(s, in.steps()) - begin;
      ebb::array<State> filled(length, in.channels());
      decay.fill({b, begin, 0, where.first_position(b, s)}, filled.view());
      for (index_t k = 0; k < in.channels(); ++k) {
        const auto n = static_cast<std::size_t>(length);
        std::vector<Wide> a(n), gain(n), x(n), dh(n), before(n);
        std::vector<Real> majorant(n), dh_size(n);  // of before and dh
        std::vector<Real> slack(n);                 // of a, from the log-decay used
        std::vector<bool> reset(n);
        Wide h(0);
        if (where.initial_states.data()) h = widened<Wide>(where.initial_states(b, s, k));
        Real most = abs(h);
        const auto step_of = [&](std::size_t i) {
          const auto at = static_cast<index_t>(i);
          return order == direction::forward ? at : length - 1 - at;
        };
        for (std::size_t i = 0; i < n; ++i) {
          const index_t t = step_of(i);
          std::tie(a[i], gain[i]) =
              factor_and_gain<Decay::form, gain_of<Decay>>(widened<Wide>(filled(t, k)));
          if (logs && log_error > 0) slack[i] = log_error * abs(widened<Wide>(filled(t, k)));
          x[i] = widened<Wide>(in(b, begin + t, k));
          reset[i] = where.resets_at(b, begin + t, in.steps());
          if (reset[i]) h = Wide(0), most = 0;
          before[i] = h, majorant[i] = most;
          h = reset[i] ? gain[i] * x[i] : a[i] * h + gain[i] * x[i];
          most = (reset[i] ? 0 : abs(a[i]) * most) + abs(gain[i] * x[i]);
          const auto add = [&, i](const Wide& part) { dh[i] += part, dh_size[i] += abs(part); };
          if (given.outputs.data()) add(widened<Wide>(given.outputs(b, begin + t, k)));
          if (const index_t m = where.snapshot_of(begin + t); m >= 0 && given.snapshots.data())
            add(widened<Wide>(given.snapshots(b, m, k)));
        }
        Wide last(0);
        if (given.final_states.data()) last = widened<Wide>(given.final_states(b, s, k));
        if (n > 0) dh[n - 1] += last, dh_size[n - 1] += abs(last);

        // The sum over j >= i, that of absolute values, and what the slack makes of it.
        const auto from = [&](std::size_t i) {
          Wide sum(0), product(1);
          Real absolute = 0, all_slack = 0, moved = 0;
          for (std::size_t j = i; j < n; ++j) {
            if (j > i && reset[j]) break;
            if (j > i && a[j] != Wide(0)) moved += slack[j];
            if (j > i) product *= detail::conjugate(a[j]);
            sum += product * dh[j], absolute += abs(product) * dh_size[j];
            if (log_error > 0) all_slack += abs(product) * dh_size[j] * std::expm1(moved);
          }
          return std::tuple(sum, absolute, all_slack);
        };
        for (std::size_t i = 0; i < n; ++i) {
          const index_t t = begin + step_of(i);
          const auto steps = static_cast<double>(n - i);
          const auto [g, size, off] = from(i);
          const double roundings = Way::states(steps, kind);
          const Real own = static_cast<Real>(8 * static_cast<double>(n + 2)) * own_u;
          const Real floor = static_cast<Real>(static_cast<double>(n + 4)) * tiny * (1 + size);
          const Wide db = detail::conjugate(gain[i]) * g;
          const Real db_size = abs(gain[i]) * size;
          // conj(1 - a) moves by slack a, which is at most 1 - a.
          const Real off_here = abs(gain[i]) * off + (average ? slack[i] * abs(a[i]) * size : 0);
          truth.inputs(b, t, k) = {
              db, stored(abs(db), (power(roundings + gain_roundings) + own) * (db_size + off_here) +
                                      off_here + floor)};

          const Wide factor = average ? before[i] - x[i] : before[i];
          Real inexact = power(forward * static_cast<double>(i)) * majorant[i];
          if (i > 0 && !reset[i]) inexact = stored(majorant[i], inexact + floor);
          const Wide change = logs ? detail::conjugate(a[i]) : Wide(1);
          const Real wide = abs(factor) + inexact + own * majorant[i];
          truth.filled(b, t, k) = {change * g * detail::conjugate(factor),
                                   abs(change) * size *
                                           ((power(roundings + decay_roundings) + own) * wide +
                                            inexact + own * majorant[i]) +
                                       2 * abs(change) * wide * (off + slack[i] * size) +
                                       floor * (1 + wide)};
          if (reset[i] && !average) truth.filled(b, t, k) = {Wide(0), 0};
        }
        expected<Wide>& initial = truth.initial(b, s, k);
        initial = {last, 0};
        if (n > 0) {
          const auto [g, size, off] = from(0);
          const Wide carry = reset[0] ? Wide(0) : detail::conjugate(a[0]);
          const auto steps = static_cast<double>(n + 1);
          initial = {carry * g, abs(carry) * size *
                                        (power(Way::states(steps, kind)) +
                                         static_cast<Real>(8 * steps) * own_u) +
                                    2 * abs(carry) * (off + slack[0] * size) +
                                    static_cast<Real>(steps) * tiny * (1 + size)};
        }
      }
    }
  return truth;
}

/// Every element within what it is allowed; where nothing is expected it is `untouched`.
template <class T, class Axis, class Wide>
void check_expected(const std::string& what, const strided_view<const T, Axis>& got,
                    const ebb::array<expected<Wide>>& truth, T untouched) {
  using Real = real_of_t<Wide>;
  REQUIRE(got.size() == truth.size());
  Real worst = 0;
  std::string place = "nowhere";
  for (index_t b = 0; b < got.batches(); ++b)
    for (index_t t = 0; t < got.steps(); ++t)
      for (index_t k = 0; k < got.channels(); ++k) {
        const expected<Wide>& right = truth(b, t, k);
        Real ratio = got(b, t, k) == untouched ? 0 : 2;
        if (right.allowed >= 0) {
          const Real error = std::abs(widened<Wide>(got(b, t, k)) - right.value);
          ratio = error <= 0 ? 0 : error / right.allowed;
        }
        if (!(ratio >= 0)) ratio = std::numeric_limits<Real>::infinity();  // NaN
        if (ratio <= worst) continue;
        worst = ratio;
        place = "batch " + std::to_string(b) + ", step " + std::to_string(t) + ", channel " +
                std::to_string(k);
      }
  INFO(what << ": worst error / bound = " << worst << " at " << place);
  CHECK(worst <= 1);
}

}  // namespace ebb::test
