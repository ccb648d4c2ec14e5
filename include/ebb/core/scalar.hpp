// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/scalar.hpp
/// @brief  What states and decays may be made of: real numbers, and complex ones.
#pragma once

#include <cmath>
#include <complex>
#include <concepts>
#include <type_traits>

#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {

/// Whether a type is std::complex of something.
template <class T>
inline constexpr bool is_complex = false;
template <class Real>
inline constexpr bool is_complex<std::complex<Real>> = true;

/// A real number, or a complex one in Cartesian form.
template <class T>
concept scalar = real_scalar<T> || is_complex<T>;

/// The real type behind a scalar: Real for Real and for std::complex<Real>.
template <class T>
struct real_of {
  using type = T;
};
template <class Real>
struct real_of<std::complex<Real>> {
  using type = Real;
};
template <class T>
using real_of_t = typename real_of<T>::type;

/// The type of state that goes with data of type T: at least 32-bit float. That of bfloat16 and
/// half is float (core/storage.hpp).
///
/// For a storage type of your own specialise it. Nothing but static_cast to this state and back is
/// used of your type then; where a call names a wider state, static_cast to that and back.
template <class T>
struct default_state;
template <std::floating_point T>
struct default_state<T> {
  using type = T;
};
template <std::floating_point Real>
struct default_state<std::complex<Real>> {
  using type = std::complex<Real>;
};
template <class T>
using default_state_t = typename default_state<T>::type;

namespace detail {
/// A stored number as one to calculate with: by way of its state, where it has one.
template <class T>
constexpr auto loaded(const T& x) {
  if constexpr (requires { typename default_state<T>::type; })
    return static_cast<default_state_t<T>>(x);
  else
    return x;
}

/// The real part, also of a real number of any type.
template <class T>
constexpr auto real_part(const T& x) {
  if constexpr (is_complex<T>)
    return x.real();
  else
    return x;
}

/// A number in another type, rounded; a real one becomes complex with imaginary part 0.
template <class To, class From>
constexpr To scalar_as(const From& x) {
  static_assert(is_complex<To> || !is_complex<From>,
                "ebb: complex rates or decays need complex data and states");
  if constexpr (is_complex<To> && !is_complex<From>)
    return To(static_cast<real_of_t<To>>(loaded(x)));
  else
    return static_cast<To>(loaded(x));
}

/// The complex conjugate; a real number is its own.
template <class T>
constexpr T conjugate(const T& x) {
  if constexpr (is_complex<T>)
    return T(x.real(), -x.imag());
  else
    return x;
}

/// a b + c, fused where the processor can. A compiler that may fuse chooses which product of a sum
/// it takes, differently in each loop it makes; asked for by name the bits are always the same.
template <class Real>
constexpr Real multiply_add(const Real& a, const Real& b, const Real& c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  if constexpr (std::is_same_v<Real, float> || std::is_same_v<Real, double>)
    return std::fma(a, b, c);
#endif
  return Real(a * b + c);
}

/// a b by the schoolbook formula, without the recovery of infinities that costs std::complex a
/// branch and a call for each product.
template <class T>
constexpr T product(const T& a, const T& b) {
  if constexpr (is_complex<T>)
    return T(multiply_add(a.real(), b.real(), -(a.imag() * b.imag())),
             multiply_add(a.real(), b.imag(), a.imag() * b.real()));
  else
    return T(a * b);
}
}  // namespace detail

}  // namespace ebb::inline EBB_ABI
