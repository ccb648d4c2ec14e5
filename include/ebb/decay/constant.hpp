// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/constant.hpp
/// @brief  The same decay at every step.
#pragma once

#include <concepts>
#include <span>
#include <string_view>
#include <vector>

#include <ebb/core/scalar.hpp>
#include <ebb/decay/concept.hpp>
#include <ebb/decay/weight.hpp>

namespace ebb::inline EBB_ABI {

/// Constant decay: log a_{t,k} = -r_k at every step.
///
/// Complex rates, Re r >= 0, make oscillating channels: log a = -Re r - i Im r.
///
/// Units: rates in 1/step. Cost: bind O(N) and one allocation; fill one store per element.
/// Accuracy: log a is -r_k rounded once to the block's type.
class constant_decay {
 public:
  static constexpr std::string_view name = "constant";
  static constexpr decay_kind kind = decay_kind::constant;

  /// The policy tied to N rates of type Param.
  template <scalar Param>
  class bound {
   public:
    static constexpr decay_kind kind = decay_kind::constant;
    static constexpr decay_form form = decay_form::log_factor;

    /// Where vjp adds: d loss / d r_k, (N); an empty span is skipped.
    struct gradients {
      std::span<Param> rates{};
    };

    explicit bound(std::vector<Param> rates) : rates_(std::move(rates)) {
      if constexpr (std::same_as<Param, double>)
        for (const double rate : rates_) {
          wide_.push_back(weight_of<form>(-rate));
          narrow_.push_back(weight_of<form>(static_cast<float>(-rate)));
        }
    }

    std::span<const Param> rates() const { return rates_; }

    template <class Real, class Axis>
    void fill(const block_origin& where, const strided_view<Real, Axis>& block) const {
      for (index_t k = 0; k < block.channels(); ++k) {
        const auto log_decay =
            detail::scalar_as<Real>(-rates_[static_cast<std::size_t>(where.channel + k)]);
        for (index_t t = 0; t < block.steps(); ++t) block(t, k) = log_decay;
      }
    }

    /// The weights (decay/weight.hpp) of the values filled, of the channels from one on: what a
    /// single step would otherwise spend its time on.
    template <class State>
    requires std::same_as<State, float> || std::same_as<State, double>
    const State* weights(index_t channel) const requires std::same_as<Param, double> {
      if constexpr (std::same_as<State, float>)
        return narrow_.data() + channel;
      else
        return wide_.data() + channel;
    }

    /// d r_k -= sum over the block's steps of d log a.
    template <class Real, class Axis, class CotangentAxis>
    void vjp(const block_origin& where, const strided_view<const Real, Axis>&,
             const strided_view<const Real, CotangentAxis>& cotangent, gradients& sums) const {
      if (sums.rates.empty()) return;
      for (index_t k = 0; k < cotangent.channels(); ++k)
        for (index_t t = 0; t < cotangent.steps(); ++t)
          sums.rates[static_cast<std::size_t>(where.channel + k)] -=
              detail::cotangent_as<Param>(cotangent(t, k));
    }

    /// @throws shape_error unless the data has N channels.
    void check(const extents& size) const {
      detail::require_channels(static_cast<index_t>(rates_.size()), size, "constant_decay");
    }
    /// @throws shape_error unless there are N gradients, or none.
    void check(const extents& size, const gradients& sums) const {
      if (!sums.rates.empty())
        detail::require_sums(sums.rates.size(), size.channels, "constant_decay");
    }

   private:
    std::vector<Param> rates_;
    std::vector<double> wide_;
    std::vector<float> narrow_;
  };

  /// @param rates  N >= 0 values, 0 <= r < inf, ascending (complex: the real parts), 1/step
  /// @throws domain_error outside this domain.
  template <scalar Real>
  auto bind(std::span<const Real> rates) const {
    detail::require_rates(rates, "constant_decay");
    return bound<detail::parameter_t<Real>>({rates.begin(), rates.end()});
  }
};

static_assert(decay_for<constant_decay, float> && decay_for<constant_decay, double>);
static_assert(decay_for<constant_decay, std::complex<double>>);

}  // namespace ebb::inline EBB_ABI
