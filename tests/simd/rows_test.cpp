// SPDX-License-Identifier: Apache-2.0
// The vectors of `simd` against the loops of `rows`, and where an element lies against its bits.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <ebb/recurrence/backend/simd.hpp>

#include "support/scan_contract.hpp"

namespace {

using ebb::decay_form;
using ebb::index_t;
using ebb::input_gain;

/// Weights, states and inputs of every regime: both regimes of the weight and its edges, signed
/// zeros, subnormals, infinities, NaN.
template <class T>
std::vector<T> values_of_every_kind() {
  using limits = std::numeric_limits<T>;
  return {T(0),
          T(-0.0),
          T(1),
          T(-1),
          T(0.5),
          T(-0.5),
          T(-1e-7),
          T(3),
          limits::min(),
          limits::denorm_min(),
          limits::max(),
          -limits::max(),
          limits::infinity(),
          -limits::infinity(),
          limits::quiet_NaN(),
          T(0.3)};
}

/// Whether a new state is that of `advance`, to the bit where nothing is fused.
template <decay_form Form, input_gain Gain, class T>
bool is_advance(T w, T h, T b, T got) {
  using ebb::test::same_number;
  const T right = ebb::advance<Form, Gain, T>(w, h, b);
  if (same_number(got, right)) return true;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  // Four roundings at most, each of a number below |h| + (|w| + 1)(|h| + |b|).
  const double size =
      std::abs(double(h)) + (std::abs(double(w)) + 1) * (std::abs(double(h)) + std::abs(double(b)));
  const double u = double(std::numeric_limits<T>::epsilon()) / 2;
  const double tiny = double(std::numeric_limits<T>::denorm_min());
  if (size < double(std::numeric_limits<T>::max()))
    return std::abs(double(got) - double(right)) <= 4 * u * size + 4 * tiny;
  // Beyond the largest number a product may survive that overflows by itself: then all products
  // are taken as fused.
  constexpr bool average = Gain == input_gain::one_minus_decay;
  T fast = average ? std::fma(w, h, (1 - w) * b) : std::fma(w, h, b);
  T slow = average ? std::fma(w, h - b, h) : h + fast;
  if (std::isnan(slow)) slow = h + b;
  return same_number(got, Form == decay_form::log_factor && w < 0 ? slow : fast);
#else
  return false;
#endif
}

/// One row, as a block of varying weights and as one of constant weights: the same bits.
template <decay_form Form, input_gain Gain, class T>
void walk_row(const T* weight, T* state, const T* x, index_t stride, T* y, index_t width) {
  const auto size = static_cast<std::size_t>(width);
  std::vector<T> states(state, state + width), out(size);
  ebb::simd<>::kernel::rows<Form, Gain>(weight, 0, states.data(), x, 0, stride, out.data(), 0,
                                        width, 1, false);
  ebb::simd<>::kernel::rows<Form, Gain>(weight, width, state, x, 0, stride, y, 0, width, 1, true);
  bool same = true;
  for (std::size_t i = 0; i < size; ++i)
    same =
        same && ebb::test::same_number(states[i], state[i]) && ebb::test::same_number(out[i], y[i]);
  CHECK(same);
}

template <decay_form Form, input_gain Gain, class T>
void check_row() {
  const std::vector<T> kinds = values_of_every_kind<T>();
  std::vector<T> weight, state, x;
  for (const T w : kinds)
    for (const T h : kinds)
      for (const T b : kinds) {
        weight.push_back(w);
        state.push_back(h);
        x.push_back(b);
      }
  const auto size = static_cast<index_t>(weight.size());
  std::vector<T> all_states = state, all(weight.size());
  walk_row<Form, Gain>(weight.data(), all_states.data(), x.data(), 1, all.data(), size);
  bool close = true, alone_same = true, kept = true;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    kept = kept && ebb::test::same_number(all[i], all_states[i]);
    close = close && is_advance<Form, Gain>(weight[i], state[i], x[i], all[i]);
    T one_state = state[i], one = 0;
    walk_row<Form, Gain>(&weight[i], &one_state, &x[i], 1, &one, 1);
    alone_same = alone_same && ebb::test::same_number(one, all[i]);
  }
  CHECK(close);
  CHECK(alone_same);
  CHECK(kept);
}

TEST_CASE_TEMPLATE("vectors take every element where `advance` takes it", T, float, double) {
  check_row<decay_form::factor, input_gain::one, T>();
  check_row<decay_form::factor, input_gain::one_minus_decay, T>();
  check_row<decay_form::log_factor, input_gain::one, T>();
  check_row<decay_form::log_factor, input_gain::one_minus_decay, T>();
}

TEST_CASE_TEMPLATE("rows of every width, wherever they begin, and inputs far apart", T, float,
                   double) {
  const index_t widest = 50, stride = 3;
  std::vector<T> weight, state, x;
  ebb::test::draws random(3);
  for (index_t i = 0; i < widest * stride; ++i) {
    weight.push_back(static_cast<T>(random.uniform(-0.5, 1)));
    state.push_back(static_cast<T>(random.uniform(-1, 1)));
    x.push_back(static_cast<T>(random.uniform(-1, 1)));
  }
  for (index_t width = 0; width <= 40; width += width < 20 ? 1 : 10)
    for (index_t begin = 0; begin < 8; ++begin)
      for (const index_t step : {index_t{1}, stride, index_t{0}}) {
        std::vector<T> got = state, y(state.size(), T(-7));
        const T* from = x.data() + begin;
        walk_row<decay_form::log_factor, input_gain::one>(weight.data() + begin, got.data() + begin,
                                                          from, step, y.data() + begin, width);
        bool right = true;
        for (index_t i = 0; i < static_cast<index_t>(got.size()); ++i) {
          const auto at = static_cast<std::size_t>(i);
          const index_t c = i - begin;
          if (c < 0 || c >= width) {
            right = right && got[at] == state[at] && y[at] == T(-7);
            continue;
          }
          T one = state[at], out = 0;
          walk_row<decay_form::log_factor, input_gain::one>(&weight[at], &one, from + c * step, 1,
                                                            &out, 1);
          right = right && got[at] == one && y[at] == one;
        }
        CHECK(right);
      }
}

}  // namespace
