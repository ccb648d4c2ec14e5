// SPDX-License-Identifier: Apache-2.0
// Drafted steps of a matrix state that are rejected: a history of states, and snapshots of a run.
#include <cstddef>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <ebb/decay/post.hpp>
#include <ebb/recurrence/delta.hpp>
#include <ebb/recurrence/history.hpp>

#include "support/scan_oracle.hpp"

namespace {

using ebb::index_t;

constexpr index_t steps = 12, heads = 2, keys = 5, values = 7;
constexpr index_t channels = heads * keys * values;

struct problem {
  std::vector<float> q, k, v, o;
  std::vector<double> rates{0.01, 0.7};

  problem() {
    ebb::test::draws random(3);
    for (auto* list : {&q, &k, &v}) {
      list->resize(static_cast<std::size_t>(steps * heads * (list == &v ? values : keys)));
      for (float& x : *list) x = static_cast<float>(random.uniform(-1, 1));
    }
    o.resize(v.size());
  }

  ebb::delta_data<float> from(index_t first, index_t count, std::vector<float>& out) const {
    const auto part = [&](const std::vector<float>& x, index_t width) {
      return ebb::head_view<const float>(x.data() + first * heads * width,
                                         {1, count, heads, width});
    };
    return {.queries = part(q, keys),
            .keys = part(k, keys),
            .values = part(v, values),
            .outputs = {out.data() + first * heads * values, {1, count, heads, values}},
            .unit_keys = 1e-6};
  }
  auto decay() const { return ebb::post_taper::relative(64).bind(std::span<const double>(rates)); }
};

TEST_CASE("two of four drafted steps are accepted") {
  problem data;
  const auto decay = data.decay();
  std::vector<float> expected(data.o.size()), got(data.o.size());
  ebb::layer_state<float> state{std::vector<float>(channels), 1}, other = state;
  const auto run = [&](index_t first, index_t count, std::vector<float>& out, auto& at) {
    for (index_t t = first; t < first + count; ++t) {
      ebb::step(decay, t + 1, data.from(t, 1, out), std::span<float>(at.values));
      at.next_position = t + 2;
    }
  };
  run(0, steps, expected, other);

  ebb::state_history<float> history(5, channels);
  run(0, 4, got, state);
  history.keep(state);
  for (index_t t = 4; t < 8; ++t) {
    run(t, 1, got, state);
    history.keep(state);
  }
  history.roll_back(7, state);  // before the step at position 7: two of the four stay
  run(6, 6, got, state);
  CHECK(got == expected);
  CHECK(state.values == other.values);
}

// Keys of one 1 each, values and factors of few digits: every product and sum is exact, in any order.
TEST_CASE("the snapshots of a verified draft are the states to go on from") {
  problem data;
  std::vector<float> factors(static_cast<std::size_t>(steps * heads));
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = i % 3 == 0 ? 0.5f : 1.0f;
  for (std::size_t i = 0; i < data.k.size(); ++i) {
    const std::size_t row = i / keys;
    data.k[i] = i % keys == row % 4 ? 1.0f : 0.0f;
    data.q[i] = static_cast<float>(i % 7) - 3;
  }
  for (std::size_t i = 0; i < data.v.size(); ++i) data.v[i] = static_cast<float>(i % 11) - 5;
  const auto part = [&](index_t first, index_t count) {
    return ebb::strided_view<const float>(factors.data() + first * heads, count, heads);
  };
  const auto of = [&](index_t first, index_t count, std::vector<float>& out) {
    auto arrays = data.from(first, count, out);
    arrays.unit_keys.reset();
    return arrays;
  };
  std::vector<float> expected(data.o.size()), got(data.o.size());
  std::vector<float> last(channels), kept(3 * channels), state(channels);
  ebb::sequences<float> where;
  where.final_states = {last.data(), 1, channels};
  ebb::delta(part(0, steps), of(0, steps, expected), where);

  const std::vector<index_t> after{3, 4, 5};
  ebb::sequences<float> draft;
  draft.snapshot_steps = after;
  draft.snapshots = {kept.data(), 3, channels};
  ebb::delta(part(0, 8), of(0, 8, got), draft);

  ebb::state_history<float> history(3, channels);
  for (std::size_t m = 0; m < after.size(); ++m)
    history.keep(std::span<const float>(kept).subspan(m * channels, channels), after[m] + 2);
  ebb::layer_state<float> from{std::vector<float>(channels), 1};
  history.roll_back(6, from);  // the draft is rejected from step 5, at position 6, on
  ebb::sequences<float> rest;
  rest.initial_states = {from.values.data(), 1, channels};
  rest.final_states = {state.data(), 1, channels};
  ebb::delta(part(5, steps - 5), of(5, steps - 5, got), rest);
  CHECK(got == expected);
  CHECK(state == last);
}

}  // namespace
