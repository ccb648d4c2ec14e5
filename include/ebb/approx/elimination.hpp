// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/elimination.hpp
/// @brief  Small dense linear systems in any precision (Eigen does not take every scalar).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// P A = L U of a square matrix, with row pivoting.
///
/// Cost: O(n^3) once, O(n^2) a solution.
template <real_scalar Real>
class elimination {
 public:
  /// @param rows  n rows of n values
  explicit elimination(std::vector<std::vector<Real>> rows) : rows_(std::move(rows)) {
    using ebb::detail::abs;
    const std::size_t n = rows_.size();
    for (std::size_t i = 0; i < n; ++i) order_.push_back(i);
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t pivot = k;
      for (std::size_t i = k + 1; i < n; ++i)
        if (abs(rows_[i][k]) > abs(rows_[pivot][k])) pivot = i;
      std::swap(rows_[k], rows_[pivot]);
      std::swap(order_[k], order_[pivot]);
      const Real size = abs(rows_[k][k]);
      if (k == 0 || size < smallest_pivot_) smallest_pivot_ = size;
      if (size == Real(0)) return;
      for (std::size_t i = k + 1; i < n; ++i) {
        const Real factor = Real(rows_[i][k] / rows_[k][k]);
        rows_[i][k] = factor;
        for (std::size_t j = k + 1; j < n; ++j) rows_[i][j] -= Real(factor * rows_[k][j]);
      }
    }
  }

  /// 0 for a singular matrix, which must not be solved with.
  const Real& smallest_pivot() const { return smallest_pivot_; }

  /// A x = b
  std::vector<Real> solve(const std::vector<Real>& b) const {
    const std::size_t n = rows_.size();
    std::vector<Real> x(n);
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = b[order_[i]];
      for (std::size_t j = 0; j < i; ++j) x[i] -= Real(rows_[i][j] * x[j]);
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t j = i + 1; j < n; ++j) x[i] -= Real(rows_[i][j] * x[j]);
      x[i] = Real(x[i] / rows_[i][i]);
    }
    return x;
  }

  /// A^T x = b
  std::vector<Real> solve_transposed(std::vector<Real> b) const {
    const std::size_t n = rows_.size();
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) b[i] -= Real(rows_[j][i] * b[j]);
      b[i] = Real(b[i] / rows_[i][i]);
    }
    for (std::size_t i = n; i-- > 0;)
      for (std::size_t j = i + 1; j < n; ++j) b[i] -= Real(rows_[j][i] * b[j]);
    std::vector<Real> x(n);
    for (std::size_t i = 0; i < n; ++i) x[order_[i]] = b[i];
    return x;
  }

 private:
  std::vector<std::vector<Real>> rows_;
  std::vector<std::size_t> order_;
  Real smallest_pivot_{0};
};

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
