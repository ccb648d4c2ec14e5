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
#include <ebb/decay/positive_steps.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/decay/selective_filler.hpp>
#include <ebb/decay/selective_gradients.hpp>
#include <ebb/decay/tapered_rates.hpp>

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
/// | `negated()`           | -(raw + bias) for raw + bias              | as given         |
/// | `rates_for(K)`        | each rate serves K channels side by side, | 1                |
/// |                       | as those of a head; alpha likewise        |                  |
/// | `steps_for(K)`        | each raw step and bias serves K channels  | 1                |
/// |                       | side by side                              |                  |
/// | `weighing()`          | dt also weighs what is written            | it does not      |
///
/// `negated` makes logistic gates: log a = -r softplus(-x) = r log(sigma(x)). A weighing decay
/// is one of matrix states (recurrence/matrix.hpp); channel h of `weigh` is column h of raw.
///
/// Shapes: raw (batch, time, N / K) for steps_for(K), or (batch, time, 1) for all channels alike,
/// in float, double, bfloat16, half or a storage type of your own; a stride of zero repeats rows.
/// Bias N / K likewise. The memory of `raw` must outlive what is bound; rates and bias are copied.
/// Units: r dt none. raw may hold any number, NaN stays NaN; steps as given are to be >= 0 after
/// the clamp (its default sees to that). dt = inf gives a = 0, but NaN where r_k = 0.
/// Cost: bind O(N), four allocations at most; fill one exp and one log1p per step size (once a step
/// where raw and bias have one channel), tapered one exp per element and one log per step more.
/// Accuracy: with x = raw + bias, u the unit roundoff of the parameters' type (double for float
/// blocks), relative error of log a below (9 + max(1, |x|)) u, of steps as given 2 u; tapered
/// (5 + 5 L) u more, L as in decay/post.hpp; then one rounding to the block's type. Float blocks of
/// raw steps that are at most float: 11 u of float instead of that rounding, for softplus is
/// evaluated in float, with x of more digits; below the smallest normal number, 3 (r + 1) of the
/// smallest subnormal ones. (Rates, bias or limits below 2^-64 or above 2^64, but for 0 and no
/// limit, or t_ref above 10^19: in double.) The published code takes softplus(x) = x for x > 20,
/// which is less by 2.1e-9 at most. (docs/accuracy.md)
/// Source: [Mamba], [Mamba2]; the taper [PoST].
template <class T, unit_stride_axis Axis = time_major, class Bias = double, bool Weighing = false>
class selective_decay {
 public:
  static constexpr std::string_view name = "selective";
  static constexpr decay_kind kind = decay_kind::input;

  /// @param raw  an array or a view of raw steps; a temporary must be a view
  template <class V>
  requires outlives_call<V> && requires(V& values) { as_view(values); }
  explicit selective_decay(V&& raw)  // NOLINT(bugprone-forwarding-reference-overload)
      : selective_decay(strided_view<const T, Axis>(as_view(raw)), {}) {}

  /// The same with a bias. @param values  a span or array of finite numbers: one for each raw step,
  ///   1, or none; copied
  /// @throws domain_error unless they are finite.
  template <class Values>
  auto with_bias(const Values& values) const {
    const std::span list(values);
    using Value = std::remove_cvref_t<decltype(detail::loaded(list[0]))>;
    const Value most = std::numeric_limits<Value>::max();
    std::vector<Value> bias;
    for (const auto& stored : list) {
      bias.push_back(detail::loaded(stored));
      detail::require_domain(bias.back() >= -most && bias.back() <= most,
                             "selective_decay::with_bias", "need finite values", bias.back());
    }
    selective_decay<T, Axis, Value, Weighing> result(raw_, std::move(bias));
    result.set(options_, rates_for_, taper_);
    return result;
  }

  /// The same with dt held within limits. @param lowest, highest  0 <= lowest <= highest <= inf
  /// @throws domain_error outside this domain.
  selective_decay limited(double lowest, double highest) const {
    detail::require_domain(lowest >= 0 && highest >= lowest, "selective_decay::limited",
                           "need 0 <= lowest <= highest", lowest, highest);
    selective_decay result = *this;
    result.options_.lowest = lowest, result.options_.highest = highest;
    return result;
  }

  /// The same with raw + bias for the step itself.
  selective_decay without_softplus() const {
    selective_decay result = *this;
    result.options_.softplus = false;
    return result;
  }

  /// The same with the factor of a taper. The rates must ascend then.
  selective_decay tapered(const post_taper& taper) const {
    selective_decay result = *this;
    result.taper_ = taper;
    return result;
  }

  /// The same with -(raw + bias) for raw + bias.
  selective_decay negated() const {
    selective_decay result = *this;
    result.options_.negated = true;
    return result;
  }

  /// The same with fewer rates than channels. @param channels  K >= 1, channels for each rate
  /// @throws domain_error outside this domain.
  selective_decay rates_for(index_t channels) const {
    detail::require_domain(channels >= 1, "selective_decay::rates_for", "need channels >= 1",
                           channels);
    selective_decay result = *this;
    result.rates_for_ = channels;
    return result;
  }

  /// The same with fewer raw steps than channels. @param channels  K >= 1, channels for each step
  /// @throws domain_error outside this domain.
  selective_decay steps_for(index_t channels) const {
    detail::require_domain(channels >= 1, "selective_decay::steps_for", "need channels >= 1",
                           channels);
    selective_decay result = *this;
    result.options_.steps_for = channels;
    return result;
  }

  /// The same as a decay that also weighs by dt.
  selective_decay<T, Axis, Bias, true> weighing() const {
    selective_decay<T, Axis, Bias, true> result(raw_, bias_);
    result.set(options_, rates_for_, taper_);
    return result;
  }

  /// The policy tied to N rates of type Param.
  template <class Param>
  class bound {
   public:
    static constexpr decay_kind kind = decay_kind::input;
    static constexpr decay_form form = decay_form::log_factor;

    /// Where vjp adds: d loss / d r_k (N, one for each channel also with rates_for), d raw (the
    /// shape of raw; over a shared channel or a zero stride it sums), d bias (as many as there
    /// are), d alpha_k (N, tapered only). What is left empty is skipped. 16-bit steps have float
    /// gradients.
    struct gradients {
      std::span<Param> rates{};
      typename detail::positive_steps<Param, T, Axis>::gradient_view raw{};
      std::span<Param> bias{};
      std::span<Param> alpha{};
    };

    std::span<const Param> rates() const { return rates_.rates(); }
    std::span<const Param> bias() const { return steps_.bias(); }
    /// The exponents of the taper; none without.
    std::span<const Param> alpha() const { return rates_.alpha(); }
    /// The taper, if any; what becomes of raw steps; and these, which a scan must not overwrite.
    const std::optional<post_taper::bound<Param>>& taper() const { return rates_.bound_taper(); }
    detail::positive_step_options step_options() const { return steps_.options(); }
    const strided_view<const T, Axis>& view() const { return steps_.view(); }

    /// Read the raw steps of another array from now on: the next piece, or the one step of a decode
    /// (whose position the caller of `step` gives). No allocation. Overwriting the array bound to
    /// does as well.
    template <class V>
    requires outlives_call<V> && requires(V& values) { as_view(values); }
    void read_from(V&& raw) { steps_.read_from(strided_view<const T, Axis>(as_view(raw))); }

    template <class Real, class BlockAxis>
    void fill(const block_origin& where, const strided_view<Real, BlockAxis>& block) const {
      with_filler<Real>([&](const auto& filler) {
        if (block.channels() == 1)
          filler.column(where, &block, static_cast<decltype(&block)>(nullptr));
        else
          filler.rows(where, block);
      });
    }

    /// dt of the raw steps from column `where.channel` on, one for each channel of the block.
    template <class Real, class BlockAxis>
    void weigh(const block_origin& where,
               const strided_view<Real, BlockAxis>& block) const requires Weighing {
      with_filler<Real>([&](const auto& filler) {
        if (block.channels() == 1)
          filler.column(where, static_cast<decltype(&block)>(nullptr), &block);
        else
          filler.step_rows(where, block);
      });
    }

    /// `fill` and `weigh` of one channel with a column of raw of its own.
    template <class Real, class BlockAxis>
    void fill_and_weigh(const block_origin& where, const strided_view<Real, BlockAxis>& logs,
                        const strided_view<Real, BlockAxis>& weights) const requires Weighing {
      with_filler<Real>([&](const auto& filler) { filler.column(where, &logs, &weights); });
    }

    /// With d = d dt: d raw, d bias += dt'(x) d, dt' as in `vjp`.
    template <class Real, class CotangentAxis>
    void weigh_vjp(const block_origin& where,
                   const strided_view<const Real, CotangentAxis>& cotangent,
                   gradients& sums) const requires Weighing {
      const typename steps::gradients to{sums.raw, sums.bias};
      steps_.each_with_slope(
          where, cotangent, [](index_t column) { return column; },
          [&](index_t t, index_t k, const Param& d, const Param&, const Param& slope) {
            if (d == Param(0)) return;
            const index_t column = where.channel + k;
            const Param d_raw = Param(slope * d);
            steps_.add_bias(to, column, d_raw);
            steps_.add_raw(to, where, t, column, d_raw);
          });
    }

    /// With x = raw + bias and d = d log a:
    ///
    ///   d r_k -= dt s d,              d raw, d bias -= r_k s dt'(x) d,
    ///   d alpha_k += r_k dt s log((t + t_0) / t_ref) d
    ///
    /// dt' is the logistic function of x (1 without softplus), and 0 where a limit acts; negated,
    /// x = -(raw + bias) and d raw, d bias change their sign. Where d = 0 nothing is added, also
    /// for dt = inf.
    template <class Real, class BlockAxis, class CotangentAxis>
    void vjp(const block_origin& where, const strided_view<const Real, BlockAxis>&,
             const strided_view<const Real, CotangentAxis>& cotangent, gradients& sums) const {
      if (steps_.steps_for() == 1 && !steps_.shared() && cotangent.channels() > 1)
        return detail::add_gradients_by_row(steps_, rates_, where, cotangent, sums);
      const typename steps::gradients to{sums.raw, sums.bias};
      const index_t last = cotangent.channels() - 1;
      Param over_channels(0), log_time(0);
      index_t now = -1;
      steps_.each_with_slope(
          where, cotangent, [&](index_t channel) { return steps_.column(channel); },
          [&](index_t t, index_t k, const Param& d, const Param& dt, const Param& slope) {
            if (t != now) now = t, log_time = rates_.log_relative_time(where.position + t);
            const std::size_t c = channel(where, k);
            if (!(d == Param(0))) {  // behind a = 0, whose dt is inf: not inf * 0
              const Param scaled = rates_.tapered() ? Param(d * rates_.taper(c, log_time)) : d;
              if (!sums.rates.empty()) sums.rates[c] -= Param(dt * scaled);
              if (!sums.alpha.empty())
                sums.alpha[c] += Param(Param(rates()[c] * dt) * Param(log_time * scaled));
              const Param d_raw = Param(-rates()[c] * Param(slope * scaled));
              const index_t column = steps_.column(where.channel + k);
              steps_.add_bias(to, column, d_raw);
              if (steps_.shared())
                over_channels += d_raw;
              else
                steps_.add_raw(to, where, t, column, d_raw);
            }
            if (k < last || !steps_.shared()) return;
            steps_.add_raw(to, where, t, 0, over_channels);
            over_channels = Param(0);
          });
    }

    /// @throws shape_error unless the data has N channels, and raw its shape or one channel.
    void check(const extents& size) const {
      detail::require_channels(static_cast<index_t>(rates().size()), size, "selective_decay");
      steps_.check(size, "selective_decay");
    }
    /// @throws shape_error unless each of the gradients has its shape or is left out.
    void check(const extents&, const gradients& sums) const {
      const auto fits = [](std::size_t got, std::size_t expected, std::string_view rule) {
        detail::require_shape(got == 0 || got == expected, "selective_decay", rule, got, expected);
      };
      fits(sums.rates.size(), rates().size(),
           "need a gradient of rates for each channel, also with rates_for (got, channels)");
      fits(sums.bias.size(), bias().size(), "need a gradient for each bias (got, bias values)");
      fits(sums.alpha.size(), alpha().size(),
           "need a gradient of alpha for each channel, none without a taper (got, exponents)");
      steps_.check_sums(sums.raw, "selective_decay");
    }

   private:
    friend class selective_decay;
    using taper_bound = post_taper::bound<Param>;
    using steps = detail::positive_steps<Param, T, Axis>;

    bound(const selective_decay& policy, std::vector<Param> rates, std::optional<taper_bound> taper)
        : steps_(policy.raw_, {policy.bias_.begin(), policy.bias_.end()}, policy.options_),
          rates_(std::move(rates), std::move(taper), policy.rates_for_),
          in_float_(steps_.in_float() && rates_.fit_float()) {}

    // Calls f with what fills blocks of type Real, in float or in Param.
    template <class Real, class F>
    void with_filler(const F& f) const {
      if constexpr (std::same_as<Param, double> &&
                    std::numeric_limits<Real>::digits <= std::numeric_limits<float>::digits)
        if (in_float_) return f(detail::selective_filler<float, Param, T, Axis>(steps_, rates_));
      f(detail::selective_filler<Param, Param, T, Axis>(steps_, rates_));
    }

    static std::size_t channel(const block_origin& where, index_t k) {
      return static_cast<std::size_t>(where.channel + k);
    }
    steps steps_;
    detail::tapered_rates<Param> rates_;
    bool in_float_;
  };

  /// @param rates  N >= 0 values (with rates_for(K) N / K), 0 <= r < inf, in any order; tapered:
  ///   ascending. 1/step
  /// @throws domain_error outside this domain, shape_error unless there are N, 1 or 0 bias values
  ///   (with steps_for(K) N / K for N) and N is a multiple of K.
  template <real_scalar Real>
  auto bind(std::span<const Real> rates) const {
    using Param = detail::parameter_t<Real>;
    for (const Real& rate : rates)
      detail::require_domain(rate >= Real(0) && rate <= std::numeric_limits<Real>::max(),
                             "selective_decay", "need 0 <= rates < inf", rate);
    std::vector<Param> each;
    for (const Real& rate : rates)
      each.insert(each.end(), static_cast<std::size_t>(rates_for_), Param(rate));
    const auto channels = static_cast<index_t>(each.size());
    detail::require_shape(channels % options_.steps_for == 0, "selective_decay",
                          "need a whole number of raw steps (channels, channels for each)",
                          channels, options_.steps_for);
    const index_t columns = channels / options_.steps_for;
    detail::require_shape(
        bias_.size() <= 1 || static_cast<index_t>(bias_.size()) == columns, "selective_decay",
        "need a bias for each raw step, 1 or none (got, raw steps)", bias_.size(), columns);
    std::optional<post_taper::bound<Param>> taper;
    if (taper_) taper = taper_->bind(rates).repeated(rates_for_);
    return bound<Param>(*this, std::move(each), std::move(taper));
  }

 private:
  template <class, unit_stride_axis, class, bool>
  friend class selective_decay;

  selective_decay(const strided_view<const T, Axis>& raw, std::vector<Bias> bias)
      : raw_(raw), bias_(std::move(bias)) {}

  void set(const detail::positive_step_options& options, index_t rates_for,
           const std::optional<post_taper>& taper) {
    options_ = options, rates_for_ = rates_for, taper_ = taper;
  }

  strided_view<const T, Axis> raw_;
  std::vector<Bias> bias_;
  detail::positive_step_options options_{};
  index_t rates_for_ = 1;
  std::optional<post_taper> taper_;
};

template <class V>
selective_decay(V&& raw) -> selective_decay<view_value<V>, view_axis<V>>;

static_assert(decay_for<selective_decay<float>, float>);
static_assert(decay_for<selective_decay<float, channel_major>, double>);

}  // namespace ebb::inline EBB_ABI
