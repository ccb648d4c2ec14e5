// SPDX-License-Identifier: Apache-2.0
/// @file   command_line/parse.hpp
/// @brief  CLI11 with the exceptions of the programs.
#pragma once

#include <algorithm>
#include <string>

#include <CLI/CLI.hpp>

#include "command_line/usage.hpp"

namespace command_line {

/// @throws usage_error with one line, help_wanted
inline void parse(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    throw help_wanted(app.help());
  } catch (const CLI::ParseError& problem) {
    std::string line = problem.what();
    std::replace(line.begin(), line.end(), '\n', ' ');
    throw usage_error(line);
  }
}

}  // namespace command_line
