// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/spectrum/ordered.hpp
/// @brief  The learned parameterisation: rates that stay in order whatever the parameters.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <ebb/spectrum/concept.hpp>
#include <ebb/spectrum/range.hpp>

namespace ebb::inline EBB_ABI {

/// Which delta gives a log-gap g, of the two inverses of softplus in use.
enum class gap_inverse {
  exact,         ///< log(e^g - 1): the rates come back
  as_published,  ///< log(e^g - 1 + 1e-6), as the code of [PoST] starts its models: each rate comes
                 ///< back as (ratio + 1e-6) times the one before it
};

/// Ordered spectrum: r_0 = exp(theta), r_k = exp(theta + sum_{i<k} softplus(delta_i)).
///
/// Any real theta (1) and delta (N-1) give rates in ascending order, so gradient descent cannot
/// cross channels.
///
/// Units: rates in 1/step, parameters none.
/// Cost: O(N) per fill, inverse and VJP; no allocation in fill and vjp.
/// Accuracy: a rate within (4 + 4k + |theta| + log r_k/r_0) unit roundoffs of the working type
/// (wider than Real for float and double), rounded once. The inverse's theta and delta: relative
/// error of e^theta, e^delta below 8 unit roundoffs, for gaps of any size; of delta itself where
/// |delta| > 1. `as_published`: below 20.
/// Source: [PoST], ordered log-decays (spectral reparameterisation).
///
/// @tparam Param  the parameters' type
template <real_scalar Param = double>
class ordered_spectrum {
 public:
  static constexpr std::string_view name = "ordered";

  /// @param theta  log of the slowest rate, finite
  /// @param delta  N-1 values; softplus(delta_i) is the i-th log-gap; not NaN, < inf
  /// @throws domain_error outside these domains.
  ordered_spectrum(Param theta, std::vector<Param> delta)
      : theta_(std::move(theta)), delta_(std::move(delta)) {
    const Param largest = std::numeric_limits<Param>::max();
    detail::require_domain(theta_ >= -largest && theta_ <= largest, "ordered_spectrum",
                           "need a finite theta", theta_);
    for (const Param& d : delta_)
      detail::require_domain(d <= largest, "ordered_spectrum", "need delta < inf, not NaN", d);
  }

  /// The inverse: parameters that give these rates back, or nearly so if `as_published`.
  /// @param rates    N >= 1 values, finite, > 0, strictly ascending
  /// @param inverse  how a log-gap becomes a delta
  /// @throws domain_error outside this domain; shape_error when there are none.
  static ordered_spectrum from_rates(std::span<const Param> rates,
                                     gap_inverse inverse = gap_inverse::exact) {
    using detail::exp, detail::log, detail::log1p;
    detail::require_shape(!rates.empty(), "ordered_spectrum::from_rates", "need a rate");
    detail::require_domain(rates[0] > Param(0), "ordered_spectrum::from_rates", "need rates > 0",
                           rates[0]);
    detail::require_domain(rates.back() <= std::numeric_limits<Param>::max(),
                           "ordered_spectrum::from_rates", "need finite rates", rates.back());
    std::vector<Param> delta;
    delta.reserve(rates.size() - 1);
    for (std::size_t k = 1; k < rates.size(); ++k) {
      detail::require_domain(rates[k] > rates[k - 1], "ordered_spectrum::from_rates",
                             "need strictly ascending rates", rates[k - 1], rates[k]);
      Param gap = detail::log_ratio(rates[k - 1], rates[k]);
      // log(e^g + 1e-6), also where e^g overflows
      if (inverse == gap_inverse::as_published)
        gap += Param(log1p(Param(Param(exp(Param(-gap))) / Param(1000000))));
      delta.push_back(inverse_softplus(gap));
    }
    return {Param(log(rates[0])), std::move(delta)};
  }

  const Param& theta() const { return theta_; }
  std::span<const Param> delta() const { return delta_; }
  index_t channels() const { return static_cast<index_t>(delta_.size()) + 1; }

  /// Write the rates, slowest first.
  /// @param[out] rates  `channels()` values, or none.
  /// @throws shape_error for any other number of them; domain_error, before anything is written,
  ///   for rates that Real cannot hold (above its largest or below its smallest number).
  template <real_scalar Real>
  void fill(std::span<Real> rates) const {
    using Work = detail::working_t<Real>;
    using detail::exp;
    if (rates.empty()) return;
    require_channels(rates.size(), "ordered_spectrum::fill");
    Work log_rate = static_cast<Work>(theta_);
    Work log_last = log_rate;
    for (const Param& step : delta_) log_last += softplus(static_cast<Work>(step));
    detail::require_rates_fit<Real>(Work(exp(log_rate)), Work(exp(log_last)),
                                    "ordered_spectrum::fill");
    for (std::size_t k = 0; k < rates.size(); ++k) {
      if (k > 0) log_rate += softplus(static_cast<Work>(delta_[k - 1]));
      rates[k] = static_cast<Real>(Work(exp(log_rate)));
    }
  }

  /// Vector-Jacobian product: from d loss / d rates to the parameters, overwriting.
  ///
  ///   d theta = sum_k r_k dr_k,   d delta_i = logistic(delta_i) sum_{k>i} r_k dr_k
  ///
  /// @param rate_gradients        (N)
  /// @param[out] theta_gradient   one value
  /// @param[out] delta_gradients  (N-1)
  /// @throws shape_error when the sizes differ from these.
  void vjp(std::span<const Param> rate_gradients, Param& theta_gradient,
           std::span<Param> delta_gradients) const {
    using detail::exp;
    require_channels(rate_gradients.size(), "ordered_spectrum::vjp");
    detail::require_shape(delta_gradients.size() == delta_.size(), "ordered_spectrum::vjp",
                          "need N - 1 delta gradients (got, N - 1)", delta_gradients.size(),
                          delta_.size());
    // First the products r_k dr_k of the upper N-1 channels, then their sums from above.
    Param log_rate = theta_;
    const Param lowest = Param(exp(log_rate)) * rate_gradients[0];
    for (std::size_t i = 0; i < delta_.size(); ++i) {
      log_rate += softplus(delta_[i]);
      delta_gradients[i] = Param(exp(log_rate)) * rate_gradients[i + 1];
    }
    Param above(0);
    for (std::size_t i = delta_.size(); i-- > 0;) {
      above += delta_gradients[i];
      delta_gradients[i] = logistic(delta_[i]) * above;
    }
    theta_gradient = above + lowest;
  }

 private:
  void require_channels(std::size_t got, std::string_view where) const {
    detail::require_shape(got == delta_.size() + 1, where,
                          "need one channel more than deltas (got, expected)", got,
                          delta_.size() + 1);
  }

  Param theta_;
  std::vector<Param> delta_;
};

static_assert(spectrum_for<ordered_spectrum<>, float> && spectrum_for<ordered_spectrum<>, double>);

}  // namespace ebb::inline EBB_ABI
