// SPDX-License-Identifier: Apache-2.0
// What the gradients of matrix states refuse, before anything is written.
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <ebb/decay/constant.hpp>

#include "support/matrix_vjp_contract.hpp"

namespace {

using ebb::head_view;
using ebb::index_t;
using ebb::strided_view;
using ebb::test::head_array;
using data_type = ebb::delta_data<float>;
using known = ebb::matrix_cotangents<float>;
using asked = ebb::matrix_gradients<float>;

/// A call of the general delta rule, B = 2, T = 5, H = 4, K = 3, V = 2, that is right; each case
/// breaks one thing. All gradients lie in `memory`.
struct fixture {
  head_array<float> queries{{2, 5, 2, 3}}, keys{{2, 5, 4, 3}}, values{{2, 5, 4, 2}},
      weights{{2, 5, 4, 1}}, removals{{2, 5, 1, 3}}, corrections{{2, 5, 4, 3}},
      outputs{{2, 5, 4, 2}}, given{{2, 5, 4, 2}}, other{{2, 9, 9, 9}};
  std::vector<float> skip = std::vector<float>(8), factors = std::vector<float>(40),
                     states = std::vector<float>(48), finals = std::vector<float>(48),
                     kept = std::vector<float>(48);
  std::vector<float> memory = std::vector<float>(4000, -3.0f);
  std::vector<index_t> steps{2};
  strided_view<const float> decays{factors.data(), {2, 5, 4}};

  data_type data;
  known from;
  asked to;
  ebb::sequences<float> where;

  template <class Array>
  head_view<float> place(const Array& of, index_t at) {
    return {memory.data() + at, of.size};
  }
  fixture() {
    data.queries = queries.heads(), data.keys = keys.heads(), data.values = values.heads();
    data.weights = weights.heads(), data.removals = removals.heads();
    data.corrections = corrections.heads(), data.outputs = outputs.heads(), data.skip = skip;
    from = {given.heads(), strided_view<float>(finals.data(), {2, 1, 24}),
            strided_view<float>(kept.data(), {2, 1, 24})};
    to.queries = place(queries, 0), to.keys = place(keys, 100), to.values = place(values, 300);
    to.weights = place(weights, 400), to.removals = place(removals, 500);
    to.corrections = place(corrections, 600);
    to.skip = std::span(memory).subspan(800, 8);
    to.initial_states = strided_view<float>(memory.data() + 900, {2, 1, 24});
    where.initial_states = strided_view<float>(states.data(), {2, 1, 24});
    where.snapshot_steps = steps;
  }

  template <class Error = ebb::shape_error>
  void refuses(const std::string& text) {
    INFO(text);
    std::string got = "nothing thrown";
    try {
      ebb::delta_vjp(decays, data, from, to, where);
    } catch (const Error& error) {
      got = error.what();
    }
    CHECK(got.substr(0, text.size()) == text);
    CHECK(memory == std::vector<float>(4000, -3.0f));
  }
};

TEST_CASE_FIXTURE(fixture, "the call itself is right") {
  ebb::delta_vjp(decays, data, from, to, where);
  CHECK(memory[0] == 0);
  CHECK(memory[99] == -3);
}

TEST_CASE("shapes that do not fit") {
  const auto broken = [](const std::string& text, const auto& change) {
    fixture all;
    change(all);
    all.refuses("delta_vjp: " + text);
  };
  broken("need values and outputs of one shape",
         [](fixture& f) { f.data.values = f.data.values.steps_from(0, 4); });
  broken("need queries, which were left out", [](fixture& f) { f.data.queries = {}; });
  broken("need removals where there are corrections, rates or unit_removals", [](fixture& f) {
    f.data.removals = {}, f.data.corrections = {};
    f.data.unit_removals = 1e-6;
  });
  broken("need keys (B, T, Hk, K)", [](fixture& f) {
    f.data.keys = {f.other.numbers.data(), {2, 5, 3, 3}};
  });
  broken("need either corrections or rates", [](fixture& f) { f.data.corrections = {}; });
  broken(
      "need output cotangents of the shape of the outputs (got, then B, T, H, V), got 2, 4, 4, 2, "
      "2, 5",
      [](fixture& f) { f.from.outputs = f.from.outputs.steps_from(0, 4); });
  broken(
      "need final-state cotangents of shape (batches, sequences, H K V) (got, then wanted), got 2, "
      "1, 23, 2, 1, 24",
      [](fixture& f) { f.from.final_states = f.from.final_states.channels_from(0, 23); });
  broken(
      "need snapshot cotangents of shape (batches, snapshot steps, H K V) (got, then wanted), got "
      "2, 1, 23, 2, 1, 24",
      [](fixture& f) { f.from.snapshots = f.from.snapshots.channels_from(0, 23); });
  const std::string of = "need a gradient of ",
                    shape =
                        " of their shape (batches, steps, heads, width; got, then wanted), got ";
  broken(of + "queries" + shape + "2, 5, 4, 3, 2, 5, 2, 3",
         [](fixture& f) { f.to.queries = f.place(f.keys, 0); });
  broken(of + "keys" + shape + "2, 4, 4, 3, 2, 5, 4, 3",
         [](fixture& f) { f.to.keys = f.to.keys.steps_from(0, 4); });
  broken(of + "values" + shape, [](fixture& f) { f.to.values = f.place(f.weights, 300); });
  broken(of + "removals" + shape, [](fixture& f) { f.to.removals = f.place(f.keys, 1000); });
  broken("need no gradient of rates: the data has none",
         [](fixture& f) { f.to.rates = f.place(f.corrections, 1000); });
  broken("need no gradient of weights: the data has none", [](fixture& f) { f.data.weights = {}; });
  broken("need a skip gradient of the skip's length (got, wanted), got 4, 8",
         [](fixture& f) { f.to.skip = f.to.skip.first(4); });
  broken(
      "need initial-state gradients of shape (batches, sequences, H K V) (got, then wanted), got "
      "2, 1, 23, 2, 1, 24",
      [](fixture& f) { f.to.initial_states = f.to.initial_states.channels_from(0, 23); });
  broken("need snapshots of shape", [](fixture& f) {
    f.where.snapshots = strided_view<float>(f.other.numbers.data(), {2, 1, 23});
  });
  fixture all;
  all.decays = strided_view<const float>(all.factors.data(), {2, 5, 3});
  all.refuses("stored_decay: need decays of the data's shape");
  all = fixture();
  all.data.scale = std::numeric_limits<double>::infinity();
  all.refuses<ebb::domain_error>("delta_vjp: need a finite scale");
  all = fixture();
  const std::vector<index_t> first{1, 0};
  all.where.first_positions = first;
  all.refuses<ebb::domain_error>("delta_vjp: need first positions in 1 .. 2^62");
}

TEST_CASE("memory that may not be shared") {
  const auto broken = [](const std::string& text, const auto& change) {
    fixture all;
    change(all);
    all.refuses("delta_vjp: " + text);
  };
  broken("need values as they were, apart from the outputs",
         [](fixture& f) { f.data.outputs = f.values.heads(); });
  broken("need initial states as they were, apart from the final states", [](fixture& f) {
    f.where.final_states = strided_view<float>(f.states.data(), {2, 1, 24});
  });
  broken("need the gradient of values whose elements do not share memory", [](fixture& f) {
    f.to.values = {f.memory.data() + 300, {2, 5, 4, 2}, {0, 8, 2}};
  });
  broken("need the initial states' gradient whose elements do not share memory", [](fixture& f) {
    f.to.initial_states = strided_view<float>(f.memory.data() + 900, {2, 1, 24}, {0, 24});
  });
  const std::string of = "need the gradient of ";
  broken(of + "keys apart from keys", [](fixture& f) { f.data.keys = f.to.keys; });
  broken(of + "removals apart from removals", [](fixture& f) { f.data.removals = f.to.removals; });
  broken(of + "keys apart from outputs",
         [](fixture& f) { f.data.outputs = f.place(f.values, 101); });
  broken(of + "values apart from the skip",
         [](fixture& f) { f.data.skip = std::span(f.memory).subspan(301, 8); });
  broken(of + "values apart from that of weights",
         [](fixture& f) { f.to.weights = f.place(f.weights, 315); });
  broken(of + "queries apart from the skip's gradient", [](fixture& f) {
    f.to.keys = {};
    f.to.skip = std::span(f.memory).subspan(59, 8);
  });
  broken("need the skip's gradient apart from the initial states' gradient", [](fixture& f) {
    f.to.initial_states = strided_view<float>(f.memory.data() + 805, {2, 1, 24});
  });
  broken("need the initial states' gradient apart from initial states", [](fixture& f) {
    f.where.initial_states = strided_view<float>(f.memory.data() + 947, {2, 1, 24});
  });
  broken(of + "values apart from final-state cotangents", [](fixture& f) {
    f.from.final_states = strided_view<float>(f.memory.data() + 330, {2, 1, 24});
  });
  broken(of + "values apart from snapshot cotangents", [](fixture& f) {
    f.from.snapshots = strided_view<float>(f.memory.data() + 330, {2, 1, 24});
  });
  broken(of + "values apart from the decay's data", [](fixture& f) {
    f.decays = strided_view<const float>(f.memory.data() + 330, {2, 5, 4});
  });
  const std::string given = " apart from output cotangents (that of values may be in their place)";
  broken(of + "values" + given, [](fixture& f) { f.from.outputs = f.place(f.values, 301); });
  broken(of + "keys" + given, [](fixture& f) { f.from.outputs = f.place(f.values, 100); });
  broken("need initial-state gradients to be the final-state cotangents, or apart", [](fixture& f) {
    f.from.final_states = strided_view<float>(f.memory.data() + 901, {2, 1, 24});
  });
}

TEST_CASE_FIXTURE(fixture, "gradients of the decay") {
  const auto stored = ebb::stored_factors(decays);
  using sums = decltype(stored)::gradients;
  const auto refuses_sums = [&](auto& bad, const auto& decay, const std::string& text) {
    using Sums = std::remove_reference_t<decltype(bad)>;
    ebb::matrix_gradients<float, Sums> all{.keys = to.keys, .decay = &bad};
    std::string got = "nothing thrown";
    try {
      ebb::delta_vjp(decay, data, from, all, where);
    } catch (const ebb::shape_error& error) {
      got = error.what();
    }
    CHECK(got.substr(0, text.size()) == text);
    CHECK(memory == std::vector<float>(4000, -3.0f));
  };
  sums wrong{strided_view<float>(memory.data(), {2, 5, 3})};
  refuses_sums(wrong, stored, "stored_decay: need gradients of the data's shape");
  const std::string apart = "delta_vjp: need the gradients of the decay apart from ";
  sums on_keys{strided_view<float>(memory.data() + 99, {2, 5, 4})};
  refuses_sums(on_keys, stored, apart + "the gradient of keys");
  sums on_states{strided_view<float>(states.data() + 8, {2, 5, 4})};
  refuses_sums(on_states, stored, apart + "all other data");
  sums on_values{strided_view<float>(values.numbers.data() + 8, {2, 5, 4})};
  refuses_sums(on_values, stored, apart + "values");
  sums on_given{strided_view<float>(given.numbers.data() + 8, {2, 5, 4})};
  refuses_sums(on_given, stored, apart + "output cotangents");
  const std::vector<double> rates{1, 2, 3, 4};
  const auto constant = ebb::constant_decay().bind(std::span<const double>(rates));
  std::vector<double> three(3);
  decltype(constant)::gradients short_sums{three};
  refuses_sums(short_sums, constant, "constant_decay: need one gradient per channel");
}

TEST_CASE_FIXTURE(fixture, "outer products have no corrections") {
  ebb::outer_data<float> outer;
  outer.queries = data.queries, outer.keys = data.keys, outer.values = data.values;
  outer.outputs = data.outputs;
  asked all{.removals = to.removals};
  CHECK_THROWS_AS(ebb::outer_vjp(decays, outer, from, all, where), ebb::shape_error);
  data.removals = {}, data.corrections = {};
  CHECK_THROWS_AS(ebb::delta_vjp(decays, data, from, all, where), ebb::shape_error);
  CHECK(memory == std::vector<float>(4000, -3.0f));
}

}  // namespace
