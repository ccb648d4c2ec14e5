// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/positive_steps.hpp
/// @brief  The input-dependent step of selective state spaces, from raw numbers and a bias.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <ebb/core/exponential.hpp>
#include <ebb/core/numeric.hpp>
#include <ebb/core/pack_softplus.hpp>
#include <ebb/decay/concept.hpp>
#include <ebb/decay/step_sizes.hpp>

namespace ebb::inline EBB_ABI::detail {

/// to[i] = -rates[i] dt[i].
template <class Param, class Step>
void minus_products(const row<const Param>& rates, const Step* dt, index_t count,
                    Step* __restrict to) {
  if (rates.stride == 0) {
    const Step rate = static_cast<Step>(-*rates.data);
    for (index_t i = 0; i < count; ++i) to[i] = Step(rate * dt[i]);
  } else {
    for (index_t i = 0; i < count; ++i) to[i] = Step(static_cast<Step>(-rates.data[i]) * dt[i]);
  }
}

/// What becomes of a raw step.
struct positive_step_options {
  double lowest = 0, highest = std::numeric_limits<double>::infinity();
  bool softplus = true, negated = false;
  index_t steps_for = 1;
};

/// dt = clamp(softplus(x), low, high), x = raw + bias, or its negative; a column of raw (and its
/// bias) serves `steps_for` channels side by side, a single column all of them.
template <class Param, class T, unit_stride_axis Axis>
class positive_steps {
 public:
  using gradient_view = typename step_sizes<T, Axis>::gradient_view;
  /// Elements at a time, so that each loop becomes vectors.
  static constexpr index_t strip = 64;
  template <class Step>
  using strip_of = std::array<Step, static_cast<std::size_t>(strip)>;

  /// Where gradients are added; what is left empty is skipped.
  struct gradients {
    const gradient_view& raw;
    std::span<Param> bias;
  };

  positive_steps(const strided_view<const T, Axis>& raw, std::vector<Param> bias,
                 const positive_step_options& options)
      : raw_(raw),
        bias_(std::move(bias)),
        lowest_(options.lowest),
        highest_(options.highest),
        softplus_(options.softplus),
        negated_(options.negated),
        steps_for_(options.steps_for) {}

  /// Whether dt may be had in float: softplus of what is at most float, and parameters like that.
  bool in_float() const {
    if constexpr (straight && std::same_as<decltype(loaded(std::declval<const T&>())), float>)
      return softplus_ && fits_float(bias_) && fits_float(lowest_) &&
             (fits_float(highest_) || highest_ > std::numeric_limits<double>::max());
    else
      return false;
  }

  const strided_view<const T, Axis>& view() const { return raw_.view(); }
  std::span<const Param> bias() const { return bias_; }
  positive_step_options options() const {
    return {static_cast<double>(lowest_), static_cast<double>(highest_), softplus_, negated_,
            steps_for_};
  }
  void read_from(const strided_view<const T, Axis>& raw) { raw_ = step_sizes<T, Axis>(raw); }

  /// The column of a channel.
  index_t column(index_t channel) const { return steps_for_ == 1 ? channel : channel / steps_for_; }
  index_t steps_for() const { return steps_for_; }
  /// Whether a step has one dt.
  bool one_for_all() const { return raw_.shared() && bias_.size() <= 1; }

  /// x of a column.
  Param argument(const block_origin& where, index_t t, index_t column) const {
    Param x = raw_.template at<Param>(first_column(where), t, column);
    if (!bias_.empty()) x = Param(x + bias_[bias_.size() == 1 ? 0 : as_size(column)]);
    return negated_ ? Param(-x) : x;
  }
  /// x of `count` <= strip columns of step t from `first` on.
  void arguments(const block_origin& where, index_t t, index_t first, index_t count,
                 Param* x) const {
    add_up(raw_.channel_row(first_column(where), t, first), bias_row(first), count, x);
    if (negated_)
      for (index_t i = 0; i < count; ++i) x[i] = Param(-x[i]);
  }
  /// dt from x, without limits and with them.
  Param free(const Param& x) const { return softplus_ ? positive(x) : x; }
  Param clamped(const Param& dt) const { return clamped(dt, lowest_, highest_); }

  /// dt of `count` <= strip steps from t on, of one column, and what is made of them: in Param or,
  /// where `in_float`, in float.
  template <class Step>
  void over_time(const block_origin& where, index_t t, index_t column, index_t count,
                 const step_outputs<Step, Param>& to) const {
    const auto first = static_cast<index_t>(bias_.size() > 1 ? column : 0);
    to_steps(raw_.time_row(first_column(where), t, column), {bias_.data() + first, 0}, count, to);
  }
  /// The same of `count` <= strip columns of step t.
  template <class Step>
  void over_columns(const block_origin& where, index_t t, index_t first, index_t count,
                    const step_outputs<Step, Param>& to) const {
    to_steps(raw_.channel_row(first_column(where), t, first), bias_row(first), count, to);
  }

  /// What has been computed of a step whose columns serve several channels each.
  template <class Step>
  struct column_steps {
    alignas(64) strip_of<Step> dt;
    index_t first = 0, end = 0;
  };
  /// dt of `count` <= strip channels of step t.
  /// @param end      one past the last channel of the step that will be asked for
  /// @param columns  of this step and earlier channels
  template <class Step>
  void over_channels(const block_origin& where, index_t t, index_t channel, index_t count,
                     index_t end, column_steps<Step>& columns, strip_of<Step>& dt) const {
    if (column(channel + count - 1) >= columns.end) {
      columns.first = column(channel);
      columns.end = std::min(columns.first + strip, column(end - 1) + 1);
      over_columns<Step>(where, t, columns.first, columns.end - columns.first,
                         {.dt = columns.dt.data()});
    }
    for (index_t i = 0, c = column(channel); i < count; ++c) {
      const index_t next = std::min((c + 1) * steps_for_ - channel, count);
      std::fill(dt.data() + i, dt.data() + next, columns.dt[as_size(c - columns.first)]);
      i = next;
    }
  }

  /// d dt / d x without the limits, with d x = 0 where they act.
  Param slope(const Param& x, const Param& free_step) const {
    if (free_step < lowest_ || free_step > highest_) return Param(0);
    return softplus_ ? logistic(x) : Param(1);
  }
  /// dt, and d dt / d x as above, of `count` arguments.
  void with_slopes(const strip_of<Param>& x, index_t count, strip_of<Param>& dt,
                   strip_of<Param>& slopes) const {
    if constexpr (straight) {
      if (softplus_) {
        const Param lowest = lowest_, highest = highest_;
        for (std::size_t i = 0; i < as_size(count); ++i) {
          const Param z = decay_of<Param>(x[i] < 0 ? -x[i] : x[i]).a;
          const Param sum = choose(x[i] > 0, x[i], Param(0)) + reduced_log1p(z);
          const bool number = x[i] == x[i];  // NOLINT(misc-redundant-expression)
          const Param free = choose(number, sum, x[i]);
          const Param logistic = choose(x[i] < 0, z, Param(1)) / (Param(1) + z);
          const Param rise = choose(number, logistic, x[i]);
          const Param inside = choose(free < lowest, Param(0), rise);
          slopes[i] = choose(free > highest, Param(0), inside);
          dt[i] = clamped(free, lowest, highest);
        }
        return;
      }
    }
    for (std::size_t i = 0; i < as_size(count); ++i) {
      const Param now = free(x[i]);
      slopes[i] = slope(x[i], now);
      dt[i] = clamped(now);
    }
  }
  /// f(step, channel, cotangent, dt, slope of dt) for every cotangent of a block: some at a time, so
  /// that their loops become vectors.
  /// @param column  the column of a channel of the block
  template <class Cotangent, class Column, class F>
  void each_with_slope(const block_origin& where, const Cotangent& cotangent, const Column& column,
                       const F& f) const {
    strip_of<Param> x, dt, slopes;
    const index_t width = cotangent.channels(), all = cotangent.steps() * width;
    index_t t = 0, k = 0;
    const auto next = [&](index_t& step, index_t& channel) {
      if (++channel == width) channel = 0, ++step;
    };
    for (index_t first = 0; first < all; first += strip) {
      const index_t count = std::min(strip, all - first);
      index_t u = t, j = k;
      for (index_t i = 0; i < count; ++i, next(u, j))
        x[as_size(i)] = argument(where, u, column(where.channel + j));
      with_slopes(x, count, dt, slopes);
      for (index_t i = 0; i < count; ++i, next(t, k))
        f(t, k, cotangent_as<Param>(cotangent(t, k)), dt[as_size(i)], slopes[as_size(i)]);
    }
  }
  /// Adds d x to the gradients of raw and bias.
  void add_raw(const gradients& sums, const block_origin& where, index_t t, index_t column,
               const Param& part) const {
    if (sums.raw.data() != nullptr)
      raw_.add(sums.raw, first_column(where), t, column, negated_ ? Param(-part) : part);
  }
  void add_bias(const gradients& sums, index_t column, const Param& part) const {
    if (!sums.bias.empty())
      sums.bias[bias_.size() == 1 ? 0 : as_size(column)] += negated_ ? Param(-part) : part;
  }
  /// The same of `count` <= strip columns of step t from `first` on, each with raw of its own.
  void add_row(const gradients& sums, const block_origin& where, index_t t, index_t first,
               strip_of<Param>& parts, index_t count) const {
    if (negated_)
      for (std::size_t i = 0; i < as_size(count); ++i) parts[i] = Param(-parts[i]);
    if (sums.raw.data() != nullptr)
      raw_.add_row(sums.raw, first_column(where), t, first, parts.data(), count);
    if (sums.bias.empty()) return;
    if (bias_.size() == 1)
      for (std::size_t i = 0; i < as_size(count); ++i) sums.bias[0] += parts[i];
    else
      for (std::size_t i = 0; i < as_size(count); ++i) sums.bias[as_size(first) + i] += parts[i];
  }
  /// Whether all channels share a column of raw, whatever their bias.
  bool shared() const { return raw_.shared(); }

  /// @throws shape_error unless raw fits data of this size, or the sums raw.
  void check(const extents& size, std::string_view where) const {
    raw_.check({size.batches, size.steps, size.channels / steps_for_}, where);
  }
  void check_sums(const gradient_view& sums, std::string_view where) const {
    raw_.check_sums(sums, where);
  }

 private:
  // Of double, functions without branches and calls.
  static constexpr bool straight = std::same_as<Param, double>;

  static std::size_t as_size(index_t i) { return static_cast<std::size_t>(i); }
  static block_origin first_column(const block_origin& where) {
    return {where.batch, where.step, 0, where.position};
  }
  // The bias of the columns from `first` on.
  row<const Param> bias_row(index_t first) const {
    const bool each = bias_.size() > 1;
    return {bias_.data() + (each ? first : 0), each ? 1 : 0};
  }
  static Param positive(const Param& x) {
    if constexpr (straight)
      return softplus_of(x);
    else
      return softplus(x);
  }
  // NaN passes.
  static Param clamped(const Param& dt, const Param& lowest, const Param& highest) {
    if constexpr (straight)
      return choose(dt < lowest, lowest, choose(dt > highest, highest, dt));
    else
      return dt < lowest ? lowest : dt > highest ? highest : dt;
  }
  // x = raw + bias.
  static void add_up(const row<const T>& raw, const row<const Param>& bias, index_t count,
                     Param* __restrict x) {
    copy_row(raw, count, row<Param>{x, 1});
    if (bias.data != nullptr)
      for (index_t i = 0; i < count; ++i) x[i] += bias.data[i * bias.stride];
  }
  template <class Step>
  void to_steps(const row<const T>& raw, const row<const Param>& bias, index_t count,
                const step_outputs<Step, Param>& to) const {
    alignas(64) strip_of<Param> x;
    if constexpr (std::same_as<Step, Param>) {
      add_up(raw, bias, count, x.data());
      const auto n = as_size(count);
      const Param lowest = lowest_, highest = highest_;
      if (negated_)
        for (std::size_t i = 0; i < n; ++i) x[i] = Param(-x[i]);
      if (softplus_)
        for (std::size_t i = 0; i < n; ++i) x[i] = positive(x[i]);
      for (std::size_t i = 0; i < n; ++i) x[i] = clamped(x[i], lowest, highest);
      if (to.dt != nullptr) std::copy_n(x.data(), count, to.dt);
      if (to.logs != nullptr) minus_products(to.rates, x.data(), count, to.logs);
    } else {
      const auto lowest = static_cast<float>(lowest_), highest = static_cast<float>(highest_);
      alignas(64) strip_of<float> narrow;
      if (bias.data == nullptr) {
        softplus_steps(in_a_row(raw, count, narrow), negated_, lowest, highest, count, to);
      } else {
        add_up(raw, bias, count, x.data());
        softplus_steps(x.data(), negated_, lowest, highest, count, to);
      }
    }
  }

  step_sizes<T, Axis> raw_;
  std::vector<Param> bias_;
  Param lowest_, highest_;
  bool softplus_, negated_;
  index_t steps_for_;
};

}  // namespace ebb::inline EBB_ABI::detail
