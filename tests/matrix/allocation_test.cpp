// SPDX-License-Identifier: Apache-2.0
// A step of decoding does not allocate, nor do calls that keep their final states.
#include <doctest/doctest.h>

#include <span>
#include <vector>

#include <ebb/core/storage.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/recurrence/backend/automatic.hpp>
#include <ebb/recurrence/backend/key_lanes.hpp>
#include <ebb/recurrence/delta.hpp>
#include <ebb/recurrence/outer.hpp>

#include "support/allocations.hpp"

namespace {

using ebb::index_t;
using ebb::test::allocations_in;

TEST_CASE_TEMPLATE("no allocation in steps and in calls that keep their states", T, float,
                   ebb::bfloat16) {
  struct shape {
    index_t keys, values;
  };
  const ebb::automatic<> automatic;
  for (const shape s : {shape{128, 64}, {64, 61}, {1000, 5}, {16, 1}, {6000, 1}})
    for (const ebb::decay_per decays : {ebb::decay_per::head, ebb::decay_per::key}) {
      constexpr index_t heads = 4, most = 3;
      const std::vector<T> rows(static_cast<std::size_t>(most * heads * s.keys), T(0.25f));
      const std::vector<T> values(static_cast<std::size_t>(most * heads * s.values), T(0.5f));
      std::vector<T> outputs(values.size());
      std::vector<float> state(static_cast<std::size_t>(heads * s.keys * s.values));
      const index_t channels = decays == ebb::decay_per::head ? heads : heads * s.keys;
      const std::vector<double> rates(static_cast<std::size_t>(channels), 0.5);
      const auto constant = ebb::constant_decay().bind(std::span<const double>(rates));
      const auto taper = ebb::post_taper::relative(100).bind(std::span<const double>(rates));
      const auto fill = [&](auto& data, index_t steps) {
        data.queries = data.keys = {rows.data(), {1, steps, heads, s.keys}};
        data.values = {values.data(), {1, steps, heads, s.values}};
        data.outputs = {outputs.data(), {1, steps, heads, s.values}};
        data.unit_keys = data.unit_queries = 1e-6;
        data.decays = decays;
      };
      ebb::outer_data<T> outer;
      ebb::delta_data<T> gated, general;
      fill(outer, 1), fill(gated, 1), fill(general, 1);
      general.removals = general.rates = general.keys;
      const std::span<float> running(state);
      if (s.values == 1) {
        CHECK(allocations_in([&] { ebb::step(taper, 7, outer, running, ebb::key_lanes{}); }) == 0);
        CHECK(allocations_in([&] { ebb::step(constant, 7, outer, running, automatic); }) == 0);
        fill(outer, most);
        CHECK(allocations_in([&] { ebb::outer(constant, outer, ebb::key_lanes{}); }) == 0);
        continue;
      }
      CHECK(allocations_in([&] { ebb::step(constant, 7, outer, running); }) == 0);
      CHECK(allocations_in([&] { ebb::step(taper, 7, outer, running); }) == 0);
      CHECK(allocations_in([&] { ebb::step(constant, 7, gated, running); }) == 0);
      CHECK(allocations_in([&] { ebb::step(taper, 7, general, running); }) == 0);
      CHECK(allocations_in([&] { ebb::step(taper, 7, gated, running, automatic); }) == 0);
      if (s.keys > 128) continue;
      fill(outer, most);
      const ebb::strided_view<float> kept(state.data(), 1, heads * s.keys * s.values);
      const ebb::sequences<float> where{.initial_states = kept, .final_states = kept};
      CHECK(allocations_in([&] { ebb::outer(taper, outer, where); }) == 0);
    }
}

}  // namespace
