// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/complex_exponential_sum.hpp
/// @brief  A real kernel made of damped oscillations: complex rates and weights.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

#include <ebb/core/decaying_exp.hpp>
#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// A real sum of N damped oscillations, one channel for each conjugate pair or real rate:
///
///   s(tau) = Re sum_k c_k exp(-r_k tau) = sum_k exp(-Re r_k tau) (Re c_k cos p + Im c_k sin p),
///   p = Im r_k tau
///
/// In a recurrence: channels of complex states with the constant decay of these rates, fed with the
/// same real input x_t, and y_t = Re sum_k c_k h_{t,k}. A conjugate pair with weights c / 2 and
/// conj(c) / 2 has this real sum.
///
/// Shapes: rates and weights (N) each. Units: rates 1/step (Im r: radian per step), weights those
/// of s.
struct complex_exponential_sum {
  std::vector<std::complex<double>> rates;    ///< r_k, finite, Re r > 0, ascending by Re r
  std::vector<std::complex<double>> weights;  ///< c_k, finite

  index_t channels() const { return static_cast<index_t>(rates.size()); }

  /// s(tau), tau >= 0. Cost: N exponentials, sines and cosines.
  /// Accuracy: (70 + N) u sum |c_k| exp(-Re r_k tau), and one rounding of each r_k tau, u the unit
  /// roundoff of Real.
  template <real_scalar Real>
  Real operator()(const Real& lag) const {
    using std::cos, std::sin;
    Real sum(0);
    for (std::size_t k = 0; k < rates.size(); ++k) {
      const Real phase(Real(rates[k].imag()) * lag);
      const Real wave(Real(weights[k].real()) * Real(cos(phase)) +
                      Real(weights[k].imag()) * Real(sin(phase)));
      sum += Real(wave * decaying_exp(Real(Real(rates[k].real()) * lag)));
    }
    return sum;
  }

  /// sum |c_k|
  double weights_l1() const {
    double sum = 0;
    for (const std::complex<double>& c : weights) sum += std::abs(c);
    return sum;
  }

  /// @throws shape_error unless there is a weight for each rate; domain_error unless rates are
  ///   finite, Re r > 0 and ascending by Re r, and weights finite.
  void check(const char* where) const {
    ebb::detail::require_shape(rates.size() == weights.size(), where,
                               "need as many weights as rates (got, rates)", weights.size(),
                               rates.size());
    for (std::size_t k = 0; k < rates.size(); ++k) {
      const double decay = rates[k].real();
      ebb::detail::require_domain(decay > 0 && std::isfinite(decay) &&
                                      std::isfinite(rates[k].imag()) &&
                                      (k == 0 || rates[k - 1].real() <= decay),
                                  where, "need finite rates, Re r > 0, ascending", decay);
      ebb::detail::require_domain(
          std::isfinite(weights[k].real()) && std::isfinite(weights[k].imag()), where,
          "need finite weights", weights[k].real(), weights[k].imag());
    }
  }
};

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
