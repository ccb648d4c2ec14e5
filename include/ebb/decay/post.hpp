// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/post.hpp
/// @brief  The position-adaptive taper: slow channels stretch their timescale with the position.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ebb/core/exponential.hpp>
#include <ebb/core/numeric.hpp>
#include <ebb/core/row.hpp>
#include <ebb/decay/concept.hpp>
#include <ebb/decay/log_time.hpp>
#include <ebb/decay/power_sum.hpp>
#include <ebb/spectrum/range.hpp>

namespace ebb::inline EBB_ABI {

/// Position-adaptive taper.
///
///   log a_{t,k} = -r_k s_{t,k},   s_{t,k} = ((t + t_0) / t_ref)^(-alpha_k),   0 <= alpha_k <= 1
///
/// The fastest channel (alpha = 0) stays as it is; the slowest (alpha = 1) keeps a timescale
/// proportional to the position. Two conventions, and two exponents for each:
///
/// | constructor           | t_ref | alpha_k                                                    |
/// |-----------------------|-------|------------------------------------------------------------|
/// | `relative(T)`         | T     | (N-1-k) / (N-1)                                            |
/// | `relative_by_gaps(T)` | T     | log(r_max / r_k) / log(r_max / r_min)                      |
/// | `absolute()`          | 1     | (N-1-k) / (N-1)                                            |
/// | `absolute_by_gaps(T)` | 1     | clamp((N-1-k)/(N-1) + (c_k - k G) / log T, 0, 1),          |
/// |                       |       | c_k = log(r_k / r_0), G = c_{N-1} / (N-1)                  |
///
/// relative: geometric rates on [1/T, 1] have timescales on [1, t] at position t, and by_gaps
/// never changes the order of channels for t >= 1 when r_min = 1/T, r_max >= 1.
/// absolute: timescales are those of the rates at t = 1 and span up to T t at position t; by_gaps
/// makes the spectrum geometric at t = T when r_0 = 1/T, r_max = 1 and no exponent is clamped, and
/// for t > T channels can change order where gaps are very unequal. Its exponents with t_ref = T
/// would change the order for t < T, so that combination cannot be written.
/// With equal gaps the exponents agree. One channel, or `relative_by_gaps` without gaps: alpha = 1.
/// By rank, channels of rate 0 (pure sums, which stand first) do not count: N and k are those of
/// the others.
///
/// Units: rates 1/step; t, t_0, t_ref steps; alpha, s none.
/// Cost: bind O(N) and two allocations; fill one exponential per element, one log per step.
/// Accuracy: with u the unit roundoff of the parameters' type (double for float blocks) and
/// L = |log(t + t_0)| + |log t_ref|, relative error of log a below (4 + 5 L) u, by gaps
/// (4 + 5 L + 16 L max(1, log(r_max / r_min) / log T)) u; then one rounding to the block's type.
/// Positions t + t_0 up to 2^53 are exact in double, later ones rounded. (docs/accuracy.md)
/// Source: [PoST], position-adaptive tapering; offset and `relative_by_gaps` are this library's.
class post_taper {
 public:
  static constexpr std::string_view name = "post_taper";
  static constexpr decay_kind kind = decay_kind::position;

  /// @param horizon  T = t_ref, 1 < T < inf, steps
  /// @throws domain_error outside this domain.
  static post_taper relative(double horizon) {
    return {require_horizon(horizon, "post_taper::relative"), horizon, exponents::linear};
  }
  /// @param horizon  T = t_ref, 1 < T < inf, steps
  /// @throws domain_error outside this domain.
  static post_taper relative_by_gaps(double horizon) {
    return {require_horizon(horizon, "post_taper::relative_by_gaps"), horizon,
            exponents::to_fastest};
  }
  /// The taper with t_ref = 1.
  static post_taper absolute() { return {1, 1, exponents::linear}; }
  /// @param horizon  T, 1 < T < inf, steps; the position at which the spectrum is geometric
  /// @throws domain_error outside this domain.
  static post_taper absolute_by_gaps(double horizon) {
    return {require_horizon(horizon, "post_taper::absolute_by_gaps"), 1,
            exponents::geometric_at_horizon};
  }

  /// The same taper with positions counted from an offset: (t + t_0) in place of t.
  /// @param offset  t_0, 0 <= t_0 <= 2^53, steps
  /// @throws domain_error outside this domain.
  post_taper with_offset(index_t offset) const {
    detail::require_domain(offset >= 0 && offset <= (index_t{1} << 53), "post_taper::with_offset",
                           "need 0 <= offset <= 2^53", offset);
    post_taper result = *this;
    result.offset_ = offset;
    return result;
  }

  /// The taper tied to N rates of type Param.
  template <real_scalar Param>
  class bound {
   public:
    static constexpr decay_kind kind = decay_kind::position;
    static constexpr decay_form form = decay_form::log_factor;

    /// Where vjp adds: d loss / d r_k and d loss / d alpha_k, (N) each; an empty span is skipped.
    struct gradients {
      std::span<Param> rates{};
      std::span<Param> alpha{};
    };

    bound(std::vector<Param> rates, std::vector<Param> alpha, double reference, index_t offset)
        : rates_(std::move(rates)), alpha_(std::move(alpha)), offset_(offset) {
      using detail::log;
      log_reference_ = Param(log(Param(reference)));
      if constexpr (std::same_as<Param, double>)
        smooth_from_ = detail::log_time_smooth_from(rates_, alpha_, log_reference_);
    }

    std::span<const Param> rates() const { return rates_; }
    std::span<const Param> alpha() const { return alpha_; }

    /// The same with each channel repeated: as many side by side, such as those of a head.
    bound repeated(index_t times) const {
      bound result = *this;
      for (auto* values : {&result.rates_, &result.alpha_}) {
        const std::vector<Param> once = std::move(*values);
        values->clear();
        for (const Param& value : once)
          values->insert(values->end(), static_cast<std::size_t>(times), value);
      }
      return result;
    }

    /// log t_ref.
    const Param& log_reference() const { return log_reference_; }
    index_t offset() const { return offset_; }
    /// log((t + t_0) / t_ref), which all channels share.
    Param log_relative_time(index_t position) const {
      EBB_ASSERT(position >= 1);
      if constexpr (straight) {
        return detail::log_of_whole(static_cast<double>(position + offset_)) - log_reference_;
      } else {
        using detail::log;
        return Param(Param(log(exactly(position + offset_))) - log_reference_);
      }
    }

    /// The factor of an exponent, from the logarithm above.
    [[gnu::always_inline]] static inline Param factor(const Param& alpha, const Param& log_time) {
      if constexpr (straight) {
        return detail::tapered<Param>(-alpha * log_time);
      } else {
        using detail::exp;
        return Param(exp(Param(-alpha * log_time)));
      }
    }
    /// The factor s_{t,k} of a channel, 0 <= channel < N.
    Param taper(std::size_t channel, const Param& log_time) const {
      return factor(alpha_[channel], log_time);
    }
    /// The factors of a channel at `count` positions in a row.
    void tapers(std::size_t channel, index_t position, index_t count, Param* to) const {
      // Straight loops over numbers of their own become vectors.
      const Param alpha = alpha_[channel], log_reference = log_reference_;
      if constexpr (straight) {
        const index_t first = position + offset_;
        for (index_t i = 0; i < count; ++i) to[i] = static_cast<double>(first + i);
        for (index_t i = 0; i < count; ++i) to[i] = detail::log_of_whole(to[i]) - log_reference;
        for (index_t i = 0; i < count; ++i) to[i] = factor(alpha, to[i]);
      } else {
        for (index_t i = 0; i < count; ++i) to[i] = factor(alpha, log_relative_time(position + i));
      }
    }

    template <class Real, class Axis>
    void fill(const block_origin& where, const strided_view<Real, Axis>& block) const {
      const auto first = static_cast<std::size_t>(where.channel);
      if (block.channels() == 1 &&
          block.steps() > 1) {  // many steps, so that each loop becomes vectors
        constexpr index_t strip = 32;
        alignas(64) Param value[static_cast<std::size_t>(strip)];
        for (index_t t = 0; t < block.steps(); t += strip) {
          const index_t count = std::min(strip, block.steps() - t);
          tapers(first, where.position + t, count, value);
          const Param rate = rates_[first];
          for (index_t i = 0; i < count; ++i) value[i] = Param(-rate * value[i]);
          detail::put_row(value, count, detail::time_row_of(block, t));
        }
        return;
      }
      for (index_t t = 0; t < block.steps(); ++t) {
        const Param log_time = log_relative_time(where.position + t);
        for (index_t k = 0; k < block.channels(); ++k) {
          const std::size_t c = first + static_cast<std::size_t>(k);
          block(t, k) = detail::scalar_as<Real>(Param(-rates_[c] * taper(c, log_time)));
        }
      }
    }

    /// The same decays without an exponential for an element: the block of steps around a position
    /// whose polynomials in log-time decay/log_time.hpp describes, for states of a type.
    /// Accuracy: 1 - a (where a >= 1/2) or log a within 10 u of the State's type and (4 + 5 L) u of
    /// double relatively, L as above; a itself within 2 + 4 |log a| ulp and the latter.
    template <class State>
    requires std::same_as<Param, double> detail::log_time_block log_time_block_at(index_t position)
    const { return detail::log_time_block_at<State>(position, offset_, smooth_from_); }
    /// Rates and exponents of the channels from one on, for the centre of a block.
    detail::log_time_channels log_time_channels_at(const detail::log_time_block& block,
                                                   index_t channel) const {
      return {rates_.data() + channel, alpha_.data() + channel,
              std::log(block.centre) - log_reference_};
    }

    /// d r_k -= s d log a,   d alpha_k += r_k s log((t + t_0) / t_ref) d log a.
    template <class Real, class Axis, class CotangentAxis>
    void vjp(const block_origin& where, const strided_view<const Real, Axis>&,
             const strided_view<const Real, CotangentAxis>& cotangent, gradients& sums) const {
      const auto first = static_cast<std::size_t>(where.channel);
      for (index_t t = 0; t < cotangent.steps(); ++t) {
        const Param log_time = log_relative_time(where.position + t);
        for (index_t k = 0; k < cotangent.channels(); ++k) {
          const std::size_t c = first + static_cast<std::size_t>(k);
          const Param scaled = taper(c, log_time) * detail::cotangent_as<Param>(cotangent(t, k));
          if (!sums.rates.empty()) sums.rates[c] -= scaled;
          if (!sums.alpha.empty()) sums.alpha[c] += Param(rates_[c] * log_time * scaled);
        }
      }
    }

    /// log of the state of a channel at position t from a unit impulse at position j, in O(1):
    ///
    ///   -r_k t_ref^alpha sum_{s=j+1}^{t} (s + t_0)^-alpha
    ///
    /// @param channel   0 <= channel < N
    /// @param position  t >= 1, steps
    /// @param impulse   j, 0 <= j <= t, steps; 0 stands for an initial state
    /// @throws domain_error outside these domains.
    /// Accuracy: relative error below (14 + 2 log(t + t_0 + 1) + 4 |log t_ref|) u for
    /// linear exponents and t + t_0 < 2^53, also when t - j << t.
    Param log_impulse_response(index_t channel, index_t position, index_t impulse) const {
      using detail::exp;
      detail::require_domain(channel >= 0 && channel < static_cast<index_t>(rates_.size()),
                             "post_taper::log_impulse_response", "need 0 <= channel < N", channel);
      detail::require_domain(impulse >= 0 && position >= 1 && impulse <= position,
                             "post_taper::log_impulse_response", "need 0 <= impulse <= position",
                             impulse, position);
      const auto c = static_cast<std::size_t>(channel);
      const Param sum =
          power_sum(alpha_[c], exactly(position + offset_), exactly(position - impulse));
      return Param(-rates_[c] * exp(Param(alpha_[c] * log_reference_)) * sum);
    }

    /// The state itself: exp of the above; its relative error is the absolute error of the log.
    Param impulse_response(index_t channel, index_t position, index_t impulse) const {
      using detail::exp;
      return Param(exp(log_impulse_response(channel, position, impulse)));
    }

    /// @throws shape_error unless the data has N channels.
    void check(const extents& size) const {
      detail::require_channels(static_cast<index_t>(rates_.size()), size, "post_taper");
    }
    /// @throws shape_error unless there are N gradients of each kind, or none.
    void check(const extents& size, const gradients& sums) const {
      if (!sums.rates.empty()) detail::require_sums(sums.rates.size(), size.channels, "post_taper");
      if (!sums.alpha.empty()) detail::require_sums(sums.alpha.size(), size.channels, "post_taper");
    }

   private:
    // Of double, functions without branches and calls.
    static constexpr bool straight = std::same_as<Param, double>;

    // A position in two halves that every real type holds exactly (or rounds once).
    static Param exactly(index_t position) {
      const index_t low = position % (index_t{1} << 32);
      return Param(Param(static_cast<double>(position - low)) + Param(static_cast<double>(low)));
    }

    std::vector<Param> rates_, alpha_;
    Param log_reference_;
    index_t offset_;
    index_t smooth_from_ = 1;  // where alpha (1 + x) / 2 <= 1 begins
  };

  /// @param rates  N >= 0 values, 1/step, ascending; 0 <= r < inf, by gaps 0 < r
  /// @throws domain_error outside this domain.
  template <real_scalar Real>
  auto bind(std::span<const Real> rates) const {
    using Param = detail::parameter_t<Real>;
    detail::require_rates(rates, "post_taper");
    if (exponents_ != exponents::linear)
      detail::require_domain(rates.empty() || rates[0] > Real(0), "post_taper",
                             "need rates > 0 for exponents by gaps", rates.empty() ? 0 : rates[0]);
    std::vector<Param> bound_rates(rates.begin(), rates.end());
    auto alpha = exponents_for(bound_rates);
    return bound<Param>(std::move(bound_rates), std::move(alpha), reference_, offset_);
  }

  /// The way back from exponents by gaps to the rates they are made of, which `vjp` leaves fixed:
  /// adds to the gradient of r_j the sum over k of d loss / d alpha_k times d alpha_k / d r_j.
  /// Nothing for linear exponents; clamped ones (0 or 1) do not move.
  ///
  /// @param rates             N rates as bound, in anything that a span can be made of. Where K
  ///                          channels share a rate: the shared ones, and sums over their K
  /// @param alpha_gradients   (N), d loss / d alpha_k
  /// @param rate_gradients    (N), added to
  /// @throws shape_error unless there are N of each, domain_error as bind. Nothing has been written
  ///   then.
  /// Cost: O(N), three allocations. Accuracy: (16 + N) u of the sum of the terms' absolute values
  /// (of `relative_by_gaps` with y = 1 - alpha_k within 8 u).
  template <class Values, class Real = detail::number_of<Values>>
  void exponents_vjp(
      const Values& rates,
      std::type_identity_t<std::span<const detail::parameter_t<Real>>> alpha_gradients,
      std::type_identity_t<std::span<detail::parameter_t<Real>>> rate_gradients) const {
    using Param = detail::parameter_t<Real>;
    const std::span<const Real> given(rates);
    const std::size_t n = given.size();
    detail::require_shape(alpha_gradients.size() == n && rate_gradients.size() == n,
                          "post_taper::exponents_vjp", "need N gradients of both kinds (got, N)",
                          alpha_gradients.size(), rate_gradients.size(), n);
    const auto bound_taper = bind(given);
    if (exponents_ == exponents::linear || n < 2) return;
    const auto r = bound_taper.rates();
    const auto alpha = bound_taper.alpha();
    const Param span(detail::log_ratio(r.front(), r.back()));
    const bool by_horizon = exponents_ == exponents::geometric_at_horizon;
    if (!by_horizon && !(span > Param(0))) return;
    using detail::log;
    // d alpha_k = (x d log r_k - (1 - y) d log r_0 - y d log r_last) / scale, x and y as below.
    const Param scale = by_horizon ? Param(log(Param(horizon_))) : Param(-span);
    Param slowest(0), fastest(0);
    for (std::size_t k = 1; k + 1 < n; ++k) {
      if (by_horizon && !(alpha[k] > 0 && alpha[k] < 1)) continue;  // clamped
      const Param g = alpha_gradients[k] / scale;
      const Param y = by_horizon ? Param(static_cast<double>(k)) / Param(static_cast<double>(n - 1))
                                 : Param(Param(1) - Param(alpha[k]));
      rate_gradients[k] += g / Param(r[k]);
      slowest -= g * (Param(1) - y);
      fastest -= g * y;
    }
    rate_gradients[0] += slowest / Param(r[0]);
    rate_gradients[n - 1] += fastest / Param(r[n - 1]);
  }

 private:
  enum class exponents { linear, to_fastest, geometric_at_horizon };

  post_taper(double horizon, double reference, exponents which)
      : horizon_(horizon), reference_(reference), exponents_(which) {}

  static double require_horizon(double horizon, std::string_view where) {
    detail::require_domain(horizon > 1 && horizon <= std::numeric_limits<double>::max(), where,
                           "need 1 < horizon < inf", horizon);
    return horizon;
  }

  template <class Param>
  std::vector<Param> exponents_for(const std::vector<Param>& rates) const {
    using detail::log;
    const std::size_t n = rates.size();
    std::vector<Param> alpha(n, Param(1));
    if (n < 2) return alpha;
    const auto last = static_cast<double>(n - 1);
    if (exponents_ == exponents::linear) {
      const auto sums = static_cast<std::size_t>(
          std::find_if(rates.begin(), rates.end(), [](const Param& r) { return r > Param(0); }) -
          rates.begin());
      const auto ranked = n - sums;
      for (std::size_t k = sums; k < n && ranked > 1; ++k)
        alpha[k] = Param(static_cast<double>(n - 1 - k)) / Param(static_cast<double>(ranked - 1));
      return alpha;
    }
    const Param span(detail::log_ratio(rates.front(), rates.back()));
    for (std::size_t k = 0; k < n; ++k) {
      const auto rank = static_cast<double>(k);
      if (exponents_ == exponents::to_fastest && span > Param(0))
        alpha[k] = Param(detail::log_ratio(rates[k], rates.back()) / span);
      if (exponents_ == exponents::geometric_at_horizon) {
        const Param excess =
            detail::log_ratio(rates[0], rates[k]) - Param(Param(rank) * span / Param(last));
        alpha[k] = Param(Param(last - rank) / Param(last) + excess / Param(log(Param(horizon_))));
      }
      alpha[k] = std::clamp(alpha[k], Param(0), Param(1));
    }
    return alpha;
  }

  double horizon_, reference_;
  exponents exponents_;
  index_t offset_ = 0;
};

static_assert(decay_for<post_taper, float> && decay_for<post_taper, double>);

}  // namespace ebb::inline EBB_ABI
