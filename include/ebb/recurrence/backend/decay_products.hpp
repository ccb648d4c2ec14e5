// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/decay_products.hpp
/// @brief  What a state is multiplied by over many steps, without underflow and overflow.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <ebb/core/exponential.hpp>
#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/backend/scaled.hpp>
#include <ebb/recurrence/backend/tile.hpp>
#include <ebb/recurrence/update.hpp>

namespace ebb::inline EBB_ABI::detail {

/// The products of the decays of some channels over a run of steps, added block by block.
///
/// | decays                              | their product                                         |
/// |-------------------------------------|-------------------------------------------------------|
/// | constant                            | a power                                               |
/// | polynomials in log-time             | a closed form, or of what the polynomials give        |
/// | other log-decays, real              | exp of their sum: no exponential for an element       |
/// | factors; other complex log-decays   | in groups of steps, which are looked at for range     |
///
/// Cost: a fraction of a scan of the same steps, but for the last kind of complex numbers; no
/// allocation, up to 130 KB of stack.
/// Accuracy: of a step at most what it has in a scan (docs/accuracy.md, section 3).
template <class Decay, class State>
class decay_products {
  static constexpr bool constant = Decay::kind == decay_kind::constant;
  static constexpr decay_form form = Decay::form;
  static constexpr bool flies = !is_complex<State> && in_log_time<Decay, State> && !constant;
  template <class Axis>
  static constexpr bool in_memory = requires(const Decay& decay) {
    { decay.rows_at(block_origin{}) } -> std::same_as<stored_rows<State, Axis>>;
  };
  static constexpr bool in_rows = in_memory<time_major>, in_columns = in_memory<channel_major>;
  static constexpr bool sums =
      form == decay_form::log_factor && !is_complex<State> && !flies && !constant;
  static constexpr bool single = std::same_as<real_of_t<State>, float>;
  using Real = std::conditional_t<single, double, real_of_t<State>>;

 public:
  /// float states have products in double.
  using wide = std::conditional_t<is_complex<State>, std::complex<Real>, Real>;
  using result = scaled<wide>;

  static constexpr index_t widest = is_complex<State> ? 256 : 1024;
  /// Whether steps are best added while they are in the caches.
  static constexpr bool by_blocks = !constant && !flies;

  /// @param width  how many channels from `channel` on, 1 <= width <= widest
  decay_products(const Decay& decay, index_t channel, index_t width)
      : decay_(&decay), channel_(channel), width_(width) {
    totals_.clear(width);
  }

  /// The decays of `count` >= 1 steps from `where` on; its channel is not used.
  void add(block_origin where, index_t count) {
    where.channel = channel_;
    if constexpr (constant) {
      steps_ += count, origin_ = where;
    } else if constexpr (flies) {
      if constexpr (closed_form)
        if (steps_ == 0 && count >= many) {
          steps_ = count, origin_ = where;
          return;
        }
      add_polynomials(where, count);
    } else if constexpr (in_columns) {
      const stored_rows<State, channel_major> columns = decay_->rows_at(where);
      for (index_t k = 0; k < width_; ++k) add_column(columns.data + k * columns.row, k, count);
    } else {
      if constexpr (in_rows) {
        const stored_rows<State, time_major> rows = decay_->rows_at(where);
        if (width_ >= lanes) return totals_.add(rows.data, rows.row, width_, count);
        if (width_ == 1 && rows.row == 1) return add_column(rows.data, 0, count);
      }
      add_filled(where, count);
    }
  }

  /// The products of all that was added.
  void write(result* to) {
    if constexpr (constant) {
      State filled[static_cast<std::size_t>(widest)];
      if (steps_ > 0) decay_->fill(origin_, strided_view<State>(filled, 1, width_));
      for (index_t k = 0; k < width_; ++k)
        to[k] = steps_ > 0 ? result{loaded_factor(filled[k]), 0}.power(steps_) : result{};
    } else {
      for (index_t k = 0; k < width_; ++k) to[k] = totals_.get(k);
      if constexpr (closed_form)
        if (steps_ > 0) write_closed_form(to);
    }
  }

 private:
  // Few channels are taken as columns of so many steps side by side.
  static constexpr index_t lanes = 16, block = is_complex<State> ? 1024 : 4096;

  // A taper's product over many steps is a difference of zeta functions.
  static constexpr bool closed_form = flies && requires(const Decay& decay) {
    decay.log_impulse_response(index_t{}, index_t{}, index_t{});
  };
  static constexpr index_t many = 256;

  static wide loaded_factor(const State& filled) {
    return factor_of<form, wide>(weight_of<form, wide>(static_cast<wide>(filled)));
  }

  void write_closed_form(result* to) const requires closed_form {
    // A taper's channels forget at their slowest at the last step.
    State slowest[static_cast<std::size_t>(widest)];
    const index_t last = origin_.position + steps_ - 1;
    decay_->fill({origin_.batch, origin_.step + steps_ - 1, channel_, last},
                 strided_view<State>(slowest, 1, width_));
    for (index_t k = 0; k < width_; ++k)
      to[k] = static_cast<Real>(slowest[k]) * static_cast<Real>(steps_) < result::gone_below
                  ? result::gone()
                  : result::exponential(static_cast<Real>(decay_->log_impulse_response(
                                            channel_ + k, last, origin_.position - 1)),
                                        Real(0));
  }

  // Sums of real numbers, with the errors of all additions where no wider type is at hand.
  struct sum_totals {
    Real high[static_cast<std::size_t>(widest)], low[static_cast<std::size_t>(widest)];

    void clear(index_t width) {
      std::fill_n(high, width, Real(0));
      std::fill_n(low, width, Real(0));
    }
    static void add_one(Real& high, Real& low, const Real& x) {
      const Real sum = high + x;
      if constexpr (!single) {
        const Real added = sum - high;
        low += (high - (sum - added)) + (x - added);
      }
      high = sum;
    }
    void add(const State* x, index_t row, index_t width, index_t count) {
      for (index_t i = 0; i < count; ++i, x += row)
        for (index_t k = 0; k < width; ++k) add_one(high[k], low[k], static_cast<Real>(x[k]));
    }
    void take(index_t k, const sum_totals& other, index_t count) {
      for (index_t i = 0; i < count; ++i) {
        add_one(high[k], low[k], other.high[i]);
        low[k] += other.low[i];
      }
    }
    result get(index_t k) const { return result::exponential(high[k], low[k]); }
  };

  // Products of factors. Those of a group of steps are taken as they are; where one leaves the
  // middle of the range, or is no number, the group is walked again with care.
  struct product_totals {
    static constexpr index_t group = 16;
    wide value[static_cast<std::size_t>(widest)];
    index_t exponent[static_cast<std::size_t>(widest)];

    void clear(index_t width) {
      std::fill_n(value, width, wide(1));
      std::fill_n(exponent, width, index_t{0});
    }
    static wide load(const State& x) {
      if constexpr (flies) {  // a weight: a - 1 where it is negative
        const wide w = x;
        return choose(w < 0, wide(1 + w), w);
      } else {
        return loaded_factor(x);
      }
    }
    // In numbers, not in truth values, so that loops of it become vectors.
    static std::int64_t in_range(const Real& x) {
      constexpr Real most = static_cast<Real>(0x1p100), least = static_cast<Real>(0x1p-100);
      return static_cast<std::int64_t>(x > least) & static_cast<std::int64_t>(x < most);
    }
    // Whether all of these lie in the middle of the range, but for those that multiply 0.
    bool sound(const wide* by, index_t k, index_t count) const {
      std::int64_t sound_ones = 0;
      for (index_t c = 0; c < count; ++c)
        sound_ones += in_range(result::size(by[c])) |
                      static_cast<std::int64_t>(result::size(value[k + c]) == Real(0));
      return sound_ones == count;
    }
    // What has left the middle of the range, by no more than the size of the middle, comes back.
    void bring_back(index_t k, index_t count) {
      std::int64_t inside = 0;
      for (index_t c = 0; c < count; ++c) inside += in_range(result::size(value[k + c]));
      if (inside == count) return;
      for (index_t c = 0; c < count; ++c) {
        const Real now = result::size(value[k + c]);
        const bool small = now <= static_cast<Real>(0x1p-100);
        const bool large = now >= static_cast<Real>(0x1p100);
        value[k + c] *= static_cast<Real>(small ? 0x1p100 : large ? 0x1p-100 : 1.0);
        exponent[k + c] += small ? -100 : large ? 100 : 0;
      }
    }
    void add(const State* x, index_t row, index_t width, index_t count) {
      for (; count >= group; count -= group, x += group * row) add_group(x, row, width, group);
      if (count > 0) add_group(x, row, width, count);
    }
    [[gnu::always_inline]] void add_group(const State* x, index_t row, index_t width,
                                          index_t count) {
      constexpr index_t strip = 64;
      wide by[static_cast<std::size_t>(strip)];
      for (index_t k = 0; k < width; k += strip) {
        const index_t n = std::min(strip, width - k);
        const State* const from = x + k;
        for (index_t c = 0; c < n; ++c) by[c] = load(from[c]);
        for (index_t i = 1; i < count; ++i)
          for (index_t c = 0; c < n; ++c) by[c] = product(by[c], load(from[c + i * row]));
        if (sound(by, k, n)) {
          for (index_t c = 0; c < n; ++c) value[k + c] = product(value[k + c], by[c]);
          bring_back(k, n);
        } else {
          for (index_t c = 0; c < n; ++c) with_care(k + c, from + c, row, count);
        }
      }
    }
    void with_care(index_t k, const State* x, index_t row, index_t count) {
      result total = get(k);
      for (index_t i = 0; i < count; ++i) total.multiply(load(x[i * row]));
      set(k, total);
    }
    void take(index_t k, const product_totals& other, index_t count) {
      wide all = value[k];
      std::int64_t sound_ones = 0;
      for (index_t i = 0; i < count; ++i) {
        all = product(all, other.value[i]);
        sound_ones +=
            in_range(result::size(all)) & static_cast<std::int64_t>(other.exponent[i] == 0);
      }
      if (sound_ones == count) {
        value[k] = all;
        return;
      }
      result total = get(k);
      for (index_t i = 0; i < count; ++i) total.multiply(other.get(i));
      set(k, total);
    }
    result get(index_t k) const { return {value[k], exponent[k]}; }
    void set(index_t k, const result& total) {
      value[k] = total.value, exponent[k] = total.exponent;
    }
  };

  struct no_totals {
    void clear(index_t) {}
  };

  void add_column(const State* x, index_t k, index_t count) {
    side_by_side_.clear(lanes);
    side_by_side_.add(x, lanes, lanes, count / lanes);
    // What does not fill all lanes.
    side_by_side_.add(x + count / lanes * lanes, lanes, count % lanes, 1);
    totals_.take(k, side_by_side_, lanes);
  }

  void add_filled(block_origin where, index_t count) {
    State values[static_cast<std::size_t>(block)];
    const index_t height = block / width_;
    for (index_t done = 0, n = 0; done < count; done += n, where.step += n, where.position += n) {
      n = std::min(height, count - done);
      if (width_ < lanes) {
        decay_->fill(where, strided_view<State, channel_major>(values, n, width_));
        for (index_t k = 0; k < width_; ++k) add_column(values + k * n, k, n);
      } else {
        decay_->fill(where, strided_view<State>(values, n, width_));
        totals_.add(values, width_, width_, n);
      }
    }
  }

  void add_polynomials(block_origin where, index_t count) requires flies {
    constexpr index_t longest = log_time_weights<State>::longest;
    State weights[static_cast<std::size_t>(longest)];
    for (index_t n = 0; count > 0; count -= n, where.position += n) {
      const log_time_block part = decay_->template log_time_block_at<State>(where.position);
      n = std::min({count, longest, part.end - where.position});
      flight_.set_steps(part, where.position, n);
      for (index_t k = 0, width = 0; k < width_; k += width) {
        width = std::min(flight_.widest, width_ - k);
        flight_.set_channels(*decay_, channel_ + k, width);
        with_log_time_degree<State>(part, [&]<int Degree>() {
          for (index_t c = 0; c < width; ++c) {
            flight_.template column<Degree>(c, 0, n, weights);
            add_column(weights, k + c, n);
          }
        });
      }
    }
  }

  struct nothing {};
  template <bool Needed, class T>
  using if_needed = std::conditional_t<Needed, T, nothing>;
  using totals =
      std::conditional_t<constant, no_totals, std::conditional_t<sums, sum_totals, product_totals>>;

  const Decay* decay_;
  index_t channel_, width_, steps_ = 0;
  block_origin origin_{};
  totals totals_;
  totals side_by_side_;
  [[no_unique_address]] if_needed<flies, log_time_weights<State>> flight_;
};

}  // namespace ebb::inline EBB_ABI::detail
