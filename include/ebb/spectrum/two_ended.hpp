// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/spectrum/two_ended.hpp
/// @brief  Geometric rates that reach beyond both ends of the timescales, and a pure sum.
#pragma once

#include <limits>
#include <span>
#include <string_view>

#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>
#include <ebb/spectrum/concept.hpp>
#include <ebb/spectrum/geometric.hpp>

namespace ebb::inline EBB_ABI {

/// How far a two_ended_spectrum reaches, and from where its taper counts.
struct two_ended_options {
  double fast_end = 2;      ///< A, 0 <= A <= 300: rates up to e^A, for lags near one step
  double slow_end = 1;      ///< B, 0 <= B <= 300: rates down to e^-B / T, for lags near all of them
  bool sum_channel = true;  ///< whether the first channel has rate 0
  index_t offset = 30;      ///< t_0 of the taper, 0 <= t_0 <= 2^53, steps
};

/// Two-ended spectrum, made for a position-adaptive taper: a channel that never forgets, and
/// geometric rates that reach beyond the timescales [1, T] at both ends.
///
///   r_0 = 0,   r_k = (e^-B / T)^(1 - w) (e^A)^w,   w = (k - 1) / (N - 2),   k = 1 .. N-1
///
/// With `two_ended_taper` the rates at position t are e^(A (1 - alpha) - B alpha) (t + t_0)^-alpha,
/// alpha = 1 - w, whatever T. The fast end serves lags near 1. The slow end serves those near t:
/// there a channel with rate 1/t has forgotten nearly everything (its state is about j/t, j the
/// age of the sequence at the impulse), one with e^-B / t holds (j/t)^(e^-B). The sum and the offset
/// serve all positions with one spectrum. Without sum and offset this is
/// `geometric_spectrum::extended`. What it can represent: docs/designing-memory.md.
///
/// N = 1 is the sum alone, with N = 2 the other rate is the middle one.
///
/// Units: rates 1/step. Cost and accuracy: those of geometric_spectrum.
/// Source: this library; the geometric part [PoST].
class two_ended_spectrum {
 public:
  static constexpr std::string_view name = "two_ended";

  /// @param horizon  T, 1 < T < inf, steps; the reference of the taper
  /// @throws domain_error outside these domains.
  explicit two_ended_spectrum(double horizon, const two_ended_options& options = {})
      : horizon_(horizon),
        options_(checked(horizon, options)),
        geometric_(geometric_spectrum::extended(horizon, options.fast_end, options.slow_end)) {}

  double horizon() const { return horizon_; }
  const two_ended_options& options() const { return options_; }

  /// Write the rates, slowest first; the first is 0 where there is a sum channel.
  /// @param[out] rates  N values, 1/step, ascending; N = 0 is a no-op.
  /// @throws domain_error for rates that Real cannot hold, before anything is written.
  template <real_scalar Real>
  void fill(std::span<Real> rates) const {
    if (rates.empty()) return;
    const std::size_t first = options_.sum_channel ? 1 : 0;
    const std::span<Real> others = rates.subspan(first);
    if (!others.empty()) {
      using Work = detail::working_t<Real>;
      using detail::exp;
      const rate_range& range = geometric_.range();
      const bool one = others.size() == 1;
      const Work middle =
          one ? Work(exp(Work((range.template log_low<Work>() + range.template log_high<Work>()) /
                              Work(2))))
              : Work(1);
      detail::require_rates_fit<Real>(one ? middle : range.template low<Work>(),
                                      one ? middle : range.template high<Work>(),
                                      "two_ended_spectrum::fill");
    }
    geometric_.fill(others);
    if (options_.sum_channel) rates[0] = Real(0);
  }

 private:
  static const two_ended_options& checked(double horizon, const two_ended_options& options) {
    const auto need = [](bool condition, std::string_view rule, auto got) {
      detail::require_domain(condition, "two_ended_spectrum", rule, got);
    };
    need(horizon > 1 && horizon <= std::numeric_limits<double>::max(), "need 1 < horizon < inf",
         horizon);
    need(options.fast_end >= 0 && options.fast_end <= 300, "need 0 <= fast_end <= 300",
         options.fast_end);
    need(options.slow_end >= 0 && options.slow_end <= 300, "need 0 <= slow_end <= 300",
         options.slow_end);
    need(options.offset >= 0 && options.offset <= (index_t{1} << 53), "need 0 <= offset <= 2^53",
         options.offset);
    return options;
  }

  double horizon_;
  two_ended_options options_;
  geometric_spectrum geometric_;
};

static_assert(spectrum_for<two_ended_spectrum, float> && spectrum_for<two_ended_spectrum, double>);

}  // namespace ebb::inline EBB_ABI
