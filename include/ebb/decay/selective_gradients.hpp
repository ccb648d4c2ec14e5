// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/selective_gradients.hpp
/// @brief  The gradients of the selective decay where each channel has raw steps of its own.
#pragma once

#include <algorithm>
#include <cstddef>

#include <ebb/core/row.hpp>
#include <ebb/decay/concept.hpp>
#include <ebb/decay/positive_steps.hpp>
#include <ebb/decay/tapered_rates.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Adds what `vjp` of the decay documents, some channels of a step at a time, so that each loop
/// becomes vectors.
/// @param steps  with a column of raw for each channel
template <class Param, class T, unit_stride_axis Axis, class Cotangent, class Sums>
void add_gradients_by_row(const positive_steps<Param, T, Axis>& steps,
                          const tapered_rates<Param>& rates, const block_origin& where,
                          const Cotangent& cotangent, Sums& sums) {
  using strips = positive_steps<Param, T, Axis>;
  typename strips::template strip_of<Param> x, dt, slopes, given, scaled, part;
  const typename strips::gradients to{sums.raw, sums.bias};
  for (index_t t = 0; t < cotangent.steps(); ++t) {
    const Param log_time = rates.log_relative_time(where.position + t);
    for (index_t k = 0; k < cotangent.channels(); k += strips::strip) {
      const index_t count = std::min(strips::strip, cotangent.channels() - k);
      const index_t channel = where.channel + k;
      const auto c = static_cast<std::size_t>(channel), n = static_cast<std::size_t>(count);
      const auto d = channel_row_of(cotangent, t, k);
      for (index_t i = 0; i < count; ++i)
        given[static_cast<std::size_t>(i)] = cotangent_as<Param>(d.data[i * d.stride]);
      steps.arguments(where, t, channel, count, x.data());
      steps.with_slopes(x, count, dt, slopes);
      if (rates.tapered()) {
        rates.tapers(channel, log_time, count, scaled.data());
        for (std::size_t i = 0; i < n; ++i) scaled[i] = Param(given[i] * scaled[i]);
      } else {
        std::copy_n(given.data(), count, scaled.data());
      }
      // Behind a = 0, whose dt is inf, the cotangent is 0: not inf * 0.
      const auto unless_zero = [&](std::size_t i, const Param& number) {
        return given[i] == Param(0) ? Param(0) : number;
      };
      const Param* const r = rates.rates().data() + c;
      if (!sums.rates.empty())
        for (std::size_t i = 0; i < n; ++i)
          sums.rates[c + i] -= unless_zero(i, Param(dt[i] * scaled[i]));
      if (!sums.alpha.empty())
        for (std::size_t i = 0; i < n; ++i)
          sums.alpha[c + i] +=
              unless_zero(i, Param(Param(r[i] * dt[i]) * Param(log_time * scaled[i])));
      for (std::size_t i = 0; i < n; ++i)
        part[i] = unless_zero(i, Param(-r[i] * Param(slopes[i] * scaled[i])));
      steps.add_row(to, where, t, channel, part, count);
    }
  }
}

}  // namespace ebb::inline EBB_ABI::detail
