// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/selective.hpp
/// @brief  The input decides how far each step goes: the decay of selective state spaces.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ebb/core/exponential.hpp>
#include <ebb/core/numeric.hpp>
#include <ebb/decay/concept.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/decay/step_sizes.hpp>

namespace ebb::inline EBB_ABI {

/// Selective decay: an input-dependent step in front of constant rates.
///
///   log a_{t,k} = -r_k dt_{t,k} s_{t,k}
///   dt_{t,k} = clamp(softplus(raw_{t,k} + bias_k), low, high)
///
/// s = 1, or the factor of a `post_taper`. In the models' files r_k = exp(A_log_k).
///
///   const auto decay = selective_decay(raw).with_bias(bias).limited(0.001, 0.1).bind(rates);
///
/// | option                | meaning                                   | left out         |
/// |-----------------------|-------------------------------------------|------------------|
/// | `with_bias(values)`   | bias, N values or 1 for all channels      | 0                |
/// | `limited(low, high)`  | limits of dt                              | 0, inf           |
/// | `without_softplus()`  | dt = clamp(raw + bias): steps as given    | softplus         |
/// | `tapered(post_taper)` | s_{t,k} = ((t + t_0) / t_ref)^(-alpha_k)  | s = 1            |
///
/// Shapes: raw (batch, time, N), or (batch, time, 1) for all channels alike, in float, double,
/// bfloat16, half or a storage type of your own; a stride of zero repeats rows. The memory of `raw`
/// must outlive what is bound; rates and bias are copied.
/// Units: r dt none. raw may hold any number, NaN stays NaN; steps as given are to be >= 0 after
/// the clamp (its default sees to that). dt = inf gives a = 0, but NaN where r_k = 0.
/// Cost: bind O(N), four allocations at most; fill one exp and one log1p per step size (once a step
/// where raw and bias have one channel), tapered one exp per element and one log per step more.
/// Accuracy: with x = raw + bias, u the unit roundoff of the parameters' type (double for float
/// blocks), relative error of log a below (9 + max(1, |x|)) u, of steps as given 2 u; tapered
/// (5 + 5 L) u more, L as in decay/post.hpp; then one rounding to the block's type. The published
/// code takes softplus(x) = x for x > 20, which is less by 2.1e-9 at most. (docs/accuracy.md)
/// Source: [Mamba], [Mamba2]; the taper [PoST].
template <class T, unit_stride_axis Axis = time_major, class Bias = double>
class selective_decay {
 public:
  static constexpr std::string_view name = "selective";
  static constexpr decay_kind kind = decay_kind::input;

  /// @param raw  an array or a view of raw steps; a temporary must be a view
  template <class V>
  requires outlives_call<V> && requires(V& values) { as_view(values); }
  explicit selective_decay(V&& raw)  // NOLINT(bugprone-forwarding-reference-overload)
      : selective_decay(strided_view<const T, Axis>(as_view(raw)), {}) {}

  /// The same with a bias. @param values  a span or array of finite numbers: N, 1, or none; copied
  /// @throws domain_error unless they are finite.
  template <class Values>
  auto with_bias(const Values& values) const {
    const std::span list(values);
    using Value = std::remove_const_t<typename decltype(list)::element_type>;
    const Value most = std::numeric_limits<Value>::max();
    for (const Value& value : list)
      detail::require_domain(value >= -most && value <= most, "selective_decay::with_bias",
                             "need finite values", value);
    selective_decay<T, Axis, Value> result(raw_, {list.begin(), list.end()});
    result.set(lowest_, highest_, softplus_, taper_);
    return result;
  }

  /// The same with dt held within limits. @param lowest, highest  0 <= lowest <= highest <= inf
  /// @throws domain_error outside this domain.
  selective_decay limited(double lowest, double highest) const {
    detail::require_domain(lowest >= 0 && highest >= lowest, "selective_decay::limited",
                           "need 0 <= lowest <= highest", lowest, highest);
    selective_decay result = *this;
    result.set(lowest, highest, softplus_, taper_);
    return result;
  }

  /// The same with raw + bias for the step itself.
  selective_decay without_softplus() const {
    selective_decay result = *this;
    result.set(lowest_, highest_, false, taper_);
    return result;
  }

  /// The same with the factor of a taper. The rates must ascend then.
  selective_decay tapered(const post_taper& taper) const {
    selective_decay result = *this;
    result.set(lowest_, highest_, softplus_, taper);
    return result;
  }

  /// The policy tied to N rates of type Param.
  template <class Param>
  class bound {
   public:
    static constexpr decay_kind kind = decay_kind::input;
    static constexpr decay_form form = decay_form::log_factor;

    /// Where vjp adds: d loss / d r_k (N), d raw (the shape of raw; over a shared channel or a
    /// zero stride it sums), d bias (as many as there are), d alpha_k (N, tapered only). What is
    /// left empty is skipped. 16-bit steps have float gradients.
    struct gradients {
      std::span<Param> rates{};
      typename detail::step_sizes<T, Axis>::gradient_view raw{};
      std::span<Param> bias{};
      std::span<Param> alpha{};
    };

    std::span<const Param> rates() const { return rates_; }
    std::span<const Param> bias() const { return bias_; }
    /// The exponents of the taper; none without.
    std::span<const Param> alpha() const {
      return taper_ ? taper_->alpha() : std::span<const Param>();
    }
    /// The raw steps, which a scan must not overwrite.
    const strided_view<const T, Axis>& view() const { return raw_.view(); }

    /// Read the raw steps of another array from now on: the next piece, or the one step of a decode
    /// (whose position the caller of `step` gives). No allocation. Overwriting the array bound to
    /// does as well.
    template <class V>
    requires outlives_call<V> && requires(V& values) { as_view(values); }
    void read_from(V&& raw) {
      raw_ = detail::step_sizes<T, Axis>(strided_view<const T, Axis>(as_view(raw)));
    }

    template <class Real, class BlockAxis>
    void fill(const block_origin& where, const strided_view<Real, BlockAxis>& block) const {
      const bool one_for_all = raw_.shared() && bias_.size() <= 1;
      // Some channels at a time, so that each loop becomes vectors.
      constexpr index_t strip = 64;
      std::array<Param, static_cast<std::size_t>(strip)> dt;
      for (index_t t = 0; t < block.steps(); ++t) {
        const Param log_time = log_relative_time(where.position + t);
        if (one_for_all) {
          dt[0] = argument(where, t, 0);
          to_step_sizes(dt.data(), 1);
          dt.fill(dt[0]);
        }
        for (index_t k = 0; k < block.channels(); k += strip) {
          const auto count = static_cast<std::size_t>(std::min(strip, block.channels() - k));
          const std::size_t first = channel(where, k);
          if (!one_for_all) {
            for (std::size_t i = 0; i < count; ++i)
              dt[i] = argument(where, t, k + static_cast<index_t>(i));
            to_step_sizes(dt.data(), count);
          }
          std::array<Param, static_cast<std::size_t>(strip)> rate;
          for (std::size_t i = 0; i < count; ++i) rate[i] = Param(-rates_[first + i] * dt[i]);
          if (taper_)
            for (std::size_t i = 0; i < count; ++i) rate[i] *= taper(first + i, log_time);
          for (std::size_t i = 0; i < count; ++i)
            block(t, k + static_cast<index_t>(i)) = detail::scalar_as<Real>(rate[i]);
        }
      }
    }

    /// With x = raw + bias and d = d log a:
    ///
    ///   d r_k -= dt s d,              d raw, d bias -= r_k s dt'(x) d,
    ///   d alpha_k += r_k dt s log((t + t_0) / t_ref) d
    ///
    /// dt' is the logistic function of x (1 without softplus), and 0 where a limit acts. Where
    /// d = 0 nothing is added, also for dt = inf.
    template <class Real, class BlockAxis, class CotangentAxis>
    void vjp(const block_origin& where, const strided_view<const Real, BlockAxis>&,
             const strided_view<const Real, CotangentAxis>& cotangent, gradients& sums) const {
      const bool add_raw = sums.raw.data() != nullptr;
      for (index_t t = 0; t < cotangent.steps(); ++t) {
        const Param log_time = log_relative_time(where.position + t);
        Param over_channels(0);
        for (index_t k = 0; k < cotangent.channels(); ++k) {
          const std::size_t c = channel(where, k);
          Param scaled = detail::cotangent_as<Param>(cotangent(t, k));
          if (scaled == Param(0)) continue;  // behind a = 0, whose dt is inf: not inf * 0
          const Param x = argument(where, t, k), free = step_size(x), dt = clamped(free);
          if (taper_) scaled *= taper(c, log_time);
          if (!sums.rates.empty()) sums.rates[c] -= Param(dt * scaled);
          if (!sums.alpha.empty())
            sums.alpha[c] += Param(Param(rates_[c] * dt) * Param(log_time * scaled));
          if (free < lowest_ || free > highest_) continue;
          const Param slope = softplus_ ? logistic(x) : Param(1);
          const Param d_raw = Param(-rates_[c] * Param(slope * scaled));
          if (!sums.bias.empty()) sums.bias[bias_.size() == 1 ? 0 : c] += d_raw;
          if (raw_.shared())
            over_channels += d_raw;
          else if (add_raw)
            raw_.add(sums.raw, where, t, k, d_raw);
        }
        if (raw_.shared() && add_raw) raw_.add(sums.raw, where, t, 0, over_channels);
      }
    }

    /// @throws shape_error unless the data has N channels, and raw its shape or one channel.
    void check(const extents& size) const {
      detail::require_channels(static_cast<index_t>(rates_.size()), size, "selective_decay");
      raw_.check(size, "selective_decay");
    }
    /// @throws shape_error unless each of the gradients has its shape or is left out.
    void check(const extents&, const gradients& sums) const {
      const auto fits = [](std::size_t got, std::size_t expected) {
        detail::require_shape(got == 0 || got == expected, "selective_decay",
                              "need one gradient per parameter (got, parameters)", got, expected);
      };
      fits(sums.rates.size(), rates_.size());
      fits(sums.bias.size(), bias_.size());
      fits(sums.alpha.size(), alpha().size());
      raw_.check_sums(sums.raw, "selective_decay");
    }

   private:
    friend class selective_decay;
    // Of double, functions without branches and calls.
    static constexpr bool straight = std::same_as<Param, double>;
    using taper_bound = post_taper::bound<Param>;

    bound(const selective_decay& policy, std::vector<Param> rates, std::optional<taper_bound> taper)
        : raw_(policy.raw_),
          rates_(std::move(rates)),
          bias_(policy.bias_.begin(), policy.bias_.end()),
          taper_(std::move(taper)),
          lowest_(policy.lowest_),
          highest_(policy.highest_),
          softplus_(policy.softplus_) {}

    static std::size_t channel(const block_origin& where, index_t k) {
      return static_cast<std::size_t>(where.channel + k);
    }
    Param log_relative_time(index_t position) const {
      return taper_ ? taper_->log_relative_time(position) : Param(0);
    }
    // raw + bias
    Param argument(const block_origin& where, index_t t, index_t k) const {
      const Param raw = raw_.template at<Param>(where, t, k);
      if (bias_.empty()) return raw;
      return Param(raw + bias_[bias_.size() == 1 ? 0 : channel(where, k)]);
    }
    Param step_size(const Param& x) const { return softplus_ ? positive(x) : x; }
    void to_step_sizes(Param* x, std::size_t count) const {
      if (softplus_)
        for (std::size_t i = 0; i < count; ++i) x[i] = positive(x[i]);
      for (std::size_t i = 0; i < count; ++i) x[i] = clamped(x[i]);
    }
    static Param positive(const Param& x) {
      if constexpr (straight)
        return detail::softplus_of(x);
      else
        return softplus(x);
    }
    Param taper(std::size_t channel, const Param& log_time) const {
      if constexpr (straight)
        return detail::tapered<Param>(-taper_->alpha()[channel] * log_time);
      else
        return taper_->taper(channel, log_time);
    }
    // NaN passes.
    Param clamped(const Param& dt) const {
      if constexpr (straight)
        return detail::choose(dt < lowest_, lowest_, detail::choose(dt > highest_, highest_, dt));
      else
        return dt < lowest_ ? lowest_ : dt > highest_ ? highest_ : dt;
    }

    detail::step_sizes<T, Axis> raw_;
    std::vector<Param> rates_, bias_;
    std::optional<taper_bound> taper_;
    Param lowest_, highest_;
    bool softplus_;
  };

  /// @param rates  N >= 0 values, 0 <= r < inf, in any order; tapered: ascending. 1/step
  /// @throws domain_error outside this domain, shape_error unless there are N, 1 or 0 bias values.
  template <real_scalar Real>
  auto bind(std::span<const Real> rates) const {
    using Param = detail::parameter_t<Real>;
    for (const Real& rate : rates)
      detail::require_domain(rate >= Real(0) && rate <= std::numeric_limits<Real>::max(),
                             "selective_decay", "need 0 <= rates < inf", rate);
    detail::require_shape(bias_.size() <= 1 || bias_.size() == rates.size(), "selective_decay",
                          "need as many bias values as rates, 1 or none (got, rates)", bias_.size(),
                          rates.size());
    std::optional<post_taper::bound<Param>> taper;
    if (taper_) taper = taper_->bind(rates);
    return bound<Param>(*this, {rates.begin(), rates.end()}, std::move(taper));
  }

 private:
  template <class, unit_stride_axis, class>
  friend class selective_decay;

  selective_decay(const strided_view<const T, Axis>& raw, std::vector<Bias> bias)
      : raw_(raw), bias_(std::move(bias)) {}

  void set(double lowest, double highest, bool softplus, const std::optional<post_taper>& taper) {
    lowest_ = lowest, highest_ = highest, softplus_ = softplus, taper_ = taper;
  }

  strided_view<const T, Axis> raw_;
  std::vector<Bias> bias_;
  double lowest_ = 0, highest_ = std::numeric_limits<double>::infinity();
  bool softplus_ = true;
  std::optional<post_taper> taper_;
};

template <class V>
selective_decay(V&& raw) -> selective_decay<view_value<V>, view_axis<V>>;

static_assert(decay_for<selective_decay<float>, float>);
static_assert(decay_for<selective_decay<float, channel_major>, double>);

}  // namespace ebb::inline EBB_ABI
