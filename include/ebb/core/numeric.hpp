// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/numeric.hpp
/// @brief  What a real number is, and the few elementary functions every stage needs.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>

#include <ebb/core/config.hpp>

namespace ebb::inline EBB_ABI {

/// Counts, offsets and strides: signed and 64-bit, so that tensors above 2^31 elements work.
using index_t = std::ptrdiff_t;
static_assert(sizeof(index_t) >= 8, "ebb::index_t: a 64-bit platform is needed");

namespace detail {
/// Whether count = a b, for counts a, b >= 0 whose product may be beyond every integer.
constexpr bool is_product(std::size_t count, index_t a, index_t b) {
  if (a == 0 || b == 0) return count == 0;
  const auto n = static_cast<index_t>(count);
  return n % a == 0 && n / a == b;
}

// One name for the built-in types and, by argument-dependent lookup, for multiprecision ones.
using std::abs;
using std::exp;
using std::expm1;
using std::isfinite;
using std::log;
using std::log1p;
using std::pow;
using std::sqrt;

template <class T>
concept elementary = requires(const T& x) {
  { exp(x) } -> std::convertible_to<T>;
  { expm1(x) } -> std::convertible_to<T>;
  { log(x) } -> std::convertible_to<T>;
  { log1p(x) } -> std::convertible_to<T>;
  { sqrt(x) } -> std::convertible_to<T>;
  { abs(x) } -> std::convertible_to<T>;
};
}  // namespace detail

/// A real floating-point number: float, double, long double, or a multiprecision type with
/// `std::numeric_limits`, arithmetic, and exp, log and their relatives found by lookup.
template <class T>
concept real_scalar =
    std::numeric_limits<T>::is_specialized && !std::numeric_limits<T>::is_integer &&
    std::constructible_from<T, double> && detail::elementary<T> && requires(T x, const T& y) {
  { x + y } -> std::convertible_to<T>;
  { x - y } -> std::convertible_to<T>;
  { x* y } -> std::convertible_to<T>;
  { x / y } -> std::convertible_to<T>;
  { x < y } -> std::convertible_to<bool>;
  x += y;
  x *= y;
};

/// Unit roundoff u of a real type: the relative error of one correctly rounded operation.
template <real_scalar Real>
inline const Real unit_roundoff = std::numeric_limits<Real>::epsilon() / Real(2);

/// Whether a type is multiprecision, so that its functions cost a thousand times a built-in type's.
template <real_scalar Real>
inline constexpr bool many_digits = std::numeric_limits<Real>::digits10 > 20;

/// log(1 + e^x) without overflow.
///
/// Accuracy: about 2 ulp for every finite x; x = -inf gives 0, x = +inf gives inf.
template <real_scalar Real>
Real softplus(const Real& x) {
  using detail::exp, detail::log1p;
  return x > Real(0) ? Real(x + log1p(Real(exp(Real(-x))))) : Real(log1p(Real(exp(x))));
}

/// The x with softplus(x) = y:  x = y + log(1 - e^-y) = log(expm1(y)).
///
/// @param y  > 0 (0 gives -inf)
/// Accuracy: relative error of e^x below 4 ulp, for tiny y (x near log y) and for large (x near y).
template <real_scalar Real>
Real inverse_softplus(const Real& y) {
  using detail::exp, detail::expm1, detail::log, detail::log1p;
  // Above log 2 the first form loses nothing; below it expm1 carries the leading digits.
  if (y > Real(1)) return Real(y + log1p(Real(-exp(Real(-y)))));
  return Real(log(Real(expm1(y))));
}

/// The logistic function 1 / (1 + e^-x), the derivative of softplus; no overflow.
template <real_scalar Real>
Real logistic(const Real& x) {
  using detail::exp;
  if (x >= Real(0)) return Real(Real(1) / (Real(1) + exp(Real(-x))));
  const Real e = exp(x);
  return Real(e / (Real(1) + e));
}

}  // namespace ebb::inline EBB_ABI
