// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/chebyshev.hpp
/// @brief  Chebyshev interpolation: nodes, coefficients, values, and the bound of its error.
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
  const double count = static_cast<double>(n);
  // cos(pi j / (2n)) for one period: reducing the angles in integers keeps them accurate, and n^2
  // cosines would cost more than the product.
  Eigen::VectorXd cosines(4 * n);
  for (Eigen::Index j = 0; j < 4 * n; ++j)
    cosines[j] = std::cos(static_cast<double>(j) * std::numbers::pi / (2.0 * count));
  Eigen::MatrixXd transform(n, n);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index m = 0; m < n; ++m)
      transform(m, i) = (m == 0 ? 1.0 : 2.0) / count * cosines[m * (2 * (n - 1 - i) + 1) % (4 * n)];
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

/// p at several places at once: out[i] = p(x[i]).
///
/// Clenshaw's recurrence waits for itself; eight of them side by side do not (4 times as fast).
inline void chebyshev_values(std::span<const double> coefficients, std::span<const double> x,
                             std::span<double> out) {
  constexpr std::size_t width = 8;
  std::size_t first = 0;
  for (; first + width <= x.size(); first += width) {
    double b1[width] = {}, b2[width] = {}, twice[width];
    for (std::size_t i = 0; i < width; ++i) twice[i] = 2 * x[first + i];
    for (std::size_t m = coefficients.size(); m-- > 1;)
      for (std::size_t i = 0; i < width; ++i) {
        const double b = coefficients[m] + twice[i] * b1[i] - b2[i];
        b2[i] = b1[i];
        b1[i] = b;
      }
    const double c0 = coefficients.empty() ? 0 : coefficients[0];
    for (std::size_t i = 0; i < width; ++i) out[first + i] = c0 + 0.5 * twice[i] * b1[i] - b2[i];
  }
  for (; first < x.size(); ++first) out[first] = chebyshev_value(coefficients, x[first]);
}

/// The rho > 1 of the Bernstein ellipse of [-1, 1] with the given semi-minor axis > 0.
///
/// A function analytic and bounded by M inside it differs from its interpolant through n Chebyshev
/// nodes (the zeros of T_n) by at most 2 M rho^-n (rho + 1) / (rho - 1) on [-1, 1]: its
/// coefficients are at most 2 M rho^-k, that of T_n is lost, and each later one counts at most
/// twice.
/// Source: L. N. Trefethen, Approximation Theory and Approximation Practice, Theorem 8.1.
inline double bernstein_ellipse(double semi_minor_axis) {
  return semi_minor_axis + std::sqrt(1 + semi_minor_axis * semi_minor_axis);
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
