// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/approx/memory_design.hpp
/// @brief  An order of memory, and the answer to it.
#pragma once

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <ebb/approx/approximation.hpp>
#include <ebb/approx/exponential_sum.hpp>
#include <ebb/core/numeric.hpp>
#include <ebb/spectrum/two_ended.hpp>

namespace ebb::inline EBB_ABI {
namespace approx {

/// Where the channels of a design come from.
enum class memory_family {
  two_ended,  ///< geometric rates on [e^-B / T, e^A]; A and B multiples of 1/2 up to 4 and 2
  position_adaptive,  ///< two_ended_spectrum(T), tapered, with weights of each position
  minimax             ///< rates and weights both free; up to 30 channels
};

/// What a design may use.
struct design_options {
  memory_family family = memory_family::two_ended;
  error_kind kind = error_kind::absolute;
  double most_weights = HUGE_VAL;  ///< cap on |c|_1, > 0 and below 1e12 or none; not of minimax,
                                   ///< and 1e4 of position_adaptive at the most
  index_t most_channels = 64;      ///< 1 <= most_channels <= 128, of minimax at most 30 count
  two_ended_options two_ended{};   ///< position_adaptive: its spectrum
  index_t first_position = 1;      ///< position_adaptive: positions first .. floor(T), see design
  double lag_fraction = 1;         ///< position_adaptive: lags up to fraction t, in (0, 1]
  std::function<bool()> interrupted{};  ///< asked now and then; true ends the work early
};

/// The answer to an order.
struct [[nodiscard]] memory_design {
  index_t channels = 0;    ///< N, or 0 where most_channels do not reach the tolerance
  double error_lower = 0;  ///< bounds of the error of these N channels with their best weights;
  double error_upper = HUGE_VAL;      ///< the weights here, in double, reach it to N u |c|_1
  double fewer_lower = 0;             ///< N - 1 channels of the family: no error below this one
  bool fewest = false;                ///< proof that N - 1 miss the tolerance, or do not exist
  evidence basis = evidence::none;    ///< of error_upper
  exponential_sum sum;                ///< two_ended, minimax: rates and weights
  std::vector<double> rates;          ///< of the channels, slowest first
  double weights_l1 = 0;              ///< |c|_1, at most
  double fast_end = 0, slow_end = 0;  ///< two_ended: A and B
  bool interrupted = false;           ///< ended early: nothing else in here counts

  /// "24 channels, 3.1e-6": the error rounded up.
  std::string summary() const {
    if (interrupted) return "interrupted";
    if (channels == 0) return "not within the channels allowed";
    int exponent = error_upper > 0 ? static_cast<int>(std::floor(std::log10(error_upper))) : 0;
    double digits = std::ceil(error_upper / std::pow(10.0, exponent - 1) * (1 - 1e-12));
    if (digits >= 100) digits = 10, ++exponent;
    char text[64];
    std::snprintf(text, sizeof text, "%td channel%s, %.1fe%d", channels, channels == 1 ? "" : "s",
                  digits / 10, exponent);
    return text;
  }
};

}  // namespace approx
}  // namespace ebb::inline EBB_ABI
