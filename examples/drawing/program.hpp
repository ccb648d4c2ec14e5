// SPDX-License-Identifier: Apache-2.0
/// @file   drawing/program.hpp
/// @brief  Programs that print numbers, and draw a picture where a folder is given.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "command_line/usage.hpp"

namespace drawing {

/// Calls run(folder), of `program [FOLDER]`; the folder is empty without, and made before the work.
///
/// @return as command_line::status_of
template <class Run>
int printing_program(const char* program, int argc, char** argv, const Run& run) {
  return command_line::status_of(program, [&] {
    const std::string_view first = argc > 1 ? argv[1] : "";
    const std::string usage = std::string("usage: ") + program + " [FOLDER of the picture]";
    if (argc == 2 && (first == "--help" || first == "-h"))
      throw command_line::help_wanted(usage + '\n');
    if (argc > 2 || (argc == 2 && (first.empty() || first[0] == '-')))
      throw command_line::usage_error(usage);
    const std::filesystem::path folder(first);
    if (!folder.empty()) std::filesystem::create_directories(folder);
    return run(folder);
  });
}

}  // namespace drawing
