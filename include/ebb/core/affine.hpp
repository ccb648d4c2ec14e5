// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/affine.hpp
/// @brief  The affine map h -> a h + b, whose composition is the scan's operator.
#pragma once

#include <ebb/core/config.hpp>

namespace ebb::inline EBB_ABI {

/// The affine map h -> a h + b: one step of the recurrence, or a run of steps taken at once.
template <class T>
struct affine {
  T a = T(1);
  T b = T(0);

  /// The state after this map.
  constexpr T operator()(const T& h) const { return T(a * h + b); }

  friend constexpr bool operator==(const affine&, const affine&) = default;
};

/// The map that does `first`, then `second`:  (a1, b1) then (a2, b2) = (a1 a2, a2 b1 + b2).
///
/// Associative up to rounding, with the neutral element (1, 0); not commutative: the order of the
/// operands is the order of time.
template <class T>
constexpr affine<T> then(const affine<T>& first, const affine<T>& second) {
  return {T(first.a * second.a), T(second.a * first.b + second.b)};
}

}  // namespace ebb::inline EBB_ABI
