// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/design.hpp
/// @brief  Memory to order: the fewest channels of a family that reach a tolerance, with proof.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include <ebb/approx/best_weights.hpp>
#include <ebb/approx/bounded_weights.hpp>
#include <ebb/approx/exponential_sum.hpp>
#include <ebb/approx/memory_design.hpp>
#include <ebb/approx/minimax.hpp>
#include <ebb/core/error.hpp>
#include <ebb/spectrum/geometric.hpp>
#include <ebb/spectrum/two_ended.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

namespace detail {

/// A function of double in the place of one of every precision.
template <class F>
struct double_target {
  const F& f;
  template <real_scalar Real>
  Real operator()(const Real& lag) const {
    return Real(f(static_cast<double>(lag)));
  }
};

/// The error of N channels of a family, between bounds.
struct design_step {
  double lower = 0, upper = HUGE_VAL;
  evidence basis = evidence::none;
  exponential_sum sum;
  std::vector<double> rates;
  double weights_l1 = 0, fast_end = 0, slow_end = 0;
};

template <class Target>
class design_search {
 public:
  design_search(const Target& target, double horizon, double tolerance,
                const design_options& options)
      : target_(target), horizon_(horizon), tolerance_(tolerance), options_(options) {
    if (options.kind == error_kind::relative)
      for (int i = 63; i > 0 && size_at(easy_) < 1e-6 * size_at(1); --i)
        easy_ = std::pow(horizon, i / 64.0);
  }

  // From the estimate on in strides that double, then by halving: all sizes in turn would take
  // minutes where none suffices.
  memory_design run() {
    memory_design result;
    if (most() < least()) return result;
    index_t misses = least() - 1, n = most() + 1;
    index_t next = std::clamp(estimate(), least(), most());
    for (index_t stride = 1; n - misses > 1 && !interrupted(); stride *= 2) {
      (passes(next) ? n : misses) = next;
      if (misses < least())
        next = std::max(least(), n - stride);
      else if (n > most())
        next = std::min(most(), misses + stride);
      else
        next = (misses + n) / 2;
    }
    result.interrupted = interrupted();
    if (result.interrupted || n > most()) return result;
    const design_step found = best(n);
    result.channels = n;
    result.error_lower = found.lower, result.error_upper = found.upper;
    result.basis = found.basis;
    result.sum = found.sum, result.rates = found.rates;
    result.weights_l1 = found.weights_l1;
    result.fast_end = found.fast_end, result.slow_end = found.slow_end;
    if (n > least()) result.fewer_lower = best(n - 1).lower;
    result.fewest = n == least() || result.fewer_lower > tolerance_;
    result.interrupted = interrupted();
    return result;
  }

 private:
  bool interrupted() const { return options_.interrupted && options_.interrupted(); }
  double size_at(double lag) const { return std::abs(static_cast<double>(target_(lag))); }
  // A sum channel is not alone.
  index_t least() const {
    return options_.family == memory_family::position_adaptive && options_.two_ended.sum_channel
               ? 2
               : 1;
  }
  index_t most() const {
    return options_.family == memory_family::minimax ? std::min<index_t>(30, options_.most_channels)
                                                     : options_.most_channels;
  }

  // -log E is about pi^2 N / (log T + A + B), or of free rates over log(4 T).
  index_t estimate() const {
    const double ends = options_.family == memory_family::minimax ? std::numbers::ln2 * 2 : 3;
    const double wanted = std::max(0.5, -std::log(tolerance_ / size_at(1)));
    const double span = std::log(std::min(horizon_, 1e12)) + ends;
    return static_cast<index_t>(std::min(1e6, wanted * span / 9.87 + 1));
  }

  bool passes(index_t n) {
    const auto known = best_.find(n);
    if (known != best_.end()) return good(known->second);
    if (options_.family != memory_family::two_ended) return good(best(n));
    for (const auto& [fast, slow] : pairs(n)) {
      if (interrupted()) return false;
      if (good(geometric(n, fast, slow, {1e-2, 2}))) return true;
    }
    return false;
  }
  bool good(const design_step& step) const { return step.upper + lost(step) <= tolerance_; }

  // What sums of double may lose beside the error that was proved: N + 2 roundoffs of sum |c_k|
  // e^(-r_k tau), or of that over |f|, looked at here and there.
  double lost(const design_step& step) const {
    double size = step.weights_l1;
    if (options_.kind == error_kind::relative && step.sum.weights.empty()) {
      size /= size_at(horizon_);  // channels of a taper are no exponentials
    } else if (options_.kind == error_kind::relative) {
      exponential_sum sizes = step.sum;
      for (double& c : sizes.weights) c = std::abs(c);
      size = 0;
      for (int i = 0; i <= 64; ++i) {
        const double lag = std::pow(horizon_, i / 64.0);
        size = std::max(size, sizes(lag) / size_at(lag));
      }
    }
    return static_cast<double>(step.rates.size() + 2) * 0x1p-53 * size;
  }

  const design_step& best(index_t n) {
    const auto known = best_.find(n);
    if (known != best_.end()) return known->second;
    design_step step;
    if (options_.family == memory_family::minimax) step = free_rates(n);
    if (options_.family == memory_family::position_adaptive) step = tapered(n);
    if (options_.family == memory_family::two_ended) {
      double lower = HUGE_VAL;
      for (const auto& [fast, slow] : pairs(n)) {
        if (interrupted()) break;
        design_step one = geometric(n, fast, slow, {1e-2, wide});
        lower = std::min(lower, one.lower);
        if (one.upper < step.upper) step = std::move(one);
      }
      step = geometric(n, step.fast_end, step.slow_end, {2e-5, wide});
      step.lower = std::min(step.lower, lower);  // no pair is better than this
    }
    return best_[n] = std::move(step);
  }

  // All pairs A, B of the family, the likely ones first.
  std::vector<std::pair<double, double>> pairs(index_t n) const {
    double likely = 2;
    for (int i = 0; i < 20; ++i) {
      const double x = 9.87 * static_cast<double>(n) / (std::log(horizon_) + likely + 1);
      likely = std::clamp(std::log(x) - 0.5, 0.0, 4.0);
    }
    std::vector<std::pair<double, double>> all;
    for (int a = 0; a <= 8; ++a)
      for (int b = 0; b <= 4; ++b) all.push_back({0.5 * a, 0.5 * b});
    const auto far = [&](const auto& p) {
      return std::abs(p.first - likely) + std::abs(p.second - 1);
    };
    std::sort(all.begin(), all.end(),
              [&](const auto& p, const auto& q) { return far(p) < far(q); });
    return all;
  }

  // How well an error is to be known: to a relative width, where it is within a factor of the
  // tolerance.
  struct precision {
    double width, factor;
  };
  static constexpr double wide = 1e3;

  approximation_options settings(const precision& wanted) const {
    return {.kind = options_.kind,
            .tolerance = wanted.width,
            .least_error = tolerance_ / wanted.factor,
            .most_error = tolerance_ * wanted.factor,
            .interrupted = options_.interrupted};
  }
  // Free weights, or bounded ones where those exceed the cap.
  template <class Basis>
  approximation weigh(const Basis& basis, const lag_set& lags, const precision& wanted,
                      double cap) const {
    const approximation_options set = settings(wanted);
    approximation found = best_weights(basis, target_, lags, set);
    if (!(found.weights_l1 > cap) || found.error_lower > set.most_error || interrupted())
      return found;
    return bounded_weights(basis, target_, lags, cap, set);
  }

  design_step geometric(index_t n, double fast, double slow, const precision& wanted) const {
    const auto spectrum = geometric_spectrum::extended(horizon_, fast, slow);
    const exponential_basis basis(spectrum, n);
    if (easy_ < horizon_) {
      const double lower =
          weigh(basis, lag_set::continuous(easy_), wanted, options_.most_weights).error_lower;
      if (lower > tolerance_) {
        design_step missed;
        missed.lower = lower;
        return missed;
      }
    }
    const approximation found =
        weigh(basis, lag_set::continuous(horizon_), wanted, options_.most_weights);
    const std::vector<double> rates = rates_of<double>(spectrum, n);
    return {found.error_lower,
            found.error_upper,
            found.basis,
            {rates, found.weights},
            rates,
            found.weights_l1,
            fast,
            slow};
  }

  design_step free_rates([[maybe_unused]] index_t n) const {
    if constexpr (smooth_target_for<Target, double>) {
      const minimax_sum found = minimax(
          target_, n, horizon_, {.kind = options_.kind, .interrupted = options_.interrupted});
      return {found.error_lower,
              found.error_upper + found.rounding,
              found.basis,
              found.sum,
              found.sum.rates,
              found.sum.weights_l1(),
              0,
              0};
    } else {
      return {};
    }
  }

  // The worst of the positions first, powers of 2 and last.
  design_step tapered(index_t n) const {
    design_step worst;
    worst.upper = 0, worst.basis = evidence::proved;
    const two_ended_spectrum spectrum(horizon_, options_.two_ended);
    worst.rates = rates_of<double>(spectrum, n);
    const auto last = static_cast<index_t>(std::floor(horizon_));
    const taper_options taper{options_.two_ended.offset, options_.two_ended.sum_channel};
    for (index_t t = options_.first_position; !interrupted(); t = std::min(last, 2 * t)) {
      const double lags = std::max(1.0, std::floor(options_.lag_fraction * static_cast<double>(t)));
      const taper_basis basis(geometric_spectrum::extended(horizon_, options_.two_ended.fast_end,
                                                           options_.two_ended.slow_end),
                              n, horizon_, static_cast<double>(t), taper);
      const approximation found = weigh(basis, lag_set::integer(lags), {1e-2, wide},
                                        std::min(options_.most_weights, most_tapered_weights));
      worst.lower = std::max(worst.lower, found.error_lower);
      worst.upper = std::max(worst.upper, found.error_upper);
      worst.weights_l1 = std::max(worst.weights_l1, found.weights_l1);
      if (found.basis != evidence::proved) worst.basis = found.basis;
      if (t == last) break;
    }
    return worst;
  }

  // At small positions the best weights grow without a limit that a state of double could bear.
  static constexpr double most_tapered_weights = 1e4;

  const Target target_;
  double horizon_, tolerance_;
  // Lags whose relative errors need few digits: what misses the tolerance there misses it.
  double easy_ = horizon_;
  const design_options& options_;
  std::map<index_t, design_step> best_;
};

}  // namespace detail

/// The fewest channels of a family whose memory is within a tolerance of a target:
///
///   max over tau in [1, T] of |f(tau) - sum_k c_k exp(-r_k tau)| <= tolerance   (or over |f|)
///
/// together with a proof that one channel less of the same family does not suffice. (Families of
/// equally spaced rates are not nested: a kernel that is itself a few exponentials may do with
/// fewer still, where they happen to meet its rates. most_channels asks for these.)
///
///   const auto memory = design(power_law(0.5), 1e4, 1e-4);
///   memory.summary();         // "12 channels, 7.9e-5"
///   memory.sum.spectrum();    // its rates, memory.sum.weights its weights
///
/// `position_adaptive` asks it of the channels of a taper, at positions first_position, twice that,
/// .. and floor(T), over whole lags up to fraction t, with the best weights of each; those of one
/// readout for all positions, about as good, come from fit_position_weights.
///
/// @param target     as for best_weights and, for minimax, for minimax; or a function of double, as
///   a lambda is; finite, relative also not 0, at 1 and at T
/// @param horizon    T, 1 < T <= 1e12, steps; position_adaptive T <= 2^40
/// @param tolerance  > 0, finite; at least 1e-13 of the larger one of |f(1)| and |f(T)|, or 1e-13
///   of relative errors: weights are in double
/// @throws domain_error outside these domains and those of the options.
/// Cost: two-ended 45 pairs A, B at N - 1 and at N: about 1 s at N = 12, 5 s at N = 26
/// (`design 0.5 1e4 1e-8`), several times that where most_channels do not suffice; otherwise some
/// calls of what is named above.
/// Accuracy: as best_weights and minimax; pairs A, B are compared to 1 %.
template <class Target>
memory_design design(const Target& target, double horizon, double tolerance,
                     const design_options& options = {}) {
  constexpr const char* where = "design";
  using ebb::detail::require_domain;
  require_domain(options.family != memory_family::minimax || smooth_target_for<Target, double>,
                 where, "need a target with derivatives (smooth_target_for) for minimax");
  require_domain(horizon > 1 && horizon <= 1e12, where, "need 1 < horizon <= 1e12", horizon);
  require_domain(tolerance > 0 && tolerance < HUGE_VAL, where, "need 0 < tolerance < inf",
                 tolerance);
  require_domain(options.most_channels >= 1 && options.most_channels <= 128, where,
                 "need 1 <= most_channels <= 128", options.most_channels);
  require_domain(
      options.most_weights == HUGE_VAL || (options.most_weights > 0 && options.most_weights < 1e12),
      where, "need 0 < most_weights < 1e12, or none", options.most_weights);
  require_domain(options.most_weights == HUGE_VAL || options.family != memory_family::minimax,
                 where,
                 "need no cap on the weights of minimax, which are positive and what they are",
                 options.most_weights);
  if (options.family == memory_family::position_adaptive) {
    require_domain(horizon <= 0x1p40, where, "need horizon <= 2^40", horizon);
    require_domain(options.first_position >= 1 &&
                       static_cast<double>(options.first_position) <= std::floor(horizon),
                   where, "need 1 <= first_position <= horizon", options.first_position);
    require_domain(options.lag_fraction > 0 && options.lag_fraction <= 1, where,
                   "need 0 < lag_fraction <= 1", options.lag_fraction);
  }
  double size = 0;
  for (const double lag : {1.0, horizon}) {
    const double value = static_cast<double>(target(lag));
    require_domain(std::isfinite(value) && (options.kind == error_kind::absolute || value != 0),
                   where, "need a target that is finite, and not 0 for relative errors, at lag",
                   lag);
    size = std::max(size, std::abs(value));
  }
  if (options.kind == error_kind::relative) size = 1;
  require_domain(
      tolerance >= 1e-13 * size, where,
      "need tolerance >= 1e-13 max(|f(1)|, |f(T)|), or 1e-13 of relative errors: weights "
      "are in double",
      tolerance);
  if constexpr (target_for<Target, multiprecision<50>>) {
    return detail::design_search<Target>(target, horizon, tolerance, options).run();
  } else {
    using in_double = detail::double_target<Target>;
    return detail::design_search<in_double>(in_double{target}, horizon, tolerance, options).run();
  }
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
