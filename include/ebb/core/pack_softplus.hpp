// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/pack_softplus.hpp
/// @brief  Rows of step sizes and gates in float: softplus and the logistic function.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <ebb/core/exponential.hpp>
#include <ebb/core/numeric.hpp>
#include <ebb/core/pack.hpp>
#include <ebb/core/pack_exponential.hpp>
#include <ebb/core/row.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Whether parameters are such that float serves as well for what is made of them: 0 or from 2^-64
/// to 2^64 in size.
template <class Real>
bool fits_float(const Real& x) {
  return x == 0 || (x >= 0x1p-64 && x <= 0x1p64) || (x <= -0x1p-64 && x >= -0x1p64);
}
template <class Real>
bool fits_float(const std::vector<Real>& values) {
  return std::all_of(values.begin(), values.end(), [](const Real& x) { return fits_float(x); });
}

#if defined(__GNUC__)
/// The first n lanes, n <= lanes; others than 1 and all of them by way of memory.
[[gnu::always_inline]] inline void store_some(float* to, const pack<float>& x, index_t n) {
  constexpr index_t lanes = pack_of<float>::lanes;
  if (n == lanes)
    store(to, x);
  else if (n == 1)
    *to = x[0];
  else
    std::memcpy(to, &x, static_cast<std::size_t>(std::min<index_t>(n, lanes)) * sizeof(float));
}
/// The same; one number is loaded into all lanes.
[[gnu::always_inline]] inline pack<float> load_some(const float* from, index_t n) {
  constexpr index_t lanes = pack_of<float>::lanes;
  if (n == lanes) return load<pack<float>>(from);
  if (n == 1) return broadcast<pack<float>>(*from);
  float some[lanes] = {};
  std::copy_n(from, std::min(n, lanes), some);
  return load<pack<float>>(some);
}

typedef float half_pack  // NOLINT(modernize-use-using)
    __attribute__((vector_size(register_bytes / 2)));
template <class V, class Half, int... Lane>
[[gnu::always_inline]] inline V joined(const Half& a, const Half& b,
                                       std::integer_sequence<int, Lane...>) {
#if defined(__CUDACC__)
  V result{};  // nvcc loses parameter packs among the arguments of builtins
  constexpr int half = static_cast<int>(sizeof...(Lane)) / 2;
  for (int i = 0; i < half; ++i) result[i] = a[i], result[i + half] = b[i];
  return result;
#else
  return __builtin_shufflevector(a, b, Lane...);
#endif
}
/// Each lane as a number of another type, rounded.
template <class To, class From>
[[gnu::always_inline]] inline To converted(const From& x) {
#if defined(__CUDACC__)
  To result{};  // nvcc stops at the builtin
  for (std::size_t i = 0; i < sizeof(To) / sizeof(result[0]); ++i)
    result[i] = static_cast<std::remove_cvref_t<decltype(result[0])>>(x[i]);
  return result;
#else
  return __builtin_convertvector(x, To);
#endif
}
/// As many doubles as a pack has floats.
struct wide_pack {
  pack<double> first, second;
};
[[gnu::always_inline]] inline pack<double> load_wide(const double* from) {
#if defined(__AVX512F__)
  // Compilers' own loops write half a register at a time; a load of more would wait for them.
  typedef double half __attribute__((vector_size(32)));  // NOLINT(modernize-use-using)
  return joined<pack<double>>(load<half>(from), load<half>(from + 4),
                              std::make_integer_sequence<int, 8>{});
#else
  return load<pack<double>>(from);
#endif
}
[[gnu::always_inline]] inline wide_pack load_wide_some(const double* from, index_t n) {
  constexpr index_t half = pack_of<double>::lanes;
  if (n == 2 * half) return {load_wide(from), load_wide(from + half)};
  if (n == 1) return {broadcast<pack<double>>(*from), broadcast<pack<double>>(*from)};
  double some[2 * half] = {};
  std::copy_n(from, std::min(n, 2 * half), some);
  return {load_wide(some), load_wide(some + half)};
}
/// Rounded to float.
[[gnu::always_inline]] inline pack<float> narrowed(const wide_pack& x) {
  return joined<pack<float>>(converted<half_pack>(x.first), converted<half_pack>(x.second),
                             std::make_integer_sequence<int, pack_of<float>::lanes>{});
}

/// x as high + low, packs of floats: of double within 2^-48 |x|, or 2^-150.
struct split_pack {
  pack<float> high, low;
};
[[gnu::always_inline]] inline split_pack split_some(const float* x, float sign, index_t n) {
  return {load_some(x, n) * broadcast<pack<float>>(sign), pack<float>{}};
}
[[gnu::always_inline]] inline split_pack split_some(const double* x, float sign, index_t n) {
  using W = pack<double>;
  const W factor = broadcast<W>(static_cast<double>(sign));
  wide_pack at = load_wide_some(x, n);
  at = {at.first * factor, at.second * factor};
  const auto rest = [](const W& w) { return w - converted<W>(converted<half_pack>(w)); };
  return {narrowed(at), narrowed({rest(at.first), rest(at.second)})};
}

/// f(i, n, sign x[i] .. sign x[i + n - 1]) for all of a row, n lanes at a time.
template <class Argument, class F>
[[gnu::always_inline]] inline void each_pack(const Argument* x, float sign, index_t count,
                                             const F& f) {
  constexpr index_t lanes = pack_of<float>::lanes;
  index_t i = 0;
  for (; i + lanes <= count; i += lanes) f(i, lanes, split_some(x + i, sign, lanes));
  if (count - i == 1)
    f(i, 1, split_some(x + i, sign, 1));
  else if (count > i)
    f(i, count - i, split_some(x + i, sign, count - i));
}

/// exp(-|x|) within 3u.
[[gnu::always_inline]] inline pack<float> decay_of_size(const split_pack& x) {
  const auto bits = [](const pack<float>& v) { return std::bit_cast<int_pack>(v); };
  const int_pack sign = bits(x.high) & std::numeric_limits<std::int32_t>::min();
  return decay_of_pack(std::bit_cast<pack<float>>(bits(x.high) ^ sign),
                       std::bit_cast<pack<float>>(bits(x.low) ^ sign))
      .a;
}
/// log(1 + e^x) within 9u (docs/accuracy.md) for every x; where e^x is no normal number, within 2
/// times the smallest subnormal one. NaN stays NaN.
[[gnu::always_inline]] inline pack<float> softplus_of_pack(const split_pack& x) {
  using V = pack<float>;
  const V z = decay_of_size(x);
  // As reduced_log1p.
  const V s = z / (z + broadcast<V>(2.0F)), square = s * s;
  V p = broadcast<V>(2.0F / 15);
  p = p * square + broadcast<V>(2.0F / 13);
  p = p * square + broadcast<V>(2.0F / 11);
  p = p * square + broadcast<V>(2.0F / 9);
  p = p * square + broadcast<V>(2.0F / 7);
  p = p * square + broadcast<V>(2.0F / 5);
  p = p * square + broadcast<V>(2.0F / 3);
  const V log1p = (p * square) * s + (s + s);
  // Next to infinity the rest is no number.
  const auto positive = x.high > V{};
  const V rest = positive && x.low == x.low ? x.low : V{};
  const V sum = (positive ? x.high : V{}) + (rest + log1p);
  return x.high == x.high ? sum : x.high;
}
/// 1 / (1 + e^-x) within 5u for every x; where e^x is no normal number, within 2 times the smallest
/// subnormal one. NaN stays NaN.
[[gnu::always_inline]] inline pack<float> logistic_of_pack(const split_pack& x) {
  using V = pack<float>;
  const V z = decay_of_size(x), one = broadcast<V>(1.0F);
  const V result = (x.high < V{} ? z : one) / (one + z);
  return x.high == x.high ? result : x.high;
}
#endif

// One function each for all callers, so that the bits do not depend on the loop.

/// What is made of a row of step sizes; what is left out (nullptr) is not written.
template <class Real, class Param>
struct step_outputs {
  Real* dt = nullptr;
  row<const Param> rates{};
  Real* logs = nullptr;  ///< -rate dt
};

/// dt = clamp(softplus(x or -x), lowest, highest) in float; x float or double, below the largest
/// float in size or infinite. No array may be another but for x = dt.
template <class Argument>
[[gnu::noinline]] void softplus_steps(const Argument* x, bool negated, float lowest, float highest,
                                      index_t count, const step_outputs<float, double>& to) {
  const float sign = negated ? -1.0F : 1.0F;
#if defined(__GNUC__)
  using V = pack<float>;
  const V low = broadcast<V>(lowest), high = broadcast<V>(highest);
  each_pack(
      x, sign,
      count, [&](index_t i, index_t n, const split_pack& at) __attribute__((always_inline)) {
        V dt = softplus_of_pack(at);
        dt = dt < low ? low : dt;
        dt = dt > high ? high : dt;
        if (to.dt != nullptr) store_some(to.dt + i, dt, n);
        if (to.logs == nullptr) return;
        const V rate = to.rates.stride == 0 ? broadcast<V>(static_cast<float>(*to.rates.data))
                                            : narrowed(load_wide_some(to.rates.data + i, n));
        store_some(to.logs + i, V(-rate * dt), n);
      });
#else
  for (index_t i = 0; i < count; ++i) {
    const auto dt = static_cast<float>(softplus_of(static_cast<double>(sign * x[i])));
    const float kept = dt < lowest ? lowest : dt > highest ? highest : dt;
    if (to.dt != nullptr) to.dt[i] = kept;
    if (to.logs != nullptr)
      to.logs[i] = -static_cast<float>(to.rates.data[i * to.rates.stride]) * kept;
  }
#endif
}

/// factor / (1 + e^-x) in float; x as above, and no other array than `to` but for itself.
template <class Argument>
[[gnu::noinline]] void logistic_gates(const Argument* x, float factor, index_t count, float* to) {
#if defined(__GNUC__)
  using V = pack<float>;
  const V by = broadcast<V>(factor);
  each_pack(
      x, 1.0F,
      count, [&](index_t i, index_t n, const split_pack& at) __attribute__((always_inline)) {
        store_some(to + i, V(by * logistic_of_pack(at)), n);
      });
#else
  for (index_t i = 0; i < count; ++i)
    to[i] = factor * static_cast<float>(logistic(static_cast<double>(x[i])));
#endif
}

}  // namespace ebb::inline EBB_ABI::detail
