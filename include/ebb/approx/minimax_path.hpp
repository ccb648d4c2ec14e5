// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/minimax_path.hpp
/// @brief  The best sums of 1, 2, 3, ... terms, each from those before it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <ebb/approx/minimax_follow.hpp>
#include <ebb/approx/minimax_predict.hpp>
#include <ebb/approx/minimax_remez.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {
namespace detail {

/// Best sums for one target, kind of error and horizon, in the order of their number of terms.
///
/// For absolute errors the sums on [1, infinity) go alongside: while their last extremum is before
/// T they are the answer on [1, T] too. The first sums beyond that are followed down from the
/// infinite horizon, later ones extrapolated from their own kind.
template <class Target>
class minimax_path {
 public:
  minimax_path(const Target& target, error_kind kind, double horizon,
               const std::function<bool()>& interrupted)
      : target_(target),
        kind_(kind),
        horizon_(horizon),
        last_(std::log(horizon)),
        interrupted_(interrupted) {}

  template <real_scalar Real>
  minimax_problem<Target, Real> problem(bool infinite, double tolerance) const {
    using ebb::detail::log;
    const Real last = std::isfinite(horizon_) ? Real(log(Real(horizon_))) : Real(0);
    return {target_, kind_, infinite, last, tolerance, interrupted_};
  }

  bool infinite() const { return !std::isfinite(horizon_); }

  /// The best sum of n terms, in the arithmetic of Real; those of fewer terms have been asked for
  /// before, in this arithmetic or a shorter one.
  template <real_scalar Real>
  minimax_solution<Real> next(std::size_t n) {
    if (infinite()) return free_end<Real>(n);
    auto solution = extended<Real>(fixed_, n, false);
    // A sum that does not come from four before it is beyond the digits of a short arithmetic.
    if (!solution.usable() && (many_digits<Real> || fixed_.size() < 4)) {
      const auto here = problem<Real>(false, tolerance<Real>());
      if (kind_ == error_kind::relative) {
        if (n <= 3) solution = first_sums(here, n);
      } else {
        solution = free_end<Real>(n);
        if (!solution.usable()) return solution;
        const auto critical = static_cast<double>(solution.state.reference.back());
        if (critical <= last_) return solution;
        solution = follow_horizon(here, std::move(solution), critical, last_);
      }
    }
    remember(fixed_, solution);
    return solution;
  }

 private:
  using history = std::vector<minimax_state<double>>;

  /// Enough for the next guess; what the caller wants beyond it is done on the result.
  template <real_scalar Real>
  static double tolerance() {
    return 1e-7;
  }

  template <real_scalar Real>
  static void remember(history& list, const minimax_solution<Real>& solution) {
    if (!solution.usable()) return;
    if (!list.empty() && list.back().size() == solution.state.size()) list.pop_back();
    if (!list.empty() && list.back().size() + 1 != solution.state.size()) list.clear();
    list.push_back(solution.state.template to<double>());
  }

  /// n terms from up to four sums of fewer.
  template <real_scalar Real>
  minimax_solution<Real> extended(const history& list, std::size_t n, bool infinite) const {
    minimax_solution<Real> best;
    // A sum of n terms may have been found, in an arithmetic too short for it.
    history before = list;
    while (!before.empty() && before.back().size() >= n) before.pop_back();
    if (before.size() < 2 || before.back().size() + 1 != n || n <= 3) return best;
    const auto here = problem<Real>(infinite, tolerance<Real>());
    for (std::size_t order = std::min<std::size_t>(4, before.size()); order >= 1; --order) {
      auto guess = extrapolate(before, order);
      repair(guess, infinite ? HUGE_VAL : last_);
      auto found = level_and_exchange(here, guess.template to<Real>());
      if (found.bounds.gap < best.bounds.gap) best = std::move(found);
      if (best.usable() || here.stop()) break;
    }
    return best;
  }

  /// The best sum of n terms on [1, infinity).
  template <real_scalar Real>
  minimax_solution<Real> free_end(std::size_t n) {
    minimax_solution<Real> solution;
    std::size_t m = free_.empty() ? 1 : std::min(n, free_.back().size() + 1);
    for (; m <= n; ++m) {
      solution = m <= 3 ? first_sums(problem<Real>(true, tolerance<Real>()), m)
                        : extended<Real>(free_, m, true);
      if (!solution.usable()) break;
      remember(free_, solution);
    }
    return solution;
  }

  const Target& target_;
  error_kind kind_;
  double horizon_, last_;
  const std::function<bool()>& interrupted_;
  history free_, fixed_;
};

}  // namespace detail
}  // namespace approx
}  // namespace ebb::inline EBB_ABI
