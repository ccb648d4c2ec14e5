// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/tapered_rates.hpp
/// @brief  The rates that stand before input-dependent steps, with or without a taper.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ebb/core/pack_softplus.hpp>
#include <ebb/decay/post.hpp>

namespace ebb::inline EBB_ABI::detail {

/// r_k s_{t,k}, s = 1 or the factor of a taper; channels that share a rate, those of a head, lie
/// side by side.
template <class Param>
class tapered_rates {
 public:
  using taper_bound = std::optional<post_taper::bound<Param>>;

  /// @param shared_by  channels for each rate; the rates are one for each channel
  tapered_rates(std::vector<Param> rates, taper_bound taper, index_t shared_by)
      : rates_(std::move(rates)), taper_(std::move(taper)), shared_by_(shared_by) {}

  std::span<const Param> rates() const { return rates_; }
  std::span<const Param> alpha() const {
    return taper_ ? taper_->alpha() : std::span<const Param>();
  }
  bool tapered() const { return taper_.has_value(); }
  const taper_bound& bound_taper() const { return taper_; }
  Param log_relative_time(index_t position) const {
    return taper_ ? taper_->log_relative_time(position) : Param(0);
  }
  /// s of a channel, from the logarithm above.
  Param taper(std::size_t channel, const Param& log_time) const {
    return taper_ ? taper_->taper(channel, log_time) : Param(1);
  }
  /// Whether `count` channels have one taper, with one rate.
  bool same_taper(index_t channel, index_t count) const {
    return taper_ && count > 0 && channel / shared_by_ == (channel + count - 1) / shared_by_;
  }
  /// Whether r s is in the range of float, barring positions before t_ref 2^-64.
  bool fit_float() const { return fits_float(rates_) && (!taper_ || taper_->log_reference() < 44); }

  /// r s of a channel at `count` positions in a row, or of `count` channels at one position;
  /// perhaps in `memory`.
  template <std::size_t Size>
  row<const Param> over_time(index_t channel, index_t position, index_t count,
                             std::array<Param, Size>& memory) const {
    const auto c = static_cast<std::size_t>(channel), n = static_cast<std::size_t>(count);
    if (!taper_) return {rates_.data() + c, 0};
    const Param rate = rates_[c];
    if (n == 1) {
      memory[0] = Param(taper_->taper(c, taper_->log_relative_time(position)) * rate);
      return {memory.data(), 0};
    }
    taper_->tapers(c, position, count, memory.data());
    for (std::size_t i = 0; i < n; ++i) memory[i] *= rate;
    return {memory.data(), 1};
  }
  template <std::size_t Size>
  row<const Param> over_channels(index_t channel, const Param& log_time, index_t count,
                                 std::array<Param, Size>& memory) const {
    const Param* const rates = rates_.data() + channel;
    if (!taper_) return {rates, 1};
    Param* __restrict const to = memory.data();
    tapers(channel, log_time, count, to);
    for (index_t i = 0; i < count; ++i) to[i] = Param(rates[i] * to[i]);
    return {to, 1};
  }
  /// s of `count` channels, from the logarithm above; with a taper.
  void tapers(index_t channel, const Param& log_time, index_t count, Param* __restrict to) const {
    const auto c = static_cast<std::size_t>(channel), n = static_cast<std::size_t>(count),
               shared_by = static_cast<std::size_t>(shared_by_);
    if (shared_by == 1) {
      const Param* const alpha = taper_->alpha().data() + c;
      for (std::size_t i = 0; i < n; ++i)
        to[i] = post_taper::bound<Param>::factor(alpha[i], log_time);
      return;
    }
    for (std::size_t i = 0, next = 0; i < n; i = next) {
      next = std::min((c + i) / shared_by * shared_by + shared_by - c, n);
      std::fill(to + i, to + next, taper_->taper(c + i, log_time));
    }
  }

 private:
  std::vector<Param> rates_;
  taper_bound taper_;
  index_t shared_by_;
};

}  // namespace ebb::inline EBB_ABI::detail
