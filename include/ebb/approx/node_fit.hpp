// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/node_fit.hpp
/// @brief  Rates and weights of an exponential sum refined on samples: least squares and minimax.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/QR>

#include <ebb/approx/exchange.hpp>
#include <ebb/approx/exponential_sum.hpp>
#include <ebb/approx/non_negative.hpp>
#include <ebb/approx/residual.hpp>
#include <ebb/approx/sampling.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// Samples v_i of a kernel at tau_i >= 0, ascending, and what each error is multiplied by.
struct kernel_samples {
  std::vector<double> lags, values, scales;
};

/// A sum of exponentials on samples, with free rates. Everything in long double: the functions are
/// nearly dependent, and errors near 1e-13 of the values are within reach.
///
///   e_i = scale_i (v_i - sum_k c_k exp(-r_k tau_i)),   unknown: log r_k, c_k
class node_fit {
 public:
  using real = long double;
  using vector = Eigen::Vector<real, Eigen::Dynamic>;
  using matrix = Eigen::Matrix<real, Eigen::Dynamic, Eigen::Dynamic>;

  struct nodes {
    std::vector<real> log_rates;  ///< ascending
    vector weights;
    vector error;
    real largest = HUGE_VALL;  ///< max |e_i|, and rounding of the weights
    real squares = HUGE_VALL;  ///< sum e_i^2, likewise
    real rounding = 0;         ///< what it adds to `largest`
  };

  /// @param weight_cost  what a weight costs, in its rounding to double: 1 or more
  node_fit(const kernel_samples& samples, bool non_negative, real weight_cost = 1)
      : non_negative_(non_negative) {
    const auto m = static_cast<Eigen::Index>(samples.lags.size());
    lags_.resize(m), scales_.resize(m), values_.resize(m);
    for (Eigen::Index i = 0; i < m; ++i) {
      const auto at = static_cast<std::size_t>(i);
      lags_(i) = samples.lags[at];
      scales_(i) = samples.scales[at];
      values_(i) = real(samples.values[at]) * scales_(i);
    }
    unit_ = weight_cost * real(0x1p-53) * scales_(0);
    // Slower functions are constant to 1e-7 on all samples; faster ones are 1e-26 at the first.
    slowest_ = std::log(real(1e-7) / lags_(m - 1));
    fastest_ = std::log(real(60) / (lags_(0) > 0 ? lags_(0) : lags_(1)));
  }

  /// What rounding of samples in double makes of an error.
  real floor() const { return values_.cwiseAbs().maxCoeff() * real(0x1p-53); }

  /// Whether only rounding is left of the error.
  bool exact(const nodes& here) const {
    return here.largest - here.rounding <= 4 * floor() && here.rounding <= 100 * floor();
  }

  const vector& lags() const { return lags_; }

  /// Least squares weights for given rates. Rounding of weights in double, u |c_k| at lags near 0,
  /// is part of the sum of squares, so that weights do not grow where that costs more than it gains.
  nodes at(std::vector<real> log_rates) const {
    nodes out;
    for (real& r : log_rates) r = std::clamp(r, slowest_, fastest_);
    std::sort(log_rates.begin(), log_rates.end());
    out.log_rates = std::move(log_rates);
    const matrix phi = functions(out.log_rates);
    const Eigen::Index m = phi.rows(), n = phi.cols();
    matrix bordered = matrix::Zero(m + n, n);
    bordered.topRows(m) = phi;
    for (Eigen::Index k = 0; k < n; ++k) bordered(m + k, k) = unit_ * std::sqrt(real(m));
    vector right = vector::Zero(m + n);
    right.head(m) = values_;
    out.weights = non_negative_ ? non_negative_least_squares<real>(bordered, right)
                                : vector(bordered.colPivHouseholderQr().solve(right));
    measure(phi, out);
    return out;
  }

  /// Levenberg-Marquardt steps in log r, the weights eliminated (variable projection).
  /// Source: L. Kaufman, BIT 15 (1975); G. H. Golub and V. Pereyra, SIAM J. Numer. Anal. 10 (1973).
  void least_squares(nodes& best, int most_steps) const {
    real damping(1e-3);
    int stalled = 0;
    for (int step = 0; step < most_steps && stalled < 3 && !exact(best); ++step) {
      const auto [slopes, rest] = projected_slopes(best);
      bool better = false;
      for (int tries = 0; tries < 12 && !better; ++tries) {
        const vector change = damped_step(slopes, rest, damping);
        nodes next = at(moved(best.log_rates, change, 1));
        better = next.squares < best.squares;
        if (better) {
          stalled = next.squares > real(0.99) * best.squares ? stalled + 1 : 0;
          best = std::move(next);
          damping = std::max(damping * real(0.1), real(1e-14));
        } else {
          damping *= 10;
        }
      }
      if (!better) return;
    }
  }

  /// Lower the largest error: Gauss-Newton steps in log r whose linear problems are solved in the
  /// largest error (exchange.hpp), each followed by the best weights for the new rates.
  /// Source: M. R. Osborne and G. A. Watson, Computer Journal 12 (1969).
  void level(nodes& best, int most_steps) const {
    level_weights(best);
    for (int step = 0; step < most_steps && !exact(best); ++step) {
      const Eigen::Index n = best.weights.size();
      matrix both(lags_.size(), 2 * n);
      both << functions(best.log_rates), slopes_of(best);
      if (both.rows() <= both.cols()) return;
      const vector change = minimax_step(both, best.error).tail(n);
      bool better = false;
      for (real length(1); length > real(1e-3) && !better; length *= real(0.4)) {
        nodes next = at(moved(best.log_rates, length * change, real(0.7)));
        level_weights(next);
        if (!(next.largest < best.largest)) continue;
        const bool done = next.largest > real(0.999) * best.largest;
        best = std::move(next);
        better = true;
        if (done) return;
      }
      if (!better) return;
    }
  }

  /// The candidate that, added to the rates, leaves the smallest sum of squares.
  real best_addition(const nodes& current, const std::vector<real>& candidates) const {
    const Eigen::HouseholderQR<matrix> qr(functions(current.log_rates));
    const auto n = static_cast<Eigen::Index>(current.log_rates.size());
    const matrix q = qr.householderQ() * matrix::Identity(lags_.size(), n);
    const matrix phi = functions(candidates);
    const matrix inside = q.transpose() * phi;
    const matrix outside = phi - q * inside;
    real largest(-1), chosen = candidates.front();
    for (Eigen::Index k = 0; k < phi.cols(); ++k) {
      const real size = outside.col(k).norm();
      if (size <= real(1e-12) * phi.col(k).norm()) continue;
      real gain = outside.col(k).dot(current.error) / size;
      if (!non_negative_) gain = std::abs(gain);
      if (gain > largest) largest = gain, chosen = candidates[static_cast<std::size_t>(k)];
    }
    return chosen;
  }

  real slowest() const { return slowest_; }
  real fastest() const { return fastest_; }

 private:
  matrix functions(const std::vector<real>& log_rates) const {
    matrix phi(lags_.size(), static_cast<Eigen::Index>(log_rates.size()));
    for (std::size_t k = 0; k < log_rates.size(); ++k) {
      const real rate = std::exp(log_rates[k]);
      for (Eigen::Index i = 0; i < lags_.size(); ++i)
        phi(i, static_cast<Eigen::Index>(k)) = scales_(i) * std::exp(-rate * lags_(i));
    }
    return phi;
  }

  /// d (sum) / d log r_k = -c_k r_k tau exp(-r_k tau)
  matrix slopes_of(const nodes& here) const {
    matrix out = functions(here.log_rates);
    for (std::size_t k = 0; k < here.log_rates.size(); ++k) {
      const auto column = static_cast<Eigen::Index>(k);
      const real factor = -here.weights(column) * std::exp(here.log_rates[k]);
      out.col(column) = (out.col(column).array() * lags_.array() * factor).matrix();
    }
    return out;
  }

  /// Errors of the weights, and what their rounding to double may add.
  void measure(const matrix& phi, nodes& out) const {
    out.error = values_ - phi * out.weights;
    out.rounding = unit_ * out.weights.cwiseAbs().sum();
    out.largest = out.error.cwiseAbs().maxCoeff() + out.rounding;
    out.squares =
        out.error.squaredNorm() + unit_ * unit_ * real(phi.rows()) * out.weights.squaredNorm();
    if (!(out.squares < HUGE_VALL)) out.largest = out.squares = HUGE_VALL;
  }

  /// Slopes and error without what the weights can make up for; weights held at 0 cannot.
  std::pair<matrix, vector> projected_slopes(const nodes& here) const {
    std::vector<real> active;
    for (std::size_t k = 0; k < here.log_rates.size(); ++k)
      if (here.weights(static_cast<Eigen::Index>(k)) != 0) active.push_back(here.log_rates[k]);
    const Eigen::HouseholderQR<matrix> qr(functions(active));
    const matrix turned = qr.householderQ().transpose() * slopes_of(here);
    const vector rest = qr.householderQ().transpose() * here.error;
    const Eigen::Index left = lags_.size() - static_cast<Eigen::Index>(active.size());
    return {turned.bottomRows(left), rest.tail(left)};
  }

  static vector damped_step(const matrix& slopes, const vector& rest, real damping) {
    const Eigen::Index n = slopes.cols(), m = slopes.rows();
    matrix bordered = matrix::Zero(m + n, n);
    bordered.topRows(m) = slopes;
    for (Eigen::Index k = 0; k < n; ++k)
      bordered(m + k, k) = std::sqrt(damping) * slopes.col(k).norm();
    vector right = vector::Zero(m + n);
    right.head(m) = rest;
    return bordered.colPivHouseholderQr().solve(right);
  }

  /// The change d of coefficients that minimises max |error - columns d|.
  static vector minimax_step(const matrix& columns, const vector& error) {
    const Eigen::Index m = columns.rows(), n = columns.cols();
    matrix scaled = columns;
    vector sizes(n);
    for (Eigen::Index k = 0; k < n; ++k) {
      const real size = columns.col(k).norm();
      sizes(k) = size > 0 ? size : real(1);
      scaled.col(k) /= sizes(k);
    }
    const Eigen::ColPivHouseholderQR<matrix> qr(scaled);
    // Directions that drown in rounding are left alone.
    Eigen::Index rank = 0;
    const real largest = std::abs(qr.matrixR()(0, 0));
    while (rank < n && std::abs(qr.matrixR()(rank, rank)) >
                           real(64) * std::numeric_limits<real>::epsilon() * largest)
      ++rank;
    if (rank == 0 || m <= rank) return vector::Zero(n);
    const matrix q = qr.householderQ() * matrix::Identity(m, rank);
    vector y = q.transpose() * error;
    vector rest = error - q * y;
    const real scale = rest.cwiseAbs().maxCoeff();
    if (scale > 0) {
      Eigen::MatrixXd table(m, rank + 1);
      table.leftCols(rank) = q.cast<double>();
      table.col(rank) = (rest / scale).cast<double>();
      // Samples take the place of whole lags: only their order counts.
      sample_plan plan;
      plan.kind = lag_kind::integer;
      plan.runs = {{1, static_cast<index_t>(m)}};
      const exchange_result found = exchange(sampled_functions(plan, table), table);
      y += scale * found.coefficients.cast<real>();
    }
    vector change = vector::Zero(n);
    change.head(rank) =
        qr.matrixR().topLeftCorner(rank, rank).template triangularView<Eigen::Upper>().solve(y);
    return (qr.colsPermutation() * change).cwiseQuotient(sizes);
  }

  /// Replace least squares weights by those of the smallest largest error, where they are better.
  void level_weights(nodes& here) const {
    if (lags_.size() <= here.weights.size() + 1 || !(here.largest < HUGE_VALL)) return;
    const matrix phi = functions(here.log_rates);
    nodes next = here;
    next.weights += minimax_step(phi, here.error);
    if (non_negative_ && next.weights.minCoeff() < 0) return reweight(phi, here);
    measure(phi, next);
    if (next.largest < here.largest) here = std::move(next);
  }

  /// Lawson's iteration: least squares whose weights follow the error. For weights c >= 0.
  /// Source: C. L. Lawson, PhD thesis, UCLA, 1961; J. R. Rice and K. H. Usow, Math. Comp. 22 (1968).
  void reweight(const matrix& phi, nodes& here) const {
    vector heights = vector::Ones(lags_.size());
    nodes next = here;
    for (int round = 0; round < 25 && next.largest > floor(); ++round) {
      heights = heights.cwiseProduct(next.error.cwiseAbs() / next.largest);
      heights /= heights.maxCoeff();
      const vector roots = heights.cwiseSqrt();
      next.weights =
          non_negative_least_squares<real>(roots.asDiagonal() * phi, roots.cwiseProduct(values_));
      measure(phi, next);
      if (next.largest < here.largest) here = next;
    }
  }

  /// log r + change, no step longer than `longest`.
  static std::vector<real> moved(std::vector<real> log_rates, vector change, real longest) {
    if (!(change.cwiseAbs().maxCoeff() < HUGE_VALL)) return log_rates;
    change = change.cwiseMax(-longest).cwiseMin(longest);
    for (std::size_t k = 0; k < log_rates.size(); ++k)
      log_rates[k] += change(static_cast<Eigen::Index>(k));
    return log_rates;
  }

  vector lags_, scales_, values_;
  bool non_negative_;
  real slowest_, fastest_;
  real unit_;  ///< what rounding of a weight 1 adds to an error near the first lag, times its cost
};

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
