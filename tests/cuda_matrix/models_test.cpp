// SPDX-License-Identifier: Apache-2.0
// The decays of the five models, native and tapered, made in the kernels of matrix states: within
// what their gates state of those filled; one call, and step by step.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <ebb/model/gated_deltanet.hpp>
#include <ebb/model/gla.hpp>
#include <ebb/model/mamba2.hpp>
#include <ebb/model/retnet.hpp>
#include <ebb/model/rwkv7.hpp>
#include <ebb/spectrum/listed.hpp>

#include "support/emulated_matrix.hpp"
#include "support/matrix_calls.hpp"

namespace {

using namespace ebb;
using namespace ebb::test;
using form = emulated_matrix<small_matrix_tiles, 0>;

constexpr index_t steps = 21, heads = 2, keys = 6, values = 9;

/// The bound of the form, and what the decays add: raw numbers and biases up to 2 in size, so that
/// x is at most 4, a step of softplus 4.02 and log a 1.3 with rates up to 0.3. A gate is off by
/// (11 + 2 + 2 + 4) u, tapered by 6 + 2 more, of log a; a step that weighs by 17 u, once.
template <class T>
struct with_gates : form {
  static constexpr double error_bound(index_t count, index_t width, bool corrected = true) {
    return form::error_bound(count, width, corrected) + 1.3 * 27 * static_cast<double>(count) + 17;
  }
};

struct gates {
  explicit gates(index_t width) : memory({1, steps, heads, width}, head_layout::dense) {
    draws random(11);
    memory.each([&](float& x) { x = static_cast<float>(random.uniform(-2, 2)); });
    for (index_t i = 0; i < heads * width; ++i)
      bias.push_back(static_cast<float>(random.uniform(-2, 2)));
  }
  raw_steps<float> raw() const { return {.raw = memory.view(), .bias = bias}; }

  head_memory<float> memory;
  std::vector<float> bias;
};

/// One call from position 100 on, and step by step.
/// @param decay_at  the decay from a step on
template <class Data, class Decay, class DecayAt>
void check(matrix_rule rule, decay_per decays, const Decay& decay, const DecayAt& decay_at) {
  matrix_case c{.steps = steps,
                .heads = heads,
                .keys = keys,
                .values = values,
                .rule = rule,
                .decays = decays,
                .first_position = 100};
  c.unit_queries = c.unit_keys = 1e-6;
  c.unit_removals = 1e-6;
  const matrix_problem<float, float> problem(c);
  const auto data = problem.template data<Data>();
  const auto where = problem.where();
  const head_memory<float> before = problem.outputs.copy();
  const matrix_truth truth = truth_of(decay, data, where);
  const with_gates<float> kernels{};
  run_matrix(decay, data, where, kernels);
  check_results<with_gates<float>>(problem, truth, before);

  const index_t channels = heads * keys * values;
  for (index_t i = 0; i < channels; ++i)
    problem.finals.view()(0, 0, i) = problem.initial.view()(0, 0, i);
  for (index_t t = 0; t < steps; ++t)
    step(decay_at(t), 100 + t, steps_of(data, t, 1),
         std::span<float>(problem.finals.view().data(), static_cast<std::size_t>(channels)),
         kernels);
  check_results<with_gates<float>>(problem, truth, before, steps);
}

/// For decays that read one row of raw numbers a step.
template <class Data, class Decay>
void check_reading(matrix_rule rule, decay_per decays, Decay decay, const gates& raw) {
  check<Data>(rule, decays, decay, [&](index_t t) {
    Decay later = decay;
    later.read_from(raw.memory.view().steps_from(t, 1).channels());
    return later;
  });
}

const std::vector<double> logs{std::log(0.02), std::log(0.3)};
const auto spectrum = listed_spectrum::rates(std::vector<double>{0.02, 0.3});
const post_taper taper = post_taper::relative(120);

TEST_CASE("Mamba-2") {
  const gates raw(1);
  check_reading<outer_data<float>>(matrix_rule::outer, decay_per::head,
                                   mamba2_decay(logs, raw.raw()), raw);
  check_reading<outer_data<float>>(matrix_rule::outer, decay_per::head,
                                   mamba2_post_decay(spectrum, taper, raw.raw()), raw);
}
TEST_CASE("GLA") {
  const gates raw(keys);
  check_reading<outer_data<float>>(matrix_rule::outer, decay_per::key, gla_decay(raw.memory.view()),
                                   raw);
  check_reading<outer_data<float>>(matrix_rule::outer, decay_per::key,
                                   gla_post_decay(spectrum, taper, raw.raw()), raw);
}
TEST_CASE("RetNet") {
  check<outer_data<float>>(matrix_rule::outer, decay_per::head, retnet_decay(heads),
                           [](index_t) { return retnet_decay(heads); });
}
TEST_CASE("Gated DeltaNet") {
  const gates raw(1);
  check_reading<delta_data<float>>(matrix_rule::gated, decay_per::head,
                                   gated_deltanet_decay(logs, raw.raw()), raw);
  check_reading<delta_data<float>>(matrix_rule::gated, decay_per::head,
                                   gated_deltanet_post_decay(spectrum, taper, raw.raw()), raw);
}
TEST_CASE("RWKV-7") {
  const gates raw(keys);
  check_reading<delta_data<float>>(matrix_rule::rates, decay_per::key,
                                   rwkv7_decay(raw.memory.view()), raw);
  std::vector<double> w0;
  for (int k = 0; k < static_cast<int>(heads * keys); ++k) w0.push_back(-3 + 0.3 * k);
  check_reading<delta_data<float>>(matrix_rule::rates, decay_per::key,
                                   rwkv7_post_decay(w0, taper, raw.memory.view()), raw);
}

}  // namespace
