// SPDX-License-Identifier: Apache-2.0
// The gradients of matrix states against their definition in long double, for every kind of call.
#include <doctest/doctest.h>

#include <vector>

#include "support/matrix_vjp_contract.hpp"

namespace {

using ebb::decay_per;
using ebb::index_t;
using ebb::test::matrix_rule;
using ebb::test::matrix_vjp_case;
namespace test = ebb::test;

constexpr matrix_rule rules[]{matrix_rule::outer, matrix_rule::gated, matrix_rule::corrections,
                              matrix_rule::rates};

template <class T, class State>
struct config {
  using value = T;
  using state = State;
};
using floats = config<float, float>;
using doubles = config<double, double>;
using wide_states = config<float, double>;
using brains = config<ebb::bfloat16, float>;

/// f(case) for all rules, decays a head and a key, factors and logarithms.
template <class F>
void each_kind(const matrix_vjp_case& base, F& f) {
  for (const matrix_rule rule : rules)
    for (const decay_per decays : {decay_per::head, decay_per::key})
      for (const bool logs : {false, true}) {
        matrix_vjp_case of = base;
        of.rule = rule, of.decays = decays, of.logs = logs;
        f(of);
      }
}

TEST_CASE_TEMPLATE("all kinds of calls", Config, floats, doubles, wide_states, brains) {
  auto check = [seed = 100u](const matrix_vjp_case& of) mutable {
    test::check_matrix_vjp_definition<typename Config::value, typename Config::state>(of, ++seed);
  };
  // Around the edges of chunks of 32 steps.
  for (const index_t steps : {0, 1, 2, 31, 32, 33, 64, 70}) {
    matrix_vjp_case of{.steps = steps, .heads = 2, .keys = 5, .values = 3};
    each_kind(of, check);
  }
  // Widths around those of registers, and no keys or values.
  for (const index_t width : {0, 1, 4, 8, 16, 17, 33, 40}) {
    matrix_vjp_case of{.steps = 6, .heads = 1, .keys = width, .values = 5};
    of.query_heads = of.key_heads = of.removal_heads = of.correction_heads = 1;
    each_kind(of, check);
    of.keys = 6, of.values = width;
    each_kind(of, check);
  }
  // Heads that share rows, each array in its own way.
  matrix_vjp_case shared{.batches = 2, .steps = 35, .heads = 6, .keys = 4, .values = 3};
  shared.query_heads = 1, shared.key_heads = 2, shared.removal_heads = 3;
  shared.correction_heads = 6;
  each_kind(shared, check);
  shared.query_heads = 2, shared.key_heads = 6, shared.removal_heads = 1;
  shared.correction_heads = 2;
  each_kind(shared, check);
  // Weights of the decay, with and without those of the data; skips.
  matrix_vjp_case weighed{.steps = 40, .keys = 4, .values = 3, .weighing = true};
  for (const bool weights : {true, false})
    for (const index_t skip : {0, 2, 6}) {
      weighed.weights = weights, weighed.skip = skip;
      each_kind(weighed, check);
    }
  weighed.weighing = false;
  each_kind(weighed, check);
  // Unit rows.
  matrix_vjp_case unit{.steps = 36, .keys = 5, .values = 3, .skip = 2};
  unit.query_heads = unit.removal_heads = 1;
  unit.unit_queries = 0.1, unit.unit_keys = 0, unit.unit_removals = 1e-3;
  each_kind(unit, check);
  unit.unit_queries.reset(), unit.unit_removals.reset();
  each_kind(unit, check);
}

TEST_CASE_TEMPLATE("packed sequences, resets and snapshots", Config, floats, doubles, brains) {
  auto check = [seed = 200u](const matrix_vjp_case& of) mutable {
    test::check_matrix_vjp_definition<typename Config::value, typename Config::state>(of, ++seed);
  };
  // Padding on both sides, empty sequences, a sequence of one step, one of three chunks.
  matrix_vjp_case packed{.batches = 2, .steps = 90, .keys = 3, .values = 2};
  packed.offsets = {2, 2, 9, 10, 10, 84};
  packed.kept = {0, 2, 3, 8, 9, 41, 42, 73, 83, 84, 89};
  packed.query_heads = 1;
  each_kind(packed, check);
  packed.resets.assign(180, 0);
  for (const index_t t : {2, 5, 9, 10, 41, 42, 43, 73, 83, 84, 92, 95, 99, 140, 141, 179})
    packed.resets[static_cast<std::size_t>(t)] = 1;
  each_kind(packed, check);
  packed.outputs_known = false;
  each_kind(packed, check);
  packed.finals_known = false;
  each_kind(packed, check);
  packed.outputs_known = true, packed.snapshots_known = false;
  each_kind(packed, check);
  packed.offsets = {4};  // nothing but padding
  each_kind(packed, check);
}

}  // namespace
