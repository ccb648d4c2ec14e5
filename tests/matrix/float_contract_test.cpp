// SPDX-License-Identifier: Apache-2.0
// The contract of the forms for float data and states.
#include <vector>

#include <doctest/doctest.h>

#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/backend/sequential.hpp>
#include <ebb/recurrence/delta.hpp>

#include "support/matrix_contract.hpp"

namespace {

using form = ebb::sequential;
using ebb::index_t;

TEST_CASE("shapes") { ebb::test::check_shapes<form, float, float>(); }
TEST_CASE("large shapes") { ebb::test::check_large_shapes<form, float, float>(); }
TEST_CASE("inputs beyond the caches") { ebb::test::check_far_inputs<form, float, float>(); }
// Their row of a step is not adjacent, and rows may be one: nothing may be read beyond its end.
TEST_CASE("inputs beyond the caches, decays stored channel by channel") {
  const index_t steps = 700, heads = 3, keys = 500, channels = heads * keys;
  std::vector<float> rows(static_cast<std::size_t>(steps * channels));
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = 0.001F * static_cast<float>(static_cast<int>(i % 71) - 35);
  const std::vector<float> factors(static_cast<std::size_t>(steps), 0.5F);
  std::vector<float> values(static_cast<std::size_t>(steps * heads), 1.0F);
  const auto run = [&](const auto& decays) {
    std::vector<float> outputs(values.size());
    ebb::delta_data<float> data;
    data.queries = data.keys = {rows.data(), {1, steps, heads, keys}};
    data.removals = data.rates = data.keys;
    data.values = {values.data(), {1, steps, heads, 1}};
    data.outputs = {outputs.data(), {1, steps, heads, 1}};
    data.decays = ebb::decay_per::key;
    ebb::delta(ebb::stored_factors(decays), data);
    return outputs;
  };
  const ebb::extents size{1, steps, channels};
  using by_channel = ebb::strided_view<const float, ebb::channel_major>;
  const std::vector<float> all(rows.size(), 0.5F);
  CHECK(run(by_channel(factors.data(), size, {0, 0})) ==
        run(ebb::strided_view<const float>(all.data(), steps, channels)));
}
TEST_CASE("lengths") { ebb::test::check_lengths<form, float, float>(); }
TEST_CASE("options") { ebb::test::check_options<form, float, float>(1500); }
TEST_CASE("weighing decays") { ebb::test::check_weighing<form, float, float>(); }
TEST_CASE("adversarial") { ebb::test::check_adversarial<form, float>(); }

}  // namespace
