// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/weights_problem.hpp
/// @brief  One target on one sampled basis: weights from an exchange, and their error afresh.
#pragma once

#include <vector>

#include <Eigen/Core>

#include <ebb/approx/approximation.hpp>
#include <ebb/approx/exchange.hpp>
#include <ebb/approx/residual.hpp>
#include <ebb/approx/sampling.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// Everything about one target on one sampled basis in precision Real.
template <real_scalar Real>
class weights_problem {
 public:
  using reals = std::vector<Real>;

  template <class Target>
  weights_problem(const sampled_basis<Real>& samples, const Target& target, error_kind kind)
      : samples_(samples), values_(static_cast<std::size_t>(samples.rows)) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i] = Real(target(samples.lags[i]));
      ebb::detail::require_domain(
          Real(values_[i] - values_[i]) == Real(0) &&
              (kind == error_kind::absolute || values_[i] != Real(0)),
          "best_weights", "need a target that is finite, and not 0 for relative errors, at lag",
          static_cast<double>(samples.lags[i]));
      ebb::detail::require_domain(
          kind == error_kind::absolute || samples.plan.kind == lag_kind::integer ||
              (values_[i] > Real(0)) == (values_[0] > Real(0)),
          "best_weights", "need a target that does not cross 0 for relative errors, at lag",
          static_cast<double>(samples.lags[i]));
    }
    if (kind == error_kind::relative) values_.assign(values_.size(), Real(1));
  }

  /// The largest |f| of the samples; 1 for relative errors.
  Real target_size() const { return largest(values_); }

  /// Best weights by exchange in double, in the orthonormal columns.
  void solve() {
    const std::size_t n = static_cast<std::size_t>(samples_.size);
    const std::size_t m = static_cast<std::size_t>(samples_.rows);
    reals rest = values_, y(n);
    for (std::size_t k = 0; k < n; ++k) {
      const Real* const column = samples_.q.data() + k * m;
      y[k] = samples_.dot(column, rest.data());
      for (std::size_t i = 0; i < m; ++i) rest[i] -= Real(y[k] * column[i]);
    }
    const Real scale = largest(rest);
    if (!(scale > Real(0))) {
      back_substitute(y);
      return;
    }
    Eigen::MatrixXd table(static_cast<Eigen::Index>(m), static_cast<Eigen::Index>(n) + 1);
    for (std::size_t i = 0; i < m; ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      for (std::size_t k = 0; k < n; ++k)
        table(row, static_cast<Eigen::Index>(k)) = static_cast<double>(samples_.q[k * m + i]);
      table(row, static_cast<Eigen::Index>(n)) = static_cast<double>(Real(rest[i] / scale));
    }
    const exchange_result found = exchange(sampled_functions(samples_.plan, table), table);
    reference = found.reference;
    for (std::size_t k = 0; k < n; ++k)
      y[k] += Real(scale * Real(found.coefficients(static_cast<Eigen::Index>(k))));
    back_substitute(y);
  }

  /// The error of `weights` on the samples, recomputed from the basis functions themselves; `noise`
  /// bounds its rounding error.
  sampled_functions residual(Real& scale, double& noise) const {
    using ebb::detail::abs;
    const std::size_t n = weights.size(), m = values_.size();
    reals error = values_;
    Real magnitude(0);
    for (std::size_t i = 0; i < m; ++i) {
      Real sum = abs(values_[i]);
      for (std::size_t k = 0; k < n; ++k) {
        const Real part = Real(weights[k] * samples_.phi[k * m + i]);
        error[i] -= part;
        sum += abs(part);
      }
      if (sum > magnitude) magnitude = sum;
    }
    scale = largest(error);
    Eigen::MatrixXd table(static_cast<Eigen::Index>(m), 1);
    for (std::size_t i = 0; i < m; ++i)
      table(static_cast<Eigen::Index>(i), 0) =
          scale > Real(0) ? static_cast<double>(Real(error[i] / scale)) : 0.0;
    // n + 2 additions and products, and the errors of phi and f. A term e^-x below u magnitude / n
    // adds nothing that counts, so that x <= log(n |c|_1 factor / (u magnitude)) in all others.
    using ebb::detail::log;
    double furthest = 0;
    if (magnitude > Real(0)) {
      const Real ratio = Real(Real(static_cast<double>(n)) * weights_l1() *
                              samples_.largest_factor / (unit_roundoff<Real> * magnitude));
      if (ratio > Real(1)) furthest = static_cast<double>(Real(log(ratio)));
    }
    const double units = static_cast<double>(n) + 8 + samples_.roundoffs(furthest);
    noise = static_cast<double>(Real(magnitude * Real(units) * unit_roundoff<Real>));
    return sampled_functions(samples_.plan, table);
  }

  Real weights_l1() const {
    using ebb::detail::abs;
    Real sum(0);
    for (const Real& c : weights) sum += abs(c);
    return sum;
  }

  reals weights;
  std::vector<location> reference;

 private:
  static Real largest(const reals& x) {
    using ebb::detail::abs;
    Real result(0);
    for (const Real& v : x)
      if (abs(v) > result) result = abs(v);
    return result;
  }

  /// weights = R^-1 y
  void back_substitute(const reals& y) {
    const std::size_t n = y.size();
    weights = y;
    for (std::size_t k = n; k-- > 0;) {
      for (std::size_t j = k + 1; j < n; ++j)
        weights[k] -= Real(samples_.r[k * n + j] * weights[j]);
      weights[k] = Real(weights[k] / samples_.r[k * n + k]);
    }
  }

  const sampled_basis<Real>& samples_;
  reals values_;
};

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
