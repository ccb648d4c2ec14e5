// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/spectrum/complex.hpp
/// @brief  Spectra of oscillating channels: log a = -r, Re r the rate of decay, -Im r the phase.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include <ebb/core/scalar.hpp>
#include <ebb/spectrum/concept.hpp>
#include <ebb/spectrum/random.hpp>
#include <ebb/spectrum/range.hpp>

namespace ebb::inline EBB_ABI {

/// S4D-Lin: r_k = dt (1/2 - i pi k), k = 0 .. N-1: one rate, equally spaced frequencies.
///
/// The real signal is twice the real part of the sum over channels. Phases dt pi k above pi,
/// that is k > 1/dt, alias to lower ones.
///
/// Units: dt time per step; rates in 1/step. Cost: O(N), no allocation.
/// Accuracy: each component 2 ulp for complex<float>, and for complex<double> where long double is
/// wider; else 3 unit roundoffs.
/// Source: [S4D], S4D-Lin.
class s4d_lin {
 public:
  static constexpr std::string_view name = "s4d_lin";

  /// @param step  dt, 0 < dt < inf
  /// @throws domain_error outside this domain.
  explicit s4d_lin(double step = 1) : step_(step) {
    detail::require_domain(step > 0 && step <= std::numeric_limits<double>::max(), "s4d_lin",
                           "need 0 < step < inf", step);
  }

  double step() const { return step_; }

  /// Write the rates.
  /// @throws domain_error for rates that the type cannot hold, before anything is written.
  template <class Real>
  void fill(std::span<std::complex<Real>> rates) const {
    using Work = detail::working_t<Real>;
    constexpr Work pi = Work(3.14159265358979323846264338327950288L);
    if (rates.empty()) return;
    const auto frequency = [&](std::size_t k) {
      return Work(Work(step_) * static_cast<Work>(k)) * pi;
    };
    const Work most(std::numeric_limits<Real>::max());
    const Work half = Work(step_) / 2;
    detail::require_rates_fit<Real>(half, half, "s4d_lin::fill");
    detail::require_domain(frequency(rates.size() - 1) <= most, "s4d_lin::fill",
                           "need rates that the type can hold", step_);
    const auto real = static_cast<Real>(half);
    for (std::size_t k = 0; k < rates.size(); ++k)
      rates[k] = {real, static_cast<Real>(-frequency(k))};
  }

 private:
  double step_;
};

namespace detail {
/// -log |a| for |a|^2 = low^2 + u (high^2 - low^2), 0 < u <= 1, > 0 also for high = u = 1:
///
///   -log high - log(1 - z) / 2,   z = (1 - u)(1 - q^2),   q = low / high
///
/// No term cancels: 1 - u and high - low are formed from exact numbers.
template <class Work>
Work ring_rate(double low, double high, double u) {
  const double off = high < 1 ? 1 - u : std::max(1 - u, 0x1p-54);
  const Work q = Work(low) / Work(high);
  const Work z = Work(off) * (((Work(high) - Work(low)) / Work(high)) * (1 + q));
  const Work log_square =
      z > Work(0.5) ? Work(log(Work(Work(u) + Work(off) * q * q))) : Work(log1p(Work(-z)));
  return Work(-log(Work(high)) - log_square / 2);
}
}  // namespace detail

/// The ring of the linear recurrent unit: decays drawn uniformly by area from an annulus.
///
///   |a|^2 = r_min^2 + u (r_max^2 - r_min^2),   phase = v max_phase,   r = -log |a| - i phase
///
/// u, v are independent and uniform on (0, 1]; channels are sorted by |a|, slowest first (equal
/// ones by phase, the largest first). Each channel takes the next two draws of the seed's stream.
/// For r_max = 1, u = 1 counts as 1 - 2^-54, lest a channel never forget.
///
/// Units: r_min, r_max none; max_phase radian per step. Cost: O(N log N) time, no allocation.
/// Accuracy: each component 2 ulp for complex<float>, and for complex<double> where long double is
/// wider; else 12 unit roundoffs. (docs/accuracy.md)
/// Source: [LRU], initialisation on a ring.
class lru_ring {
 public:
  static constexpr std::string_view name = "lru_ring";

  /// @param min_modulus, max_modulus  0 <= r_min <= r_max <= 1, r_min < 1, r_max > 0
  /// @param max_phase                 0 <= max_phase <= 2 pi (the nearest double)
  /// @param seed                      any; equal seeds give equal draws
  /// @throws domain_error outside these domains.
  lru_ring(double min_modulus, double max_modulus, double max_phase, std::uint64_t seed)
      : min_modulus_(min_modulus), max_modulus_(max_modulus), max_phase_(max_phase), seed_(seed) {
    detail::require_domain(min_modulus >= 0 && min_modulus < 1 && max_modulus >= min_modulus &&
                               max_modulus > 0 && max_modulus <= 1,
                           "lru_ring", "need 0 <= r_min <= r_max <= 1, r_min < 1, r_max > 0",
                           min_modulus, max_modulus);
    detail::require_domain(max_phase >= 0 && max_phase <= 6.283185307179586, "lru_ring",
                           "need 0 <= max_phase <= 2 pi", max_phase);
  }

  double min_modulus() const { return min_modulus_; }
  double max_modulus() const { return max_modulus_; }
  double max_phase() const { return max_phase_; }
  std::uint64_t seed() const { return seed_; }

  /// Write the rates, slowest first.
  template <class Real>
  void fill(std::span<std::complex<Real>> rates) const {
    using Work = detail::working_t<Real>;
    uniform_stream uniform(seed_);
    for (std::complex<Real>& rate : rates) {
      const double u = uniform.next(), v = uniform.next();
      rate = {static_cast<Real>(detail::ring_rate<Work>(min_modulus_, max_modulus_, u)),
              static_cast<Real>(-(Work(max_phase_) * Work(v)))};
    }
    std::sort(rates.begin(), rates.end(),
              [](const std::complex<Real>& one, const std::complex<Real>& two) {
                if (one.real() < two.real() || two.real() < one.real())
                  return one.real() < two.real();
                return one.imag() < two.imag();
              });
  }

 private:
  double min_modulus_, max_modulus_, max_phase_;
  std::uint64_t seed_;
};

static_assert(spectrum_for<s4d_lin, std::complex<float>>);
static_assert(spectrum_for<s4d_lin, std::complex<double>>);
static_assert(spectrum_for<lru_ring, std::complex<float>>);
static_assert(spectrum_for<lru_ring, std::complex<double>>);

}  // namespace ebb::inline EBB_ABI
