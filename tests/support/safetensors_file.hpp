// SPDX-License-Identifier: Apache-2.0
// Writes .safetensors files, sound ones and any others.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ebb::test {

/// The lowest `bytes` bytes of a word, little-endian.
inline std::string little_endian(std::uint64_t word, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(word >> (8 * i) & 0xff);
  return text;
}

/// A file's content: length, header, data.
inline std::string safetensors_content(const std::string& header, const std::string& data) {
  return little_endian(header.size(), 8) + header + data;
}

inline void write(const std::filesystem::path& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
}

/// A sound file, tensor by tensor.
class safetensors_file {
 public:
  /// @param shape  as in the header, such as "2, 3"
  void add(const std::string& name, const std::string& dtype, const std::string& shape,
           const std::string& bytes) {
    const std::size_t begin = data_.size();
    data_ += bytes;
    header_ += (header_.empty() ? "" : ", ") + ('"' + name + "\": {\"dtype\": \"" + dtype) +
               "\", \"shape\": [" + shape + "], \"data_offsets\": [" + std::to_string(begin) +
               ", " + std::to_string(data_.size()) + "]}";
  }

  /// One-dimensional, or a scalar, in float.
  void add(const std::string& name, const std::vector<float>& values, bool scalar = false) {
    std::string bytes;
    for (const float v : values) bytes += little_endian(std::bit_cast<std::uint32_t>(v), 4);
    add(name, "F32", scalar ? "" : std::to_string(values.size()), bytes);
  }

  std::string content() const {
    std::string header = '{' + header_ + '}';
    header.resize((header.size() + 7) / 8 * 8, ' ');
    return safetensors_content(header, data_);
  }

 private:
  std::string header_, data_;
};

}  // namespace ebb::test
