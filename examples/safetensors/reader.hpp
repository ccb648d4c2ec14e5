// SPDX-License-Identifier: Apache-2.0
/// @file   safetensors/reader.hpp
/// @brief  Reads single tensors of a .safetensors file, which may be hostile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace safetensors {

/// A file cannot be read, breaks a rule of the format, or lacks what was asked for. The message is
/// one line: "FILE: tensor 'NAME': rule, got value", NAME in printable ASCII and cut if long.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A name out of a file, fit for a message: printable ASCII, cut after 80 characters.
std::string shown(const std::string& name);

/// What the header says of a tensor.
struct tensor {
  std::string dtype;                 ///< such as "F32"; any text
  std::vector<std::uint64_t> shape;  ///< row-major; none: a scalar
  std::uint64_t begin = 0, end = 0;  ///< its bytes, counted from the first byte behind the header
};

/// The tensors of a file: all headers are checked at once, data is read when asked for.
///
/// Format: 8 bytes, the header's length as an unsigned little-endian number; the header, JSON in
/// UTF-8, {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...,
/// "__metadata__": {"any": "text"}}, from its first byte on and padded by white space; the data,
/// little-endian.
///
/// Refused, beside what is no JSON of that form: a header above 100 000 000 bytes or beyond the
/// file's end; names given twice; fields not named above; numbers that are no whole numbers from
/// 0 to 2^64 - 1; ranges that overlap, leave holes or do not end where the file ends; shapes whose
/// size in bytes overflows or differs from the range. A dtype that is not known is refused when
/// its tensor is read.
///
/// Cost: the header's size in memory, a small multiple of it while it is parsed.
/// Source: [Safetensors].
class reader {
 public:
  /// @throws error
  explicit reader(const std::filesystem::path& path);

  const std::map<std::string, tensor>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// The elements of a tensor of F64, F32, F16 or BF16, as Real (float or double): F64 is rounded
  /// to nearest if Real is float, all else is exact.
  /// @throws error for no such tensor, another dtype, or a file that changed meanwhile
  template <class Real>
  std::vector<Real> read(const std::string& name) const;

 private:
  std::filesystem::path path_;
  std::uint64_t data_start_ = 0;
  std::map<std::string, tensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

extern template std::vector<float> reader::read<float>(const std::string&) const;
extern template std::vector<double> reader::read<double>(const std::string&) const;

}  // namespace safetensors
