// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/decay/selective_filler.hpp
/// @brief  Blocks of log-decays and step sizes of the selective decay, a strip at a time.
#pragma once

#include <algorithm>
#include <array>

#include <ebb/core/row.hpp>
#include <ebb/decay/concept.hpp>
#include <ebb/decay/positive_steps.hpp>
#include <ebb/decay/tapered_rates.hpp>

namespace ebb::inline EBB_ABI::detail {

/// log a = -r s dt of steps and channels, calculated in Step: Param or, where steps and rates fit,
/// float.
template <class Step, class Param, class T, unit_stride_axis Axis>
class selective_filler {
 public:
  using steps = positive_steps<Param, T, Axis>;

  selective_filler(const steps& sizes, const tapered_rates<Param>& rates)
      : steps_(sizes), rates_(rates) {}

  /// Log-decays and dt of the steps of a channel, or one of the two: without log-decays the channel
  /// is a column of raw.
  template <class Block>
  void column(const block_origin& where, const Block* logs, const Block* weights) const {
    alignas(64) strip_of<Step> dt, log;
    alignas(64) strip_of<Param> rate;
    const Block& some = logs != nullptr ? *logs : *weights;
    const index_t column = logs != nullptr ? steps_.column(where.channel) : where.channel;
    for (index_t t = 0; t < some.steps(); t += steps::strip) {
      const index_t count = std::min(steps::strip, some.steps() - t);
      step_outputs<Step, Param> to{};
      if (weights != nullptr) to.dt = place_for(time_row_of(*weights, t), dt);
      if (logs != nullptr) {
        to.rates = rates_.over_time(where.channel, where.position + t, count, rate);
        to.logs = place_for(time_row_of(*logs, t), log);
      }
      steps_.over_time(where, t, column, count, to);
      if (logs != nullptr) put_row(to.logs, count, time_row_of(*logs, t));
      if (weights != nullptr) put_row(to.dt, count, time_row_of(*weights, t));
    }
  }

  /// Log-decays of several channels.
  template <class Block>
  void rows(const block_origin& where, const Block& block) const {
    alignas(64) strip_of<Step> dt, log;
    alignas(64) strip_of<Param> rate, over_time;
    const bool one_for_all = steps_.one_for_all(),
               one_taper = rates_.same_taper(where.channel, block.channels());
    for (index_t t = 0; t < block.steps(); ++t) {
      if (one_taper && t % steps::strip == 0)
        rates_.over_time(where.channel, where.position + t,
                         std::min(steps::strip, block.steps() - t), over_time);
      const Param log_time = one_taper ? Param(0) : rates_.log_relative_time(where.position + t);
      if (one_for_all) {
        steps_.template over_time<Step>(where, t, 0, 1, {.dt = dt.data()});
        dt.fill(dt[0]);
      }
      typename steps::template column_steps<Step> columns;
      for (index_t k = 0; k < block.channels(); k += steps::strip) {
        const index_t count = std::min(steps::strip, block.channels() - k),
                      channel = where.channel + k;
        const auto to = channel_row_of(block, t, k);
        Step* const logs = place_for(to, log);
        const auto rates = one_taper ? row<const Param>{over_time.data() + t % steps::strip, 0}
                                     : rates_.over_channels(channel, log_time, count, rate);
        if (!one_for_all && steps_.steps_for() == 1) {
          steps_.template over_columns<Step>(where, t, channel, count,
                                             {.rates = rates, .logs = logs});
        } else {
          if (!one_for_all)
            steps_.over_channels(where, t, channel, count, where.channel + block.channels(),
                                 columns, dt);
          minus_products(rates, dt.data(), count, logs);
        }
        put_row(logs, count, to);
      }
    }
  }

  /// dt of several columns of raw.
  template <class Block>
  void step_rows(const block_origin& where, const Block& block) const {
    alignas(64) strip_of<Step> memory;
    for (index_t t = 0; t < block.steps(); ++t)
      for (index_t k = 0; k < block.channels(); k += steps::strip) {
        const index_t count = std::min(steps::strip, block.channels() - k);
        const auto to = channel_row_of(block, t, k);
        Step* const dt = place_for(to, memory);
        steps_.template over_columns<Step>(where, t, where.channel + k, count, {.dt = dt});
        put_row(dt, count, to);
      }
  }

 private:
  template <class X>
  using strip_of = typename steps::template strip_of<X>;

  const steps& steps_;
  const tapered_rates<Param>& rates_;
};

}  // namespace ebb::inline EBB_ABI::detail
