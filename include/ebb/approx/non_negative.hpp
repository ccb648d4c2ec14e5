// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/non_negative.hpp
/// @brief  Least squares with coefficients that may not be negative.
#pragma once

#include <algorithm>
#include <vector>

#include <Eigen/QR>

#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// The x >= 0 that minimises |A x - b|_2, by the active set method.
///
/// Shapes: A (m x n), m >= n; b (m); x (n). Columns that depend on others in the arithmetic of Real
/// stay at 0. Cost: about n QR factorisations of A's columns. Accuracy: backward stable for the
/// columns with x > 0; others have a gradient below n u |A_k| |b|.
/// Source: C. L. Lawson and R. J. Hanson, Solving Least Squares Problems, chapter 23.
template <class Real>
Eigen::Vector<Real, Eigen::Dynamic> non_negative_least_squares(
    const Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>& a,
    const Eigen::Vector<Real, Eigen::Dynamic>& b) {
  using vector = Eigen::Vector<Real, Eigen::Dynamic>;
  using matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic>;
  const Eigen::Index n = a.cols();
  vector x = vector::Zero(n);
  std::vector<char> free(static_cast<std::size_t>(n), 0), refused = free;
  const auto solve = [&](std::vector<Eigen::Index>& chosen) {
    chosen.clear();
    for (Eigen::Index k = 0; k < n; ++k)
      if (free[static_cast<std::size_t>(k)]) chosen.push_back(k);
    matrix part(a.rows(), static_cast<Eigen::Index>(chosen.size()));
    for (std::size_t j = 0; j < chosen.size(); ++j)
      part.col(static_cast<Eigen::Index>(j)) = a.col(chosen[j]);
    return vector(part.colPivHouseholderQr().solve(b));
  };
  const Real slack = Real(static_cast<double>(n) + 8) * unit_roundoff<Real> * b.norm();
  for (Eigen::Index round = 0; round < 3 * n + 8; ++round) {
    const vector rest = b - a * x;
    Eigen::Index enters = -1;
    Real steepest(0);
    for (Eigen::Index k = 0; k < n; ++k) {
      if (free[static_cast<std::size_t>(k)] || refused[static_cast<std::size_t>(k)]) continue;
      const Real size = a.col(k).norm();
      const Real gradient = size > Real(0) ? Real(a.col(k).dot(rest) / size) : Real(0);
      if (gradient > slack && gradient > steepest) steepest = gradient, enters = k;
    }
    if (enters < 0) return x;
    free[static_cast<std::size_t>(enters)] = 1;
    std::vector<Eigen::Index> chosen;
    vector y = solve(chosen);
    for (std::size_t j = 0; j < chosen.size(); ++j)  // rounding, not the gradient, chose it
      if (chosen[j] == enters && !(y(static_cast<Eigen::Index>(j)) > Real(0)))
        free[static_cast<std::size_t>(enters)] = 0, refused[static_cast<std::size_t>(enters)] = 1;
    if (!free[static_cast<std::size_t>(enters)]) continue;
    while (y.minCoeff() <= Real(0)) {
      Real step(1);
      for (std::size_t j = 0; j < chosen.size(); ++j) {
        const Real to = y(static_cast<Eigen::Index>(j)), from = x(chosen[j]);
        if (to <= Real(0) && Real(from / (from - to)) < step) step = Real(from / (from - to));
      }
      for (std::size_t j = 0; j < chosen.size(); ++j) {
        const Real to = y(static_cast<Eigen::Index>(j)), from = x(chosen[j]);
        const bool leaves = to <= Real(0) && Real(from / (from - to)) <= step;
        x(chosen[j]) = leaves ? Real(0) : Real(from + step * (to - from));
        if (leaves) free[static_cast<std::size_t>(chosen[j])] = 0;
      }
      y = solve(chosen);
      if (chosen.empty()) break;
    }
    x.setZero();
    for (std::size_t j = 0; j < chosen.size(); ++j) x(chosen[j]) = y(static_cast<Eigen::Index>(j));
    std::fill(refused.begin(), refused.end(), char{0});
  }
  return x;
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
