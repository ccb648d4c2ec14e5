// SPDX-License-Identifier: Apache-2.0
// Layers from files that are written here.
#include "figures/checkpoint.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "safetensors/reader.hpp"
#include "support/safetensors_file.hpp"
#include "support/scratch.hpp"

namespace {

using ebb::test::safetensors_file;
using figures::family;

std::vector<figures::layer> read(const safetensors_file& file, family which) {
  const scratch folder("figures_checkpoint");
  ebb::test::write(folder.path / "a", file.content());
  return figures::read_layers(folder.path / "a", which, 2048);
}

// The message behind "FILE: ", empty if the file is read.
std::string refusal(const safetensors_file& file, family which) {
  try {
    (void)read(file, which);
  } catch (const figures::checkpoint_error& problem) {
    const std::string text = problem.what();
    return text.substr(text.find(": ") + 2);
  }
  return "";
}

}  // namespace

TEST_CASE("Mamba-2 PoST: layers by number, whatever else there is") {
  safetensors_file file;
  file.add("model.embedding.weight", "I64", "2", std::string(16, '\0'));
  for (int l = 0; l < 12; ++l) {
    const std::string at = "model.layers." + std::to_string(l) + ".mixer.";
    file.add(at + "A_log_deltas", {0.5f, -1});
    file.add(at + "A_log_base", {-static_cast<float>(l)}, l % 2 == 0);  // [] or [1]
    file.add(at + "not_A_log_base", {7, 7});
  }
  const auto layers = read(file, family::mamba2);
  REQUIRE(layers.size() == 12);
  for (std::size_t l = 0; l < 12; ++l) {
    const auto expected = figures::native_post(-static_cast<double>(l), {0.5, -1}, 2048);
    CHECK(layers[l].timescales == expected.timescales);
    CHECK(layers[l].exponents == expected.exponents);
    CHECK(layers[l].exponents.size() == 3);
  }
}

TEST_CASE("native Mamba-2, and Gated DeltaNet in both forms") {
  safetensors_file file;
  file.add("layers.1.mixer.A_log", {2, 1});
  file.add("layers.0.mixer.A_log", {0, -1});
  for (const auto which : {family::mamba2, family::gated_deltanet}) {
    const auto layers = read(file, which);
    REQUIRE(layers.size() == 2);
    CHECK(layers[0].timescales == figures::native(std::vector<double>{0, -1}).timescales);
    CHECK(layers[1].timescales == figures::native(std::vector<double>{2, 1}).timescales);
    CHECK(layers[0].exponents.empty());
  }
  safetensors_file post;
  post.add("layers.0.mixer.A_log_base", {0.25f}, true);
  post.add("layers.0.mixer.A_log_delta", {1, 2});
  CHECK(read(post, family::gated_deltanet)[0].timescales ==
        figures::native_post(0.25, {1, 2}, 2048).timescales);
}

TEST_CASE("RWKV-7 in both forms: the bias of w_lora, no other") {
  safetensors_file file;
  file.add("model.layers.0.attn.w_lora.lora.2.bias", {-1, 2, -3});
  file.add("model.layers.0.attn.a_lora.lora.2.bias", {9, 9, 9});
  file.add("model.layers.0.attn.w_lora.lora.2.weight", "F32", "1, 1", "1234");
  const std::vector<double> bias{-1, 2, -3};
  CHECK(read(file, family::rwkv7)[0].timescales == figures::rwkv7(bias).timescales);
  CHECK(read(file, family::rwkv7)[0].exponents.empty());
  file.add("model.layers.0.attn.w0_base", {-6}, true);
  file.add("model.layers.0.attn.w0_delta", {0.5f, 1});
  const auto expected = figures::rwkv7_post(-6, {0.5, 1}, bias, 2048);
  CHECK(read(file, family::rwkv7)[0].timescales == expected.timescales);
  CHECK(read(file, family::rwkv7)[0].exponents == expected.exponents);
}

TEST_CASE("what is no such model is refused with a sentence") {
  safetensors_file file;
  SUBCASE("nothing of it") {
    file.add("layers.0.weight", {1});
    CHECK(refusal(file, family::mamba2) ==
          "need tensors named A_log_base (PoST) or A_log (native), got none");
    CHECK(refusal(file, family::rwkv7) ==
          "need tensors named w0_base (PoST) or w_lora ... bias (native), got none");
  }
  SUBCASE("no deltas") {
    file.add("layers.0.A_log_base", {1}, true);
    file.add("layers.0.A_log_deltas", {1});
    CHECK(refusal(file, family::gated_deltanet) ==
          "tensor 'layers.0.A_log_delta': need this tensor, got none");
  }
  SUBCASE("no layer number") {
    file.add("A_log", {1});
    CHECK(refusal(file, family::mamba2) ==
          "tensor 'A_log': need a layer number below 10000 in the name, got none");
  }
  SUBCASE("a layer number too many") {
    file.add("layers.10000.x.99999999999999999999.A_log", {1});
    CHECK(refusal(file, family::mamba2).ends_with("in the name, got none"));
  }
  SUBCASE("a gap in the layers") {
    file.add("layers.0.A_log", {1});
    file.add("layers.2.A_log", {1});
    CHECK(refusal(file, family::mamba2) ==
          "tensor 'layers.2.A_log': need layers 0, 1, ..., got no 1");
  }
  SUBCASE("a layer twice") {
    file.add("a.0.A_log", {1});
    file.add("b.0.A_log", {1});
    CHECK(refusal(file, family::mamba2) ==
          "tensor 'b.0.A_log': need one tensor of its kind a layer, got a.0.A_log as well");
  }
  SUBCASE("layers of different widths") {
    file.add("layers.0.A_log", {1});
    file.add("layers.1.A_log", {1, 2});
    CHECK(refusal(file, family::mamba2) ==
          "tensor 'layers.1.A_log': need as many channels as layer 0, 1, got 2");
  }
  SUBCASE("a matrix, as Mamba's first version has it") {
    file.add("layers.0.A_log", "F32", "1, 1", "1234");
    CHECK(refusal(file, family::mamba2) ==
          "tensor 'layers.0.A_log': need one dimension of at most 1000000, got 2 dimensions");
  }
  SUBCASE("more channels than any model has") {
    file.add("layers.0.A_log", "F16", "1000001", std::string(2000002, '\0'));
    CHECK(refusal(file, family::mamba2) ==
          "tensor 'layers.0.A_log': need one dimension of at most 1000000, got 1000001");
  }
  SUBCASE("no channel") {
    file.add("layers.0.A_log", std::vector<float>{});
    CHECK(refusal(file, family::mamba2) == "tensor 'layers.0.A_log': need a channel, got none");
  }
  SUBCASE("a base that is no scalar") {
    file.add("layers.0.A_log_base", {1, 2});
    file.add("layers.0.A_log_deltas", {1});
    CHECK(refusal(file, family::mamba2) ==
          "tensor 'layers.0.A_log_base': need a scalar, got another shape");
  }
  SUBCASE("parameters that are no numbers") {
    file.add("layers.0.A_log", {1, std::nanf("")});
    CHECK(refusal(file, family::mamba2)
              .starts_with("tensor 'layers.0.A_log': need timescales above 0 and finite, got"));
  }
  SUBCASE("deltas that are no numbers") {
    file.add("layers.0.A_log_base", {1}, true);
    file.add("layers.0.A_log_deltas", {std::numeric_limits<float>::infinity()});
    CHECK(refusal(file, family::mamba2).starts_with("tensor 'layers.0.A_log_base': ordered_"));
  }
  SUBCASE("biases of RWKV-7") {
    file.add("layers.0.w0_base", {1}, true);
    file.add("layers.0.w0_delta", {1});
    CHECK(refusal(file, family::rwkv7) ==
          "tensor 'layers.0.w_lora': need one bias below this name, got 0");
    file.add("layers.0.w_lora.bias", {1});
    CHECK(refusal(file, family::rwkv7) ==
          "tensor 'layers.0.w_lora.bias': need as many as channels, 2, got 1");
    file.add("layers.0.w_lora.lora.bias", {1, 2});
    CHECK(refusal(file, family::rwkv7) ==
          "tensor 'layers.0.w_lora': need one bias below this name, got 2");
  }
  SUBCASE("integers") {
    file.add("layers.0.A_log", "I64", "1", std::string(8, '\0'));
    CHECK_THROWS_AS(read(file, family::mamba2), safetensors::error);
  }
}
