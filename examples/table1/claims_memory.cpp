// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "table1/rules.hpp"

namespace table1::rules {
namespace {

// The largest weights of PoST and of the static spectrum on the same lags, far below the horizon.
std::string weights_far_below(rows_view rows) {
  double post = 0, fixed = 0;
  for (const row& r : rows) {
    if (!r.cell.position || !is_bare(r) || r.cell.lag_fraction != 0.5) continue;
    if (*r.cell.position > r.cell.horizon / 100 || r.cell.weights_bound) continue;
    if (r.cell.spectrum == "post") post = std::max(post, r.result.weights_l1);
    if (r.cell.spectrum == "static_T") fixed = std::max(fixed, r.result.weights_l1);
  }
  if (post == 0 || fixed == 0) return "";
  return "; at t <= T/100 the best weights have sum |c| up to " + significant(fixed, 2) +
         " (static) and " + significant(post, 2) + " (PoST)";
}

}  // namespace

claim effective_channels(rows_view rows, const observations& seen) {
  claim c{"effective_channels",
          "of N static channels only N log t / log T work at position t",
          {},
          "",
          "",
          "",
          "table1 --spectra static_T,post"};
  double worst = 0;
  std::map<int, double> worst_rank;  // by N
  for (const channel_count& count : seen.counts) {
    const double stated = count.channels * std::log(count.position) / std::log(count.horizon);
    worst = std::max(worst, std::abs(static_cast<double>(count.within) - stated));
    double& rank = worst_rank[count.channels];
    rank = std::max(rank, std::abs(static_cast<double>(count.rank) - stated));
  }
  c.detail =
      "rule: the count of timescales up to t differs from N log t / log T by at most 1, the "
      "numerical rank of the Gram matrix on lags up to t (eigenvalues above 1e-4 of the largest) "
      "by "
      "at most 2";
  if (seen.counts.empty()) {
    c.detail += "; no positions up to a horizon with a static spectrum in this run";
    return c;
  }
  c.value = significant(worst, 3);
  const double slack = 1 + 1e-9;
  int agree_up_to = 0;
  bool agree = true;
  std::string ranks;
  for (const auto& [channels, difference] : worst_rank) {
    agree = agree && difference <= slack + 1;
    if (agree) agree_up_to = channels;
    ranks += (ranks.empty() ? "" : ", ") + significant(difference, 3) +
             " at N = " + std::to_string(channels);
  }
  c.detail += "; count: at most " + significant(worst, 3) + " off; rank: off by " + ranks +
              weights_far_below(rows);
  if (worst > slack)
    c.ruling = verdict::fails;
  else if (agree)
    c.ruling = verdict::holds;
  else {
    c.ruling = verdict::holds_if;
    c.condition = "channels are counted by timescale <= t; the numerical rank agrees ";
    c.condition += agree_up_to == 0 ? "for none of the N of this run"
                                    : "only up to N = " + std::to_string(agree_up_to);
  }
  return c;
}

claim scale_free(const observations& seen) {
  claim c{"scale_free",
          "PoST's impulse response is scale-free: K(2t, 2j) -> K(t, j)",
          {},
          "",
          "",
          "",
          "table1 --spectra post"};
  std::map<double, std::pair<std::vector<double>, std::vector<double>>> channels;
  double interpolation = 0, last = 0;
  for (const response& r : seen.responses) {
    const double change = std::abs(r.log_response_doubled - r.log_response);
    channels[r.alpha].first.push_back(std::log(r.position));
    channels[r.alpha].second.push_back(std::log(std::max(change, 1e-300)));
    // By the last position, log K(2t, 2j) / log K(t, j) = 2^(1 - alpha).
    const double exponent = std::log2(r.log_response_doubled / r.log_response);
    if (r.position > last) last = r.position, interpolation = 0;
    if (r.position == last)
      interpolation = std::max(interpolation, std::abs(exponent - (1 - r.alpha)));
  }
  c.detail =
      "rule: a channel is scale-free when |log K(2t, 2j) - log K(t, j)|, j = t/2, falls with t: "
      "its power of t is below 0 with its 95 % interval";
  int free_channels = 0, counted = 0;
  double smallest_alpha = 2;
  for (const auto& [alpha, points] : channels) {
    if (points.first.size() < 3) continue;
    const auto power = ebb::approx::fit_line(points.first, points.second);
    ++counted;
    if (power.slope_high() < 0) ++free_channels, smallest_alpha = std::min(smallest_alpha, alpha);
    if (alpha == channels.rbegin()->first) {
      c.value = significant(power.slope, 4);
      c.detail += "; slowest channel (alpha = " + significant(alpha, 3) + "): power " +
                  with_interval(power);
    }
  }
  if (counted == 0) {
    c.detail += "; no post spectrum in this run";
    return c;
  }
  c.detail += "; scale-free channels: " + std::to_string(free_channels) + " of " +
              std::to_string(counted) + "; log K grows like t^(1-alpha) in the others, within " +
              significant(interpolation, 2) + " of that exponent at t = " + significant(last, 3);
  c.ruling = free_channels == counted ? verdict::holds
             : free_channels == 0     ? verdict::fails
                                      : verdict::holds_if;
  if (c.ruling == verdict::holds_if)
    c.condition = "the channel's alpha is at least " + significant(smallest_alpha, 3) +
                  "; the others interpolate between relative and absolute time";
  return c;
}

claim no_overhead(const observations& seen) {
  claim c{"no_overhead",
          "PoST costs a recurrence nothing",
          {},
          "",
          "",
          "",
          "table1 --spectra post --overhead"};
  constexpr double noise = 1.05;
  c.detail =
      "rule: a scan with tapered decays takes at most 1.05 times as long as the faster scan "
      "with constant ones";
  if (seen.timings.empty()) {
    c.detail += "; not timed in this run (--overhead)";
    return c;
  }
  double worst = 0, worst_late = 0;
  c.detail += "; float, 4096 steps:";
  for (const timing& t : seen.timings) {
    worst = std::max(worst, t.ratio);
    if (t.first_position > 1) worst_late = std::max(worst_late, t.ratio);
    c.detail += (&t == &seen.timings.front() ? " " : ", ") + significant(t.ratio, 3) +
                " at N = " + std::to_string(t.channels) +
                " from t = " + significant(t.first_position, 3);
  }
  c.value = significant(worst, 3);
  c.ruling = worst <= noise        ? verdict::holds
             : worst_late <= noise ? verdict::holds_if
                                   : verdict::fails;
  if (c.ruling == verdict::holds_if) c.condition = "positions are far from the start (t >= 1e4)";
  return c;
}

}  // namespace table1::rules
