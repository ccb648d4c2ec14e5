// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/storage.hpp
/// @brief  16-bit storage for data: bfloat16 and half. Arithmetic happens in float or wider.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <ebb/core/config.hpp>
#include <ebb/core/scalar.hpp>

namespace ebb::inline EBB_ABI {
namespace detail {

/// A float that rounds to any type of at most 21 digits as x itself does: x cut to float, its last
/// bit set if anything was lost (rounding to odd), so that a second rounding does no harm.
constexpr float round_to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  const auto back = static_cast<double>(nearest);
  if (!(back > x) && !(back < x)) return nearest;  // exact, or NaN
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  const bool away = x < 0 ? back < x : back > x;
  if (away) bits -= 1;  // towards zero, from infinity to the largest number too
  return std::bit_cast<float>(bits | 1u);
}
constexpr float round_to_odd(float x) { return x; }
template <class Number>
constexpr float round_to_odd(Number x) {
  return round_to_odd(static_cast<double>(x));
}

}  // namespace detail

/// The upper half of a float: 8 digits (u = 2^-8), the exponents of float.
///
/// Conversion to it rounds once to nearest, ties to even, from float and from double; NaN stays
/// NaN. Same size and bits as the types of that name elsewhere: views of their memory may be cast.
class bfloat16 {
 public:
  constexpr bfloat16() = default;
  template <class Number>
  requires std::is_arithmetic_v<Number>
  explicit constexpr bfloat16(Number value) {
    const auto word = std::bit_cast<std::uint32_t>(detail::round_to_odd(value));
    const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
    const std::uint32_t rounded = word + 0x7fffu + ((word >> 16) & 1u);
    bits_ = static_cast<std::uint16_t>(is_nan ? (word >> 16) | 0x40u : rounded >> 16);
  }
  template <std::floating_point Real>
  explicit constexpr operator Real() const {
    return static_cast<Real>(std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16));
  }

  static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 result;
    result.bits_ = bits;
    return result;
  }
  constexpr std::uint16_t bits() const { return bits_; }

  /// As of the numbers they stand for: NaN equals nothing, -0 equals 0.
  friend bool operator==(const bfloat16& x, const bfloat16& y) {
    return static_cast<float>(x) == static_cast<float>(y);
  }

 private:
  std::uint16_t bits_ = 0;
};

/// IEEE 754 binary16: 11 digits (u = 2^-11), normal from 6.1e-5 to 65504, subnormals below.
///
/// Conversion to it rounds once to nearest, ties to even, from float and from double; above the
/// largest number it gives infinity. Same size and bits as the types of that name elsewhere.
class half {
 public:
  constexpr half() = default;
  template <class Number>
  requires std::is_arithmetic_v<Number>
  explicit constexpr half(Number value) {
    const auto word = std::bit_cast<std::uint32_t>(detail::round_to_odd(value));
    const std::uint32_t sign = (word >> 16) & 0x8000u, size = word & 0x7fffffffu;
    std::uint32_t result = 0;
    if (size > 0x7f800000u) {
      result = 0x7e00u | ((size >> 13) & 0x3ffu);  // NaN
    } else if (size >= 0x477ff000u) {
      result = 0x7c00u;  // 65520 and above, infinity included
    } else if (size >= 0x38800000u) {
      result = (size - 0x38000000u + 0xfffu + ((size >> 13) & 1u)) >> 13;
    } else {
      // Subnormal: adding 1/2 puts the last bit of half at the last bit of the sum's digits.
      const float sum = std::bit_cast<float>(size) + 0.5f;
      result = std::bit_cast<std::uint32_t>(sum) - 0x3f000000u;
    }
    bits_ = static_cast<std::uint16_t>(sign | result);
  }
  template <std::floating_point Real>
  explicit constexpr operator Real() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits_ & 0x8000u) << 16;
    const std::uint32_t size = bits_ & 0x7fffu;
    float value = 0;
    if (size >= 0x7c00u) {
      value = std::bit_cast<float>(0x7f800000u | (size << 13));
    } else if (size >= 0x400u) {
      value = std::bit_cast<float>((size << 13) + 0x38000000u);
    } else {
      value = static_cast<float>(size) * 0x1p-24f;
    }
    const auto bits = std::bit_cast<std::uint32_t>(value) | sign;
    return static_cast<Real>(std::bit_cast<float>(bits));
  }

  static constexpr half from_bits(std::uint16_t bits) {
    half result;
    result.bits_ = bits;
    return result;
  }
  constexpr std::uint16_t bits() const { return bits_; }

  /// As of the numbers they stand for: NaN equals nothing, -0 equals 0.
  friend bool operator==(const half& x, const half& y) {
    return static_cast<float>(x) == static_cast<float>(y);
  }

 private:
  std::uint16_t bits_ = 0;
};

template <>
struct default_state<bfloat16> {
  using type = float;
};
template <>
struct default_state<half> {
  using type = float;
};

}  // namespace ebb::inline EBB_ABI

template <>
class std::numeric_limits<ebb::bfloat16> {
 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false,
                        has_infinity = true, has_quiet_NaN = true;
  static constexpr int digits = 8, digits10 = 2;
  static constexpr ebb::bfloat16 epsilon() { return ebb::bfloat16::from_bits(0x3c00); }
  static constexpr ebb::bfloat16 min() { return ebb::bfloat16::from_bits(0x0080); }
  static constexpr ebb::bfloat16 max() { return ebb::bfloat16::from_bits(0x7f7f); }
  static constexpr ebb::bfloat16 lowest() { return ebb::bfloat16::from_bits(0xff7f); }
  static constexpr ebb::bfloat16 denorm_min() { return ebb::bfloat16::from_bits(0x0001); }
  static constexpr ebb::bfloat16 infinity() { return ebb::bfloat16::from_bits(0x7f80); }
  // NOLINTNEXTLINE(readability-identifier-naming): the name is the standard\'s
  static constexpr ebb::bfloat16 quiet_NaN() { return ebb::bfloat16::from_bits(0x7fc0); }
};

template <>
class std::numeric_limits<ebb::half> {
 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false,
                        has_infinity = true, has_quiet_NaN = true;
  static constexpr int digits = 11, digits10 = 3;
  static constexpr ebb::half epsilon() { return ebb::half::from_bits(0x1400); }
  static constexpr ebb::half min() { return ebb::half::from_bits(0x0400); }
  static constexpr ebb::half max() { return ebb::half::from_bits(0x7bff); }
  static constexpr ebb::half lowest() { return ebb::half::from_bits(0xfbff); }
  static constexpr ebb::half denorm_min() { return ebb::half::from_bits(0x0001); }
  static constexpr ebb::half infinity() { return ebb::half::from_bits(0x7c00); }
  // NOLINTNEXTLINE(readability-identifier-naming): the name is the standard\'s
  static constexpr ebb::half quiet_NaN() { return ebb::half::from_bits(0x7e00); }
};
