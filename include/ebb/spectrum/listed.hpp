// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/spectrum/listed.hpp
/// @brief  A spectrum of the caller's own rates, half-lives or poles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <ebb/spectrum/concept.hpp>
#include <ebb/spectrum/range.hpp>

namespace ebb::inline EBB_ABI {

/// Listed spectrum: exactly the N channels the caller names, sorted slowest first.
///
///   rates(r)        r_k                       1/step, 0 < r < inf
///   half_lives(x)   r_k = log 2 / x_k         x in steps, 0 < x < inf
///   poles(a)        r_k = -log a_k            decay factors, 0 < a < 1
///
/// Equal entries are kept; approx/ asks for distinct ones.
///
/// Cost: O(N log N) once, O(N) per fill; no allocation in fill. Accuracy: 2 ulp.
class listed_spectrum {
 public:
  static constexpr std::string_view name = "listed";

  /// @throws domain_error unless every rate is finite and > 0.
  static listed_spectrum rates(std::vector<double> list) {
    return {std::move(list), meaning::rate, std::numeric_limits<double>::max(),
            "listed_spectrum::rates", "need 0 < rate < inf"};
  }

  /// @throws domain_error unless every half-life is finite and > 0.
  static listed_spectrum half_lives(std::vector<double> list) {
    return {std::move(list), meaning::half_life, std::numeric_limits<double>::max(),
            "listed_spectrum::half_lives", "need 0 < half-life < inf"};
  }

  /// @throws domain_error unless every pole lies strictly between 0 and 1.
  static listed_spectrum poles(std::vector<double> list) {
    return {std::move(list), meaning::pole, 1 - std::numeric_limits<double>::epsilon() / 2,
            "listed_spectrum::poles", "need 0 < pole < 1"};
  }

  /// How many channels there are.
  index_t channels() const { return static_cast<index_t>(list_.size()); }

  /// Write the rates, slowest first.
  /// @param[out] rates  `channels()` values, or none.
  /// @throws shape_error for any other number of them; domain_error for a rate that Real cannot
  ///   hold (above its largest or below its smallest number), before anything is written.
  template <real_scalar Real>
  void fill(std::span<Real> rates) const {
    using Work = detail::working_t<Real>;
    using detail::log;
    if (rates.empty()) return;
    detail::require_shape(rates.size() == list_.size(), "listed_spectrum::fill",
                          "need as many channels as listed (got, listed)", rates.size(),
                          list_.size());
    const Work log_two = meaning_ == meaning::half_life ? Work(log(Work(2))) : Work(0);
    const auto rate = [&](std::size_t k) {
      Work value(list_[k]);  // not const: it moves out
      if (meaning_ == meaning::rate) return value;
      return meaning_ == meaning::half_life ? Work(log_two / value) : Work(-log(value));
    };
    // The list is sorted, so its ends speak for all.
    detail::require_rates_fit<Real>(rate(0), rate(list_.size() - 1), "listed_spectrum::fill");
    for (std::size_t k = 0; k < list_.size(); ++k) rates[k] = static_cast<Real>(rate(k));
  }

 private:
  enum class meaning { rate, half_life, pole };

  listed_spectrum(std::vector<double> list, meaning what, double largest, std::string_view where,
                  std::string_view rule)
      : list_(std::move(list)), meaning_(what) {
    for (const double value : list_)
      detail::require_domain(value > 0 && value <= largest, where, rule, value);
    if (what == meaning::rate)
      std::sort(list_.begin(), list_.end());
    else
      std::sort(list_.begin(), list_.end(), std::greater<>());
  }

  std::vector<double> list_;
  meaning meaning_;
};

static_assert(spectrum_for<listed_spectrum, float> && spectrum_for<listed_spectrum, double>);

}  // namespace ebb::inline EBB_ABI
