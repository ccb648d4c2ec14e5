// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/spectrum/linear.hpp
/// @brief  Rates equally spaced: four different spectra that all go by the name "linear".
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string_view>

#include <ebb/spectrum/concept.hpp>
#include <ebb/spectrum/range.hpp>

namespace ebb::inline EBB_ABI {

namespace detail {
inline double require_horizon(double horizon, std::string_view where) {
  require_domain(horizon >= 1 && horizon <= std::numeric_limits<double>::max(), where,
                 "need 1 <= horizon < inf", horizon);
  return horizon;
}

// r_k = (k + 1) / divisor; the quotient is rounded once (twice through a wider working type).
template <class Real>
void fill_multiples(std::span<Real> rates, double divisor, std::string_view where) {
  using Work = working_t<Real>;
  if (rates.empty()) return;
  const auto rate = [&](std::size_t k) {
    return Work(Work(static_cast<double>(k + 1)) / Work(divisor));
  };
  require_rates_fit<Real>(rate(0), rate(rates.size() - 1), where);
  for (std::size_t k = 0; k < rates.size(); ++k) rates[k] = static_cast<Real>(rate(k));
}
}  // namespace detail

/// Linear spectrum r_k = (k + 1) / N, k = 0 .. N-1: rates up to 1, the slowest 1/N.
///
/// Units: 1/step. Cost: O(N), no allocation. Accuracy: 1 ulp. Source: [PoST], linear spectra.
struct linear_k_over_N {
  static constexpr std::string_view name = "linear_k_over_N";

  /// @throws domain_error for rates that Real cannot hold, before anything is written.
  template <real_scalar Real>
  void fill(std::span<Real> rates) const {
    detail::fill_multiples(rates, static_cast<double>(rates.size()), "linear_k_over_N::fill");
  }
};

/// Linear spectrum r_k = k + 1, k = 0 .. N-1 (S4D-Real times a step of 1).
///
/// Units: 1/step. Cost: O(N), no allocation. Accuracy: exact below 2^digits.
/// Source: [PoST], linear spectra; [S4D], real initialisation.
struct linear_k {
  static constexpr std::string_view name = "linear_k";

  /// @throws domain_error for rates that Real cannot hold, before anything is written.
  template <real_scalar Real>
  void fill(std::span<Real> rates) const {
    detail::fill_multiples(rates, 1.0, "linear_k::fill");
  }
};

/// Linear spectrum r_k = (k + 1) / T, k = 0 .. N-1: multiples of the slowest rate 1/T.
///
/// Units: T in steps, rates in 1/step. Cost: O(N), no allocation. Accuracy: 1 ulp.
/// Source: [PoST], linear spectra.
class linear_k_over_T {
 public:
  static constexpr std::string_view name = "linear_k_over_T";

  /// @param horizon  T, 1 <= T < inf, steps
  /// @throws domain_error outside this domain.
  explicit linear_k_over_T(double horizon)
      : horizon_(detail::require_horizon(horizon, "linear_k_over_T")) {}

  /// @throws domain_error for rates that Real cannot hold, before anything is written.
  template <real_scalar Real>
  void fill(std::span<Real> rates) const {
    detail::fill_multiples(rates, horizon_, "linear_k_over_T::fill");
  }

 private:
  double horizon_;
};

/// Linear spectrum from 1/T to 1 in N equal steps; for N = 1 the geometric mean T^(-1/2).
///
///   r_k = ((N - 1 - k) / T + k) / (N - 1)
///
/// Units: T in steps, rates in 1/step. Cost: O(N), no allocation.
/// Accuracy: 1 ulp, 3 ulp for Real wider than double. Source: [PoST], linear spectra.
class linear_ends {
 public:
  static constexpr std::string_view name = "linear_ends";

  /// @param horizon  T, 1 <= T < inf, steps
  /// @throws domain_error outside this domain.
  explicit linear_ends(double horizon)
      : horizon_(detail::require_horizon(horizon, "linear_ends")) {}

  /// @throws domain_error for rates that Real cannot hold, before anything is written.
  template <real_scalar Real>
  void fill(std::span<Real> rates) const {
    using Work = detail::working_t<Real>;
    using detail::sqrt;
    const std::size_t n = rates.size();
    if (n == 0) return;
    const Work slowest = Work(1) / (n == 1 ? Work(sqrt(Work(horizon_))) : Work(horizon_));
    detail::require_rates_fit<Real>(slowest, Work(1), "linear_ends::fill");
    rates[0] = static_cast<Real>(slowest);
    const auto last = static_cast<double>(n - 1);
    for (std::size_t k = 1; k < n; ++k) {
      const auto up = static_cast<double>(k);
      const Work slow_part = Work(last - up) / Work(horizon_);
      rates[k] = static_cast<Real>(Work((slow_part + Work(up)) / Work(last)));
    }
  }

 private:
  double horizon_;
};

static_assert(spectrum_for<linear_k_over_N, float> && spectrum_for<linear_k_over_N, double>);
static_assert(spectrum_for<linear_k_over_T, float> && spectrum_for<linear_k_over_T, double>);
static_assert(spectrum_for<linear_ends, float> && spectrum_for<linear_ends, double>);
static_assert(spectrum_for<linear_k, float> && spectrum_for<linear_k, double>);

}  // namespace ebb::inline EBB_ABI
