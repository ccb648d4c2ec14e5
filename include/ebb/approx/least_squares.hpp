// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/least_squares.hpp
/// @brief  Small dense least-squares problems in any precision.
#pragma once

#include <cstddef>
#include <vector>

#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// The x that makes |A x - b| least, by Householder reflections.
///
/// @param rows  at least as many rows of A as it has columns, which must be independent
/// Cost: O(rows columns^2).
template <real_scalar Real>
std::vector<Real> least_squares(std::vector<std::vector<Real>> rows, std::vector<Real> b) {
  using ebb::detail::sqrt;
  const std::size_t m = rows.size(), n = rows.front().size();
  for (std::size_t k = 0; k < n; ++k) {
    Real squares(0);
    for (std::size_t i = k; i < m; ++i) squares += Real(rows[i][k] * rows[i][k]);
    const Real size = rows[k][k] > Real(0) ? Real(-sqrt(squares)) : Real(sqrt(squares));
    if (size == Real(0)) continue;
    // v = column - size e_k; I - v v^T / (-size v_k) takes the column to size e_k.
    const Real pivot = Real(rows[k][k] - size), scale = Real(size * pivot);
    rows[k][k] = pivot;
    const auto reflect = [&](auto&& entry) {
      Real dot(0);
      for (std::size_t i = k; i < m; ++i) dot += Real(rows[i][k] * entry(i));
      dot = Real(dot / scale);
      for (std::size_t i = k; i < m; ++i) entry(i) += Real(dot * rows[i][k]);
    };
    for (std::size_t j = k + 1; j < n; ++j)
      reflect([&](std::size_t i) -> Real& { return rows[i][j]; });
    reflect([&](std::size_t i) -> Real& { return b[i]; });
    rows[k][k] = size;
  }
  std::vector<Real> x(n, Real(0));
  for (std::size_t i = n; i-- > 0;) {
    if (rows[i][i] == Real(0)) continue;
    x[i] = b[i];
    for (std::size_t j = i + 1; j < n; ++j) x[i] -= Real(rows[i][j] * x[j]);
    x[i] = Real(x[i] / rows[i][i]);
  }
  return x;
}

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
