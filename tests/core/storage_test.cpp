// SPDX-License-Identifier: Apache-2.0
// 16-bit storage: every pattern, and every place between two neighbours, by the definition of
// rounding.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include <ebb/core/storage.hpp>

namespace {

template <class Stored>
double value_of(std::uint32_t bits) {
  return static_cast<double>(Stored::from_bits(static_cast<std::uint16_t>(bits)));
}

// By IEEE's formula, from the fields of the pattern.
template <class Stored>
double by_formula(std::uint32_t bits) {
  constexpr int digits = std::numeric_limits<Stored>::digits;  // 8 or 11
  constexpr int bias = digits == 8 ? 127 : 15;
  const std::uint32_t field = 1u << (digits - 1), low = bits & (field - 1);
  const auto exponent = static_cast<int>((bits & 0x7fffu) >> (digits - 1));
  const double sign = (bits & 0x8000u) != 0 ? -1 : 1;
  if (exponent == 2 * bias + 1) return low == 0 ? sign * HUGE_VAL : std::nan("");
  const double significand = exponent == 0 ? low : field + low;
  return sign * std::ldexp(significand, (exponent == 0 ? 1 : exponent) - bias - (digits - 1));
}

template <class Stored, class Real>
std::uint32_t stored(Real x) {
  return Stored(x).bits();
}

TEST_CASE_TEMPLATE("every pattern is the number that IEEE says, and comes back", Stored,
                   ebb::bfloat16, ebb::half) {
  bool values = true, back = true;
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const double x = value_of<Stored>(bits), right = by_formula<Stored>(bits);
    if (std::isnan(right)) {
      values = values && std::isnan(x);
      back = back && std::isnan(static_cast<float>(Stored(x)));
      continue;
    }
    values = values && x == right && std::signbit(x) == std::signbit(right);
    back = back && stored<Stored>(x) == bits && stored<Stored>(static_cast<float>(x)) == bits;
  }
  CHECK(values);
  CHECK(back);
}

TEST_CASE_TEMPLATE("rounding is to nearest, ties to even, once", Stored, ebb::bfloat16, ebb::half) {
  const std::uint32_t largest = std::numeric_limits<Stored>::max().bits();
  const double spacing = value_of<Stored>(largest) - value_of<Stored>(largest - 1);
  int wrong = 0;
  for (const std::uint32_t sign : {0u, 0x8000u})
    for (std::uint32_t low = 0; low <= largest; ++low) {
      // Above the largest number stands the one that the next exponent would have; it is infinity.
      const double a = value_of<Stored>(low);
      const double b = low == largest ? a + spacing : value_of<Stored>(low + 1);
      const double middle = (a + b) / 2, s = sign != 0 ? -1 : 1;
      const std::uint32_t even = low % 2 == 0 ? low : low + 1;
      const auto expect = [&](auto x, std::uint32_t right) {
        wrong += stored<Stored>(x) != (sign | right);
      };
      expect(s * middle, even);
      expect(s * std::nextafter(middle, HUGE_VAL), low + 1);
      expect(s * std::nextafter(middle, 0.0), low);
      expect(s * std::nextafter(a, HUGE_VAL), low);
      expect(s * std::nextafter(b, 0.0), low + 1);
      const auto narrow = static_cast<float>(middle);
      if (static_cast<double>(narrow) != middle) continue;  // below float's own range
      expect(static_cast<float>(s) * narrow, even);
      expect(static_cast<float>(s) * std::nextafter(narrow, HUGE_VALF), low + 1);
      expect(static_cast<float>(s) * std::nextafter(narrow, 0.0f), low);
    }
  CHECK(wrong == 0);
  CHECK(stored<Stored>(1e300) == std::numeric_limits<Stored>::infinity().bits());
  CHECK(stored<Stored>(-HUGE_VAL) == (0x8000u | std::numeric_limits<Stored>::infinity().bits()));
  CHECK(static_cast<float>(Stored(3)) == 3);
  CHECK(Stored(0.0) == Stored(-0.0));
  CHECK_FALSE(std::numeric_limits<Stored>::quiet_NaN() == std::numeric_limits<Stored>::quiet_NaN());
}

TEST_CASE_TEMPLATE("limits", Stored, ebb::bfloat16, ebb::half) {
  using limits = std::numeric_limits<Stored>;
  const int digits = limits::digits;
  CHECK(static_cast<double>(limits::epsilon()) == std::ldexp(1.0, 1 - digits));
  CHECK(static_cast<double>(limits::denorm_min()) == value_of<Stored>(1));
  CHECK(static_cast<double>(limits::min()) == std::ldexp(value_of<Stored>(1), digits - 1));
  CHECK(static_cast<double>(limits::lowest()) == -static_cast<double>(limits::max()));
  CHECK(std::isinf(static_cast<double>(limits::infinity())));
}

}  // namespace
