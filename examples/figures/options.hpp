// SPDX-License-Identifier: Apache-2.0
/// @file   figures/options.hpp
/// @brief  What a run is asked to do.
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

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

/// An option is unknown, missing or outside its domain; the message is one line.
class usage_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// --help was asked for; the message is the text.
class help_wanted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads the command line.
/// @throws usage_error, help_wanted
options parse_options(int argc, const char* const* argv);

}  // namespace figures
