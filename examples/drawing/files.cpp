// SPDX-License-Identifier: Apache-2.0
#include "drawing/files.hpp"

#include <fstream>
#include <iterator>
#include <system_error>

namespace drawing {

void write_atomically(const std::filesystem::path& path, std::string_view content) {
  auto temporary = path;
  temporary += ".tmp";
  std::error_code problem;
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    if (!file) {
      std::filesystem::remove(temporary, problem);
      throw file_error("cannot write " + path.string());
    }
  }
  std::filesystem::rename(temporary, path, problem);
  if (problem) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw file_error("cannot write " + path.string() + ": " + problem.message());
  }
}

std::string read_file(const std::filesystem::path& path) {
  if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path))
    throw file_error("cannot read " + path.string() + ": it is not a file");
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) throw file_error("cannot read " + path.string());
  return content;
}

}  // namespace drawing
