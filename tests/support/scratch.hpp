// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

/// A folder of its own for one test, removed at the end.
struct scratch {
  std::filesystem::path path;

  explicit scratch(const std::string& name)
      : path(std::filesystem::temp_directory_path() /
             ("ebb-" + name + '-' + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};
