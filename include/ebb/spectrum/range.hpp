// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/spectrum/range.hpp
/// @brief  The two ends of a spectrum, exact in whatever precision the rates are wanted in.
#pragma once

#include <limits>
#include <string_view>
#include <type_traits>

#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {

namespace detail {
/// The type in which a rate of type Real is computed before its one rounding to Real: double for
/// float, long double for double, Real itself for everything with more digits.
template <class Real>
using working_t = std::conditional_t<
    (std::numeric_limits<Real>::digits < std::numeric_limits<double>::digits), double,
    std::conditional_t<(std::numeric_limits<Real>::digits <= std::numeric_limits<double>::digits),
                       long double, Real>>;

/// log(high / low) for 0 < low <= high: relative error below 4 u for tiny gaps and for huge ones.
template <class Real>
Real log_ratio(const Real& low, const Real& high) {
  // The difference is exact up to a factor of 2 (Sterbenz).
  if (high <= Real(2) * low) return Real(log1p(Real((high - low) / low)));
  const Real ratio = high / low;
  if (ratio <= std::numeric_limits<Real>::max()) return Real(log(ratio));
  return Real(log(high) - log(low));
}

/// @throws domain_error unless Real can hold all rates between these two: none above its largest
///   number, none below its smallest, which would become 0.
template <class Real, class Work>
void require_rates_fit(const Work& slowest, const Work& fastest, std::string_view where) {
  require_domain(
      static_cast<Real>(slowest) > Real(0) && fastest <= Work(std::numeric_limits<Real>::max()),
      where, "need rates that the type can hold (slowest, fastest)", slowest, fastest);
}
}  // namespace detail

/// The interval of rates [low, high] that a spectrum covers.
///
///   rates(min, max)          [min, max]
///   timescales(short, long)  [1/long, 1/short]
///   extended(T, A, B)        [e^-B / T, e^A]
///
/// Units: rates in 1/step, timescales in steps, A and B none. The ends are kept as given and only
/// evaluated when asked for: 1/T and e^A are rounded once, to the caller's `Real`.
class rate_range {
 public:
  /// @param min_rate  0 < min_rate < inf
  /// @param max_rate  min_rate <= max_rate < inf
  /// @throws domain_error outside these domains.
  static rate_range rates(double min_rate, double max_rate) {
    detail::require_domain(min_rate > 0 && max_rate >= min_rate && finite(max_rate),
                           "rate_range::rates", "need 0 < min_rate <= max_rate < inf", min_rate,
                           max_rate);
    return {{min_rate, 1, 0}, {max_rate, 1, 0}};
  }

  /// @param shortest  0 < shortest < inf, steps
  /// @param longest   shortest <= longest < inf, steps
  /// @throws domain_error outside these domains.
  static rate_range timescales(double shortest, double longest) {
    detail::require_domain(shortest > 0 && longest >= shortest && finite(longest),
                           "rate_range::timescales", "need 0 < shortest <= longest < inf", shortest,
                           longest);
    return {{1, longest, 0}, {1, shortest, 0}};
  }

  /// @param longest    T, 1 <= T < inf, steps
  /// @param fast_end   A, 0 <= A <= 300
  /// @param slow_end   B, 0 <= B <= 300
  /// @throws domain_error outside these domains.
  static rate_range extended(double longest, double fast_end, double slow_end) {
    detail::require_domain(longest >= 1 && finite(longest), "rate_range::extended",
                           "need 1 <= longest < inf", longest);
    // 300 keeps both ends inside the range of double, with room for the reciprocal.
    detail::require_domain(fast_end >= 0 && fast_end <= 300, "rate_range::extended",
                           "need 0 <= fast_end <= 300", fast_end);
    detail::require_domain(slow_end >= 0 && slow_end <= 300, "rate_range::extended",
                           "need 0 <= slow_end <= 300", slow_end);
    return {{1, longest, -slow_end}, {1, 1, fast_end}};
  }

  /// The ends and their logarithms. Accuracy: ends 2 ulp, logarithms 2 u (1 + |each term|).
  template <real_scalar Real>
  Real low() const {
    return low_.template value<Real>();
  }
  template <real_scalar Real>
  Real high() const {
    return high_.template value<Real>();
  }
  template <real_scalar Real>
  Real log_low() const {
    return low_.template logarithm<Real>();
  }
  template <real_scalar Real>
  Real log_high() const {
    return high_.template logarithm<Real>();
  }

 private:
  // numerator / denominator * e^exponent
  struct end {
    double numerator, denominator, exponent;

    template <class Real>
    Real value() const {
      using detail::exp;
      const Real quotient = Real(numerator) / Real(denominator);
      return exponent == 0 ? quotient : Real(quotient * exp(Real(exponent)));
    }
    template <class Real>
    Real logarithm() const {
      using detail::log;
      Real sum = Real(exponent);
      if (numerator != 1) sum += Real(log(Real(numerator)));
      if (denominator != 1) sum += Real(-log(Real(denominator)));
      return sum;
    }
  };

  rate_range(end low, end high) : low_(low), high_(high) {}
  static bool finite(double x) { return x <= std::numeric_limits<double>::max(); }

  end low_, high_;
};

}  // namespace ebb::inline EBB_ABI
