// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/spectrum/random.hpp
/// @brief  Independent random rates from the library's own seeded generator.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

#include <ebb/spectrum/concept.hpp>
#include <ebb/spectrum/range.hpp>

namespace ebb::inline EBB_ABI {

/// A stream of uniform random numbers, the same bits on every platform.
///
/// The generator is xoshiro256**; its four words of state are the first four outputs of
/// splitmix64 started at `seed`. The standard library's distributions differ between
/// implementations, so none is used.
/// Source: [xoshiro], reference algorithms.
class uniform_stream {
 public:
  explicit constexpr uniform_stream(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9E3779B97F4A7C15u;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
      word = z ^ (z >> 31);
    }
  }

  /// A stream that starts from four given words, not all zero.
  explicit constexpr uniform_stream(const std::array<std::uint64_t, 4>& state) : state_(state) {}

  /// The next 64 random bits.
  constexpr std::uint64_t bits() {
    const std::uint64_t result = std::rotl(state_[1] * 5u, 7) * 9u;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// The next uniform number: a multiple of 2^-53 in (0, 1], exact in double.
  constexpr double next() { return static_cast<double>((bits() >> 11) + 1) * 0x1p-53; }

 private:
  std::array<std::uint64_t, 4> state_{};
};

/// Random spectrum: N rates drawn independently, log r uniform on (log low, log high], sorted.
///
///   r = exp(log low + v (log high - log low)),   v uniform on (0, 1]
///
/// The draws for N channels are the first N of the seed's stream.
///
/// Units: rates in 1/step. Cost: O(N log N) time, no allocation.
/// Accuracy: 2 ulp for float, and for double where long double is wider; else 4 L + 4 unit
/// roundoffs, L = max |log end|. Two rates may round to the same value: about N^2 / 2^25 times
/// per draw in float, N^2 / 2^53 in double.
/// Source: [PoST], random spectrum.
class random_log_uniform {
 public:
  static constexpr std::string_view name = "random_log_uniform";

  random_log_uniform(const rate_range& range, std::uint64_t seed) : range_(range), seed_(seed) {}

  /// @param min_rate  0 < min_rate < inf, 1/step
  /// @param max_rate  min_rate <= max_rate < inf, 1/step
  /// @param seed      any; equal seeds give equal draws
  /// @throws domain_error outside these domains.
  random_log_uniform(double min_rate, double max_rate, std::uint64_t seed)
      : random_log_uniform(rate_range::rates(min_rate, max_rate), seed) {}

  /// Rates on (e^-B / T, e^A]; domains as for `rate_range::extended`.
  /// @throws domain_error outside these domains.
  static random_log_uniform extended(double longest, double fast_end_extension,
                                     double slow_end_extension, std::uint64_t seed) {
    return {rate_range::extended(longest, fast_end_extension, slow_end_extension), seed};
  }

  const rate_range& range() const { return range_; }
  std::uint64_t seed() const { return seed_; }

  /// Write the rates, slowest first.
  /// @throws domain_error, before anything is written, for a range whose ends Real cannot hold,
  ///   whatever the draws.
  template <real_scalar Real>
  void fill(std::span<Real> rates) const {
    using Work = detail::working_t<Real>;
    using detail::exp;
    if (rates.empty()) return;
    const Work slowest = range_.low<Work>(), fastest = range_.high<Work>();
    detail::require_rates_fit<Real>(slowest, fastest, "random_log_uniform::fill");
    const Work low = range_.log_low<Work>(), width = range_.log_high<Work>() - low;
    uniform_stream uniform(seed_);
    for (Real& rate :
         rates)  // rounding must not lead out of the range, which may end at the type's
      rate = std::clamp(static_cast<Real>(exp(Work(low + Work(uniform.next()) * width))),
                        static_cast<Real>(slowest), static_cast<Real>(fastest));
    std::sort(rates.begin(), rates.end());
  }

 private:
  rate_range range_;
  std::uint64_t seed_;
};

/// Random spectrum: N rates drawn independently and uniformly on (0, 1], sorted.
///
/// Units: rates in 1/step. Cost: O(N log N) time, no allocation.
/// Accuracy: exact in double and wider, correctly rounded in float (ties as above).
/// Source: [PoST], random spectrum.
class random_uniform {
 public:
  static constexpr std::string_view name = "random_uniform";

  /// @param seed  any; equal seeds give equal draws
  explicit random_uniform(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t seed() const { return seed_; }

  /// Write the rates, slowest first.
  template <real_scalar Real>
  void fill(std::span<Real> rates) const {
    uniform_stream uniform(seed_);
    for (Real& rate : rates) rate = static_cast<Real>(uniform.next());
    std::sort(rates.begin(), rates.end());
  }

 private:
  std::uint64_t seed_;
};

static_assert(spectrum_for<random_log_uniform, float>);
static_assert(spectrum_for<random_log_uniform, double>);
static_assert(spectrum_for<random_uniform, float> && spectrum_for<random_uniform, double>);

}  // namespace ebb::inline EBB_ABI
