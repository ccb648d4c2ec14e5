// SPDX-License-Identifier: Apache-2.0
/// @file   table1/options.hpp
/// @brief  What a run is asked to do.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/usage.hpp"

namespace table1 {

/// The spectra this program knows, in the order of its tables.
const std::vector<std::string>& known_spectra();

struct options {
  std::vector<std::string> spectra;
  std::vector<int> channels;
  std::vector<double> horizons, betas, positions;
  // Not given: the grid takes the combinations that the claims need (grid.hpp).
  std::optional<std::vector<double>> extensions, slow_extensions, lag_fractions;
  std::optional<double> weights_bound;
  int seeds = 0, seeds_above_32 = 0;  ///< random spectra: seeds 1..seeds
  bool default_channels = true;       ///< --channels was not given
  bool relative = false, integer_lags = false, full = false, plots = true;
  bool overhead = false;  ///< time the scan with tapered decays against constant ones
  int threads = 1;
  std::filesystem::path out;
};

using command_line::help_wanted;
using command_line::usage_error;

/// Reads the command line.
/// @throws usage_error, help_wanted
options parse_options(int argc, const char* const* argv);

/// The options that decide which rows there are, as a command line; equal for equal grids.
std::string canonical(const options& o);

}  // namespace table1
