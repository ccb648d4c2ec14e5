// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/log_time.hpp
/// @brief  Decays that are smooth in the logarithm of the position, as polynomials over blocks of
///   steps: no exponential for an element.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <ebb/core/exponential.hpp>
#include <ebb/core/numeric.hpp>
#include <ebb/core/scalar.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Steps that share the polynomials of a decay: positions first .. end - 1, y = log(p / centre).
/// Positions here are those of the caller; the offset of the decay enters where logarithms do.
///
/// Blocks are cut at fixed positions, whatever piece of a sequence is asked for: an octave
/// [2^e, 2^(e+1)) in 2^s parts of one length, so that pieces have the bits of the whole.
struct log_time_block {
  index_t first, end;
  double centre, half;       ///< |y| <= half; p and centre with the offset
  double first_over_centre;  ///< e^-half
  int level;                 ///< row of the table of degrees below; -1: one step, degree 0
  index_t offset;
};

/// s and the degree that serve a block, by the type of the weights and by octave.
///
/// With x = -log a, remainder of 1 - a (kept channels) and of log a (the others) relatively, the
/// larger of the two, over 0 < alpha <= 1 and alpha (1 + x) / 2 <= 1 (docs/accuracy.md;
/// tests/decay/log_time_remainder_test.cpp computes them):
///
/// |        | s, degree: remainder in u                                    |
/// |--------|--------------------------------------------------------------|
/// | float  | 0, 7: 0.35  1, 5: 0.99  2, 4: 0.53   3, 3: 1.4   6, 2: 0.33  |
/// | double | 1, 12: 2.8  1, 12: 2.8  2, 10: 0.86  5, 6: 0.09  5, 6: 0.09  |
///
/// Short blocks pay for their coefficients, long ones for their degree: hence by octave.
struct log_time_level {
  int split, degree;
};
template <class State>
inline constexpr std::array<log_time_level, 5> log_time_levels{
    {{0, 7}, {1, 5}, {2, 4}, {3, 3}, {6, 2}}};
template <>
inline constexpr std::array<log_time_level, 5> log_time_levels<double>{
    {{1, 12}, {1, 12}, {2, 10}, {5, 6}, {5, 6}}};

inline constexpr int log_time_highest = 12;

/// The level of octave e.
constexpr int log_time_level_of(int octave) {
  return octave < 6 ? 0 : octave < 10 ? 1 : octave < 13 ? 2 : octave < 16 ? 3 : 4;
}

/// The block that holds p = position + offset, p >= 1; single steps where p < smooth_from.
template <class State>
log_time_block log_time_block_at(index_t place, index_t offset, index_t smooth_from) {
  const index_t position = place + offset;
  if (position < smooth_from)
    return {place, place + 1, static_cast<double>(position), 0, 1, -1, offset};
  const int octave = 63 - std::countl_zero(static_cast<std::uint64_t>(position));
  const int level = log_time_level_of(octave);
  const int split = log_time_levels<State>[static_cast<std::size_t>(level)].split;
  const int shift = octave > split ? octave - split : 0;
  const index_t begin = position >> shift << shift, end = begin + (index_t{1} << shift);
  const index_t first = std::max(begin, smooth_from);
  const auto from = static_cast<double>(first), last = static_cast<double>(end - 1);
  const double centre = std::sqrt(from * last);
  return {first - offset, end - offset, centre, std::log(last / from) / 2,
          from / centre,  level,        offset};
}

/// The position from which on alpha (1 + x) / 2 <= 1 for all channels, x = rate (p / t_ref)^-alpha:
/// what the errors above need. 2^62 stands for never.
template <class Values>
index_t log_time_smooth_from(const Values& rates, const Values& alpha, double log_reference) {
  double log_from = 0;
  for (std::size_t k = 0; k < rates.size(); ++k)
    if (alpha[k] > 0 && rates[k] > 0)
      log_from = std::max(
          log_from, log_reference + (std::log(rates[k]) - std::log(2 / alpha[k] - 1)) / alpha[k]);
  // Rounded up, and by more than the logarithms' own error.
  return log_from < 42 ? static_cast<index_t>(std::ceil(std::exp(log_from) * (1 - 1e-13)))
                       : index_t{1} << 62;
}

template <class Real>
inline constexpr std::array<Real, 16> inverse_factorial = [] {
  std::array<Real, 16> result{};
  double factorial = 1;
  for (std::size_t n = 0; n < 16; ++n) {
    result[n] = static_cast<Real>(1 / factorial);
    factorial *= static_cast<double>(n + 1);
  }
  return result;
}();

/// How y^(n) is replaced by lower powers on |y| <= h with the least largest error: it is
/// y^n - h^n T_n(y/h) / 2^(n-1). fold[i] stands before h^(n-i) y^i.
template <std::size_t N>
constexpr std::array<double, N> chebyshev_fold() {
  std::array<double, N + 1> before{}, now{}, next{};
  before[0] = 1, now[1] = 1;
  for (std::size_t k = 2; k <= N; ++k) {
    next = {};
    for (std::size_t i = 0; i < N; ++i) next[i + 1] = 2 * now[i];
    for (std::size_t i = 0; i <= N; ++i) next[i] -= before[i];
    before = now, now = next;
  }
  std::array<double, N> fold{};
  for (std::size_t i = 0; i < N; ++i) fold[i] = -now[i] / now[N];
  return fold;
}

// sum_{k=1..n} f_(n-k) / (k-1)!; these pack expansions are loops that no compiler leaves rolled up.
template <std::size_t N, std::size_t Size, class State, std::size_t... J>
[[gnu::always_inline]] inline State log_time_sum(const std::array<State, Size>& f,
                                                 std::index_sequence<J...>) {
  State sum = f[N - 1];
  ((sum = multiply_add(f[N - 2 - J], inverse_factorial<State>[J + 1], sum)), ...);
  return sum;
}

/// The Taylor coefficients f_0 .. f_Order of exp(-x e^(-alpha y)) in y, f_0 = e^-x:
///
///   f_n = F_n (-alpha)^n,   F_n = -(x / n) sum_{k=1..n} F_(n-k) / (k-1)!
template <class State, std::size_t... M>
[[gnu::always_inline]] inline std::array<State, sizeof...(M) + 1> log_time_series(
    const State& minus_x, const State& minus_alpha, const State& f0, std::index_sequence<M...>) {
  std::array<State, sizeof...(M) + 1> f;
  f[0] = f0;
  ((f[M + 1] = log_time_sum<M + 1>(f, std::make_index_sequence<M>()) *
               (minus_x * (State(1) / static_cast<State>(M + 1)))),
   ...);
  State power(1);
  ((power *= minus_alpha, f[M + 1] *= power), ...);
  return f;
}

// f + f_top fold, the term of the highest order folded back; behind it the flag.
template <class State, std::size_t Size, std::size_t Lanes, std::size_t... D>
[[gnu::always_inline]] inline void log_time_fold(const std::array<State, Size>& f,
                                                 const std::array<State, Size - 1>& folds,
                                                 std::size_t lane,
                                                 std::array<std::array<State, Lanes>, Size>& to,
                                                 std::index_sequence<D...>) {
  ((to[D][lane] = multiply_add(f[Size - 1], folds[D], f[D])), ...);
}

/// Rates and exponents of channels, and what they have in common at the centre of a block.
struct log_time_channels {
  const double* rates;
  const double* alpha;
  double log_time;  ///< log(centre / t_ref)
};

/// The polynomials of `count` channels over a block of the given half length, coefficient d of
/// channel i at c[d * stride + i], d = 0 .. Degree; behind them 1 where a channel is kept, else 0:
///
///   a - 1 = sum_d c_d y^d where kept (a >= 1/2 in all of the block),   a = sum_d c_d y^d elsewhere
///
/// x = rate (centre / t_ref)^-alpha; the term of order Degree + 1 of the series above is folded
/// back. Straight-line for each channel, so that the loop becomes vectors.
/// All 16 values of the last group of lanes are written.
template <class State, int Degree>
void log_time_coefficients(const log_time_channels& channels, const log_time_block& block,
                           index_t count, State* c, index_t stride) {
  static constexpr auto fold = chebyshev_fold<Degree + 1>();
  // Loops over lanes are vectors to a compiler that knows their length.
  constexpr int lanes = 16;
  using lane_values = std::array<State, lanes>;
  const double slowest_kept = 0.69 * block.first_over_centre;
  std::array<State, Degree + 1> folds;
  double power = block.half;
  for (std::size_t d = Degree + 1; d-- > 0; power *= block.half)
    folds[d] = static_cast<State>(fold[d] * power);
  for (index_t begin = 0; begin < count; begin += lanes) {
    std::array<double, lanes> rates, alpha;
    if (count - begin >= lanes) {
      std::copy_n(channels.rates + begin, lanes, rates.data());
      std::copy_n(channels.alpha + begin, lanes, alpha.data());
    } else {
      rates.fill(0), alpha.fill(0);
      std::copy_n(channels.rates + begin, count - begin, rates.data());
      std::copy_n(channels.alpha + begin, count - begin, alpha.data());
    }
    std::array<lane_values, Degree + 2> result;
    lane_values minus_x, at_centre, first;
    auto& kept = result[Degree + 1];
    for (std::size_t i = 0; i < lanes; ++i)
      rates[i] *= tapered<State>(-alpha[i] * channels.log_time);
    for (std::size_t i = 0; i < lanes; ++i) {
      const decayed<State> d = decay_of<State>(rates[i]);
      const bool keep = rates[i] <= slowest_kept;
      minus_x[i] = static_cast<State>(
          -choose(rates[i] < largest_exponent<State>, rates[i], largest_exponent<State>));
      at_centre[i] = d.a;
      first[i] = choose(keep, -d.m, d.a);
      kept[i] = choose(keep, State(1), State(0));
    }
    for (std::size_t i = 0; i < lanes; ++i) {
      auto f = log_time_series(minus_x[i], static_cast<State>(-alpha[i]), at_centre[i],
                               std::make_index_sequence<Degree + 1>());
      f[0] = first[i];
      log_time_fold(f, folds, i, result, std::make_index_sequence<Degree + 1>());
    }
    for (int d = 0; d <= Degree + 1; ++d)
      std::copy_n(result[static_cast<std::size_t>(d)].data(), lanes, c + d * stride + begin);
  }
}

/// y of the steps at positions first, first + 1, ... of a block; count < 2^31.
template <class State>
void log_times(const log_time_block& block, index_t first, int count, State* y) {
  const double start = static_cast<double>(first + block.offset) - block.centre,
               scale = 1 / block.centre;
  // log(1 + v) = 2 atanh(v / (2 + v)), |v / (2 + v)| <= tanh(log(2) / 4) = 0.1716
  constexpr int terms = std::same_as<State, float> ? 4 : 10;
  for (int i = 0; i < count; ++i) {
    const auto v = static_cast<State>((start + static_cast<double>(i)) * scale);
    const State z = v / (State(2) + v), square = z * z;
    State p = State(2) / State(2 * terms + 1);
    for (int j = terms - 1; j >= 1; --j)
      p = multiply_add(p, square, State(2) / static_cast<State>(2 * j + 1));
    y[i] = multiply_add(State(p * square), z, State(z + z));
  }
}

/// Calls body.operator()<degree>() for the degree of a block.
template <class State, class Body>
void with_log_time_degree(const log_time_block& block, const Body& body) {
  constexpr auto& levels = log_time_levels<State>;
  switch (block.level) {
    case -1:
      return body.template operator()<0>();
    // Of double two levels have one degree.
    case 0:  // NOLINT(bugprone-branch-clone)
      return body.template operator()<levels[0].degree>();
    case 1:
      return body.template operator()<levels[1].degree>();
    case 2:
      return body.template operator()<levels[2].degree>();
    case 3:
      return body.template operator()<levels[3].degree>();
    default:
      return body.template operator()<levels[4].degree>();
  }
}

}  // namespace ebb::inline EBB_ABI::detail
