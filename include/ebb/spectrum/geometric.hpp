// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/spectrum/geometric.hpp
/// @brief  Rates equally spaced in the logarithm.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include <ebb/spectrum/concept.hpp>
#include <ebb/spectrum/range.hpp>

namespace ebb::inline EBB_ABI {

/// Geometric spectrum: rates equally spaced in the logarithm.
///
///   r_k = low^(1 - w) high^w,   w = k / (N - 1),   k = 0 .. N-1
///
/// so neighbouring timescales have a constant ratio. For N = 1 the rate is the geometric mean of
/// the ends.
///
/// Cost: O(N) exponentials, no allocation.
/// Accuracy: the ends 2 ulp; between them 1 ulp for float, and for double where long double is
/// wider; else 4 L + 4 unit roundoffs of Real, L = max |log end|.
/// Source: [PoST], geometric spectrum; the extensions of the ends are this library's.
class geometric_spectrum {
 public:
  static constexpr std::string_view name = "geometric";

  explicit geometric_spectrum(const rate_range& range) : range_(range) {}

  /// Timescales from `shortest` to `longest` steps; 0 < shortest <= longest < inf.
  /// @throws domain_error outside this domain.
  static geometric_spectrum timescales(double shortest, double longest) {
    return geometric_spectrum(rate_range::timescales(shortest, longest));
  }

  /// Rates from `min_rate` to `max_rate` in 1/step; 0 < min_rate <= max_rate < inf.
  /// @throws domain_error outside this domain.
  static geometric_spectrum rates(double min_rate, double max_rate) {
    return geometric_spectrum(rate_range::rates(min_rate, max_rate));
  }

  /// Timescales [1, T] with both ends extended: rates on [e^-B / T, e^A].
  /// @param longest                T, 1 <= T < inf, steps
  /// @param fast_end_extension     A, 0 <= A <= 300
  /// @param slow_end_extension     B, 0 <= B <= 300
  /// @throws domain_error outside these domains.
  static geometric_spectrum extended(double longest, double fast_end_extension,
                                     double slow_end_extension = 0) {
    return geometric_spectrum(
        rate_range::extended(longest, fast_end_extension, slow_end_extension));
  }

  const rate_range& range() const { return range_; }

  /// Write the rates, slowest first.
  /// @param[out] rates  N values, 1/step, ascending; N = 0 is a no-op.
  /// @throws domain_error for rates that Real cannot hold (above its largest or below its smallest
  ///   number), before anything is written.
  template <real_scalar Real>
  void fill(std::span<Real> rates) const {
    using Work = detail::working_t<Real>;
    using detail::exp;
    const std::size_t n = rates.size();
    if (n == 0) return;
    const Work low = range_.log_low<Work>(), high = range_.log_high<Work>();
    if (n == 1) {
      const Work middle = exp(Work((low + high) / Work(2)));
      detail::require_rates_fit<Real>(middle, middle, "geometric_spectrum::fill");
      rates[0] = static_cast<Real>(middle);
      return;
    }
    const Work slowest = range_.low<Work>(), fastest = range_.high<Work>();
    detail::require_rates_fit<Real>(slowest, fastest, "geometric_spectrum::fill");
    rates[0] = static_cast<Real>(slowest);
    rates[n - 1] = static_cast<Real>(fastest);
    const auto last = static_cast<double>(n - 1);
    for (std::size_t k = 1; k + 1 < n; ++k) {
      const auto up = static_cast<double>(k);
      const Work log_rate = (Work(last - up) * low + Work(up) * high) / Work(last);
      // Rounding must not break the order where the range is only a few ulp wide.
      rates[k] = std::clamp(static_cast<Real>(exp(log_rate)), rates[k - 1], rates[n - 1]);
    }
  }

 private:
  rate_range range_;
};

static_assert(spectrum_for<geometric_spectrum, float>);
static_assert(spectrum_for<geometric_spectrum, double>);

}  // namespace ebb::inline EBB_ABI
