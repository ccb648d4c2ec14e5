// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/basis.hpp
/// @brief  The functions of the lag that the channels of a recurrence offer.
#pragma once

#include <algorithm>
#include <concepts>
#include <numbers>
#include <span>
#include <vector>

#include <ebb/approx/lags.hpp>
#include <ebb/core/decaying_exp.hpp>
#include <ebb/core/error.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/decay/power_sum.hpp>
#include <ebb/spectrum/concept.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// Relative errors of basis functions in units of u; see below.
struct value_roundoffs {
  double base = 0, run = 0, slope = 0;
};

/// Basis functions phi_0 .. phi_{N-1} of the lag, in any precision.
///
///   basis.size()                  N
///   basis.bind<Real>()            values in precision Real: b.fill(lag, row),
///                                 b.fill_run(first, rows)
///   basis.intervals(first, last)  intervals that cover [first, last], each with its strip
///   basis.last_lag()              the largest lag at which the functions are defined
///   basis.roundoffs()             {base, run, slope}: a value e^-x has a relative error below
///                                 (base + run * n + slope * x) u, n its place in a fill_run
///   B::chebyshev_system           whether every nontrivial combination has at most N - 1 zeros
///   B::continuous_lags            whether lags between whole steps have a meaning
template <class B>
concept basis_functions = requires(const B& basis, double lag) {
  { basis.size() } -> std::convertible_to<index_t>;
  { basis.intervals(lag, lag) } -> std::same_as<std::vector<lag_interval>>;
  { basis.last_lag() } -> std::convertible_to<double>;
  { basis.roundoffs().slope } -> std::convertible_to<double>;
  { B::chebyshev_system } -> std::convertible_to<bool>;
  { B::continuous_lags } -> std::convertible_to<bool>;
  basis.template bind<double>();
  basis.template bind<long double>();
};

namespace detail {

template <class Real>
void require_distinct(const std::vector<Real>& rates, const char* where) {
  for (std::size_t k = 1; k < rates.size(); ++k)
    ebb::detail::require_domain(rates[k - 1] < rates[k], where,
                                "need strictly ascending rates (equal ones add no function)",
                                static_cast<double>(rates[k]));
}

}  // namespace detail

/// The impulse responses of channels with constant decay: phi_k(tau) = exp(-r_k tau).
///
/// Units: rates 1/step, tau steps. Distinct rates make a Chebyshev system on every set of lags.
template <class Spectrum>
class exponential_basis {
 public:
  static constexpr bool chebyshev_system = true;
  static constexpr bool continuous_lags = true;

  /// @param channels  N, 1 <= N
  /// @throws domain_error when channels < 1.
  exponential_basis(Spectrum spectrum, index_t channels)
      : spectrum_(std::move(spectrum)), channels_(channels) {
    ebb::detail::require_domain(channels >= 1, "exponential_basis", "need channels >= 1", channels);
  }

  index_t size() const { return channels_; }
  double last_lag() const { return 0x1p53; }

  /// core/decaying_exp.hpp, and one roundoff of x. A run multiplies by exp(-r) at each step.
  value_roundoffs roundoffs() const { return {66, 66, 4}; }

  /// exp(-r e^u) has absolute value at most 1 wherever Re e^u >= 0, that is |Im u| <= pi/2.
  std::vector<lag_interval> intervals(double first, double last) const {
    const double low = std::log(first), high = std::log(last);
    // Half the length is enough: a rounder ellipse would only reach farther beyond the ends.
    return {{low, high, 0, std::min(0.5 * std::numbers::pi, high - low)}};
  }

  template <real_scalar Real>
  struct bound {
    std::vector<Real> rates;

    void fill(const Real& lag, std::span<Real> row) const {
      using ebb::detail::exp;
      for (std::size_t k = 0; k < rates.size(); ++k) row[k] = decaying_exp(Real(rates[k] * lag));
    }

    /// Rows for the lags first, first + 1, ...: rows.size() / N of them, one after the other.
    void fill_run(index_t first, std::span<Real> rows) const {
      using ebb::detail::exp;
      const std::size_t n = rates.size();
      for (std::size_t start = 0; start < rows.size(); start += n) {
        const auto row = rows.subspan(start, n);
        // A product costs a fraction of a multiprecision exp and one rounding a step.
        if (start > 0 && many_digits<Real>)
          for (std::size_t k = 0; k < n; ++k) row[k] = Real(rows[start - n + k] * steps[k]);
        else
          fill(Real(static_cast<double>(first) + static_cast<double>(start / n)), row);
      }
    }

    std::vector<Real> steps;  // exp(-r_k)
  };

  /// @throws domain_error when two rates are equal after rounding to `Real`.
  template <real_scalar Real>
  bound<Real> bind() const {
    using ebb::detail::exp;
    bound<Real> out{rates_of<Real>(spectrum_, channels_), {}};
    detail::require_distinct(out.rates, "exponential_basis");
    for (const Real& rate : out.rates) out.steps.push_back(decaying_exp(rate));
    return out;
  }

 private:
  Spectrum spectrum_;
  index_t channels_;
};

/// Variants of taper_basis.
struct taper_options {
  index_t offset = 0;        ///< t_0 >= 0, steps
  bool sum_channel = false;  ///< one of the N channels has rate 0
};

/// The impulse responses at position t of channels with position-adaptive taper.
///
///   phi_k(tau) = exp(-r_k sum_{s = t-tau+1}^{t} ((s + t_0) / T)^-alpha_k),
///   alpha_k = (N' - 1 - k) / (N' - 1),  N' = number of tapered channels (alpha = 1 for N' = 1)
///
/// With `sum_channel` one further function phi = 1 stands first (a channel that never forgets) and
/// N' = N - 1. The relative convention, linear taper (decay/post.hpp).
///
/// Units: rates 1/step; t, T, t_0, tau steps; whole positions s, so that tau is whole.
/// Not proven to be a Chebyshev system: lower bounds come from duality instead.
/// Source: [PoST] position-adaptive scaling; docs/references.md.
template <class Spectrum>
class taper_basis {
 public:
  static constexpr bool chebyshev_system = false;
  static constexpr bool continuous_lags = false;

  /// @param channels     N >= 1, the sum channel included
  /// @param t_reference  1 < T < 2^53, steps
  /// @param position     t >= 1, steps, whole
  /// @throws domain_error outside these domains.
  taper_basis(Spectrum spectrum, index_t channels, double t_reference, double position,
              taper_options chosen = {})
      : spectrum_(std::move(spectrum)),
        channels_(channels),
        t_reference_(t_reference),
        position_(position),
        options_(chosen) {
    constexpr const char* where = "taper_basis";
    ebb::detail::require_domain(channels >= (chosen.sum_channel ? 2 : 1), where,
                                "need channels >= 1 (2 with a sum channel)", channels);
    ebb::detail::require_domain(t_reference > 1 && t_reference < 0x1p53, where,
                                "need 1 < t_reference < 2^53", t_reference);
    ebb::detail::require_domain(
        position >= 1 && position < 0x1p53 && position == std::floor(position), where,
        "need a whole position, 1 <= position < 2^53", position);
    ebb::detail::require_domain(chosen.offset >= 0 && chosen.offset < (index_t{1} << 52), where,
                                "need 0 <= offset < 2^52", chosen.offset);
  }

  index_t size() const {
    return chosen_.empty() ? channels_ : static_cast<index_t>(chosen_.size());
  }
  double last_lag() const { return position_; }

  /// As exponential_basis, with the error of x as in decay/post.hpp, and a roundoff for each sum of
  /// a run, of which there are at most 300.
  value_roundoffs roundoffs() const {
    const double offset = static_cast<double>(options_.offset);
    return {66, 0, 320 + 2 * std::log(position_ + offset + 1) + 4 * std::log(t_reference_)};
  }

  /// The same with some of its functions only, given by ascending indices.
  taper_basis only(const std::vector<index_t>& functions) const {
    taper_basis result = *this;
    result.chosen_ = functions;
    return result;
  }

  /// Lags up to half the position are counted back from now, later ones from the start.
  ///
  /// The functions are at most 1 where the real part of S(z) = zeta(alpha, z) - zeta(alpha, t'+1),
  /// z = t' + 1 - tau, t' = t + t_0, is not negative. Off the real axis it falls by at most
  /// (alpha/2) (Im z)^2 x^(-alpha-1) (1 + (alpha+1)/x), x = Re z (Im zeta(alpha+1, .) integrated),
  /// while S(x) >= Re(tau) (t'+1)^-alpha. The strips below keep the first under the second with a
  /// margin, the overshoot of the ellipse included; docs/certificates.md has the algebra.
  std::vector<lag_interval> intervals(double first, double last) const {
    const double end = position_ + static_cast<double>(options_.offset) + 1, half = 0.5 * end;
    std::vector<lag_interval> result;
    const auto add = [&](double low, double high, double anchor, double widest) {
      result.push_back({low, high, anchor, std::min(widest, 0.15 * (high - low))});
    };
    if (first < half) add(std::log(first), std::log(std::min(last, half)), 0, 0.6);
    if (last > half) add(std::log(end - last), std::log(end - std::max(first, half)), end, 0.45);
    return result;
  }

  template <real_scalar Real>
  struct bound {
    std::vector<Real> scales;  // r_k T^alpha_k
    std::vector<Real> exponents;
    Real end;  // t + t_0
    bool sum_channel;

    void fill(const Real& lag, std::span<Real> row) const {
      const power_sums<Real> sums(end, lag);
      std::size_t out = 0;
      if (sum_channel) row[out++] = Real(1);
      for (std::size_t k = 0; k < scales.size(); ++k)
        row[out++] = decaying_exp(Real(scales[k] * sums(exponents[k])));
    }

    void fill_run(index_t first, std::span<Real> rows) const {
      using ebb::detail::log;
      const std::size_t n = scales.size() + (sum_channel ? 1 : 0);
      const power_sums<Real> at_first(end, Real(static_cast<double>(first)));
      std::vector<Real> sums;
      for (const Real& alpha : exponents) sums.push_back(at_first(alpha));
      for (std::size_t start = 0; start < rows.size(); start += n) {
        std::size_t out = start;
        if (sum_channel) rows[out++] = Real(1);
        const Real next =
            Real(end - Real(static_cast<double>(first)) - Real(static_cast<double>(start / n)));
        const Real log_next = next > Real(0) ? Real(log(next)) : Real(0);
        for (std::size_t k = 0; k < scales.size(); ++k) {
          rows[out++] = decaying_exp(Real(scales[k] * sums[k]));
          if (next > Real(0)) sums[k] += ebb::detail::inverse_power(next, log_next, exponents[k]);
        }
      }
    }
  };

  /// @throws domain_error when two rates are equal after rounding to `Real`.
  template <real_scalar Real>
  bound<Real> bind() const {
    using ebb::detail::exp, ebb::detail::log;
    const index_t tapered = channels_ - (options_.sum_channel ? 1 : 0);
    const std::vector<Real> rates = rates_of<Real>(spectrum_, tapered);
    detail::require_distinct(rates, "taper_basis");
    const auto taper = post_taper::relative(t_reference_).bind(std::span<const Real>(rates));
    bound<Real> out;
    out.end = Real(Real(position_) + Real(static_cast<double>(options_.offset)));
    out.sum_channel = options_.sum_channel;
    out.exponents.assign(taper.alpha().begin(), taper.alpha().end());
    const Real log_reference = log(Real(t_reference_));
    for (std::size_t k = 0; k < rates.size(); ++k)
      out.scales.push_back(Real(rates[k] * exp(Real(out.exponents[k] * log_reference))));
    if (!chosen_.empty()) choose(out);
    return out;
  }

 private:
  template <class Bound>
  void choose(Bound& functions) const {
    const Bound all = functions;
    const index_t shift = all.sum_channel ? 1 : 0;
    functions.sum_channel = all.sum_channel && chosen_.front() == 0;
    functions.scales.clear();
    functions.exponents.clear();
    for (const index_t k : chosen_) {
      if (k < shift) continue;
      functions.scales.push_back(all.scales[static_cast<std::size_t>(k - shift)]);
      functions.exponents.push_back(all.exponents[static_cast<std::size_t>(k - shift)]);
    }
  }

  Spectrum spectrum_;
  index_t channels_;
  double t_reference_, position_;
  taper_options options_;
  std::vector<index_t> chosen_;  ///< empty: all of them
};

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
