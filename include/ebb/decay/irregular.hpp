// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/irregular.hpp
/// @brief  Decay over the time between unevenly spaced samples.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <ebb/core/scalar.hpp>
#include <ebb/decay/concept.hpp>
#include <ebb/decay/step_sizes.hpp>

namespace ebb::inline EBB_ABI {

/// Irregular decay: log a_{t,k} = -r_k dt_{t,k}, dt the time since the sample before.
///
/// dt of the first step separates it from the initial state.
///
/// Shapes: dt (batch, time, 1), or (batch, time, N) where channels have clocks of their own, in
/// float, double, bfloat16, half or a storage type of your own; a stride of zero repeats rows. The
/// memory must outlive what is bound. In reverse scans dt_t still belongs to the decay of step t.
/// Units: dt in any unit of time, rates in its inverse.
/// Domain: dt >= 0, and as everywhere the scan does not look at the values: a negative dt grows the
/// state as exp(r |dt|), not clamped; dt = inf gives a = 0, but NaN where Re r_k = 0.
/// Cost: bind O(N), one allocation; fill one product per element (two for complex rates).
/// Accuracy: each component is -r_k dt within one rounding in the parameters' type (double for
/// float blocks), then one to the block's type.
template <class T, unit_stride_axis Axis = time_major>
class irregular_decay {
 public:
  static constexpr std::string_view name = "irregular";
  static constexpr decay_kind kind = decay_kind::input;

  /// @param dt  an array or a view of intervals; a temporary must be a view
  template <class V>
  requires outlives_call<V> && requires(V& values) { as_view(values); }
  explicit irregular_decay(V&& dt)  // NOLINT(bugprone-forwarding-reference-overload)
      : dt_(strided_view<const T, Axis>(as_view(dt))) {}

  /// The policy tied to N rates of type Param, real or complex.
  template <class Param>
  class bound {
   public:
    static constexpr decay_kind kind = decay_kind::input;
    static constexpr decay_form form = decay_form::log_factor;

    /// Where vjp adds: d loss / d r_k (N), and d dt (the shape of dt; over a shared channel or a
    /// zero stride it sums). What is left empty is skipped. 16-bit intervals have float gradients.
    struct gradients {
      std::span<Param> rates{};
      typename detail::step_sizes<T, Axis>::gradient_view dt{};
    };

    std::span<const Param> rates() const { return rates_; }
    const detail::step_sizes<T, Axis>& intervals() const { return dt_; }
    /// The intervals, which a scan must not overwrite.
    const strided_view<const T, Axis>& view() const { return dt_.view(); }

    /// Read the intervals of another array from now on: the next piece, or the one step of a
    /// decode. No allocation. Overwriting the array bound to does as well.
    template <class V>
    requires outlives_call<V> && requires(V& values) { as_view(values); }
    void read_from(V&& dt) {
      dt_ = detail::step_sizes<T, Axis>(strided_view<const T, Axis>(as_view(dt)));
    }

    template <class Real, class BlockAxis>
    void fill(const block_origin& where, const strided_view<Real, BlockAxis>& block) const {
      for (index_t t = 0; t < block.steps(); ++t)
        for (index_t k = 0; k < block.channels(); ++k)
          block(t, k) =
              detail::scalar_as<Real>(Param(-rates_[channel(where, k)] * interval(where, t, k)));
    }

    /// d r_k -= dt d,   d dt -= Re(conj(r_k) d),   d = d log a; nothing where d = 0, also for
    /// dt = inf.
    ///
    /// Gradients of a real loss L with respect to a complex z are dL/dRe z + i dL/dIm z.
    template <class Real, class BlockAxis, class CotangentAxis>
    void vjp(const block_origin& where, const strided_view<const Real, BlockAxis>&,
             const strided_view<const Real, CotangentAxis>& cotangent, gradients& sums) const {
      const bool add_dt = sums.dt.data() != nullptr;
      for (index_t t = 0; t < cotangent.steps(); ++t) {
        Part over_channels(0);
        for (index_t k = 0; k < cotangent.channels(); ++k) {
          const auto d = detail::cotangent_as<Param>(cotangent(t, k));
          if (d == Param(0)) continue;  // behind a = 0, whose dt is inf: not inf * 0
          const Param& rate = rates_[channel(where, k)];
          if (!sums.rates.empty())
            sums.rates[channel(where, k)] -= Param(d * interval(where, t, k));
          const Part d_dt = -detail::real_part(detail::product(detail::conjugate(rate), d));
          if (dt_.shared())
            over_channels += d_dt;
          else if (add_dt)
            dt_.add(sums.dt, where, t, k, d_dt);
        }
        if (dt_.shared() && add_dt) dt_.add(sums.dt, where, t, 0, over_channels);
      }
    }

    /// @throws shape_error unless the data has N channels, and dt its shape or one channel.
    void check(const extents& size) const {
      detail::require_channels(static_cast<index_t>(rates_.size()), size, "irregular_decay");
      dt_.check(size, "irregular_decay");
    }
    /// @throws shape_error unless each of the gradients has its shape or is left out.
    void check(const extents&, const gradients& sums) const {
      if (!sums.rates.empty())
        detail::require_sums(sums.rates.size(), static_cast<index_t>(rates_.size()),
                             "irregular_decay");
      dt_.check_sums(sums.dt, "irregular_decay");
    }

   private:
    friend class irregular_decay;
    using Part = real_of_t<Param>;

    bound(const strided_view<const T, Axis>& dt, std::vector<Param> rates)
        : dt_(dt), rates_(std::move(rates)) {}

    static std::size_t channel(const block_origin& where, index_t k) {
      return static_cast<std::size_t>(where.channel + k);
    }
    Part interval(const block_origin& where, index_t t, index_t k) const {
      return dt_.template at<Part>(where, t, k);
    }

    detail::step_sizes<T, Axis> dt_;
    std::vector<Param> rates_;
  };

  /// @param rates  N >= 0 values, 0 <= r < inf, ascending (complex: the real parts), 1/time
  /// @throws domain_error outside this domain.
  template <scalar Real>
  auto bind(std::span<const Real> rates) const {
    detail::require_rates(rates, "irregular_decay");
    return bound<detail::parameter_t<Real>>(dt_, {rates.begin(), rates.end()});
  }

 private:
  strided_view<const T, Axis> dt_;
};

template <class V>
irregular_decay(V&& dt) -> irregular_decay<view_value<V>, view_axis<V>>;

static_assert(decay_for<irregular_decay<float>, float>);
static_assert(decay_for<irregular_decay<double, channel_major>, std::complex<double>>);

}  // namespace ebb::inline EBB_ABI
