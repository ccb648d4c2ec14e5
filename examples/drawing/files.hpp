// SPDX-License-Identifier: Apache-2.0
/// @file   drawing/files.hpp
/// @brief  Files that are either whole or not there.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace drawing {

/// A file could not be written or read; the message names it.
class file_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Writes a temporary file beside `path` and renames it, so that a reader sees the old content or
/// the new one, never a part.
/// @throws file_error
void write_atomically(const std::filesystem::path& path, std::string_view content);

/// The content of a file. @throws file_error
std::string read_file(const std::filesystem::path& path);

}  // namespace drawing
