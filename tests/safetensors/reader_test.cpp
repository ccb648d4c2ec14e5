// SPDX-License-Identifier: Apache-2.0
// Sound files, a table of hostile ones, and every truncation and change of a byte.
#include "safetensors/reader.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "support/safetensors_file.hpp"
#include "support/scratch.hpp"

namespace {

using ebb::test::little_endian;
using ebb::test::safetensors_content;
using safetensors::reader;

std::string doubles(const std::vector<double>& values) {
  std::string bytes;
  for (const double v : values) bytes += little_endian(std::bit_cast<std::uint64_t>(v), 8);
  return bytes;
}

std::string words(const std::vector<std::uint16_t>& values) {
  std::string bytes;
  for (const auto v : values) bytes += little_endian(v, 2);
  return bytes;
}

// The message with which a file is refused; empty if it is not.
std::string refusal(const std::filesystem::path& path) {
  try {
    const reader all(path);
  } catch (const safetensors::error& problem) {
    return problem.what();
  }
  return "";
}

// What holds of any file that the constructor lets pass.
void check_sound(const reader& file, std::uint64_t file_size) {
  for (const auto& [name, t] : file.tensors()) {
    REQUIRE(t.begin <= t.end);
    REQUIRE(t.end <= file_size);
    std::uint64_t elements = 1;
    for (const auto extent : t.shape) elements *= extent;
    std::vector<double> values;
    std::vector<float> floats;
    try {
      values = file.read<double>(name);
      floats = file.read<float>(name);
    } catch (const safetensors::error& problem) {
      REQUIRE(std::string(problem.what()).find("need dtype F64") != std::string::npos);
      continue;
    }
    REQUIRE(values.size() == elements);
    REQUIRE(floats.size() == elements);
  }
}

}  // namespace

TEST_CASE("what was written is read back") {
  const scratch folder("safetensors_sound");
  const auto path = folder.path / "model.safetensors";
  ebb::test::safetensors_file file;
  // 1/3 and 1e300 have no float of their own; 0x3c00 is 1, 0x0001 is 2^-24, 0xfc00 is -inf in
  // F16; 0x3f80 is 1, 0x0001 is 2^-133, 0xc049 is -3.140625 in BF16.
  file.add("double", "F64", "2, 2", doubles({1.0 / 3, -0.0, 1e300, -2}));
  file.add("layers.0.float", {1.5f, -std::numeric_limits<float>::denorm_min(), 3e38f});
  file.add("half", "F16", "3", words({0x3c00, 0x0001, 0xfc00}));
  file.add("brain", "BF16", "1, 3", words({0x3f80, 0x0001, 0xc049}));
  file.add("scalar", {-0.25f}, true);
  file.add("empty", "F32", "0, 7", "");
  file.add("whole", "I64", "1", doubles({1}));
  ebb::test::write(path, file.content());

  const reader all(path);
  CHECK(all.tensors().size() == 7);
  CHECK(all.metadata().empty());
  CHECK(all.tensors().at("double").shape == std::vector<std::uint64_t>{2, 2});
  CHECK(all.tensors().at("scalar").shape.empty());
  CHECK(all.read<double>("double") == std::vector<double>{1.0 / 3, -0.0, 1e300, -2});
  CHECK(std::signbit(all.read<double>("double")[1]));
  CHECK(all.read<float>("double") ==
        std::vector<float>{1.0f / 3, -0.0f, std::numeric_limits<float>::infinity(), -2});
  CHECK(all.read<double>("layers.0.float") == std::vector<double>{1.5, -0x1p-149, 3e38f});
  CHECK(all.read<float>("half") ==
        std::vector<float>{1, 0x1p-24f, -std::numeric_limits<float>::infinity()});
  CHECK(all.read<double>("brain") == std::vector<double>{1, 0x1p-133, -3.140625});
  CHECK(all.read<double>("scalar") == std::vector<double>{-0.25});
  CHECK(all.read<double>("empty").empty());
  CHECK_THROWS_WITH_AS(
      all.read<double>("whole"),
      (path.string() + ": tensor 'whole': need dtype F64, F32, F16 or BF16, got 'I64'").c_str(),
      safetensors::error);
  CHECK_THROWS_AS(all.read<double>("none"), safetensors::error);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 8);
  CHECK_THROWS_AS(all.read<double>("whole"), safetensors::error);
  ebb::test::write(path, file.content().substr(0, file.content().size() - 16));
  CHECK_THROWS_AS(all.read<double>("scalar"), safetensors::error);
}

TEST_CASE("forms of a header that are allowed") {
  const scratch folder("safetensors_allowed");
  const auto path = folder.path / "a";
  SUBCASE("no tensors") {
    ebb::test::write(path, safetensors_content("{}", ""));
    CHECK(reader(path).tensors().empty());
  }
  SUBCASE("metadata, order of fields, ranges in any order, names in UTF-8, white space") {
    ebb::test::write(
        path,
        safetensors_content("{\"b\\u00e9\":{\"data_offsets\":[4,8],\"shape\":[1],\"dtype\":\"F32\"}"
                            ",\"__metadata__\":{\"format\":\"pt\",\"\":\"\"},\n \"a\" : "
                            "{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}  \n ",
                            std::string(4, '\0') + little_endian(0x3f800000, 4)));
    const reader file(path);
    CHECK(file.metadata().at("format") == "pt");
    CHECK(file.metadata().size() == 2);
    CHECK(file.read<double>("a") == std::vector<double>{0});
    CHECK(file.read<double>("b\u00e9") == std::vector<double>{1});
  }
  SUBCASE("a dtype that is not known, as long as nobody asks for it") {
    ebb::test::write(path, safetensors_content(
                               R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", "ab"));
    const reader file(path);
    CHECK(file.tensors().at("a").dtype == "F4");
    CHECK_THROWS_AS(file.read<float>("a"), safetensors::error);
  }
}

TEST_CASE("hostile headers are refused with a sentence") {
  struct hostile {
    const char* header;
    std::size_t data;
    const char* message;  // behind "FILE: "
  };
  const hostile cases[] = {
      {"", 0, "need an object as header, got no '{' at its start"},
      {" {}", 0, "need an object as header, got no '{' at its start"},
      {"[]", 0, "need an object as header, got no '{' at its start"},
      {"{", 0, "need a header in JSON, got an error at its byte "},
      {"{}x", 0, "need a header in JSON, got an error at its byte "},
      {"{}{}", 0, "need a header in JSON, got an error at its byte "},
      {"{/**/}", 0, "need a header in JSON, got an error at its byte "},
      {"{\"\xff\":1}", 0, "need a header in JSON, got an error at its byte "},
      {"{\"\\ud800\":1}", 0, "need a header in JSON, got an error at its byte "},
      {"{\"a\":1}", 0, "tensor 'a': need an object, got a number"},
      {"{\"a\":null}", 0, "tensor 'a': need an object, got null"},
      {"{\"a\":[]}", 0, "tensor 'a': need an object, got an array"},
      {"{\"a\":[[[[[[[[[[]]]]]]]]]]}", 0, "tensor 'a': need an object, got an array"},
      {"{\"a\":{}}", 0, "tensor 'a': need dtype, shape and data_offsets, got fewer"},
      {R"({"a":{"dtype":"U8","shape":[]}})", 0,
       "tensor 'a': need dtype, shape and data_offsets, got fewer"},
      {R"({"a":{"dtype":"U8","shape":[],"shape":[]}})", 0,
       "tensor 'a': need shape once, got it twice"},
      {R"({"a":{"x":0}})", 0, "tensor 'a': need dtype, shape and data_offsets, got 'x'"},
      {R"({"a":{"dtype":1}})", 0, "tensor 'a': need a text as dtype, got a number"},
      {R"({"a":{"dtype":{}}})", 0, "tensor 'a': need a text as dtype, got an object"},
      {R"({"a":{"shape":"1"}})", 0,
       "tensor 'a': need whole numbers from 0 to 2^64 - 1 as shape, got a text"},
      {R"({"a":{"shape":1}})", 0,
       "tensor 'a': need whole numbers from 0 to 2^64 - 1 as shape, got a number"},
      {R"({"a":{"shape":[-1]}})", 0,
       "tensor 'a': need whole numbers from 0 to 2^64 - 1 as shape, got a number below 0"},
      {R"({"a":{"shape":[1.5]}})", 0,
       "tensor 'a': need whole numbers from 0 to 2^64 - 1 as shape, got the number 1.5"},
      {R"({"a":{"shape":[18446744073709551616]}})", 0,
       "tensor 'a': need whole numbers from 0 to 2^64 - 1 as shape, got the number "
       "18446744073709551616"},
      {R"({"a":{"shape":[[1]]}})", 0,
       "tensor 'a': need whole numbers from 0 to 2^64 - 1 as shape, got an array"},
      {R"({"a":{"shape":[true]}})", 0,
       "tensor 'a': need whole numbers from 0 to 2^64 - 1 as shape, got a truth value"},
      {R"({"a":{"data_offsets":[0]}})", 0, "tensor 'a': need 2 data_offsets, got 1 numbers"},
      {R"({"a":{"data_offsets":[0,0,0]}})", 0, "tensor 'a': need 2 data_offsets, got 3 numbers"},
      {R"({"a":{"data_offsets":[0,1e1]}})", 0,
       "tensor 'a': need whole numbers from 0 to 2^64 - 1 as data_offsets, got the number 1e1"},
      {R"({"a":{"data_offsets":[0,-0]}})", 0,
       "tensor 'a': need whole numbers from 0 to 2^64 - 1 as data_offsets, got a number below 0"},
      {R"({"__metadata__":{"a":1}})", 0, "tensor '__metadata__': need texts, got a number for 'a'"},
      {R"({"__metadata__":{"a":"b","a":"c"}})", 0,
       "tensor '__metadata__': need each key once, got a"},
      {R"({"__metadata__":{},"__metadata__":{}})", 0,
       "need names that differ, got '__metadata__' twice"},
      {R"({"__metadata__":"a"})", 0, "tensor '__metadata__': need an object, got a text"},
      {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"\u0061":{}})", 1,
       "need names that differ, got 'a' twice"},
      {R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})", 0,
       "tensor 'a': need data_offsets in order within 0 bytes of data, got 0 to 1"},
      {R"({"a":{"dtype":"X","shape":[],"data_offsets":[1,0]}})", 1,
       "tensor 'a': need data_offsets in order within 1 bytes of data, got 1 to 0"},
      {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,18446744073709551615]}})", 4,
       "tensor 'a': need data_offsets in order within 4 bytes of data, got 0 to "
       "18446744073709551615"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
       "tensor 'a': need 8 bytes for its shape, got data_offsets 0 to 4"},
      // 2^62 floats are 2^64 bytes, which wrap around to 0.
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0,
       "tensor 'a': need a size below 2^64 bytes, got a shape beyond it"},
      {R"({"a":{"dtype":"U8","shape":[4294967296,4294967296,0],"data_offsets":[0,0]}})", 0,
       "tensor 'a': need a size below 2^64 bytes, got a shape beyond it"},
      {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
       3, "tensor 'b': need ranges without overlap and holes, one from 2, got 1 to 3"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
       R"("b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
       1, "tensor 'b': need ranges without overlap and holes, one from 1, got 0 to 1"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
       R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
       3, "tensor 'b': need ranges without overlap and holes, one from 1, got 2 to 3"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2,
       "tensor 'a': need ranges without overlap and holes, one from 0, got 1 to 2"},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 2,
       "need tensors up to the end of the data, 2 bytes, got 1"},
      {R"({"a\n\u0000é":1})", 0, "tensor 'a\?\?\?\?': need an object, got a number"},
  };
  const scratch folder("safetensors_hostile");
  const auto path = folder.path / "a";
  for (const auto& c : cases) {
    INFO(c.header);
    ebb::test::write(path, safetensors_content(c.header, std::string(c.data, 'x')));
    // Which byte a syntax error is at, the parser says.
    const std::string message = path.string() + ": " + c.message;
    CHECK(refusal(path).substr(
              0, message.ends_with("byte ") ? message.size() : std::string::npos) == message);
  }
  ebb::test::write(path, safetensors_content(std::string("{}\0x", 4), ""));
  CHECK(refusal(path) == path.string() + ": need a header in JSON, got a zero byte in it");

  // A name and a nesting without end.
  ebb::test::write(path, safetensors_content("{\"" + std::string(1000000, 'n') + "\":1}", ""));
  CHECK(refusal(path).size() < path.string().size() + 150);
  for (const char* const before :
       {"{\"a\":", "{\"a\":{\"shape\":", "{\"a\":{\"shape\":[1,", "{\"__metadata__\":{\"a\":"}) {
    ebb::test::write(path, safetensors_content(before + std::string(5000000, '['), ""));
    CHECK(refusal(path).find("got an array") != std::string::npos);
    std::string objects = before;
    for (int i = 0; i < 1000000; ++i) objects += "{\"a\":";
    ebb::test::write(path, safetensors_content(objects, ""));
    CHECK(refusal(path) != "");
  }
}

TEST_CASE("lengths and files that cannot be are refused") {
  const scratch folder("safetensors_files");
  const auto path = folder.path / "a";
  const auto says = [&](const std::string& content, const std::string& what) {
    ebb::test::write(path, content);
    CHECK(refusal(path) == path.string() + ": " + what);
  };
  says("", "need 8 bytes for the header's length, got 0");
  says("1234567", "need 8 bytes for the header's length, got 7");
  says(little_endian(3, 8) + "{}", "need a header within the file's 10 bytes, got 3");
  says(little_endian(100000000, 8) + "{}",
       "need a header within the file's 10 bytes, got 100000000");
  says(little_endian(100000001, 8) + "{}",
       "need a header of at most 100000000 bytes, got 100000001");
  says(std::string(8, '\xff') + "{}",
       "need a header of at most 100000000 bytes, got 18446744073709551615");
  CHECK(refusal(folder.path / "none").ends_with("need a file, got none"));
  CHECK(refusal(folder.path).ends_with("need a file, got none"));
  CHECK(refusal("/dev/zero").ends_with("need a file, got none"));
}

TEST_CASE("every truncation and every changed byte: refused, or well-formed") {
  const scratch folder("safetensors_fuzz");
  const auto path = folder.path / "a";
  const std::string sound = safetensors_content(
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[8,14]}}  )",
      "abcdefghijklmn");
  const auto survives = [&](const std::string& content) {
    ebb::test::write(path, content);
    try {
      check_sound(reader(path), content.size());
      return true;
    } catch (const safetensors::error& problem) {
      REQUIRE(std::string(problem.what()).starts_with(path.string() + ": "));
      return false;
    }
  };
  CHECK(survives(sound));
  for (std::size_t length = 0; length < sound.size(); ++length) {
    CAPTURE(length);
    REQUIRE_FALSE(survives(sound.substr(0, length)));
  }
  using namespace std::string_view_literals;
  constexpr auto tokens = "\0\xff\"{}[],:09-+.eE \\tn\t\n"sv;
  long sound_after_all = 0;
  for (std::size_t at = 0; at < sound.size(); ++at) {
    CAPTURE(at);
    std::string changed = sound;
    for (int bit = 0; bit < 8; ++bit) {
      changed[at] = static_cast<char>(sound[at] ^ (1 << bit));
      sound_after_all += survives(changed);
    }
    for (const char token : tokens) {
      changed[at] = token;
      sound_after_all += survives(changed);
    }
  }
  // At least the data may change at will: 14 bytes in 8 ways and more.
  CHECK(sound_after_all >= 14 * 8);
  CHECK(sound_after_all < static_cast<long>(sound.size() * 8));
}
