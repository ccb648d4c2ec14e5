// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/matrix_pencil.hpp
/// @brief  The poles of equally spaced samples: ESPRIT, the matrix pencil of a Hankel matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>

#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// Poles of a sequence, and how many of them the sequence lets be told apart.
struct pencil {
  std::vector<std::complex<double>> poles;  ///< without those that the values do not determine
  std::vector<double> singular_values;      ///< of the Hankel matrix, descending; none for zeros
};

/// The poles z_k of v_i = sum_k c_k z_k^i, i = 0 .. n - 1, at most N of them.
///
/// The Hankel matrix H_ij = v_{i+j} of such a sequence has rank N, and its column space is that of
/// the powers of the poles: with U its leading left singular vectors, U without its first row is U
/// without its last one times a matrix whose eigenvalues are the poles.
///
/// @param values          n >= 2N of them, |v_i| <= 1e300; those below 1e-60 of the largest count as 0
/// @param most            N >= 1
/// @param rank_tolerance  singular values below this times the first count as noise; in (0, 1)
/// @throws shape_error for fewer than 2N values, domain_error outside these domains.
/// Cost: O(n L^2), L = min(n / 2 + 1, 400) rows.
/// Accuracy: backward stable in the samples; the poles move by about u sigma_1 / sigma_N times their
/// own condition.
/// Source: R. Roy and T. Kailath, IEEE Trans. ASSP 37 (1989); Y. Hua and T. K. Sarkar, IEEE Trans.
/// ASSP 38 (1990).
inline pencil pencil_poles(std::span<const double> values, index_t most, double rank_tolerance) {
  using ebb::detail::require_domain;
  constexpr const char* where = "pencil_poles";
  require_domain(most >= 1, where, "need N >= 1", most);
  ebb::detail::require_shape(
      values.size() >= 2 && values.size() / 2 >= static_cast<std::size_t>(most), where,
      "need at least 2 N values (got, N)", values.size(), most);
  require_domain(rank_tolerance > 0 && rank_tolerance < 1, where, "need 0 < rank_tolerance < 1",
                 rank_tolerance);
  double scale = 0;
  for (const double v : values) {
    require_domain(std::abs(v) <= 1e300, where, "need finite values, at most 1e300", v);
    scale = std::max(scale, std::abs(v));
  }
  pencil result;
  if (scale == 0) return result;
  // Poles have no unit; a power of 2 keeps the digits, and squares in double's range.
  scale = std::exp2(std::ilogb(scale));
  const auto scaled = [&](Eigen::Index i) {
    const double v = values[static_cast<std::size_t>(i)] / scale;
    return std::abs(v) < 1e-60 ? 0 : v;
  };
  const auto n = static_cast<Eigen::Index>(values.size());
  // One more row than poles, so that 2N values suffice.
  const Eigen::Index rows = std::min<Eigen::Index>(n / 2 + 1, 400), columns = n - rows + 1;
  Eigen::MatrixXd hankel(rows, columns);
  for (Eigen::Index j = 0; j < columns; ++j)
    for (Eigen::Index i = 0; i < rows; ++i) hankel(i, j) = scaled(i + j);
  // H = (Q R)^T for the wide matrix: R^T has the same left singular vectors.
  if (columns > rows) {
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(hankel.transpose());
    hankel =
        Eigen::MatrixXd(qr.matrixQR().topRows(rows).triangularView<Eigen::Upper>()).transpose();
  }
  const Eigen::BDCSVD<Eigen::MatrixXd> svd(hankel, Eigen::ComputeThinU);
  const auto& sizes = svd.singularValues();
  for (const double size : sizes) result.singular_values.push_back(size * scale);
  Eigen::Index rank = 0;
  while (rank < std::min<Eigen::Index>(most, sizes.size()) && rank + 1 < rows &&
         sizes(rank) > rank_tolerance * sizes(0))
    ++rank;
  if (rank == 0) return result;
  const Eigen::MatrixXd u = svd.matrixU().leftCols(rank);
  const Eigen::MatrixXd shift =
      u.topRows(rows - 1).colPivHouseholderQr().solve(u.bottomRows(rows - 1));
  const Eigen::EigenSolver<Eigen::MatrixXd> eigen(shift, false);
  for (Eigen::Index k = 0; k < rank; ++k) {
    const std::complex<double> z = eigen.eigenvalues()(k);
    if (std::isfinite(std::abs(z))) result.poles.push_back(z);
  }
  return result;
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
