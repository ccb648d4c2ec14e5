// SPDX-License-Identifier: Apache-2.0
// What the recurrences with matrix states refuse, with which sentence, and that nothing has been
// written by then.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/recurrence/delta.hpp>
#include <ebb/recurrence/outer.hpp>

namespace {

using ebb::head_view;
using ebb::index_t;
using ebb::strided_view;
using states = ebb::sequences<float>;
using delta_data = ebb::delta_data<float>;

constexpr index_t B = 2, T = 5, H = 6, K = 3, V = 4;
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr float kept = -3;

// One buffer for everything that may be written or shared, so that all of it can be looked at.
struct fixture {
  std::vector<float> memory = std::vector<float>(4000, kept), inputs = std::vector<float>(4000, 1);
  std::vector<float> decays = std::vector<float>(B * T * H, 0.5f);
  strided_view<const float> a{decays.data(), {B, T, H}};
  ebb::delta_data<float> data = valid<ebb::delta_data<float>>();
  ebb::outer_data<float> plain = valid<ebb::outer_data<float>>();

  head_view<const float> input(index_t heads, index_t width, index_t steps = T,
                               index_t batches = B) const {
    return {inputs.data(), {batches, steps, heads, width}};
  }
  // Outputs at 0 .. 239, states from 1000 and snapshots from 2000 on.
  strided_view<float> state(index_t at, index_t rows, index_t channels = H * K * V) {
    return {memory.data() + at, {B, rows, channels}};
  }
  head_view<const float> shared(index_t at, index_t heads, index_t width) const {
    return {memory.data() + at, {B, T, heads, width}};
  }
  template <class Data>
  Data valid() {
    Data result;
    result.queries = input(H, K), result.keys = input(H, K), result.values = input(H, V);
    result.outputs = {memory.data(), {B, T, H, V}};
    return result;
  }

  template <class Call>
  void refuses(const std::string& text, Call call) {
    INFO(text);
    std::string got = "nothing thrown";
    try {
      call();
    } catch (const ebb::shape_error& error) {
      got = error.what();
    } catch (const ebb::domain_error& error) {
      got = error.what();
    }
    CHECK(got.substr(0, text.size()) == text);
    CHECK(memory == std::vector<float>(memory.size(), kept));
  }
  /// The data, changed; the sequences as given.
  template <class Change>
  void refuses_data(const std::string& text, Change change, const states& where = {}) {
    auto changed = data;
    change(changed);
    refuses("delta: " + text, [&] { ebb::delta(a, changed, where); });
    if constexpr (requires { change(plain); }) {
      auto other = plain;
      change(other);
      refuses("outer: " + text, [&] { ebb::outer(a, other, where); });
    }
  }
};

TEST_CASE_FIXTURE(fixture, "what is valid") {
  data.removals = data.rates = input(1, K);
  data.weights = input(H, 1);
  const std::vector<float> skip(H * V);
  data.skip = skip;
  const std::vector<index_t> snapshots{0, 4};
  const states where{.initial_states = state(1000, 1),
                     .final_states = state(1000, 1),
                     .snapshot_steps = snapshots,
                     .snapshots = state(2000, 2)};
  CHECK_NOTHROW(ebb::delta(a, data, where));
  plain.values = plain.outputs;
  CHECK_NOTHROW(ebb::outer(a, plain, where));
}

TEST_CASE_FIXTURE(fixture, "shapes that disagree") {
  refuses_data(
      "need values and outputs of one shape (batches, steps, heads, width of each), got 2, "
      "5, 6, 3, 2, 5, 6, 4",
      [&](auto& d) { d.values = input(H, 3); });
  refuses_data("need keys (B, T, Hk, K) with H % Hk = 0 (got, then B, T, H, K), got 2, 5, 4, 3",
               [&](auto& d) { d.keys = input(4, K); });
  refuses_data("need keys", [&](auto& d) { d.keys = input(2 * H, K); });
  refuses_data("need keys", [&](auto& d) { d.keys = input(0, K); });
  refuses_data("need keys", [&](auto& d) { d.keys = input(H, K, T - 1); });
  refuses_data("need keys", [&](auto& d) { d.keys = input(H, K, T, 1); });
  refuses_data("need queries (B, T, Hq, K) with H % Hq = 0",
               [&](auto& d) { d.queries = input(H, K + 1); });
  refuses_data("need queries", [&](auto& d) { d.queries = input(5, K); });
  refuses_data("need queries", [&](auto& d) { d.queries = head_view<const float>(); });
  refuses_data("need weights (B, T, H, 1) (got, then B, T, H), got 2, 5, 6, 2, 2, 5, 6",
               [&](auto& d) { d.weights = input(H, 2); });
  refuses_data("need weights", [&](auto& d) { d.weights = input(3, 1); });
  refuses_data("need weights", [&](auto& d) { d.weights = input(H, 0); });
  for (const std::size_t size : {1u, 5u, 7u, 23u, 25u, 48u}) {
    const std::vector<float> skip(size);
    refuses_data("need a skip of H or H V numbers, or none (got, then H, V), got " +
                     std::to_string(size) + ", 6, 4",
                 [&](auto& d) { d.skip = skip; });
  }
  refuses_data("need removals where there are corrections, rates or unit_removals",
               [&](delta_data& d) { d.corrections = input(H, K); });
  refuses_data("need removals where", [&](delta_data& d) { d.rates = input(H, K); });
  refuses_data("need either corrections or rates beside removals",
               [&](delta_data& d) { d.removals = input(H, K); });
  refuses_data("need either corrections or rates beside removals",
               [&](delta_data& d) { d.removals = d.corrections = d.rates = input(H, K); });
  refuses_data("need removals (B, T, Hz, K) with H % Hz = 0", [&](delta_data& d) {
    d.removals = input(4, K);
    d.rates = input(H, K);
  });
  refuses_data("need corrections (B, T, Hu, K) with H % Hu = 0", [&](delta_data& d) {
    d.removals = input(H, K);
    d.corrections = input(H, K + 1);
  });
  refuses_data("need rates (B, T, Hr, K) with H % Hr = 0", [&](delta_data& d) {
    d.removals = input(H, K);
    d.rates = input(H, 1);
  });
}

TEST_CASE_FIXTURE(fixture, "decays that do not fit") {
  const std::vector<float> numbers(B * T * H * K);
  const strided_view<const float> by_key(numbers.data(), {B, T, H * K});
  refuses(
      "stored_decay: need decays of the data's shape (batches, steps, channels of each), got 2, "
      "5, 18, 2, 5, 6",
      [&] { ebb::delta(by_key, data); });
  auto other = plain;
  other.decays = ebb::decay_per::key;
  CHECK_NOTHROW(ebb::outer(by_key, other));
  memory.assign(memory.size(), kept);
  refuses("stored_decay: need decays", [&] { ebb::outer(a, other); });
  const std::vector<double> rates(5, 1.0);
  refuses("constant_decay: need as many channels",
          [&] { ebb::outer(ebb::constant_decay().bind(std::span<const double>(rates)), plain); });
}

TEST_CASE_FIXTURE(fixture, "numbers outside their domain") {
  for (const double bad : {-1e-9, inf, -inf, std::numeric_limits<double>::quiet_NaN()}) {
    const std::string text = "need 0 <= epsilon < inf for unit rows, got ";
    refuses_data(text, [&](auto& d) { d.unit_queries = bad; });
    refuses_data(text, [&](auto& d) { d.unit_keys = bad; });
    refuses_data(text, [&](delta_data& d) {
      d.removals = d.rates = input(H, K);
      d.unit_removals = bad;
    });
  }
  for (const double bad : {inf, -inf, std::numeric_limits<double>::quiet_NaN()})
    refuses_data("need a finite scale, got ", [&](auto& d) { d.scale = bad; });
  std::vector<index_t> first(B, 1);
  for (const index_t bad : {index_t{0}, index_t{-1}, (index_t{1} << 62) + 1}) {
    first[1] = bad;
    refuses_data("need first positions in 1 .. 2^62, got " + std::to_string(bad), [](auto&) {},
                 {.first_positions = first});
  }
}

TEST_CASE_FIXTURE(fixture, "sequences that do not fit") {
  const auto nothing = [](auto&) {};
  const std::vector<index_t> backwards{0, 3, 2, 5}, beyond{0, 6}, three{1, 1, 1}, pair{0, 2, 5};
  refuses_data("need ascending offsets, got 3, 2", nothing, {.offsets = backwards});
  refuses_data("need offsets in 0 .. steps", nothing, {.offsets = beyond});
  refuses_data("need one first position per sequence", nothing, {.first_positions = three});
  refuses_data(
      "need initial states of shape (batches, sequences, channels) (got, then wanted), got 2, 1, "
      "71",
      nothing, {.initial_states = state(1000, 1, H * K * V - 1)});
  refuses_data("need initial states of shape", nothing,
               {.offsets = pair, .initial_states = state(1000, 1)});
  refuses_data(
      "need final states of shape (batches, sequences, channels) (got, then wanted), got 2, 2, 72",
      nothing, {.final_states = state(1000, 2)});
  const std::vector<std::uint8_t> flags(T);
  refuses_data("need one reset flag per batch entry and step", nothing, {.resets = flags});
  const std::vector<index_t> twice{1, 1}, late{5}, one{3};
  refuses_data("need strictly ascending snapshot steps in 0 .. steps - 1, got 1", nothing,
               {.snapshot_steps = twice, .snapshots = state(2000, 2)});
  refuses_data("need strictly ascending snapshot steps in 0 .. steps - 1, got 5", nothing,
               {.snapshot_steps = late, .snapshots = state(2000, 1)});
  refuses_data("need snapshots of shape", nothing, {.snapshot_steps = one});
  refuses_data("need snapshots of shape", nothing,
               {.snapshot_steps = one, .snapshots = state(2000, 2)});
}

TEST_CASE_FIXTURE(fixture, "memory shared otherwise than allowed") {
  const auto nothing = [](auto&) {};
  const std::string inputs_apart = "need outputs apart from ";
  refuses_data("need outputs that do not share memory", [&](auto& d) {
    d.outputs = {memory.data(), {B, T, H, V}, {T * H * V, H * V, V - 1}};
  });
  refuses_data("need outputs that do not share memory", [&](auto& d) {
    d.outputs = {memory.data(), {B, T, H, V}, {0, H * V, V}};
  });
  // Where inputs and outputs meet in one number.
  const index_t last = B * T * H * V - 1;
  refuses_data(inputs_apart + "queries", [&](auto& d) { d.queries = shared(last, H, K); });
  refuses_data(inputs_apart + "keys", [&](auto& d) { d.keys = shared(last, 1, K); });
  refuses_data(inputs_apart + "values", [&](auto& d) { d.values = shared(last, H, V); });
  refuses_data(inputs_apart + "values", [&](auto& d) { d.values = shared(1, H, V); });
  refuses_data(inputs_apart + "weights", [&](auto& d) { d.weights = shared(last, H, 1); });
  refuses_data(inputs_apart + "values", [&](auto& d) {
    d.values = {memory.data(), {B, T, H, V}, {T * H * V, H * V, 0}};
  });
  refuses_data(inputs_apart + "removals", [&](delta_data& d) {
    d.removals = shared(last, H, K);
    d.rates = input(H, K);
  });
  refuses_data(inputs_apart + "rates", [&](delta_data& d) {
    d.removals = input(H, K);
    d.rates = shared(last, 1, K);
  });
  refuses_data(inputs_apart + "corrections", [&](delta_data& d) {
    d.removals = input(H, K);
    d.corrections = shared(last, 2, K);
  });
  // Values in place are no licence for the others, also where K = V.
  refuses_data(inputs_apart + "queries", [&](auto& d) {
    d.values = d.outputs;
    d.queries = d.outputs;
    d.keys = input(H, V);
  });
  refuses_data(inputs_apart + "keys", [&](auto& d) {
    d.values = d.outputs;
    d.queries = input(H, V);
    d.keys = d.outputs;
  });

  const std::vector<index_t> one{3};
  const states final{.final_states = state(1000, 1)},
      snapshot{.snapshot_steps = one, .snapshots = state(1000, 1)};
  for (const states& where : {final, snapshot}) {
    const std::string apart =
        where.snapshots.empty() ? "need final states apart from " : "need snapshots apart from ";
    refuses_data(
        apart + "queries", [&](auto& d) { d.queries = shared(999, H, K); }, where);
    refuses_data(
        apart + "keys", [&](auto& d) { d.keys = shared(1000 + 143, 1, K); }, where);
    refuses_data(
        apart + "values", [&](auto& d) { d.values = shared(1000, H, V); }, where);
    refuses_data(
        apart + "weights", [&](auto& d) { d.weights = shared(1000, H, 1); }, where);
    refuses_data(
        apart + "removals",
        [&](delta_data& d) {
          d.removals = shared(1000, H, K);
          d.rates = input(H, K);
        },
        where);
    const std::span<const float> skip(memory.data() + 1000 - H + 1, H);
    refuses_data(
        "need the skip apart from outputs, final states and snapshots",
        [&](auto& d) { d.skip = skip; }, where);
  }
  const std::span<const float> skip(memory.data() + last, H);
  refuses_data("need the skip apart from outputs", [&](auto& d) { d.skip = skip; });

  const std::string outputs_apart = "need outputs apart from the states";
  refuses_data(outputs_apart, nothing, {.final_states = state(last, 1)});
  refuses_data(outputs_apart, nothing, {.initial_states = state(last, 1)});
  refuses_data(outputs_apart, nothing, {.snapshot_steps = one, .snapshots = state(last, 1)});
  refuses_data(
      "need snapshots apart from the other states", nothing,
      {.final_states = state(1000, 1), .snapshot_steps = one, .snapshots = state(1000 + 143, 1)});
  refuses_data(
      "need snapshots apart from the other states", nothing,
      {.initial_states = state(1000, 1), .snapshot_steps = one, .snapshots = state(1000, 1)});
  refuses_data("need final states to be the initial ones, or apart from them", nothing,
               {.initial_states = state(1000, 1), .final_states = state(1001, 1)});
  const strided_view<float> same(memory.data() + 1000, {B, 1, H * K * V}, {0, 0});
  refuses_data("need final states and snapshots that do not share memory", nothing,
               {.final_states = same});
  refuses_data("need final states and snapshots that do not share memory", nothing,
               {.snapshot_steps = one, .snapshots = same});

  const std::string decay_apart =
      "need the decay's data apart from outputs, final states and snapshots";
  const auto with_decay = [&](index_t at, const states& where) {
    const strided_view<const float> inside(memory.data() + at, {B, T, H});
    refuses("outer: " + decay_apart, [&] { ebb::outer(inside, plain, where); });
    refuses("delta: " + decay_apart, [&] { ebb::delta(ebb::stored_logs(inside), data, where); });
  };
  with_decay(last, {});
  with_decay(1000, final);
  with_decay(1000 + 143, snapshot);
}

TEST_CASE_FIXTURE(fixture, "nothing to do is no mistake") {
  ebb::outer_data<float> none;
  none.queries = none.keys = {nullptr, {1, 0, H, K}};
  none.values = {nullptr, {1, 0, H, V}};
  none.outputs = {nullptr, {1, 0, H, V}};
  const strided_view<const float> no_decays(nullptr, {1, 0, H});
  std::vector<float> before(H * K * V, 2), after(before.size());
  const strided_view<float> from(before.data(), 1, H * K * V), to(after.data(), 1, H * K * V);
  CHECK_NOTHROW(ebb::outer(no_decays, none, states{.initial_states = from, .final_states = to}));
  CHECK(after == before);
}

TEST_CASE_FIXTURE(fixture, "step") {
  const std::vector<double> rates(H, 1.0);
  const auto decay = ebb::constant_decay().bind(std::span<const double>(rates));
  const std::span<float> running(memory.data() + 1000, H * K * V);
  const auto step_of = [&](auto d, index_t steps, index_t batches) {
    d.queries = d.keys = input(H, K, steps, batches);
    d.values = input(H, V, steps, batches);
    d.outputs = {memory.data(), {batches, steps, H, V}};
    return d;
  };
  refuses("step: need one batch entry of one step (batches, steps), got 1, 2",
          [&] { ebb::step(decay, 1, step_of(plain, 2, 1), running); });
  refuses("step: need one batch entry of one step (batches, steps), got 2, 1",
          [&] { ebb::step(decay, 1, step_of(data, 1, 2), running); });
  refuses(
      "step: need initial states of shape (batches, sequences, channels) (got, then wanted), got "
      "1, 1, 71",
      [&] { ebb::step(decay, 1, step_of(data, 1, 1), running.subspan(1)); });
  refuses("step: need first positions in 1 .. 2^62, got 0",
          [&] { ebb::step(decay, 0, step_of(plain, 1, 1), running); });
  refuses("step: need outputs apart from the states", [&] {
    ebb::step(decay, 1, step_of(plain, 1, 1), std::span<float>(memory.data() + 20, H * K * V));
  });
  CHECK_NOTHROW(ebb::step(decay, 1, step_of(plain, 1, 1), running));
}

}  // namespace
