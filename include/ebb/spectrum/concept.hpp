// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/spectrum/concept.hpp
/// @brief  What a decay spectrum must offer.
#pragma once

#include <concepts>
#include <span>
#include <string_view>
#include <vector>

#include <ebb/core/error.hpp>
#include <ebb/core/scalar.hpp>

namespace ebb::inline EBB_ABI {

/// A rule that gives N channels their rates of decay, r_0 <= r_1 <= ... <= r_{N-1}.
///
///   s.fill(rates)    writes rates.size() values in 1/step, slowest first, finite and > 0, but for
///                    the first, which may be 0: a pure sum; of complex rates this holds for the
///                    real parts
///   S::name          a short name for tables
///
/// Contract, checked by tests/spectrum/contract_test.cpp for every model: ascending, finite,
/// positive (or a sum first); the same object gives the same rates every time; an empty span is a no-op. A channel
/// with rate r keeps a fraction exp(-r) of its state at each step and has the timescale 1/r steps.
template <class S, class Real>
concept spectrum_for = scalar<Real> && requires(const S& s, std::span<Real> rates) {
  { s.fill(rates) } -> std::same_as<void>;
  { S::name } -> std::convertible_to<std::string_view>;
};

/// The rates of N channels as a vector.
///
/// @param channels  N >= 0
/// @throws domain_error when N < 0, and whatever the spectrum itself refuses.
template <class Real, spectrum_for<Real> Spectrum>
std::vector<Real> rates_of(const Spectrum& spectrum, index_t channels) {
  detail::require_domain(channels >= 0, "rates_of", "need channels >= 0", channels);
  std::vector<Real> rates(static_cast<std::size_t>(channels));
  spectrum.fill(std::span<Real>(rates));
  return rates;
}

}  // namespace ebb::inline EBB_ABI
