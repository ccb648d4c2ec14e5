// SPDX-License-Identifier: Apache-2.0
/// @file   long_memory/exchange_rates.hpp
/// @brief  The file of exchange rates that four programs read.
#pragma once

#include <cmath>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace long_memory {

/// The rates of a file: one a line, after lines that begin with #.
///
/// @throws std::runtime_error unless it can be read, and each rate is finite and > 0 and alone on
///   its line.
inline std::vector<double> exchange_rates(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<double> rates;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (rates.empty() && !line.empty() && line[0] == '#') continue;
    std::size_t used = 0;
    double rate = 0;
    try {
      rate = std::stod(line, &used);
    } catch (const std::logic_error&) {
    }
    if (!(rate > 0) || !std::isfinite(rate) || line.find_first_not_of(" \t\r", used) != line.npos)
      throw std::runtime_error(path + ", line " + std::to_string(number) +
                               ": need one finite rate > 0, got \"" + line + '"');
    rates.push_back(rate);
  }
  return rates;
}

}  // namespace long_memory
