// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/matrix_pencil.hpp
/// @brief  The poles of equally spaced samples: ESPRIT, the matrix pencil of a Hankel matrix.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>

#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// Poles of a sequence, and how many of them the sequence lets be told apart.
struct pencil {
  std::vector<std::complex<double>> poles;
  std::vector<double> singular_values;  ///< of the Hankel matrix, descending
};

/// The poles z_k of v_i = sum_k c_k z_k^i, i = 0 .. n - 1, at most N of them.
///
/// The Hankel matrix H_ij = v_{i+j} of such a sequence has rank N, and its column space is that of
/// the powers of the poles: with U its leading left singular vectors, U without its first row is U
/// without its last one times a matrix whose eigenvalues are the poles.
///
/// @param values          finite, n >= 2N of them
/// @param most            N >= 1
/// @param rank_tolerance  singular values below this times the first count as noise
/// Cost: O(n L^2), L = min(n / 2 + 1, 400) rows.
/// Accuracy: backward stable in the samples; the poles move by about u sigma_1 / sigma_N times their
/// own condition.
/// Source: R. Roy and T. Kailath, IEEE Trans. ASSP 37 (1989); Y. Hua and T. K. Sarkar, IEEE Trans.
/// ASSP 38 (1990).
inline pencil pencil_poles(std::span<const double> values, index_t most, double rank_tolerance) {
  const auto n = static_cast<Eigen::Index>(values.size());
  // One more row than poles, so that 2N values suffice.
  const Eigen::Index rows = std::min<Eigen::Index>(n / 2 + 1, 400), columns = n - rows + 1;
  Eigen::MatrixXd hankel(rows, columns);
  for (Eigen::Index j = 0; j < columns; ++j)
    for (Eigen::Index i = 0; i < rows; ++i) hankel(i, j) = values[static_cast<std::size_t>(i + j)];
  // H = (Q R)^T for the wide matrix: R^T has the same left singular vectors.
  if (columns > rows) {
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(hankel.transpose());
    hankel =
        Eigen::MatrixXd(qr.matrixQR().topRows(rows).triangularView<Eigen::Upper>()).transpose();
  }
  const Eigen::BDCSVD<Eigen::MatrixXd> svd(hankel, Eigen::ComputeThinU);
  const auto& sizes = svd.singularValues();
  pencil result;
  result.singular_values.assign(sizes.data(), sizes.data() + sizes.size());
  Eigen::Index rank = 0;
  while (rank < std::min<Eigen::Index>(most, sizes.size()) && rank + 1 < rows &&
         sizes(rank) > rank_tolerance * sizes(0))
    ++rank;
  if (rank == 0) return result;
  const Eigen::MatrixXd u = svd.matrixU().leftCols(rank);
  const Eigen::MatrixXd shift =
      u.topRows(rows - 1).colPivHouseholderQr().solve(u.bottomRows(rows - 1));
  const Eigen::EigenSolver<Eigen::MatrixXd> eigen(shift, false);
  for (Eigen::Index k = 0; k < rank; ++k) result.poles.push_back(eigen.eigenvalues()(k));
  return result;
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
