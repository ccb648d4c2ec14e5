// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/position_weights.hpp
/// @brief  One readout of tapered channels for all positions: its coefficients from a target.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/QR>

#include <ebb/approx/target.hpp>
#include <ebb/core/error.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/readout/log_time.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// What the weights of a readout are asked to serve.
struct position_weights_options {
  index_t first = 1;        ///< positions first .. last, 1 <= first < last <= 2^40
  index_t last = 1 << 16;   ///< see above
  double lag_fraction = 1;  ///< lags 1 .. max(1, floor(fraction t)), 0 < fraction <= 1
  int degree = 6;           ///< P of log_time_readout, 0 <= P <= 24
  double power = 0.5;       ///< of its gain, 0 <= p < inf: that of the target's decay
  int rounds = 20;          ///< of reweighting, 1 <= rounds
  double ridge = 1e-6;      ///< > 0; smaller ones halve errors below 1e-6, for far larger weights
  std::function<bool()>
      interrupted{};  ///< asked once a round; true ends the work with what there is
};

/// Weights of tapered channels as polynomials in log-time, and the errors they leave.
struct [[nodiscard]] position_weights {
  /// The largest error at one position.
  struct error_at {
    index_t position;
    index_t lag;        ///< where it was seen
    double error;       ///< |f(tau) - sum_k c_k(t) phi_k(t, tau)|
    double weights_l1;  ///< sum_k |c_k(t)|
  };
  log_time_gain gain;
  std::vector<double> coefficients;  ///< (N x (P + 1)) by rows
  std::vector<error_at> errors;      ///< at the positions looked at, ascending
  double error = HUGE_VAL;           ///< the largest of them
  double weights_l1 = 0;             ///< the largest of them

  /// The readout that has this error. @param now  its response to lag 0
  template <real_scalar Real>
  log_time_readout<Real> readout(const post_taper::bound<double>& taper, double now = 0) const {
    return log_time_readout<Real>(taper, gain, coefficients, now);
  }
};

namespace detail {

/// The responses phi_k(t, tau) of all channels of a taper, in double.
class taper_responses {
 public:
  explicit taper_responses(const post_taper::bound<double>& taper) : taper_(taper) {}
  std::size_t channels() const { return taper_.rates().size(); }
  const post_taper::bound<double>& taper() const { return taper_; }

  /// f(k, phi_k(t, tau))
  template <class F>
  void each(index_t position, index_t lag, const F& f) const {
    for (std::size_t k = 0; k < channels(); ++k)
      f(k, taper_.impulse_response(static_cast<index_t>(k), position, position - lag));
  }

 private:
  const post_taper::bound<double>& taper_;
};

/// Whole numbers from 1 to `last`, about `count` of them, equally spaced in the logarithm both from
/// the first and back from one past the last, the nearest `each_end` of either end one by one.
inline std::vector<index_t> lags_of_both_ends(index_t last, index_t count, index_t each_end) {
  std::vector<index_t> lags;
  for (index_t i = 1; i <= std::min(last, each_end); ++i) {
    lags.push_back(i);
    lags.push_back(last + 1 - i);
  }
  for (index_t i = 0; i <= count; ++i) {
    const double step = std::exp(std::log(static_cast<double>(last)) * static_cast<double>(i) /
                                 static_cast<double>(count));
    const index_t lag = std::clamp(static_cast<index_t>(std::llround(step)), index_t{1}, last);
    lags.push_back(lag);
    lags.push_back(last + 1 - lag);
  }
  std::sort(lags.begin(), lags.end());
  lags.erase(std::unique(lags.begin(), lags.end()), lags.end());
  return lags;
}

/// Weighted least squares over positions and lags.
template <class Target>
class position_fit {
 public:
  position_fit(const post_taper::bound<double>& taper, const Target& target,
               const position_weights_options& options)
      : responses_(taper),
        target_(target),
        options_(options),
        gain_{options.power, options.first, options.last},
        ones_(taper, gain_, std::vector<double>(taper.rates().size(), 1.0)) {
    // Three positions for each coefficient, where polynomials of the degree need them.
    const int count = 3 * (options.degree + 1) + 3;
    const double low = std::log(static_cast<double>(options.first + taper.offset()));
    const double high = std::log(static_cast<double>(options.last + taper.offset()));
    for (int i = 0; i <= count; ++i) {
      const double u = -std::cos(M_PI * i / count);
      const double at = std::exp(low + (high - low) * (u + 1) / 2);
      const auto t = static_cast<index_t>(std::llround(at)) - taper.offset();
      positions_.push_back(std::clamp(t, options.first, options.last));
    }
    positions_.erase(std::unique(positions_.begin(), positions_.end()), positions_.end());
    const auto channels = static_cast<index_t>(responses_.channels());
    for (const index_t t : positions_)
      for (const index_t lag : lags_of_both_ends(last_lag(t), 4 * channels, 4))
        points_.push_back({t, lag});
    sample();
  }

  void run(position_weights& result) {
    Eigen::VectorXd weights =
        Eigen::VectorXd::Constant(values_.size(), 1 / static_cast<double>(values_.size()));
    double least = HUGE_VAL;
    for (int round = 0; round < options_.rounds; ++round) {
      const Eigen::VectorXd solution = solve(weights);
      const Eigen::ArrayXd errors = (matrix_ * solution - values_).array().abs();
      const double largest = errors.maxCoeff();
      if (largest < least) {
        least = largest;
        result.coefficients.assign(solution.data(), solution.data() + solution.size());
      }
      if (options_.interrupted && options_.interrupted()) break;
      // Lawson's rule, damped so that no point is lost.
      weights = (weights.array() * (errors / largest + 1e-3)).matrix();
      weights /= weights.sum();
    }
  }

  /// The errors at positions of all sizes, those of the fit and others.
  void judge(position_weights& result) const {
    std::vector<index_t> positions = positions_;
    for (const index_t i : lags_of_both_ends(options_.last, 6 * octaves(), 32))
      if (i >= options_.first) positions.push_back(i);
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    const log_time_readout<double> readout(taper(), gain_, result.coefficients);
    std::vector<double> c(responses_.channels());
    result.gain = gain_;
    result.error = 0;
    for (const index_t t : positions) {
      readout.weights(t, c);
      position_weights::error_at worst{t, 1, 0, 0};
      for (const double x : c) worst.weights_l1 += std::abs(x);
      const auto channels = static_cast<index_t>(c.size());
      for (const index_t lag : lags_of_both_ends(last_lag(t), 16 * channels, 64)) {
        double sum = 0;
        responses_.each(t, lag, [&](std::size_t k, double phi) { sum += c[k] * phi; });
        const double error = std::abs(value_at(lag) - sum);
        if (!(error <= worst.error)) worst.error = error, worst.lag = lag;
      }
      result.errors.push_back(worst);
      result.error = std::max(result.error, worst.error);
      result.weights_l1 = std::max(result.weights_l1, worst.weights_l1);
    }
  }

 private:
  struct point {
    index_t position, lag;
  };

  const post_taper::bound<double>& taper() const { return responses_.taper(); }
  index_t last_lag(index_t position) const {
    const double lags = options_.lag_fraction * static_cast<double>(position);
    return std::max<index_t>(1, static_cast<index_t>(lags));
  }
  index_t octaves() const {
    return 1 + static_cast<index_t>(std::log2(static_cast<double>(options_.last)));
  }

  double value_at(index_t lag) const {
    const double value = static_cast<double>(target_(static_cast<double>(lag)));
    ebb::detail::require_domain(std::abs(value) <= 1e150, where,
                                "need a finite target, at most 1e150 (lag, value)", lag, value);
    return value;
  }

  void sample() {
    const std::size_t n = responses_.channels();
    const auto terms = static_cast<std::size_t>(options_.degree + 1);
    const auto rows = static_cast<Eigen::Index>(points_.size());
    matrix_.resize(rows, static_cast<Eigen::Index>(n * terms));
    values_.resize(rows);
    std::vector<double> gains(n), polynomials(terms);
    index_t position = 0;
    for (Eigen::Index i = 0; i < rows; ++i) {
      const point& at = points_[static_cast<std::size_t>(i)];
      if (at.position != position) {
        position = at.position;
        ones_.weights(position, gains);
        for (const double g : gains)
          ebb::detail::require_domain(
              g >= 1e-150 && g <= 1e150, where,
              "need gains (rates at a position to the power) from 1e-150 to "
              "1e150 (power, gain)",
              options_.power, g);
        const double u = ones_.coordinate(position);
        for (std::size_t p = 0; p < terms; ++p)
          polynomials[p] = p == 0   ? 1
                           : p == 1 ? u
                                    : 2 * u * polynomials[p - 1] - polynomials[p - 2];
      }
      values_[i] = value_at(at.lag);
      responses_.each(at.position, at.lag, [&](std::size_t k, double phi) {
        for (std::size_t p = 0; p < terms; ++p)
          matrix_(i, static_cast<Eigen::Index>(k * terms + p)) = gains[k] * phi * polynomials[p];
      });
    }
  }

  // min sum_i w_i e_i^2 + ridge |C|^2 in scaled columns: neighbouring channels are nearly dependent.
  Eigen::VectorXd solve(const Eigen::VectorXd& weights) const {
    const Eigen::Index rows = matrix_.rows(), columns = matrix_.cols();
    const Eigen::VectorXd root = weights.cwiseSqrt();
    Eigen::MatrixXd system(rows + columns, columns);
    system.topRows(rows) = root.asDiagonal() * matrix_;
    const Eigen::VectorXd scale = system.topRows(rows).colwise().norm().cwiseMax(1e-300);
    system.topRows(rows) = system.topRows(rows) * scale.cwiseInverse().asDiagonal();
    system.bottomRows(columns) = options_.ridge * Eigen::MatrixXd::Identity(columns, columns);
    Eigen::VectorXd right = Eigen::VectorXd::Zero(rows + columns);
    right.head(rows) = root.cwiseProduct(values_);
    const Eigen::VectorXd scaled = Eigen::HouseholderQR<Eigen::MatrixXd>(system).solve(right);
    return scaled.cwiseQuotient(scale);
  }

  static constexpr const char* where = "fit_position_weights";

  taper_responses responses_;
  const Target& target_;
  const position_weights_options& options_;
  log_time_gain gain_;
  log_time_readout<double> ones_;
  std::vector<index_t> positions_;
  std::vector<point> points_;
  Eigen::MatrixXd matrix_;
  Eigen::VectorXd values_;
};

}  // namespace detail

/// Coefficients of a log_time_readout with which tapered channels have the response of a target at
/// every position:
///
///   max over t in first .. last and lags tau = 1 .. max(1, floor(fraction t)) of
///     |f(tau) - sum_k c_k(t) phi_k(t, tau)|
///
/// with phi_k(t, tau) the state at t of an impulse tau steps before, small. Least squares over
/// positions and lags, reweighted towards the largest errors (Lawson); within a small factor of the
/// best coefficients, not the best.
///
/// The errors of the result are those seen: at positions up to 32 and near the last one by one, and
/// 6 an octave between, over the first and last 64 lags of each and 32 N more. They are no proof for
/// others. A lower bound for one position, whatever the readout: best_weights with a taper_basis.
///
/// Units: lags and positions in steps, f and the error those of the target.
/// @param taper    N channels, 1 <= N <= 256, fastest last; a rate of 0 first is a sum
/// @param target   |f| <= 1e150 at whole lags
/// @throws domain_error outside the domains given here and in the options, and unless the gains, the
///   rates at each position to the power, are from 1e-150 to 1e150.
/// Cost: rounds times O(R (N (P + 1))^2) with R = 24 N P rows: 0.5 s at N = 16, P = 2, 5 s at N = 32,
/// P = 6. Source: this library; docs/designing-memory.md.
template <target_for<double> Target>
position_weights fit_position_weights(const post_taper::bound<double>& taper, const Target& target,
                                      const position_weights_options& options = {}) {
  constexpr const char* where = "fit_position_weights";
  const auto channels = static_cast<index_t>(taper.rates().size());
  ebb::detail::require_domain(channels >= 1 && channels <= 256, where, "need 1 <= channels <= 256",
                              channels);
  ebb::detail::require_domain(
      options.first >= 1 && options.last > options.first && options.last <= (index_t{1} << 40),
      where, "need 1 <= first < last <= 2^40", options.first, options.last);
  ebb::detail::require_domain(options.lag_fraction > 0 && options.lag_fraction <= 1, where,
                              "need 0 < lag_fraction <= 1", options.lag_fraction);
  ebb::detail::require_domain(options.degree >= 0 && options.degree <= 24, where,
                              "need 0 <= degree <= 24", options.degree);
  ebb::detail::require_domain(options.rounds >= 1, where, "need rounds >= 1", options.rounds);
  ebb::detail::require_domain(options.ridge > 0 && options.ridge < 1, where, "need 0 < ridge < 1",
                              options.ridge);
  ebb::detail::require_domain(options.power >= 0 && std::isfinite(options.power), where,
                              "need 0 <= power < inf", options.power);
  position_weights result;
  detail::position_fit<Target> fit(taper, target, options);
  fit.run(result);
  fit.judge(result);
  return result;
}

/// The same for a power law, whose exponent is that of the gain.
inline position_weights fit_position_weights(const post_taper::bound<double>& taper,
                                             const power_law& target,
                                             position_weights_options options = {}) {
  options.power = target.beta();
  return fit_position_weights<power_law>(taper, target, options);
}

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
