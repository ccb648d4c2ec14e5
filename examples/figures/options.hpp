// SPDX-License-Identifier: Apache-2.0
/// @file   figures/options.hpp
/// @brief  What a run is asked to do.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "command_line/usage.hpp"
#include "figures/spectra.hpp"

namespace figures {

struct checkpoint {
  std::string label;
  std::filesystem::path path;
};

struct options {
  family which = family::mamba2;
  std::vector<checkpoint> checkpoints;  ///< none: the reference configurations as initialised
  double horizon = 2048;                ///< the training length, steps
  std::optional<int> layer;             ///< of the picture of one layer; not given: the middle one
  ebb::gap_inverse inverse = ebb::gap_inverse::exact;
  std::filesystem::path out;
};

using command_line::help_wanted;
using command_line::usage_error;

/// Reads the command line.
/// @throws usage_error, help_wanted
options parse_options(int argc, const char* const* argv);

}  // namespace figures
