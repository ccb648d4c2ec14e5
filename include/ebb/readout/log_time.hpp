// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/readout/log_time.hpp
/// @brief  A readout whose weights follow the position, for channels with a taper.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/readout/concept.hpp>

namespace ebb::inline EBB_ABI {

/// Where the weights of a log_time_readout are polynomials, and how they scale with the rates.
struct log_time_gain {
  double power = 0.5;      ///< p >= 0, finite: that of the target tau^-p
  index_t first = 1;       ///< 1 <= first position
  index_t last = 1 << 16;  ///< first < last position <= 2^53
};

/// Readout of tapered channels, one output:
///
///   y_t = sum_k c_k(t) h_{t,k} + (now - sum_k c_k(t)) x_t
///   c_k(t) = g_k(t) sum_{p=0}^{P} C_kp T_p(u_t)
///
/// T_p are Chebyshev's polynomials, u_t in [-1, 1] is log(t + t_0) mapped linearly from the positions
/// first .. last (beyond them the weights keep to the nearest end), and g_k(t) = lambda_k(t)^p is the
/// rate of the channel at t, lambda_k(t) = r_k ((t + t_0) / t_ref)^-alpha_k, or (t + t_0)^-p for a
/// channel of rate 0.
///
/// Why: the weights that are best at one position are useless at another, since the channels
/// themselves change; over g_k they vary slowly with log t, so that few coefficients serve all
/// positions. `now` is the response to the input of the step itself, lag 0, which tau^-p does not
/// have; without x, lag 0 counts as sum_k c_k(t).
///
/// Shapes: C (N x (P + 1)) by rows, h (N), x (1) or none, y (1).
/// Cost: N exponentials and N (P + 3) multiply-adds, no allocation.
/// Accuracy: each weight within (12 + 4 P^2 (1 + L) + 4 p (|log r_k| + L)) u g_k sum_p |C_kp|, u that
/// of double, L = log(last + t_0) + |log t_ref| + 1; the sum in Real as linear_readout.
/// Source: this library; docs/designing-memory.md.
template <real_scalar Real>
class log_time_readout {
 public:
  /// @param taper         the channels' decay
  /// @param gain          see there
  /// @param coefficients  C, N (P + 1) finite values, P >= 0
  /// @param now           finite
  /// @throws shape_error unless coefficients are a multiple of N > 0; domain_error outside the other
  ///   domains.
  log_time_readout(const post_taper::bound<double>& taper, const log_time_gain& gain,
                   std::vector<double> coefficients, double now = 0)
      : alpha_(taper.alpha().begin(), taper.alpha().end()),
        gain_(gain),
        offset_(taper.offset()),
        log_reference_(taper.log_reference()),
        coefficients_(std::move(coefficients)),
        now_(now) {
    constexpr const char* where = "log_time_readout";
    const std::size_t n = alpha_.size();
    detail::require_shape(n > 0 && !coefficients_.empty() && coefficients_.size() % n == 0, where,
                          "need as many coefficients for each of N > 0 channels (got, N)",
                          coefficients_.size(), n);
    detail::require_domain(gain.power >= 0 && std::isfinite(gain.power), where,
                           "need 0 <= power < inf", gain.power);
    detail::require_domain(
        gain.first >= 1 && gain.last > gain.first && gain.last <= (index_t{1} << 53), where,
        "need 1 <= first < last <= 2^53", gain.first, gain.last);
    for (const double c : coefficients_)
      detail::require_domain(std::isfinite(c), where, "need finite coefficients", c);
    detail::require_domain(std::isfinite(now), where, "need a finite response to lag 0", now);
    for (const double r : taper.rates()) {
      log_rates_.push_back(r > 0 ? std::log(r) : 0);
      if (r == 0) alpha_[log_rates_.size() - 1] = no_rate;
    }
    low_ = log_position(gain.first);
    span_ = log_position(gain.last) - low_;
  }

  index_t channels() const { return static_cast<index_t>(alpha_.size()); }
  index_t outputs() const { return 1; }
  /// P
  index_t degree() const { return static_cast<index_t>(coefficients_.size() / alpha_.size()) - 1; }
  const log_time_gain& gain() const { return gain_; }
  std::span<const double> coefficients() const { return coefficients_; }

  /// u_t, the argument of the polynomials. @param position  t >= 1
  double coordinate(index_t position) const { return coordinate_of(log_position(position)); }

  /// f(k, c_k(t)) for each channel, in order. @param position  t >= 1
  template <class F>
  void each_weight(index_t position, const F& f) const {
    EBB_ASSERT(position >= 1);
    const std::size_t terms = coefficients_.size() / alpha_.size();
    const double log_time = log_position(position);
    const double u = coordinate_of(log_time);
    for (std::size_t k = 0; k < alpha_.size(); ++k) {
      const double* const c = coefficients_.data() + k * terms;
      double before = 1, last = u, sum = c[0];  // T_0, T_1
      for (std::size_t p = 1; p < terms; ++p) {
        sum += c[p] * last;
        before = std::exchange(last, 2 * u * last - before);
      }
      const double log_rate = alpha_[k] == no_rate
                                  ? -log_time
                                  : log_rates_[k] - alpha_[k] * (log_time - log_reference_);
      f(k, std::exp(gain_.power * log_rate) * sum);
    }
  }

  /// The weights c_k(t) themselves, (N).
  /// @throws shape_error for any other number of them; domain_error unless position >= 1.
  void weights(index_t position, std::span<double> to) const {
    detail::require_shape(to.size() == alpha_.size(), "log_time_readout::weights",
                          "need N weights (got, N)", to.size(), alpha_.size());
    detail::require_domain(position >= 1, "log_time_readout::weights", "need position >= 1",
                           position);
    each_weight(position, [&](std::size_t k, double c) { to[k] = c; });
  }

  /// @throws shape_error unless h has N, x one value or none, and y one; domain_error unless
  ///   position >= 1.
  void apply(index_t position, std::span<const Real> h, std::span<const Real> x,
             std::span<Real> y) const {
    constexpr const char* where = "log_time_readout::apply";
    detail::require_shape(h.size() == alpha_.size(), where, "need a state of N channels (got, N)",
                          h.size(), alpha_.size());
    detail::require_shape(x.size() <= 1 && y.size() == 1, where,
                          "need at most one input and one output (inputs, outputs)", x.size(),
                          y.size());
    detail::require_domain(position >= 1, where, "need position >= 1", position);
    Real sum(0);
    double total = 0;
    each_weight(position, [&](std::size_t k, double c) {
      sum += static_cast<Real>(c) * h[k];
      total += c;
    });
    if (!x.empty()) sum += static_cast<Real>(now_ - total) * x[0];
    y[0] = sum;
  }

 private:
  static constexpr double no_rate = -1;  // in place of an exponent

  double log_position(index_t position) const {
    return std::log(static_cast<double>(position) + static_cast<double>(offset_));
  }
  double coordinate_of(double log_time) const {
    return std::clamp(2 * (log_time - low_) / span_ - 1, -1.0, 1.0);
  }

  std::vector<double> alpha_, log_rates_;
  log_time_gain gain_;
  index_t offset_;
  double log_reference_;
  std::vector<double> coefficients_;
  double now_;
  double low_ = 0, span_ = 1;
};

static_assert(readout_for<log_time_readout<float>, float>);
static_assert(readout_for<log_time_readout<double>, double>);

}  // namespace ebb::inline EBB_ABI
