// SPDX-License-Identifier: Apache-2.0
// The contract of the form with vectors along the keys, V = 1; what it refuses.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <ebb/core/storage.hpp>
#include <ebb/recurrence/backend/key_lanes.hpp>

#include "support/matrix_calls.hpp"
#include "support/matrix_identities.hpp"

namespace {

using ebb::index_t;
using form = ebb::key_lanes;

TEST_CASE("float") {
  ebb::test::check_shapes<form, float, float>();
  ebb::test::check_large_shapes<form, float, float>();
  ebb::test::check_lengths<form, float, float>();
  ebb::test::check_options<form, float, float>(1500);
  ebb::test::check_weighing<form, float, float>();
  ebb::test::check_adversarial<form, float>();
}
TEST_CASE("double") {
  ebb::test::check_shapes<form, double, double>();
  ebb::test::check_options<form, double, double>(500);
  ebb::test::check_adversarial<form, double>();
}
TEST_CASE("other types") {
  ebb::test::check_options<form, ebb::bfloat16, float>(300);
  ebb::test::check_options<form, ebb::half, float>(300);
  ebb::test::check_options<form, float, double>(300);
  ebb::test::check_options<form, long double, long double>(300);
}
TEST_CASE("many heads, own keys and shared ones") {
  // More than go together, and parts of a vector of them.
  for (const index_t heads : {17, 64, 70, 200})
    for (const index_t key_heads : {index_t{1}, heads % 10 == 0 ? heads / 10 : heads, heads})
      for (const index_t keys : {1, 3, 8, 16, 20})
        ebb::test::each_kind<form>(
            {.steps = 5,
             .heads = heads,
             .keys = keys,
             .values = 1,
             .query_heads = heads,
             .key_heads = key_heads,
             .weights = true,
             .skip = ebb::test::matrix_skip::head},
            [](const ebb::test::matrix_case& c) { ebb::test::check_case<form, float, float>(c); });
}
TEST_CASE("pieces, steps and positions") {
  ebb::test::check_pieces<form, float, float>();
  ebb::test::check_steps<form, float, float>();
  ebb::test::check_steps<form, ebb::bfloat16, float>();
  ebb::test::check_positions<form, float, float>();
  ebb::test::check_positions<form, double, double>();
}
TEST_CASE("a taper over more steps than are filled at once") {
  const ebb::test::matrix_case c{
      .steps = 150, .heads = 3, .keys = 16, .values = 1, .decays = ebb::decay_per::key};
  const ebb::test::matrix_problem<float, float> problem(c);
  const auto decay = ebb::test::taper_of(c.heads * c.keys);
  const auto data = problem.data<ebb::outer_data<float>>();
  const auto before = problem.outputs.copy();
  const auto truth = ebb::test::truth_of(decay, data, problem.where());
  ebb::outer(decay, data, problem.where(), form{});
  ebb::test::check_results<form>(problem, truth, before);
}
TEST_CASE("packed sequences and rollback") {
  ebb::test::check_packed<form, float, float>();
  ebb::test::check_rollback<form, double>();
}
TEST_CASE("NaN and infinity") { ebb::test::check_isolation<form, float>(); }
TEST_CASE_TEMPLATE("by hand", T, float, double) { ebb::test::check_forgetting<form, T>(); }
TEST_CASE("long runs") {
  ebb::test::check_long_runs<form>();
  ebb::test::check_slow_decays<form>();
  ebb::test::check_fading<form>();
}

TEST_CASE("an infinite state stays infinite under a decay next to 1") {
  const float infinity = std::numeric_limits<float>::infinity(), one = 1, zero = 0;
  std::vector<float> state(5, infinity);
  state[1] = -infinity, state[2] = 2;
  const std::vector<float> logs(5, -0.01F), keys(5, 0);
  float o = 0;
  ebb::outer_data<float> data;
  data.queries = data.keys = {keys.data(), {1, 1, 1, 5}};
  data.values = {&zero, {1, 1, 1, 1}};
  data.outputs = {&o, {1, 1, 1, 1}};
  data.decays = ebb::decay_per::key;
  const auto decay = ebb::stored_logs(ebb::strided_view<const float>(logs.data(), 1, 5));
  ebb::step(decay, 1, data, std::span<float>(state), form{});
  CHECK(state[0] == infinity);
  CHECK(state[1] == -infinity);
  CHECK(state[2] == doctest::Approx(2 * std::exp(-0.01)).epsilon(1e-6));
  // What lies in the lanes beside a head is no part of it: here an infinite weight of the next one.
  data.queries = data.keys = {&one, {1, 1, 2, 1}, {1, 1, 0}};
  float two[2] = {3, 3};
  data.values = {two, {1, 1, 2, 1}};
  std::vector<float> both(2), factors{0.5F, infinity}, states{4, 1};
  data.outputs = {both.data(), {1, 1, 2, 1}};
  ebb::step(ebb::stored_factors(ebb::strided_view<const float>(factors.data(), 1, 2)), 1, data,
            std::span<float>(states), form{});
  CHECK(both == std::vector<float>{5, infinity});
}

TEST_CASE("values of another width are refused before anything is written") {
  for (const index_t width : {0, 2, 7}) {
    const std::vector<float> inputs(64, 1), decays(6, 0.5F);
    std::vector<float> memory(64, -3), states(64, -3);
    ebb::outer_data<float> data;
    data.queries = data.keys = {inputs.data(), {1, 3, 2, 2}};
    data.values = {inputs.data(), {1, 3, 2, width}};
    data.outputs = {memory.data(), {1, 3, 2, width}};
    const ebb::sequences<float> where{.final_states =
                                          ebb::strided_view<float>(states.data(), 1, 4 * width)};
    try {
      ebb::outer(ebb::strided_view<const float>(decays.data(), 3, 2), data, where, form{});
      FAIL("accepted");
    } catch (const ebb::shape_error& error) {
      CHECK(error.what() == "key_lanes: need values of width 1, got " + std::to_string(width));
    }
    CHECK(memory == std::vector<float>(64, -3));
    CHECK(states == std::vector<float>(64, -3));
  }
}

}  // namespace
