// SPDX-License-Identifier: Apache-2.0
/// @file   table1/observe.hpp
/// @brief  What the claims need beside errors: gaps of many random spectra, counts of channels,
///         impulse responses. All of it is cheap.
#pragma once

#include <cstdint>
#include <vector>

#include <string>

#include "table1/options.hpp"

namespace table1 {

/// The smallest gap of one draw of a random spectrum on [1/T, 1], or of uniform rates on (0, 1].
struct gap_draw {
  std::string spectrum;
  int channels = 0;
  double horizon = 0;
  std::uint64_t seed = 0;
  double min_gap_rate = 0, min_gap_log_rate = 0, max_gap_log_rate = 0;
};

/// How many channels of a static geometric spectrum on [1/T, 1] work at position t.
struct channel_count {
  int channels = 0;
  double horizon = 0, position = 0;
  long within = 0;  ///< channels with a timescale of at most t
  long rank = 0;    ///< eigenvalues of the normalised Gram matrix on [0, t] above rank_threshold
};

/// Eigenvalues relative to the largest: a direction with 1 % of the largest one's amplitude counts.
inline constexpr double rank_threshold = 1e-4;

/// A tapered channel's answer at t to an impulse at t/2, in logarithms, and the same at twice t.
struct response {
  double alpha = 0;                                   ///< the channel's exponent
  double position = 0;                                ///< t
  double log_response = 0, log_response_doubled = 0;  ///< log K(t, t/2), log K(2t, t), both < 0
};

/// Time of a scan with tapered decays over the faster scan with constant ones, taken in turn.
struct timing {
  int channels = 0;
  double first_position = 0;
  double ratio = 0;
};

struct observations {
  std::vector<gap_draw> gaps;
  std::vector<channel_count> counts;
  std::vector<response> responses;
  std::vector<timing> timings;  ///< only where the options ask for them
};

/// Draws, counts and responses for the options' channels, horizons and positions; parts that no
/// spectrum of the options asks for stay empty.
observations observe(const options& o);

}  // namespace table1
