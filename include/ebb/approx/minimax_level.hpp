// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/minimax_level.hpp
/// @brief  Rates and weights whose error has given heights at given points.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <ebb/approx/elimination.hpp>
#include <ebb/approx/least_squares.hpp>
#include <ebb/approx/minimax_error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// The system  e(u_i) = (-1)^i (offset_i + share E),  i = 0 .. 2N, for N rates, N weights and E:
/// Newton's method in log r and log w, damped, and Levenberg and Marquardt's where it stalls.
///
/// With `share` = 0 and 2N points it is interpolation.
template <class Target, real_scalar Real>
class level_system {
 public:
  level_system(const minimax_problem<Target, Real>& problem, minimax_state<Real>& state,
               std::vector<Real> offsets, double share)
      : problem_(problem), state_(state), offsets_(std::move(offsets)), share_(share) {}

  /// @param tolerance  of the residual, as a part of |E| or, with share = 0, absolute
  /// @return whether it was reached, or the rounding of Real was, close to it. If not, the state is
  ///   of no use.
  bool solve(double tolerance) {
    const bool levelled = share_ > Real(0);
    if (levelled) level_ = mean_level();
    Real size = largest(residuals(state_, level_)), mu(1e-3);
    auto best = std::tuple(size, state_, level_);
    double shortest = HUGE_VAL;
    int idle = 0;
    for (int step = 0; step < 60 && !problem_.stop(); ++step) {
      if (reached(size, tolerance)) return !levelled || level_ > Real(0);
      linearise();
      last_length_ = HUGE_VAL;
      if (!newton_step(size) && (is_rounding() || !marquardt_step(size, mu))) break;
      // Steps that are tiny and do not get shorter are made of rounding errors.
      const bool progress = last_length_ < 0.5 * shortest || size < Real(0.5) * std::get<0>(best);
      shortest = std::min(shortest, last_length_);
      if (size < std::get<0>(best)) best = {size, state_, level_};
      idle = progress ? 0 : idle + 1;
      if (idle == 4 && is_rounding()) break;
    }
    std::tie(size, state_, level_) = std::move(best);
    return reached(size, levelled ? std::max(20 * tolerance, 1e-2) : 20 * tolerance) &&
           (!levelled || level_ > Real(0));
  }

  const Real& level() const { return level_; }

 private:
  using reals = std::vector<Real>;

  bool reached(const Real& size, double tolerance) const {
    const double unit = share_ > Real(0) ? std::abs(static_cast<double>(level_)) : 1;
    return static_cast<double>(size) <= tolerance * unit;
  }

  bool is_rounding() const {
    return last_length_ < std::sqrt(static_cast<double>(std::numeric_limits<Real>::epsilon()));
  }

  static Real sign(std::size_t i) { return Real(i % 2 == 0 ? 1 : -1); }
  std::size_t count() const { return state_.reference.size(); }

  /// The level that the errors have now on average, as a first guess.
  Real mean_level() const {
    const minimax_error<Target, Real> error(problem_, state_);
    Real sum(0);
    for (std::size_t i = 0; i < count(); ++i)
      sum += Real(sign(i) * error(state_.reference[i]) - offsets_[i]);
    return Real(sum / (Real(static_cast<double>(count())) * share_));
  }

  /// What is left of the equations.
  reals residuals(const minimax_state<Real>& state, const Real& level) const {
    const minimax_error<Target, Real> error(problem_, state);
    reals f;
    for (std::size_t i = 0; i < count(); ++i)
      f.push_back(Real(error(state.reference[i]) - sign(i) * (offsets_[i] + share_ * level)));
    return f;
  }

  static Real largest(const reals& f) {
    using ebb::detail::abs;
    Real most(0);
    for (const Real& v : f) {
      if (!(abs(v) <= Real(1e30))) return Real(1e30);
      most = std::max(most, Real(abs(v)));
    }
    return most;
  }

  /// Jacobian, columns scaled to a largest entry of 1, and -F.
  void linearise() {
    using ebb::detail::abs;
    const std::size_t n = state_.size(), columns = share_ > Real(0) ? 2 * n + 1 : 2 * n;
    const minimax_error<Target, Real> error(problem_, state_);
    rows_.assign(count(), reals(columns));
    right_.assign(count(), Real(0));
    scales_.assign(columns, Real(0));
    for (std::size_t i = 0; i < count(); ++i) {
      const Real e = error.row(state_.reference[i], rows_[i]);
      if (columns > 2 * n) rows_[i][2 * n] = Real(-sign(i) * share_);
      right_[i] = Real(sign(i) * (offsets_[i] + share_ * level_) - e);
      for (std::size_t j = 0; j < columns; ++j)
        scales_[j] = std::max(scales_[j], Real(abs(rows_[i][j])));
    }
    for (Real& s : scales_)
      if (s == Real(0)) s = Real(1);
    for (reals& row : rows_)
      for (std::size_t j = 0; j < columns; ++j) row[j] = Real(row[j] / scales_[j]);
  }

  /// The state moved by `part` of the (scaled) step d.
  std::pair<minimax_state<Real>, Real> moved(const reals& d, const Real& part) const {
    auto result = std::pair(state_, level_);
    const std::size_t n = state_.size();
    for (std::size_t k = 0; k < n; ++k) {
      result.first.log_rates[k] += Real(part * d[k] / scales_[k]);
      result.first.log_weights[k] += Real(part * d[n + k] / scales_[n + k]);
    }
    if (d.size() > 2 * n) result.second += Real(part * d[2 * n] / scales_[2 * n]);
    return result;
  }

  /// How far a (scaled) step moves a logarithm at most.
  Real length(const reals& d) const {
    using ebb::detail::abs;
    Real most(0);
    for (std::size_t j = 0; j < 2 * state_.size(); ++j)
      most = std::max(most, Real(abs(d[j]) / scales_[j]));
    return most;
  }

  /// The largest part of the step that moves no logarithm by more than 1.5 and takes away at most
  /// 70 % of a gap between neighbouring rates.
  Real allowed(const reals& d) const {
    const std::size_t n = state_.size();
    const Real most = length(d);
    Real part(1);
    if (!(most <= Real(1e30))) return Real(0);
    if (most > Real(1.5)) part = Real(Real(1.5) / most);
    for (std::size_t k = 0; k + 1 < n; ++k) {
      const Real gap = Real(state_.log_rates[k + 1] - state_.log_rates[k]);
      const Real closing = Real(d[k] / scales_[k] - d[k + 1] / scales_[k + 1]);
      if (closing * part > Real(0.7) * gap) part = Real(Real(0.7) * gap / closing);
    }
    return part;
  }

  /// A part of Newton's step is taken if the residual falls, or if the step that the same matrix
  /// asks for next is the shorter one: in an ill-conditioned system the residual must often rise
  /// first.
  bool newton_step(Real& size) {
    const elimination<Real> solver(rows_);
    if (!(solver.smallest_pivot() > Real(0))) return false;
    const reals d = solver.solve(right_);
    Real part = allowed(d);
    if (!(part > Real(0))) return false;
    const Real now = length(d);
    last_length_ = static_cast<double>(now);
    for (int halving = 0; halving <= 8; ++halving, part = Real(part * Real(0.5))) {
      auto candidate = moved(d, part);
      const reals f = residuals(candidate.first, candidate.second);
      const Real there = largest(f);
      if (!(there < size) &&
          !(there < Real(1e30) && length(solver.solve(f)) < (Real(1) - part / Real(2)) * now))
        continue;
      size = there;
      std::tie(state_, level_) = std::move(candidate);
      return true;
    }
    return false;
  }

  bool marquardt_step(Real& size, Real& mu) {
    const std::size_t n = state_.size();
    for (int tries = 0; tries < 12; ++tries) {
      auto rows = rows_;
      reals right = right_;
      for (std::size_t j = 0; j < 2 * n; ++j) {
        rows.emplace_back(rows_.front().size(), Real(0));
        rows.back()[j] = Real(mu * size / scales_[j]);
        right.push_back(Real(0));
      }
      const reals d = least_squares(std::move(rows), std::move(right));
      const Real part = allowed(d);
      if (part > Real(0) && accept(moved(d, part), size)) {
        mu = Real(mu * Real(tries == 0 ? 0.1 : 0.5));
        return true;
      }
      mu = Real(mu * Real(6));
    }
    return false;
  }

  bool accept(std::pair<minimax_state<Real>, Real> candidate, Real& size) {
    const Real now = largest(residuals(candidate.first, candidate.second));
    if (!(now < size)) return false;
    size = now;
    std::tie(state_, level_) = std::move(candidate);
    return true;
  }

  const minimax_problem<Target, Real>& problem_;
  minimax_state<Real>& state_;
  reals offsets_;
  Real share_, level_{0};
  std::vector<reals> rows_;
  reals right_, scales_;
  double last_length_ = HUGE_VAL;  ///< of the last Newton step
};

/// Interpolates: e = 0 at the 2N reference points. @return whether it worked.
template <class Target, real_scalar Real>
bool interpolate(const minimax_problem<Target, Real>& problem, minimax_state<Real>& state,
                 double tolerance) {
  return level_system<Target, Real>(problem, state,
                                    std::vector<Real>(state.reference.size(), Real(0)), 0)
      .solve(tolerance);
}

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
