// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/sigmoid_gate.hpp
/// @brief  A logistic gate for each channel and step, shifted by the position: the decay of RWKV-7.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
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
#include <ebb/core/pack_softplus.hpp>
#include <ebb/decay/concept.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/decay/step_sizes.hpp>

namespace ebb::inline EBB_ABI {

namespace detail {
/// 1 / (1 + e^-x) within 5u for every x; where e^x is no normal number, within the smallest one.
/// NaN stays NaN. Straight-line.
template <class Real>
[[gnu::always_inline]] inline Real logistic_of(const Real& x) {
  const Real z = decay_of<Real>(static_cast<double>(choose(x < 0, Real(-x), x))).a;
  const Real result = choose(x < 0, z, Real(1)) / (Real(1) + z);
  return choose(x == x, result, x);  // NOLINT(misc-redundant-expression)
}
}  // namespace detail

/// Sigmoid gate: an input-dependent rate between 0 and a largest one.
///
///   log a_{t,k} = -c sigma(w_k + raw_{t,k} - alpha_k log((t + t_0) / t_ref)),   c = e^(-1/2)
///
/// sigma(x) = 1 / (1 + e^-x); alpha = 0, or the exponents of a `post_taper`, which stretch the
/// timescale of a slow channel (sigma(x) near e^x) as they do elsewhere. The logits w_k are those
/// of the rates, r_k = c sigma(w_k), or given as they are.
///
///   const auto decay = sigmoid_gate(raw).tapered(post_taper::absolute_by_gaps(T)).bind_logits(w);
///
/// Shapes: raw (batch, time, N), or (batch, time, 1) for all channels alike, in float, double,
/// bfloat16 or half; a stride of zero repeats rows. The memory of `raw` must outlive what is bound;
/// logits and rates are copied. Units: r, c 1/step; the rest none. raw may hold any number, NaN
/// stays NaN.
/// Cost: bind O(N), three allocations at most; fill one exp per element, tapered one log per step.
/// Accuracy: with x the argument of sigma, u the unit roundoff of the parameters' type (double for
/// float blocks) and L as in decay/post.hpp (0 untapered), relative error of log a below
/// (8 + 2 |x| + 6 L) u barring underflow, with exponents by gaps
/// 16 L (max(1, log(r_max / r_min) / log T) + 1 / log T) u more; then one rounding to the block's
/// type. Float blocks of gates that are at most float: 7 u of float instead of that rounding, for
/// sigma is evaluated in float, with x of more digits (logits below 2^-64 or above 2^64 in size,
/// but for 0: in double). (docs/accuracy.md) Source: [RWKV7]; the taper [PoST].
template <class T, unit_stride_axis Axis = time_major>
class sigmoid_gate {
 public:
  static constexpr std::string_view name = "sigmoid_gate";
  static constexpr decay_kind kind = decay_kind::input;

  /// @param raw  an array or a view of raw gates; a temporary must be a view
  template <class V>
  requires outlives_call<V> && requires(V& values) { as_view(values); }
  explicit sigmoid_gate(V&& raw)  // NOLINT(bugprone-forwarding-reference-overload)
      : raw_(as_view(raw)) {}

  /// The same shifted by a taper. The logits must ascend then.
  sigmoid_gate tapered(const post_taper& taper) const {
    sigmoid_gate result = *this;
    result.taper_ = taper;
    return result;
  }

  /// The policy tied to N logits of type Param.
  template <class Param>
  class bound {
   public:
    static constexpr decay_kind kind = decay_kind::input;
    static constexpr decay_form form = decay_form::log_factor;

    /// Where vjp adds: d w_k (N), d raw (the shape of raw; over a shared channel or a zero stride
    /// it sums), d alpha_k (N, tapered only). What is left empty is skipped. 16-bit gates have
    /// float gradients.
    struct gradients {
      std::span<Param> logits{};
      typename detail::step_sizes<T, Axis>::gradient_view raw{};
      std::span<Param> alpha{};
    };

    std::span<const Param> logits() const { return logits_; }
    /// The exponents of the taper; none without.
    std::span<const Param> alpha() const {
      return taper_ ? taper_->alpha() : std::span<const Param>();
    }
    /// The taper, if there is one.
    const std::optional<post_taper::bound<Param>>& taper() const { return taper_; }
    /// The raw gates, which a scan must not overwrite.
    const strided_view<const T, Axis>& view() const { return raw_.view(); }

    /// Read the raw gates of another array from now on: the next piece, or the one step of a
    /// decode. No allocation.
    template <class V>
    requires outlives_call<V> && requires(V& values) { as_view(values); }
    void read_from(V&& raw) {
      raw_ = detail::step_sizes<T, Axis>(strided_view<const T, Axis>(as_view(raw)));
    }

    template <class Real, class BlockAxis>
    void fill(const block_origin& where, const strided_view<Real, BlockAxis>& block) const {
      if constexpr (floats_only &&
                    std::numeric_limits<Real>::digits <= std::numeric_limits<float>::digits)
        if (in_float_) return fill_as<float>(where, block);
      fill_as<Param>(where, block);
    }

    /// With x the argument of sigma and d = d log a:
    ///
    ///   d w_k, d raw -= c sigma'(x) d,   d alpha_k += log((t + t_0) / t_ref) c sigma'(x) d
    template <class Real, class BlockAxis, class CotangentAxis>
    void vjp(const block_origin& where, const strided_view<const Real, BlockAxis>&,
             const strided_view<const Real, CotangentAxis>& cotangent, gradients& sums) const {
      strip_of<Param> x, part;
      for (index_t t = 0; t < cotangent.steps(); ++t) {
        const Param log_time = log_relative_time(where.position + t);
        Param over_channels(0);
        for (index_t k = 0; k < cotangent.channels(); k += strip) {
          const index_t count = std::min(strip, cotangent.channels() - k);
          const std::size_t c = as_size(where.channel + k), n = as_size(count);
          const auto d = detail::channel_row_of(cotangent, t, k);
          add_up(raw_.channel_row(where, t, k), c, count, log_time, x.data());
          for (index_t i = 0; i < count; ++i)
            part[as_size(i)] = Param(Param(-largest_ * slope(x[as_size(i)])) *
                                     detail::cotangent_as<Param>(d.data[i * d.stride]));
          if (!sums.logits.empty())
            for (std::size_t i = 0; i < n; ++i) sums.logits[c + i] += part[i];
          if (!sums.alpha.empty())
            for (std::size_t i = 0; i < n; ++i) sums.alpha[c + i] -= Param(log_time * part[i]);
          if (raw_.shared())
            for (std::size_t i = 0; i < n; ++i) over_channels += part[i];
          else if (sums.raw.data() != nullptr)
            raw_.add_row(sums.raw, where, t, k, part.data(), count);
        }
        if (raw_.shared() && sums.raw.data() != nullptr)
          raw_.add(sums.raw, where, t, 0, over_channels);
      }
    }

    /// @throws shape_error unless the data has N channels, and raw its shape or one channel.
    void check(const extents& size) const {
      detail::require_channels(static_cast<index_t>(logits_.size()), size, "sigmoid_gate");
      raw_.check(size, "sigmoid_gate");
    }
    /// @throws shape_error unless each of the gradients has its shape or is left out.
    void check(const extents&, const gradients& sums) const {
      const auto fits = [](std::size_t got, std::size_t expected, std::string_view rule) {
        detail::require_shape(got == 0 || got == expected, "sigmoid_gate", rule, got, expected);
      };
      fits(sums.logits.size(), logits_.size(),
           "need a gradient of logits for each channel (got, channels)");
      fits(sums.alpha.size(), alpha().size(),
           "need a gradient of alpha for each channel, none without a taper (got, exponents)");
      raw_.check_sums(sums.raw, "sigmoid_gate");
    }

   private:
    friend class sigmoid_gate;
    using taper_bound = post_taper::bound<Param>;
    static constexpr bool floats_only =
        std::same_as<Param, double> &&
        std::same_as<decltype(detail::loaded(std::declval<const T&>())), float>;

    bound(const sigmoid_gate& policy, std::vector<Param> logits, std::optional<taper_bound> taper)
        : raw_(policy.raw_),
          logits_(std::move(logits)),
          taper_(std::move(taper)),
          largest_(largest_rate<Param>()),
          in_float_(detail::fits_float(logits_)),
          plain_(!taper_ && std::all_of(logits_.begin(), logits_.end(),
                                        [](const Param& w) { return w == Param(0); })) {}

    // Channels at a time, so that each loop becomes vectors.
    static constexpr index_t strip = 64;
    template <class Number>
    using strip_of = std::array<Number, static_cast<std::size_t>(strip)>;

    template <class Gate, class Block>
    void fill_as(const block_origin& where, const Block& block) const {
      alignas(64) strip_of<Param> x;
      alignas(64) strip_of<Gate> memory;
      for (index_t t = 0; t < block.steps(); ++t) {
        const Param log_time = log_relative_time(where.position + t);
        for (index_t k = 0; k < block.channels(); k += strip) {
          const index_t count = std::min(strip, block.channels() - k);
          const auto raw = raw_.channel_row(where, t, k);
          const auto row = detail::channel_row_of(block, t, k);
          Gate* const to = detail::place_for(row, memory);
          if constexpr (std::same_as<Gate, Param>) {
            add_up(raw, as_size(where.channel + k), count, log_time, x.data());
            for (index_t i = 0; i < count; ++i) to[i] = Param(-largest_ * sigma(x[as_size(i)]));
          } else {
            const auto minus_largest = static_cast<float>(-largest_);
            if (plain_) {
              detail::logistic_gates(detail::in_a_row(raw, count, memory), minus_largest, count,
                                     to);
            } else {
              add_up(raw, as_size(where.channel + k), count, log_time, x.data());
              detail::logistic_gates(x.data(), minus_largest, count, to);
            }
          }
          detail::put_row(to, count, row);
        }
      }
    }
    // x of `count` channels from c on.
    void add_up(const detail::row<const T>& raw, std::size_t c, index_t count,
                const Param& log_time, Param* __restrict x) const {
      detail::copy_row(raw, count, detail::row<Param>{x, 1});
      const Param* const logits = logits_.data() + c;
      for (index_t i = 0; i < count; ++i) x[i] = Param(logits[i] + x[i]);
      if (!taper_) return;
      const Param* const alpha = taper_->alpha().data() + c;
      for (index_t i = 0; i < count; ++i)
        x[i] = detail::multiply_add(Param(-alpha[i]), log_time, x[i]);
    }

    static std::size_t as_size(index_t i) { return static_cast<std::size_t>(i); }
    Param log_relative_time(index_t position) const {
      return taper_ ? taper_->log_relative_time(position) : Param(0);
    }
    static Param sigma(const Param& x) {
      if constexpr (std::same_as<Param, double>)
        return detail::logistic_of(x);
      else
        return logistic(x);
    }
    // sigma'(x) = sigma(x) sigma(-x)
    static Param slope(const Param& x) {
      if constexpr (std::same_as<Param, double>) {
        const double z = detail::decay_of<double>(detail::choose(x < 0, -x, x)).a, sum = 1 + z;
        return detail::choose(x == x, z / (sum * sum), x);  // NOLINT(misc-redundant-expression)
      } else {
        return Param(sigma(x) * sigma(Param(-x)));
      }
    }

    detail::step_sizes<T, Axis> raw_;
    std::vector<Param> logits_;
    std::optional<taper_bound> taper_;
    Param largest_;
    bool in_float_, plain_;
  };

  /// c = e^(-1/2), the largest rate, 1/step.
  template <real_scalar Real>
  static Real largest_rate() {
    using detail::exp;
    return Real(exp(Real(-0.5)));
  }

  /// @param rates  N >= 0 values, 0 < r_k < c, in any order; tapered: ascending. 1/step
  /// @throws domain_error outside this domain.
  template <real_scalar Real>
  auto bind(std::span<const Real> rates) const {
    using Param = detail::parameter_t<Real>;
    using detail::log;
    const auto largest = largest_rate<Param>();
    std::vector<Param> logits, own(rates.begin(), rates.end());
    for (const Param& rate : own) {
      detail::require_domain(rate > Param(0) && rate < largest, "sigmoid_gate",
                             "need 0 < rates < e^(-1/2)", rate);
      logits.push_back(Param(log(Param(rate / Param(largest - rate)))));
    }
    return bound<Param>(*this, std::move(logits), bound_taper<Param>(own));
  }

  /// @param logits  w, N >= 0 finite values, in any order; tapered: ascending
  /// @throws domain_error outside this domain.
  template <real_scalar Real>
  auto bind_logits(std::span<const Real> logits) const {
    using Param = detail::parameter_t<Real>;
    const Param most = std::numeric_limits<Param>::max();
    std::vector<Param> own(logits.begin(), logits.end()), rates;
    for (const Param& w : own) {
      detail::require_domain(w >= -most && w <= most, "sigmoid_gate", "need finite logits", w);
      if (taper_) rates.push_back(logistic(w));
    }
    return bound<Param>(*this, std::move(own), bound_taper<Param>(rates));
  }

  /// The way back from exponents by gaps to the logits, which `vjp` leaves fixed: adds to the
  /// gradient of w_j the sum over k of d loss / d alpha_k times d alpha_k / d w_j. As
  /// post_taper::exponents_vjp; nothing without a taper.
  /// @throws shape_error unless there are N of each, domain_error as bind_logits. Nothing has been
  ///   written then.
  template <class Values, class Real = detail::number_of<Values>>
  void exponents_vjp(
      const Values& logits_given,
      std::type_identity_t<std::span<const detail::parameter_t<Real>>> alpha_gradients,
      std::type_identity_t<std::span<detail::parameter_t<Real>>> logit_gradients) const {
    using Param = detail::parameter_t<Real>;
    const std::span<const Real> logits(logits_given);
    detail::require_shape(logit_gradients.size() == logits.size(), "sigmoid_gate::exponents_vjp",
                          "need N gradients of logits (got, N)", logit_gradients.size(),
                          logits.size());
    if (!taper_) return;
    std::vector<Param> rates, sums(logits.size());
    for (const Real& w : logits) rates.push_back(logistic(Param(w)));
    taper_->exponents_vjp(std::span<const Param>(rates), alpha_gradients, sums);
    // dr / dw = r sigma(-w)
    for (std::size_t k = 0; k < sums.size(); ++k)
      logit_gradients[k] += Param(sums[k] * rates[k] * logistic(Param(-Param(logits[k]))));
  }

 private:
  template <class Param>
  std::optional<post_taper::bound<Param>> bound_taper(const std::vector<Param>& rates) const {
    if (!taper_) return std::nullopt;
    return taper_->bind(std::span<const Param>(rates));
  }

  strided_view<const T, Axis> raw_;
  std::optional<post_taper> taper_;
};

template <class V>
sigmoid_gate(V&& raw) -> sigmoid_gate<view_value<V>, view_axis<V>>;

static_assert(decay_for<sigmoid_gate<float>, float>);
static_assert(decay_for<sigmoid_gate<float, channel_major>, double>);

}  // namespace ebb::inline EBB_ABI
