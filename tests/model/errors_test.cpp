// SPDX-License-Identifier: Apache-2.0
// What does not fit is refused with a sentence, before anything is written.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <ebb/model/gated_deltanet.hpp>
#include <ebb/model/mamba2.hpp>
#include <ebb/model/retnet.hpp>
#include <ebb/model/rwkv7.hpp>

namespace {

using ebb::head_view;
using ebb::index_t;
using ebb::post_taper;
using ebb::raw_steps;

const std::vector<float> numbers(1000, 0.5f);
head_view<const float> some(index_t heads, index_t width, index_t steps = 3) {
  return {numbers.data(), {1, steps, heads, width}};
}
template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const ebb::shape_error& error) {
    return error.what();
  } catch (const ebb::domain_error& error) {
    return error.what();
  }
  return "";
}
template <class F>
void check(const std::string& text, const F& f) {
  const std::string got = refusal(f);
  INFO("got: " << got);
  CHECK(got.find(text) == 0);
}

struct outputs {
  std::vector<float> memory = std::vector<float>(100, -7.0f);
  head_view<float> view(index_t heads, index_t width) {
    return {memory.data(), {1, 3, heads, width}};
  }
  void check_untouched() const { CHECK(memory == std::vector<float>(100, -7.0f)); }
};

TEST_CASE("Mamba-2") {
  outputs y;
  const std::vector<float> A_log{0, 1};
  const auto decay = ebb::mamba2_decay(A_log, raw_steps<float>{.raw = some(2, 1)});
  const ebb::mamba2_arrays<float> good{
      .x = some(2, 4), .B = some(1, 5), .C = some(1, 5), .y = y.view(2, 4)};
  const auto with = [&](const std::string& text, const auto& change) {
    auto arrays = good;
    change(arrays);
    check(text, [&] { ebb::mamba2(decay, arrays); });
  };
  const std::string left_out = "mamba2: need ";
  const std::string renamed = "mamba2 (keys B, queries C, values x, outputs y): ";
  with(left_out + "x", [](auto& a) { a.x = {}; });
  with(left_out + "B", [](auto& a) { a.B = {}; });
  with(left_out + "C", [](auto& a) { a.C = {}; });
  with(left_out + "y", [](auto& a) { a.y = {}; });
  with(renamed + "need keys", [](auto& a) { a.B = some(3, 5); });
  with(renamed + "need keys", [](auto& a) { a.B = some(1, 5, 2); });
  with(renamed + "need queries", [](auto& a) { a.C = some(1, 6); });
  with(renamed + "need values and outputs of one shape", [](auto& a) { a.x = some(2, 3); });
  with(renamed + "need a skip", [](auto& a) { a.D = std::span<const float>(numbers.data(), 3); });
  with("mamba2: need a gate of the outputs' shape", [](auto& a) { a.z = some(2, 5); });
  with("mamba2: need a gate apart from the outputs", [](auto& a) { a.z = a.y; });
  with("selective_decay: need as many channels", [&](auto& a) {
    a.x = some(1, 4);
    a.y = y.view(1, 4);
  });
  ebb::sequences<float> where;
  const std::vector<index_t> zero{0};
  where.first_positions = zero;
  check(renamed + "need first positions in 1", [&] { ebb::mamba2(decay, good, where); });
  std::vector<float> state(40);
  const index_t one = 1;
  where.first_positions = {&one, 1};
  where.final_states = {state.data(), 1, 40};
  auto gated = good;
  gated.z = {state.data(), {1, 3, 2, 4}};
  check("mamba2: need a gate apart from final states", [&] { ebb::mamba2(decay, gated, where); });
  check(renamed + "need one batch entry of one step",
        [&] { ebb::step(decay, 1, good, std::span<float>(state)); });
  y.check_untouched();

  check("mamba2_decay: need raw, which was left out",
        [&] { ebb::mamba2_decay(A_log, raw_steps<float>{}); });
  check("mamba2_decay: need one rate for each head of raw",
        [&] { ebb::mamba2_decay(A_log, raw_steps<float>{.raw = some(3, 1)}); });
  check("selective_decay: need 0 <= rates < inf", [&] {
    ebb::mamba2_decay(std::vector<float>{0, HUGE_VALF}, raw_steps<float>{.raw = some(2, 1)});
  });
  check("selective_decay: need a bias for each raw step", [&] {
    ebb::mamba2_decay(
        A_log, raw_steps<float>{.raw = some(2, 1), .bias = {numbers.data(), std::size_t{3}}});
  });
  check("selective_decay::limited", [&] {
    ebb::mamba2_decay(A_log, raw_steps<float>{.raw = some(2, 1), .lowest = 2, .highest = 1});
  });
  check("head_view: need heads side by side", [&] {
    const head_view<const float> apart(numbers.data(), {1, 3, 2, 1}, {12, 4, 2});
    ebb::mamba2_decay(A_log, raw_steps<float>{.raw = apart});
  });
  check("mamba1_decay: need A_log of N numbers for each channel",
        [&] { ebb::mamba1_decay(std::vector<float>(5), raw_steps<float>{.raw = some(2, 1)}); });
  const auto mamba1 =
      ebb::mamba1_decay(std::vector<float>(10), raw_steps<float>{.raw = some(2, 1)});
  check("key_lanes: need values of width 1", [&] { ebb::mamba1(mamba1, good); });
  y.check_untouched();
}

TEST_CASE("RWKV-7") {
  outputs o;
  const auto decay = ebb::rwkv7_decay(some(2, 5));
  const ebb::rwkv7_arrays<float> good{.r = some(2, 5),
                                      .k = some(2, 5),
                                      .v = some(2, 4),
                                      .kappa = some(2, 5),
                                      .a = some(2, 5),
                                      .o = o.view(2, 4)};
  const auto with = [&](const std::string& text, const auto& change) {
    auto arrays = good;
    change(arrays);
    check(text, [&] { ebb::rwkv7(decay, arrays); });
  };
  const std::string left_out = "rwkv7: need ";
  const std::string renamed = "rwkv7 (queries r, removals kappa, rates a, outputs o): ";
  with(left_out + "r", [](auto& a) { a.r = {}; });
  with(left_out + "k", [](auto& a) { a.k = {}; });
  with(left_out + "v", [](auto& a) { a.v = {}; });
  with(left_out + "kappa", [](auto& a) { a.kappa = {}; });
  with(left_out + "a", [](auto& a) { a.a = {}; });
  with(left_out + "o", [](auto& a) { a.o = {}; });
  with(renamed + "need removals", [](auto& a) { a.kappa = some(2, 4); });
  with(renamed + "need rates", [](auto& a) { a.a = some(2, 4); });
  with(renamed + "need 0 <= epsilon < inf", [](auto& a) { a.epsilon = -1; });
  o.check_untouched();
  const auto taper = post_taper::absolute_by_gaps(2048);
  check("rwkv7_post_decay: need a w0 for each channel",
        [&] { ebb::rwkv7_post_decay(std::vector<double>(9), taper, some(2, 5)); });
  check("post_taper: need ascending rates", [&] {
    ebb::rwkv7_post_decay(std::vector<double>{1, 0}, taper, some(1, 2));
  });
  check("rwkv7_decay: need lora, which was left out",
        [&] { ebb::rwkv7_decay(head_view<const float>{}); });
}

TEST_CASE("Gated DeltaNet, GLA and RetNet") {
  outputs o;
  const std::vector<float> A_log{0, 1};
  const auto decay = ebb::gated_deltanet_decay(A_log, raw_steps<float>{.raw = some(2, 1)});
  const ebb::gated_deltanet_arrays<float> good{
      .q = some(1, 5), .k = some(1, 5), .v = some(2, 4), .beta = some(2, 1), .o = o.view(2, 4)};
  const auto with = [&](const std::string& text, const auto& change) {
    auto arrays = good;
    change(arrays);
    check(text, [&] { ebb::gated_deltanet(decay, arrays); });
  };
  const std::string left_out = "gated_deltanet: need ";
  with(left_out + "q", [](auto& a) { a.q = {}; });
  with(left_out + "k", [](auto& a) { a.k = {}; });
  with(left_out + "v", [](auto& a) { a.v = {}; });
  with(left_out + "beta", [](auto& a) { a.beta = {}; });
  with(left_out + "o", [](auto& a) { a.o = {}; });
  with("gated_deltanet: need weights", [](auto& a) { a.beta = some(1, 1); });
  with("gated_deltanet: need a finite scale", [](auto& a) { a.scale = HUGE_VAL; });
  with("gated_deltanet: need 0 <= epsilon < inf", [](auto& a) { a.epsilon = -1; });
  // A decay of heads where one by key is asked for.
  with("selective_decay: need as many channels", [](auto& a) { a.decays = ebb::decay_per::key; });

  ebb::gla_arrays<float> attention{
      .q = some(2, 5), .k = some(2, 5), .v = some(2, 4), .o = o.view(2, 4)};
  attention.decays = ebb::decay_per::key;
  check("constant_decay: need as many channels",
        [&] { ebb::retnet(ebb::retnet_decay(2), attention); });
  attention.decays.reset();
  check("selective_decay: need as many channels",
        [&] { ebb::gla(ebb::gla_decay(some(2, 4)), attention); });
  check("gla_decay: need 0 < normalizer", [&] { ebb::gla_decay(some(2, 5), 0); });
  check("gla_decay: need logits, which was left out",
        [&] { ebb::gla_decay(head_view<const float>{}); });
  check("retnet_decay: need 0 <= heads", [] { ebb::retnet_decay(-1); });
  attention.v = {};
  check("retnet: need v, which was left out",
        [&] { ebb::retnet(ebb::retnet_decay(2), attention); });
  o.check_untouched();
}

TEST_CASE("what a recurrence would do without, a model needs") {
  outputs o;
  ebb::gated_deltanet_arrays<float> delta{
      .q = some(2, 4), .k = some(2, 4), .v = some(2, 4), .o = o.view(2, 4)};
  check("gated_deltanet: need beta, which was left out", [&] { (void)delta.recurrence(); });
  delta.beta = some(2, 1);
  CHECK_NOTHROW((void)delta.recurrence());
  ebb::rwkv7_arrays<float> time_mix{
      .r = some(2, 4), .k = some(2, 4), .v = some(2, 4), .o = o.view(2, 4)};
  check("rwkv7: need kappa, which was left out", [&] { (void)time_mix.recurrence(); });
  time_mix.kappa = some(2, 4);
  check("rwkv7: need a, which was left out", [&] { (void)time_mix.recurrence(); });
  time_mix.a = some(2, 4);
  CHECK_NOTHROW((void)time_mix.recurrence());
  o.check_untouched();
}

}  // namespace
