// SPDX-License-Identifier: Apache-2.0
/// @file   support/matrix_calls.hpp
/// @brief  The contract of recurrence/matrix.hpp across calls: pieces, steps, packed sequences,
///   positions, snapshots to go back to, and what must not reach what.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>

#include "support/matrix_contract.hpp"

namespace ebb::test {

/// The steps of a call from one on, as data of their own.
template <class Data>
Data steps_of(const Data& data, index_t first, index_t count) {
  Data result = data;
  const auto cut = [&](auto& view) {
    if (!view.left_out()) view = view.steps_from(first, count);
  };
  cut(result.queries), cut(result.keys), cut(result.values), cut(result.outputs);
  cut(result.weights);
  if constexpr (requires { result.removals; })
    cut(result.removals), cut(result.corrections), cut(result.rates);
  return result;
}
/// Of a stored decay, likewise; others are told by the position.
template <class Decay>
Decay decays_of(const Decay& decay, index_t first, index_t count) {
  if constexpr (requires { Decay(decay.view()); })
    return Decay(decay.view().steps_from(first, count));
  else
    return decay;
}

/// Runs a call in pieces of the given lengths, over and over, the state carried on in place.
template <class Decay, class Data, class State, class Form>
void run_in_pieces(const Decay& decay, const Data& data, const sequences<State>& all,
                   const std::vector<index_t>& lengths, const Form& form) {
  const index_t steps = data.outputs.steps();
  sequences<State> where = all;
  for (index_t done = 0, i = 0; done < steps; ++i) {
    const index_t count =
        std::min(lengths[static_cast<std::size_t>(i) % lengths.size()], steps - done);
    const std::vector<index_t> first(static_cast<std::size_t>(data.outputs.batches()),
                                     all.first_position(0, 0) + done);
    where.first_positions = first;
    run_matrix(decays_of(decay, done, count), steps_of(data, done, count), where, form);
    where.initial_states = where.final_states;
    done += count;
  }
}

/// Cut in two at every step, and in pieces of any length: what one call gives, within the bound.
template <class Form, class T, class State>
void check_pieces(const Form& form = {}) {
  const auto check = [&](const matrix_case& c, const std::vector<index_t>& lengths,
                         index_t pieces) {
    INFO(c);
    const matrix_problem<T, State> problem(c);
    problem.visit([&](const auto& decay, const auto& data) {
      const auto where = problem.where();
      const head_memory<T> before = problem.outputs.copy();
      const matrix_truth truth = truth_of(decay, data, where);
      run_in_pieces(decay, data, where, lengths, form);
      check_results<Form>(problem, truth, before, pieces);
    });
  };
  each_kind<Form>({.steps = 23, .heads = 2, .keys = 4, .values = 9, .weights = true},
                  [&](const matrix_case& c) {
                    for (index_t cut = 1; cut < c.steps; ++cut) check(c, {cut, c.steps}, 2);
                    check(c, {1}, c.steps);
                    check(c, {1, 2, 3, 4, 5}, c.steps);
                  });
}

/// The decay of a model: rates that a taper scales with the position.
/// @param channels  H, or H K
inline auto taper_of(index_t channels) {
  std::vector<double> rates;
  for (index_t n = 0; n < channels; ++n)
    rates.push_back(0.3 * std::pow(1e-3, static_cast<double>(channels - 1 - n) /
                                             static_cast<double>(std::max<index_t>(1, channels))));
  return post_taper::relative(1000).bind(std::span<const double>(rates));
}

/// Decays that know the position, by head and by key: one run, from position 37 on, and pieces.
template <class Form, class T, class State>
void check_positions(const Form& form = {}) {
  for (const matrix_rule rule : {matrix_rule::outer, matrix_rule::gated, matrix_rule::rates})
    for (const decay_per decays : {decay_per::head, decay_per::key})
      for (const std::vector<index_t>& lengths :
           {std::vector<index_t>{40}, {1}, {7}, {1, 6, 2, 11}}) {
        if (!takes_rule<Form>(rule) || !takes_decays<Form>(decays, true)) continue;
        // In one call, snapshots cut it inside.
        const bool whole = lengths.front() > 19;
        const matrix_case c{
            .steps = 19,
            .heads = 3,
            .keys = 4,
            .values = values_for<Form>(6),
            .rule = rule,
            .decays = decays,
            .resets = whole,
            .snapshots = whole ? std::vector<index_t>{4, 11} : std::vector<index_t>{},
            .first_position = 37};
        const matrix_problem<T, State> problem(c);
        const auto decay = taper_of(problem.decays.channels());
        const auto check = [&](const auto& data) {
          const auto where = problem.where();
          const head_memory<T> before = problem.outputs.copy();
          const matrix_truth truth = truth_of(decay, data, where);
          run_in_pieces(decay, data, where, lengths, form);
          check_results<Form>(problem, truth, before, c.steps);
        };
        if (rule == matrix_rule::outer)
          check(problem.template data<outer_data<T>>());
        else
          check(problem.template data<delta_data<T>>());
      }
}

/// Sequences back to back, some of them empty, steps before and after that belong to none: each
/// gives the bits of its own call, or at least numbers within the bound.
template <class Form, class T, class State>
void check_packed(const Form& form = {}) {
  for (const matrix_states states :
       {matrix_states::none, matrix_states::separate, matrix_states::in_place})
    for (const bool finals : {true, false})
      for (const std::vector<index_t>& offsets :
           {std::vector<index_t>{3}, {0, 17}, {2, 2, 9, 9, 9, 15}, {0, 0, 0}, {17, 17}, {5, 6, 7}})
        each_kind<Form>({.batches = 2,
                         .steps = 17,
                         .keys = 3,
                         .values = 5,
                         .states = states,
                         .finals = finals,
                         .resets = true,
                         .offsets = offsets,
                         .snapshots = {0, 1, 4, 5, 12, 16}},
                        [&](const matrix_case& c) { check_case<Form, T, State>(c, form); });
}

/// Drafted steps of which some are accepted: from the snapshot after those, the rest is as if the
/// others had not been.
template <class Form, class State>
void check_rollback(const Form& form = {}) {
  each_kind<Form>({.steps = 9, .keys = 4, .values = 7, .weights = true, .snapshots = {0, 2, 5}},
                  [&](const matrix_case& c) {
                    INFO(c);
                    const matrix_problem<State, State> problem(c);
                    problem.visit([&](const auto& decay, const auto& data) {
                      auto where = problem.where();
                      const head_memory<State> before = problem.outputs.copy();
                      const matrix_truth truth = truth_of(decay, data, where);
                      run_matrix(decay, data, where, form);
                      check_results<Form>(problem, truth, before);
                      for (index_t m = 0; m < 3; ++m) {
                        const index_t from = c.snapshots[static_cast<std::size_t>(m)] + 1;
                        sequences<State> rest;
                        rest.initial_states = problem.kept.view().steps_from(m, 1);
                        rest.final_states = problem.finals.view();
                        problem.outputs.each([](State& x) { x = State(-3); });
                        run_matrix(decays_of(decay, from, c.steps - from),
                                   steps_of(data, from, c.steps - from), rest, form);
                        // The outputs before `from` are not written again.
                        auto after = before.copy();
                        for (index_t t = 0; t < from; ++t)
                          for (index_t h = 0; h < c.heads; ++h)
                            for (index_t i = 0; i < c.values; ++i) {
                              CHECK(problem.outputs.view()(0, t, h, i) == State(-3));
                              after.view()(0, t, h, i) = State(-3);
                            }
                        matrix_truth last = truth;
                        for (index_t t = 0; t < from; ++t)
                          last.walked[static_cast<std::size_t>(t)] = 0;
                        check_results<Form>(problem, last, after, 2, false);
                      }
                    });
                  });
}

/// `step`, over and over: the outputs and the state of one call.
template <class Form, class T, class State>
void check_steps(const Form& form = {}) {
  each_kind<Form>({.steps = 11,
                   .keys = 5,
                   .values = 19,
                   .weights = true,
                   .skip = matrix_skip::lane,
                   .unit_queries = 1e-6},
                  [&](const matrix_case& c) {
                    INFO(c);
                    const matrix_problem<T, State> problem(c);
                    problem.visit([&](const auto& decay, const auto& data) {
                      const auto where = problem.where();
                      const head_memory<T> before = problem.outputs.copy();
                      const matrix_truth truth = truth_of(decay, data, where);
                      const index_t channels = c.heads * c.keys * c.values;
                      for (index_t i = 0; i < channels; ++i)
                        problem.finals.view()(0, 0, i) = problem.initial.view()(0, 0, i);
                      for (index_t t = 0; t < c.steps; ++t)
                        if constexpr (takes_data<Form, std::remove_cvref_t<decltype(data)>>)
                          step(decays_of(decay, t, 1), t + 1, steps_of(data, t, 1),
                               std::span<State>(problem.finals.view().data(),
                                                static_cast<std::size_t>(channels)),
                               form);
                      check_results<Form>(problem, truth, before, c.steps);
                    });
                  });
}

/// A NaN or an infinity among the inputs: where the oracle, in which lanes, heads, sequences and
/// steps are separate by construction, has a number, so has the form, and the same; elsewhere
/// neither has.
template <class Form, class T>
void check_isolation(const Form& form = {}) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::vector<index_t> offsets{0, 6, 13};
  for (const double odd : {std::nan(""), inf, -inf})
    for (int where_odd = 0; where_odd < 8; ++where_odd)
      for (const index_t step : {2, 5, 7})
        each_kind<Form>({.batches = 2,
                         .steps = 13,
                         .heads = 2,
                         .keys = 3,
                         .values = 21,
                         .weights = true,
                         .resets = step == 2,
                         .offsets = offsets,
                         .snapshots = {4, 9},
                         .seed = 6},
                        [&](const matrix_case& c) {
                          INFO(c << ", " << odd << " in " << where_odd << " at step " << step);
                          matrix_problem<T, T> problem(c);
                          const auto x = static_cast<T>(odd);
                          if (where_odd == 0) problem.values.view()(0, step, 1, c.values / 5) = x;
                          if (where_odd == 1) problem.values.view()(1, step, 0, c.values - 1) = x;
                          if (where_odd == 2) problem.keys.view()(0, step, 1, 1) = x;
                          if (where_odd == 3) problem.queries.view()(0, step, 1, 2) = x;
                          if (where_odd == 4) problem.weights.view()(0, step, 0, 0) = x;
                          if (where_odd == 5)
                            problem.initial.view()(0, 1, (c.keys + 1) * c.values + 1) = x;
                          if (where_odd == 6 && !(odd > 0 || odd < 0))
                            problem.decays(1, step, problem.decays.channels() - 1) = x;
                          if (where_odd == 7 && c.corrected() && c.rule != matrix_rule::gated)
                            problem.removals.view()(0, step, 0, 0) = x;
                          problem.visit([&](const auto& decay, const auto& data) {
                            const auto where = problem.where();
                            const head_memory<T> before = problem.outputs.copy();
                            const matrix_truth truth = truth_of(decay, data, where);
                            run_matrix(decay, data, where, form);
                            check_results<Form>(problem, truth, before);
                          });
                        });
}

/// The bits of two forms, or of one form twice: what `repeats` promises, with as many threads as
/// each has.
template <class T, class State, class One, class Other>
void check_same_bits(const One& one, const Other& other, const matrix_case& base) {
  each_kind<One>(base, [&](const matrix_case& c) {
    INFO(c);
    const matrix_problem<T, State> first(c), second(c);
    first.visit(
        [&](const auto& decay, const auto& data) { run_matrix(decay, data, first.where(), one); });
    second.visit([&](const auto& decay, const auto& data) {
      run_matrix(decay, data, second.where(), other);
    });
    std::vector<T> outputs;
    first.outputs.each([&](const T& x) { outputs.push_back(x); });
    std::size_t n = 0;
    bool same = true;
    second.outputs.each([&](const T& x) { same = same && same_number(x, outputs[n++]); });
    CHECK(same);
    CHECK(same_bits(first.finals.view(), second.finals.view()));
    CHECK(same_bits(first.kept.view(), second.kept.view()));
  });
}

}  // namespace ebb::test
