// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/concept.hpp
/// @brief  What a decay must offer: a policy bound to rates fills blocks of decays.
#pragma once

#include <complex>
#include <concepts>
#include <limits>
#include <span>
#include <type_traits>

#include <ebb/core/scalar.hpp>
#include <ebb/core/view.hpp>

namespace ebb::inline EBB_ABI {

/// What a decay depends on besides the channel.
enum class decay_kind {
  constant,  ///< nothing: every step is the same
  position,  ///< the absolute position only
  input,     ///< arrays of the caller (step sizes, gates), addressed by batch entry and step
  stored     ///< an array of the decays themselves
};

/// What a block is filled with: a, any finite value and exact; or log a <= 0 (-inf is a = 0;
/// complex: Re log a <= 0).
///
/// Decays near 1 belong in the second form: in float a rate of 1e-6 turns into 1 - 17 * 2^-24, a
/// timescale wrong by 1.3 %, while its log-decay keeps every digit.
enum class decay_form { factor, log_factor };

/// What enters the state at a step: b, or (1 - a) b, with which a constant input is its own
/// average.
enum class input_gain { one, one_minus_decay };

/// The gain of a bound decay: its member `gain`, or one.
template <class D>
inline constexpr input_gain gain_of = input_gain::one;
template <class D>
requires requires {
  { D::gain } -> std::convertible_to<input_gain>;
}
inline constexpr input_gain gain_of<D> = D::gain;

/// Where a block of decays begins.
struct block_origin {
  index_t batch = 0;     ///< batch entry in the caller's arrays
  index_t step = 0;      ///< step in the caller's arrays
  index_t channel = 0;   ///< first channel
  index_t position = 1;  ///< absolute 1-based position of the block's first step, 64-bit
};

/// The gradients of a decay without parameters.
struct no_gradients {};

/// A decay tied to its parameters, ready to fill blocks of (steps x channels).
///
///   d.fill(where, block)   writes a or log a of the block's steps and channels; block has one
///                          batch entry and either axis, with any row stride
///   D::kind, D::form       a decay_kind and a decay_form
///   D::gain                optional: an input_gain
///   D::gradients           where gradients are accumulated; an empty struct if there are none
///   d.vjp(where, block, block_cotangent, gradients)
///                          adds the product of the cotangent of the filled values with their
///                          Jacobian; needed only if D::gradients is not empty
///   d.check(size)          optional: throws shape_error unless data of this size fits
///   d.check(size, gradients)
///                          optional: throws shape_error unless vjp can add to these gradients
///
/// Contract, checked by tests/decay/contract_test.cpp for every model: the value of an element
/// does not depend on how steps and channels are cut into blocks; nothing outside the block is
/// written; fill does not allocate. A block never crosses the edge of a sequence.
template <class D, class Real>
concept bound_decay = requires(const D& d, const block_origin& where,
                               strided_view<Real, time_major> rows,
                               strided_view<Real, channel_major> columns) {
  { d.fill(where, rows) } -> std::same_as<void>;
  { d.fill(where, columns) } -> std::same_as<void>;
  { D::kind } -> std::convertible_to<decay_kind>;
  { D::form } -> std::convertible_to<decay_form>;
  typename D::gradients;
}
&&(std::is_empty_v<typename D::gradients> ||
   requires(const D& d, const block_origin& where, strided_view<const Real> block,
            typename D::gradients& gradients) {
     { d.vjp(where, block, block, gradients) } -> std::same_as<void>;
   });

/// A policy of decay: `d.bind(rates)` ties it to the rates of N channels, slowest first.
template <class D, class Real>
concept decay_for = requires(const D& d, std::span<const Real> rates) {
  { d.bind(rates) } -> bound_decay<Real>;
  { D::kind } -> std::convertible_to<decay_kind>;
};

namespace detail {
template <class Policy, class Real>
concept binds = requires(const Policy& policy, std::span<const Real> rates) {
  policy.bind(rates);
};
/// Whether a type binds rates of some built-in type, be it real or complex only.
template <class Policy>
concept binds_some = binds<Policy, double> || binds<Policy, std::complex<double>> ||
    binds<Policy, float> || binds<Policy, std::complex<float>> || binds<Policy, long double> ||
    binds<Policy, std::complex<long double>>;

/// The type in which a bound decay keeps its parameters: at least double.
template <class T>
struct parameter {
  using type =
      std::conditional_t<(std::numeric_limits<T>::digits < std::numeric_limits<double>::digits),
                         double, T>;
};
template <class Real>
struct parameter<std::complex<Real>> {
  using type = std::complex<typename parameter<Real>::type>;
};
template <class T>
using parameter_t = typename parameter<T>::type;

/// The type of the numbers of anything that a span can be made of.
template <class Values>
using number_of =
    std::remove_cv_t<typename decltype(std::span(std::declval<const Values&>()))::element_type>;

/// @throws domain_error unless 0 <= rates < inf and ascending; of complex rates, their real parts,
///   and finite imaginary parts.
template <class Real>
void require_rates(std::span<const Real> rates, std::string_view where) {
  using Part = real_of_t<Real>;
  const Part most = std::numeric_limits<Part>::max();
  for (std::size_t k = 0; k < rates.size(); ++k) {
    const Part rate = real_part(rates[k]), before = real_part(rates[k > 0 ? k - 1 : 0]);
    require_domain(rate >= Part(0) && rate <= most, where, "need 0 <= rates < inf", rate);
    require_domain(rate >= before, where, "need ascending rates", before, rate);
    if constexpr (is_complex<Real>)
      require_domain(rates[k].imag() >= -most && rates[k].imag() <= most, where,
                     "need finite rates", rates[k].imag());
  }
}

/// A cotangent in the type of a parameter; what counts for a real one is the real part.
template <class Param, class State>
Param cotangent_as(const State& cotangent) {
  if constexpr (is_complex<State> && !is_complex<Param>)
    return static_cast<Param>(cotangent.real());
  else
    return static_cast<Param>(cotangent);
}

/// @throws shape_error unless there is a sum for each channel.
inline void require_sums(std::size_t got, index_t bound, std::string_view where) {
  require_shape(static_cast<index_t>(got) == bound, where,
                "need one gradient per channel (got, channels)", got, bound);
}

/// @throws shape_error unless the data has as many channels as the decay.
inline void require_channels(index_t bound, const extents& size, std::string_view where) {
  require_shape(size.channels == bound, where,
                "need as many channels as the decay is bound to (got, bound)", size.channels,
                bound);
}
}  // namespace detail

}  // namespace ebb::inline EBB_ABI
