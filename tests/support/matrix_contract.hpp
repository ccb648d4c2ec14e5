// SPDX-License-Identifier: Apache-2.0
/// @file   support/matrix_contract.hpp
/// @brief  The contract of recurrence/matrix.hpp as checks, for any form and types.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <ebb/recurrence/backend/key_lanes.hpp>
#include <ebb/recurrence/delta.hpp>
#include <ebb/recurrence/outer.hpp>

#include "support/matrix_case.hpp"
#include "support/matrix_oracle.hpp"

namespace ebb::test {

/// What a form takes; what it does not is left out of its checks.
template <class Form>
struct form_domain {
  static constexpr bool corrections = true, wide_values = true, by_key = true, factors = true;
};
template <>
struct form_domain<key_lanes> {
  static constexpr bool corrections = false, wide_values = false, by_key = true, factors = true;
};
template <class Form, class Data>
inline constexpr bool takes_data =
    form_domain<Form>::corrections || !ebb::detail::has_corrections<Data>;
template <class Form>
bool takes_rule(matrix_rule rule) {
  return form_domain<Form>::corrections || rule == matrix_rule::outer;
}
template <class Form>
bool takes_decays(decay_per decays, bool logs) {
  return (form_domain<Form>::by_key || decays == decay_per::head) &&
         (form_domain<Form>::factors || logs);
}
/// V, or the only one that the form takes.
template <class Form>
constexpr index_t values_for(index_t values) {
  return form_domain<Form>::wide_values ? values : 1;
}

/// The entry point by the kind of data.
template <class Decay, class T, class State, class Form>
void run_matrix(const Decay& decay, const outer_data<T>& data, const sequences<State>& where,
                const Form& form) {
  outer(decay, data, where, form);
}
template <class Decay, class T, class State, class Form>
void run_matrix(const Decay& decay, const delta_data<T>& data, const sequences<State>& where,
                const Form& form) {
  if constexpr (takes_data<Form, delta_data<T>>) delta(decay, data, where, form);
}

/// The largest error over bound of a call, and where.
class worst_error {
 public:
  void meet(double ratio, const char* what, index_t b, index_t t, index_t h, index_t i) {
    if (ratio <= worst_) return;
    worst_ = ratio;
    place_ = std::string(what) + " at " + std::to_string(b) + ", " + std::to_string(t) + ", " +
             std::to_string(h) + ", " + std::to_string(i);
  }
  void fail(const char* what, index_t b = 0, index_t t = 0, index_t h = 0, index_t i = 0) {
    meet(std::numeric_limits<double>::infinity(), what, b, t, h, i);
  }
  void check() const {
    INFO("worst error / bound = " << worst_ << ": " << place_);
    CHECK(worst_ <= 1.0);
  }

 private:
  double worst_ = 0;
  std::string place_ = "nowhere";
};

/// Outputs, final states, snapshots, padding and canaries of a call that has run.
/// @param before  the outputs before it
/// @param pieces     in how many calls it was made
/// @param snapshots  whether they are to be looked at
template <class Form, class T, class State>
void check_results(const matrix_problem<T, State>& problem, const matrix_truth& truth,
                   const head_memory<T>& before, index_t pieces = 1, bool snapshots = true) {
  const matrix_case& c = problem.of;
  const auto n = [](index_t i) { return static_cast<std::size_t>(i); };
  const auto ratio = [&](const auto& got, const sized& right, index_t steps) {
    // As many calls begin and end with rounded states: each has the bound of its own steps.
    const double roundings =
        matrix_roundings<Form>(steps, c.keys, c.corrected()) +
        static_cast<double>(pieces - 1) * matrix_roundings<Form>(0, c.keys, c.corrected());
    return matrix_error<State>(got, right, roundings, steps, c.keys, truth.largest);
  };
  const auto out = problem.outputs.view();
  worst_error worst;
  for (index_t b = 0; b < c.batches; ++b)
    for (index_t t = 0; t < c.steps; ++t)
      for (index_t h = 0; h < c.heads; ++h)
        for (index_t i = 0; i < c.values; ++i) {
          const index_t walked = truth.walked[n(b * c.steps + t)];
          if (walked > 0)
            worst.meet(
                ratio(out(b, t, h, i),
                      truth.outputs[n(((b * c.steps + t) * c.heads + h) * c.values + i)], walked),
                "output", b, t, h, i);
          else if (!same_number(out(b, t, h, i), before.view()(b, t, h, i)))
            worst.fail("padding", b, t, h, i);
        }
  const index_t channels = c.heads * c.keys * c.values;
  const auto& last = problem.finals.view();
  for (index_t b = 0; b < last.batches(); ++b)
    for (index_t s = 0; s < last.steps(); ++s)
      for (index_t x = 0; x < channels; ++x) {
        const sized& right = truth.last[n((b * last.steps() + s) * channels + x)];
        const index_t length = truth.lengths[n(s)];
        if (length > 0)
          worst.meet(ratio(last(b, s, x), right, length), "final state", b, s, 0, x);
        else if (static_cast<long double>(last(b, s, x)) != right.value)
          worst.fail("final state of no steps", b, s, 0, x);
      }
  const auto& kept = problem.kept.view();
  for (index_t b = 0; b < kept.batches() && snapshots; ++b)
    for (index_t m = 0; m < kept.steps(); ++m)
      for (index_t x = 0; x < channels; ++x) {
        const index_t walked = truth.walked[n(b * c.steps + c.snapshots[n(m)])];
        const sized& right = truth.snapshots[n((b * kept.steps() + m) * channels + x)];
        if (walked > 0)
          worst.meet(ratio(kept(b, m, x), right, walked), "snapshot", b, m, 0, x);
        else if (kept(b, m, x) != State(-55))
          worst.fail("snapshot in the padding", b, m, 0, x);
      }
  worst.check();
  CHECK(problem.intact());
}

/// One call against the oracle.
template <class Form, class T, class State>
void check_case(const matrix_case& c, const Form& form = {}) {
  INFO(c);
  const matrix_problem<T, State> problem(c);
  problem.visit([&](const auto& decay, const auto& data) {
    const auto where = problem.where();
    const head_memory<T> before = problem.outputs.copy();
    const matrix_truth truth = truth_of(decay, data, where);
    run_matrix(decay, data, where, form);
    check_results<Form>(problem, truth, before);
  });
}

/// Every rule that the form takes, both kinds of decay and both forms of it.
template <class Form, class Body>
void each_kind(const matrix_case& base, const Body& body) {
  matrix_case c = base;
  c.values = values_for<Form>(c.values);
  for (const matrix_rule rule :
       {matrix_rule::outer, matrix_rule::gated, matrix_rule::corrections, matrix_rule::rates})
    for (const decay_per decays : {decay_per::head, decay_per::key})
      for (const bool logs : {true, false}) {
        c.rule = rule;
        c.decays = decays;
        c.logs = logs;
        ++c.seed;
        if (takes_rule<Form>(rule) && takes_decays<Form>(decays, logs)) body(c);
      }
}

/// Shapes at and beside the edges of packs, panels and groups of steps.
template <class Form, class T, class State>
void check_shapes(const Form& form = {}) {
  struct shape {
    index_t keys, values;
  };
  // K by V, at a few steps each.
  for (const shape s : {shape{1, 1},
                        {3, 5},
                        {7, 64},
                        {64, 7},
                        {24, 40},
                        {17, 19},
                        {5, 33},
                        {2, 16},
                        {16, 8},
                        {33, 12}})
    for (const index_t steps : {1, 4, 7})
      each_kind<Form>({.steps = steps,
                       .keys = s.keys,
                       .values = s.values,
                       .seed = static_cast<std::uint64_t>(1000 * s.keys + 10 * s.values + steps)},
                      [&](const matrix_case& c) { check_case<Form, T, State>(c, form); });
  // Every kind of length.
  for (const index_t steps : {0, 2, 3, 5, 8, 13})
    each_kind<Form>({.steps = steps, .heads = 1, .keys = 6, .values = 21, .seed = 77},
                    [&](const matrix_case& c) { check_case<Form, T, State>(c, form); });
  // Nothing at all.
  for (const matrix_case& none :
       {matrix_case{.steps = 4, .keys = 0}, matrix_case{.steps = 4, .values = 0},
        matrix_case{.steps = 4, .heads = 0}, matrix_case{.batches = 0}})
    each_kind<Form>(none, [&](const matrix_case& c) { check_case<Form, T, State>(c, form); });
}

/// Shapes of published models, and rows too long for the stack.
template <class Form, class T, class State>
void check_large_shapes(const Form& form = {}) {
  struct shape {
    index_t steps, keys, values;
  };
  for (const shape s : {shape{9, 128, 64}, {9, 64, 128}, {5, 200, 9}, {5, 1500, 3}, {1, 2100, 2}})
    each_kind<Form>({.steps = s.steps, .heads = 2, .keys = s.keys, .values = s.values, .seed = 5},
                    [&](const matrix_case& c) { check_case<Form, T, State>(c, form); });
}

/// Inputs of more than 8 MB, which forms may read ahead of their use: heads that share rows or not,
/// rows backwards, sequences that end before the data does.
template <class Form, class T, class State>
void check_far_inputs(const Form& form = {}) {
  const auto steps = static_cast<index_t>(18e6 / (5. * 3 * 500 * sizeof(T)));
  const matrix_case c{.steps = steps,
                      .heads = 3,
                      .keys = 500,
                      .values = 1,
                      .rule = matrix_rule::rates,
                      .decays = decay_per::key};
  check_case<Form, T, State>(c, form);
  matrix_case other = c;
  other.steps = 2 * steps, other.rule = matrix_rule::corrections;
  other.query_heads = other.removal_heads = 1;
  other.inputs = head_layout::backwards;
  other.offsets = {3, 2 * steps - 2};
  check_case<Form, T, State>(other, form);
}

/// Panels full and not: lengths about 64 and 128, where decays keep the majorant of the delta rules
/// small; the outer products at any decay.
template <class Form, class T, class State>
void check_lengths(const Form& form = {}) {
  for (const index_t steps : {63, 64, 65, 131})
    each_kind<Form>(
        {.steps = steps, .heads = 1, .keys = 5, .values = 18, .weights = true, .seed = 3},
        [&](const matrix_case& c) { check_case<Form, T, State>(c, form); });
}

/// Each option by itself, then drawn together.
template <class Form, class T, class State>
void check_options(int count, const Form& form = {}) {
  const auto check = [&](const matrix_case& c) { check_case<Form, T, State>(c, form); };
  const matrix_case plain{.batches = 2, .steps = 6, .heads = 6, .keys = 5, .values = 11};
  matrix_case c = plain;
  c.weights = true;
  each_kind<Form>(c, check);
  for (const matrix_skip skip : {matrix_skip::head, matrix_skip::lane}) {
    c = plain;
    c.skip = skip;
    each_kind<Form>(c, check);
  }
  c = plain;
  c.unit_queries = 0, c.unit_keys = 1e-6, c.unit_removals = 0.5;
  each_kind<Form>(c, check);
  c = plain;
  c.scale = -0.37;
  each_kind<Form>(c, check);
  c = plain;
  c.query_heads = 2, c.key_heads = 3, c.removal_heads = 1, c.correction_heads = 3;
  each_kind<Form>(c, check);
  c.query_heads = 1, c.key_heads = 1, c.removal_heads = 2, c.correction_heads = 2;
  each_kind<Form>(c, check);

  draws random(99);
  const auto any = [&](auto... from) {
    const std::array all{from...};
    return all[static_cast<std::size_t>(random.integer(0, sizeof...(from) - 1))];
  };
  for (int i = 0; i < count; ++i) {
    matrix_case x;
    x.batches = random.integer(1, 3);
    x.steps = random.integer(0, 14);
    x.heads = 6;
    x.keys = random.integer(1, 20);
    x.values = values_for<Form>(random.integer(1, 40));
    x.rule =
        any(matrix_rule::outer, matrix_rule::gated, matrix_rule::corrections, matrix_rule::rates);
    if (!takes_rule<Form>(x.rule)) x.rule = matrix_rule::outer;
    x.decays = any(decay_per::head, decay_per::key);
    x.logs = any(true, false);
    if (!takes_decays<Form>(x.decays, x.logs)) x.decays = decay_per::head, x.logs = true;
    x.query_heads = any(1, 2, 3, 6), x.key_heads = any(1, 2, 3, 6);
    x.removal_heads = any(1, 2, 3, 6), x.correction_heads = any(1, 2, 3, 6);
    x.weights = any(true, false);
    x.skip = any(matrix_skip::none, matrix_skip::head, matrix_skip::lane);
    if (any(true, false)) x.unit_queries = any(0.0, 1e-5);
    if (any(true, false)) x.unit_keys = any(0.0, 1e-5);
    if (any(true, false)) x.unit_removals = any(0.0, 1e-5);
    x.scale = any(1.0, 0.125, 3.7, -1.0);
    x.inputs = any(head_layout::dense, head_layout::padded, head_layout::heads_outside,
                   head_layout::backwards, head_layout::repeated);
    x.outputs = any(head_layout::dense, head_layout::padded, head_layout::heads_outside,
                    head_layout::backwards);
    x.values_in_place = any(true, false);
    x.states = any(matrix_states::none, matrix_states::separate, matrix_states::in_place);
    x.finals = any(true, false);
    x.resets = any(true, false);
    if (any(true, false)) {
      // Sorted draws: empty sequences, padding before and after.
      const index_t number = random.integer(0, 4);
      for (index_t s = 0; s <= number; ++s) x.offsets.push_back(random.integer(0, x.steps));
      std::sort(x.offsets.begin(), x.offsets.end());
    }
    if (any(true, false))
      for (index_t t = 0; t < x.steps; ++t)
        if (random.integer(0, 2) == 0) x.snapshots.push_back(t);
    x.seed = static_cast<std::uint64_t>(i) + 1;
    check(x);
  }
}

/// A decay that also weighs what is written.
template <class Decay, class State>
struct weighing {
  static constexpr decay_kind kind = decay_kind::input;
  static constexpr decay_form form = Decay::form;
  using gradients = no_gradients;

  Decay decay;
  strided_view<const State> weights;  // (B, T, H)

  template <class Block>
  void fill(const block_origin& where, const Block& block) const {
    decay.fill(where, block);
  }
  void weigh(const block_origin& where, const strided_view<State>& block) const {
    for (index_t t = 0; t < block.steps(); ++t)
      for (index_t h = 0; h < block.channels(); ++h)
        block(t, h) = weights(where.batch, where.step + t, where.channel + h);
  }
};

/// Weights of the decay's own, with and without those of the data.
template <class Form, class T, class State>
void check_weighing(const Form& form = {}) {
  for (const bool weights : {false, true})
    each_kind<Form>({.batches = 2, .steps = 9, .heads = 3, .weights = weights}, [&](matrix_case c) {
      INFO(c);
      c.logs = true;  // one form is enough
      const matrix_problem<T, State> problem(c);
      ebb::array<State> own({c.batches, c.steps, c.heads});
      draws random(c.seed);
      for (index_t i = 0; i < c.batches * c.steps * c.heads; ++i)
        own.data()[i] = static_cast<State>(random.uniform(0, 1));
      const auto check = [&](const auto& data) {
        const weighing<decltype(stored_logs(problem.decays)), State> decay{
            stored_logs(problem.decays), std::as_const(own).view()};
        const auto where = problem.where();
        const head_memory<T> before = problem.outputs.copy();
        const matrix_truth truth = truth_of(decay, data, where);
        run_matrix(decay, data, where, form);
        check_results<Form>(problem, truth, before);
      };
      if (c.rule == matrix_rule::outer)
        check(problem.template data<outer_data<T>>());
      else
        check(problem.template data<delta_data<T>>());
    });
}

/// Where the bound is nearly used up: long products of decays and nothing written, so that only
/// their roundings count; and corrections that pass everything on through sums over the keys, whose
/// small terms are rounded away beside the first.
template <class Form, class T>
void check_adversarial(const Form& form = {}) {
  const auto check = [&](auto& problem) {
    problem.visit([&](const auto& decay, const auto& data) {
      const auto where = problem.where();
      const head_memory<T> before = problem.outputs.copy();
      const matrix_truth truth = truth_of(decay, data, where);
      run_matrix(decay, data, where, form);
      check_results<Form>(problem, truth, before);
    });
  };
  // exp(-longest) is a normal number.
  const double longest = -std::log(static_cast<double>(std::numeric_limits<T>::min()));
  const auto draw_long = [&](const matrix_case& base, double share) {
    each_kind<Form>(base, [&](const matrix_case& c) {
      INFO(c << ", share " << share);
      if (!c.logs) return;
      matrix_problem<T, T> problem(c);
      draws random(c.seed);
      problem.values.each([](T& x) { x = 0; });
      if (c.corrected()) problem.keys.each([](T& x) { x = 0; });
      if (c.rule == matrix_rule::corrections) problem.corrections.each([](T& x) { x = 0; });
      if (c.rule == matrix_rule::rates) problem.rates.each([](T& x) { x = 0; });
      for (index_t i = 0; i < c.steps * problem.decays.channels(); ++i)
        problem.decays.data()[i] = static_cast<T>(
            -random.uniform(0, 0.99 * share * longest / static_cast<double>(c.steps)));
      check(problem);
    });
  };
  for (const double share : {1.0, 0.1, 0.01}) {
    draw_long({.steps = 8, .heads = 8, .keys = 4, .values = 3}, share);
    draw_long({.steps = 2, .heads = 32, .keys = 4, .values = 1}, share);
    draw_long({.steps = 2, .heads = 16, .keys = 16, .values = 1}, share);
  }
  if (!takes_rule<Form>(matrix_rule::corrections)) return;
  for (const index_t keys : {16, 512}) {
    const matrix_case c{.steps = 100,
                        .heads = 1,
                        .keys = keys,
                        .values = 2,
                        .rule = matrix_rule::corrections,
                        .logs = false};
    INFO(c);
    matrix_problem<T, T> problem(c);
    problem.values.each([](T& x) { x = 0; });
    // 1 + K times less than half a unit of the last place: sums in order lose K - 1 of them.
    problem.removals.each([](T& x) { x = T(0.45) * std::numeric_limits<T>::epsilon(); });
    for (index_t t = 0; t < c.steps; ++t) problem.removals.view()(0, t, 0, 0) = 1;
    problem.corrections.each([&](T& x) { x = 1; });
    problem.queries.each([](T& x) { x = T(0.3); });
    for (index_t i = 0; i < c.steps; ++i) problem.decays.data()[i] = 0;
    for (index_t i = 0; i < keys * c.values; ++i) problem.initial.view()(0, 0, i) = 1;
    check(problem);
  }
}

}  // namespace ebb::test
