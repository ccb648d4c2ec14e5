// SPDX-License-Identifier: Apache-2.0
#include "safetensors/reader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include <ebb/core/storage.hpp>
#include <nlohmann/json.hpp>

namespace safetensors {
namespace {

using path_type = std::filesystem::path;

constexpr std::uint64_t longest_header = 100'000'000;

[[noreturn]] void refuse(const path_type& path, const std::string& what) {
  throw error(path.string() + ": " + what);
}

[[noreturn]] void refuse(const path_type& path, const std::string& name, const std::string& what) {
  refuse(path, "tensor '" + shown(name) + "': " + what);
}

// Bytes of an element; nothing for a dtype that is not known.
std::optional<std::uint64_t> element_size(const std::string& dtype) {
  static const std::map<std::string, std::uint64_t> sizes{
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"I64", 8}, {"U64", 8},     {"F64", 8}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? std::nullopt : std::optional(found->second);
}

// Takes the header as the parser walks over it, so that no value is nested deeper than it may be,
// and no name is lost that comes twice.
class header_walk : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit header_walk(const path_type& path) : path_(path) {}

  std::map<std::string, tensor> tensors;
  std::map<std::string, std::string> metadata;

  bool start_object(std::size_t) override {
    if (where_ == place::outside)
      where_ = place::header;
    else if (where_ == place::name)
      where_ = name_ == "__metadata__" ? place::metadata : place::fields;
    else
      unexpected("an object");
    return true;
  }

  bool key(string_t& text) override {
    if (where_ == place::header) {
      name_ = text;
      if (text == "__metadata__" ? std::exchange(has_metadata_, true)
                                 : !tensors.try_emplace(text).second)
        refuse(path_, "need names that differ, got '" + shown(text) + "' twice");
      where_ = place::name;
      has_dtype_ = has_shape_ = has_offsets_ = false;
    } else if (where_ == place::metadata) {
      field_ = text;
      if (metadata.contains(text)) refuse(path_, name_, "need each key once, got " + shown(text));
      where_ = place::metadata_value;
    } else {  // place::fields
      bool* const seen = text == "dtype"          ? &has_dtype_
                         : text == "shape"        ? &has_shape_
                         : text == "data_offsets" ? &has_offsets_
                                                  : nullptr;
      if (seen == nullptr)
        refuse(path_, name_, "need dtype, shape and data_offsets, got '" + shown(text) + "'");
      if (*seen) refuse(path_, name_, "need " + text + " once, got it twice");
      *seen = true;
      where_ = text == "dtype" ? place::dtype : text == "shape" ? place::shape : place::offsets;
    }
    return true;
  }

  bool string(string_t& text) override {
    if (where_ == place::dtype) {
      tensors[name_].dtype = text;
      where_ = place::fields;
    } else if (where_ == place::metadata_value) {
      metadata[field_] = text;
      where_ = place::metadata;
    } else {
      unexpected("a text");
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (where_ == place::shape)
      where_ = place::shape_value;
    else if (where_ == place::offsets)
      where_ = place::offsets_value;
    else
      unexpected("an array");
    numbers_.clear();
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (where_ != place::shape_value && where_ != place::offsets_value) unexpected("a number");
    numbers_.push_back(value);
    return true;
  }

  bool end_array() override {
    tensor& t = tensors[name_];
    if (where_ == place::shape_value) {
      t.shape = numbers_;
    } else {
      if (numbers_.size() != 2)
        refuse(path_, name_,
               "need 2 data_offsets, got " + std::to_string(numbers_.size()) + " numbers");
      t.begin = numbers_[0];
      t.end = numbers_[1];
    }
    where_ = place::fields;
    return true;
  }

  bool end_object() override {
    if (where_ == place::fields && !(has_dtype_ && has_shape_ && has_offsets_))
      refuse(path_, name_, "need dtype, shape and data_offsets, got fewer");
    where_ = where_ == place::header ? place::outside : place::header;
    return true;
  }

  // Negative, fractional, with an exponent, or above 2^64 - 1.
  bool number_integer(number_integer_t) override { unexpected("a number below 0"); }
  bool number_float(number_float_t, const string_t& text) override {
    unexpected("the number " + shown(text));
  }
  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a truth value"); }
  bool binary(binary_t&) override { unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    refuse(path_, "need a header in JSON, got an error at its byte " + std::to_string(position));
  }

 private:
  // Where in the header the next event belongs; NAME_value: inside the array.
  enum class place {
    outside,
    header,
    name,
    metadata,
    metadata_value,
    fields,
    dtype,
    shape,
    shape_value,
    offsets,
    offsets_value
  };

  [[noreturn]] void unexpected(const std::string& what) const {
    switch (where_) {
      case place::name:
        refuse(path_, name_, "need an object, got " + what);
      case place::metadata_value:
        refuse(path_, name_, "need texts, got " + what + " for '" + shown(field_) + "'");
      case place::dtype:
        refuse(path_, name_, "need a text as dtype, got " + what);
      case place::shape:
      case place::shape_value:
        refuse(path_, name_, "need whole numbers from 0 to 2^64 - 1 as shape, got " + what);
      case place::offsets:
      case place::offsets_value:
        refuse(path_, name_, "need whole numbers from 0 to 2^64 - 1 as data_offsets, got " + what);
      default:
        refuse(path_, "need an object as header, got " + what);
    }
  }

  const path_type& path_;
  place where_ = place::outside;
  std::string name_, field_;  // of the innermost objects
  bool has_metadata_ = false, has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
  std::vector<std::uint64_t> numbers_;
};

// The bytes of a tensor; nothing when the product overflows.
std::optional<std::uint64_t> size_in_bytes(const tensor& t, std::uint64_t element) {
  std::uint64_t size = element;
  for (const std::uint64_t extent : t.shape)
    if (__builtin_mul_overflow(size, extent, &size)) return std::nullopt;
  return size;
}

std::string range_text(const tensor& t) {
  return std::to_string(t.begin) + " to " + std::to_string(t.end);
}

// Sizes that fit the ranges, and ranges that fill the data without holes.
void check(const path_type& path, const std::map<std::string, tensor>& tensors,
           std::uint64_t data_size) {
  std::vector<std::pair<const std::string*, const tensor*>> by_range;
  for (const auto& [name, t] : tensors) {
    if (t.begin > t.end || t.end > data_size)
      refuse(path, name,
             "need data_offsets in order within " + std::to_string(data_size) +
                 " bytes of data, got " + range_text(t));
    if (const auto element = element_size(t.dtype)) {
      const auto size = size_in_bytes(t, *element);
      if (!size) refuse(path, name, "need a size below 2^64 bytes, got a shape beyond it");
      if (*size != t.end - t.begin)
        refuse(path, name,
               "need " + std::to_string(*size) + " bytes for its shape, got data_offsets " +
                   range_text(t));
    }
    by_range.emplace_back(&name, &t);
  }
  std::sort(by_range.begin(), by_range.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  std::uint64_t last = 0;
  for (const auto& [name, t] : by_range) {
    if (t->begin != last)
      refuse(path, *name,
             "need ranges without overlap and holes, one from " + std::to_string(last) + ", got " +
                 range_text(*t));
    last = t->end;
  }
  if (last != data_size)
    refuse(path, "need tensors up to the end of the data, " + std::to_string(data_size) +
                     " bytes, got " + std::to_string(last));
}

std::ifstream opened(const path_type& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) refuse(path, "need a file, got none");
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) refuse(path, "need a file that can be read, got no access");
  return file;
}

void read_bytes(const path_type& path, std::ifstream& file, char* bytes, std::uint64_t count) {
  file.read(bytes, static_cast<std::streamsize>(count));
  if (!file) refuse(path, "need " + std::to_string(count) + " more bytes, got fewer");
}

template <class Word>
Word little_endian(const char* bytes) {
  Word word = 0;
  for (std::size_t i = 0; i < sizeof(Word); ++i)
    word = static_cast<Word>(word | static_cast<Word>(static_cast<unsigned char>(bytes[i]))
                                        << (8 * i));
  return word;
}

template <class Real>
Real element_at(const std::string& dtype, const char* bytes) {
  if (dtype == "F64")
    return static_cast<Real>(std::bit_cast<double>(little_endian<std::uint64_t>(bytes)));
  if (dtype == "F32")
    return static_cast<Real>(std::bit_cast<float>(little_endian<std::uint32_t>(bytes)));
  if (dtype == "F16")
    return static_cast<Real>(ebb::half::from_bits(little_endian<std::uint16_t>(bytes)));
  return static_cast<Real>(ebb::bfloat16::from_bits(little_endian<std::uint16_t>(bytes)));
}

}  // namespace

std::string shown(const std::string& name) {
  constexpr std::size_t longest = 80;
  std::string result;
  for (const char c : name.substr(0, longest)) result += c >= ' ' && c <= '~' ? c : '?';
  return name.size() > longest ? result + "..." : result;
}

reader::reader(const std::filesystem::path& path) : path_(path) {
  auto file = opened(path);
  std::error_code problem;
  const std::uint64_t file_size = std::filesystem::file_size(path, problem);
  if (problem) refuse(path, "need a file of known size, got " + problem.message());
  std::array<char, 8> length{};
  if (file_size < length.size())
    refuse(path, "need 8 bytes for the header's length, got " + std::to_string(file_size));
  read_bytes(path, file, length.data(), length.size());
  const auto header_size = little_endian<std::uint64_t>(length.data());
  if (header_size > longest_header)
    refuse(path, "need a header of at most " + std::to_string(longest_header) + " bytes, got " +
                     std::to_string(header_size));
  data_start_ = length.size() + header_size;
  if (data_start_ > file_size)
    refuse(path, "need a header within the file's " + std::to_string(file_size) + " bytes, got " +
                     std::to_string(header_size));

  std::string header(static_cast<std::size_t>(header_size), '\0');
  read_bytes(path, file, header.data(), header_size);
  if (!header.starts_with('{')) refuse(path, "need an object as header, got no '{' at its start");
  // The parser takes a zero byte for the end of its input.
  if (header.find('\0') != std::string::npos)
    refuse(path, "need a header in JSON, got a zero byte in it");
  header_walk walk(path);
  nlohmann::json::sax_parse(header, &walk);
  tensors_ = std::move(walk.tensors);
  metadata_ = std::move(walk.metadata);
  check(path, tensors_, file_size - data_start_);
}

template <class Real>
std::vector<Real> reader::read(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) refuse(path_, "need a tensor '" + shown(name) + "', got none");
  const tensor& t = found->second;
  if (t.dtype != "F64" && t.dtype != "F32" && t.dtype != "F16" && t.dtype != "BF16")
    refuse(path_, name, "need dtype F64, F32, F16 or BF16, got '" + shown(t.dtype) + "'");
  const std::size_t width = *element_size(t.dtype);
  auto file = opened(path_);
  file.seekg(static_cast<std::streamoff>(data_start_ + t.begin));
  std::vector<char> bytes(t.end - t.begin);
  read_bytes(path_, file, bytes.data(), bytes.size());
  std::vector<Real> values(bytes.size() / width);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = element_at<Real>(t.dtype, bytes.data() + i * width);
  return values;
}

template std::vector<float> reader::read<float>(const std::string&) const;
template std::vector<double> reader::read<double>(const std::string&) const;

}  // namespace safetensors
