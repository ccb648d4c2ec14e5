// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/scaled.hpp
/// @brief  Numbers with an exponent of their own, for products that leave the range of any type.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>

#include <ebb/core/scalar.hpp>
#include <ebb/core/view.hpp>
#include <ebb/recurrence/update.hpp>

namespace ebb::inline EBB_ABI::detail {

/// The number value 2^exponent. Products of decays leave the range of any type: exp(-1)^10^6 is
/// 2^-1442695, and yet a product of few decays may meet a state of 10^30.
template <class Wide>
struct scaled {
  using Real = real_of_t<Wide>;

  Wide value{1};
  index_t exponent = 0;

  static Real size(const Wide& x) {
    if constexpr (is_complex<Wide>)
      return std::max(std::abs(x.real()), std::abs(x.imag()));
    else
      return std::abs(x);
  }
  static Wide moved(const Wide& x, index_t by) {
    const auto steps = static_cast<int>(std::clamp<index_t>(by, -100000, 100000));
    if constexpr (is_complex<Wide>)
      return Wide(std::ldexp(x.real(), steps), std::ldexp(x.imag(), steps));
    else
      return std::ldexp(x, steps);
  }

  /// The same number with a value of about 1. Zero, NaN and infinity stay as they are.
  void settle() {
    const Real now = size(value);
    if (!(now > 0) || !(now <= std::numeric_limits<Real>::max())) return;
    int by = 0;
    (void)std::frexp(now, &by);
    value = moved(value, -by);
    exponent += by;
  }
  /// times a number, within a rounding (complex: those of a product).
  void multiply(const Wide& by) {
    scaled other{by, 0};
    other.settle();
    multiply(other);
  }
  void multiply(const scaled& by) {
    value = product(value, by.value);
    exponent += by.exponent;
    settle();
  }
  /// To the power n >= 1. A factor's relative error counts n times, each product once.
  scaled power(index_t n) const {
    const Real estimate = static_cast<Real>(n) * std::log(std::abs(value));
    if (exponent == 0 && estimate < gone_below) return value == Wide(0) ? *this : gone();
    if (exponent == 0 && estimate <= 0 && estimate > gone_below / 4) {
      Wide all(1), square = value;  // no power on the way is smaller than the result
      for (; n > 0; n /= 2) {
        if (n % 2 == 1) all = product(all, square);
        square = product(square, square);
      }
      return {all, 0};
    }
    scaled result, square = *this;
    square.settle();
    for (; n > 0; n /= 2) {
      if (n % 2 == 1) result.multiply(square);
      if (n > 1) square.multiply(square);
    }
    return result;
  }
  /// The product with a finite number: a rounding, and one where that underflows. Infinity and NaN
  /// stay what they are, but that 0 times infinity is NaN.
  Wide times(const Wide& x) const {
    const Wide plain = product(value, x);
    const Real at = size(plain);
    using limits = std::numeric_limits<Real>;
    if (exponent == 0 && at > limits::min() / limits::epsilon() && at <= limits::max())
      return plain;
    scaled all{x, 0};
    all.settle();
    all.value = product(value, all.value);
    return moved(all.value, exponent + all.exponent);
  }

  /// So small that only infinity is felt to be multiplied by it; and what logarithms are such.
  static scaled gone() { return {Wide(1), -100000}; }
  static constexpr Real gone_below = -Real(1.5) * std::numeric_limits<Real>::max_exponent;

  /// exp(high + low), low small beside 1, within 13 roundings whatever the size of the logarithm:
  /// below the range the fourth power of an exponential that stays in it.
  static scaled exponential(const Real& high, const Real& low) {
    if (high == -std::numeric_limits<Real>::infinity()) return {Wide(0), 0};
    if (high < gone_below) return gone();
    const bool inside = !(high < Real(-0.6) * std::numeric_limits<Real>::max_exponent);
    const Wide some = std::exp(inside ? high : high / 4);
    scaled result = inside ? scaled{some, 0} : scaled{some, 0}.power(4);
    result.value += result.value * low;
    return result;
  }
};

}  // namespace ebb::inline EBB_ABI::detail
