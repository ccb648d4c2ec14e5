// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/chebyshev.hpp
/// @brief  Chebyshev interpolation: nodes, coefficients, values, and the ellipse that bounds its error.
#pragma once

#include <cmath>
#include <numbers>
#include <span>

#include <Eigen/Core>

#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// Node i of n on [-1, 1], ascending: x_i = -cos((2i + 1) pi / (2n)), the zeros of T_n.
inline double chebyshev_node(index_t i, index_t n) {
  return -std::cos((2.0 * static_cast<double>(i) + 1.0) * std::numbers::pi /
                   (2.0 * static_cast<double>(n)));
}

/// Coefficients of the interpolants through the values at the n nodes, one column a function.
///
///   p(x) = sum_{m=0}^{n-1} c_m T_m(x),   c_m = (2 - [m = 0]) / n sum_i v_i T_m(x_i)
///
/// Shapes: values (n x functions), result likewise. Cost: O(n^2 functions).
/// Accuracy: error of a value of p below about n u max|v|.
inline Eigen::MatrixXd chebyshev_coefficients(const Eigen::MatrixXd& values) {
  const Eigen::Index n = values.rows();
  Eigen::MatrixXd transform(n, n);
  const double count = static_cast<double>(n);
  for (Eigen::Index m = 0; m < n; ++m)
    for (Eigen::Index i = 0; i < n; ++i) {
      // Reducing m (2i + 1) to one period in integers keeps the cosine accurate for large n.
      const Eigen::Index turn = (m * (2 * (n - 1 - i) + 1)) % (4 * n);
      transform(m, i) = (m == 0 ? 1.0 : 2.0) / count *
                        std::cos(static_cast<double>(turn) * std::numbers::pi / (2.0 * count));
    }
  return transform * values;
}

/// p(x) by Clenshaw's recurrence. Cost: O(n). Accuracy: about n u sum|c| in the worst case.
inline double chebyshev_value(std::span<const double> coefficients, double x) {
  double b1 = 0, b2 = 0;
  for (std::size_t m = coefficients.size(); m-- > 1;) {
    const double b = coefficients[m] + 2 * x * b1 - b2;
    b2 = b1;
    b1 = b;
  }
  return coefficients.empty() ? 0 : coefficients[0] + x * b1 - b2;
}

/// The rho > 1 of the Bernstein ellipse of [-1, 1] with the given semi-minor axis > 0.
///
/// A function analytic and bounded by M inside it differs from its interpolant through n Chebyshev
/// nodes by at most 4 M rho^-n / (rho - 1) on [-1, 1].
/// Source: L. N. Trefethen, Approximation Theory and Approximation Practice, Theorem 8.2 (nodes of
///   either kind: each aliased coefficient is counted at most twice).
inline double bernstein_ellipse(double semi_minor_axis) {
  return semi_minor_axis + std::sqrt(1 + semi_minor_axis * semi_minor_axis);
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
