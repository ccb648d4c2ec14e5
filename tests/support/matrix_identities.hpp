// SPDX-License-Identifier: Apache-2.0
/// @file   support/matrix_identities.hpp
/// @brief  Cases of the matrix-state recurrences by hand, identities between them, and long runs.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>

#include "support/matrix_contract.hpp"

namespace ebb::test {

/// A dense view of some numbers of one batch entry.
template <class T>
head_view<const T> heads_of(const std::vector<T>& numbers, index_t steps, index_t heads) {
  const auto width = static_cast<index_t>(numbers.size()) / std::max<index_t>(1, steps * heads);
  return {numbers.data(), {1, steps, heads, width}};
}

/// What a state of one number forgets, worked out by hand.
template <class Form, class T>
void check_forgetting(const Form& form = {}) {
  using numbers = std::vector<T>;
  SUBCASE("a = 0 and log a = -inf forget, exactly") {
    const numbers k{1, 1, 1}, v{2, 4, 8}, factor{1, 0, T(0.5)};
    const numbers log{0, -std::numeric_limits<T>::infinity(), 0};
    for (const decay_per decays : {decay_per::head, decay_per::key}) {
      numbers o(3);
      outer_data<T> data;
      data.queries = data.keys = heads_of(k, 3, 1);
      data.values = heads_of(v, 3, 1);
      data.outputs = {o.data(), {1, 3, 1, 1}};
      data.decays = decays;
      outer(strided_view<const T>(factor.data(), 3, 1), data, form);
      CHECK(o == numbers{2, 4, 10});
      outer(stored_logs(strided_view<const T>(log.data(), 3, 1)), data, form);
      CHECK(o == numbers{2, 4, 12});
    }
  }
  SUBCASE("huge log-decays neither swallow small ones nor leak") {
    // The kinds of the scan's boundary cases; e^-3 = 0.049787068.
    const numbers k(8, T(1)), v(8, T(1));
    const auto run = [&](const numbers& logs) {
      const auto steps = static_cast<index_t>(logs.size());
      numbers o(logs.size());
      outer_data<T> data;
      data.queries = data.keys = {k.data(), {1, steps, 1, 1}};
      data.values = {v.data(), {1, steps, 1, 1}};
      data.outputs = {o.data(), {1, steps, 1, 1}};
      outer(stored_logs(strided_view<const T>(logs.data(), steps, 1)), data, form);
      numbers by_key(o.size());
      data.decays = decay_per::key;
      data.outputs = {by_key.data(), {1, steps, 1, 1}};
      outer(stored_logs(strided_view<const T>(logs.data(), steps, 1)), data, form);
      std::vector<double> both;
      for (std::size_t t = 0; t < o.size(); ++t) {
        both.push_back(static_cast<double>(o[t]));
        CHECK(static_cast<double>(by_key[t]) == doctest::Approx(both[t]).epsilon(1e-5));
      }
      return both;
    };
    const auto expect = [&](const numbers& logs, const std::vector<double>& right) {
      const auto got = run(logs);
      for (std::size_t t = 0; t < right.size(); ++t)
        CHECK(got[t] == doctest::Approx(right[t]).epsilon(1e-5));  // 80 roundings of float
    };
    expect({T(-1.6e9), 0, 0, 0, -40, -40, -80, 0}, {1, 2, 3, 4, 1, 1, 1, 2});
    expect({T(-1e8), -3, -3, -3}, {1, 1.04978707, 1.05226582, 1.05238923});
    const T half = static_cast<T>(std::log(0.5));
    expect({half, half, T(-3.4e37), half}, {1, 1.5, 1, 1.5});
  }
}

/// Numbers worked out by hand; all of them and every intermediate result are exact in T.
template <class Form, class T>
void check_by_hand(const Form& form = {}) {
  using numbers = std::vector<T>;
  SUBCASE("the layout of a state: K = 2, V = 3, two heads with shared keys") {
    // Head 0: k v^T = (1, 2)^T (1, 2, 3), head 1: (1, 2)^T (4, 5, 6); then a = 1/2 and 1/4, and
    // (0, 1)^T (1, 1, 1) on both.
    const numbers k{1, 2, 0, 1}, v{1, 2, 3, 4, 5, 6, 1, 1, 1, 1, 1, 1};
    const numbers q{1, 0, 10, 100, 1, 10, 0, 1};  // a query for each head
    ebb::array<T> a(2, 2), last(1, 12);
    a(0, 0) = a(0, 1) = 1;
    a(1, 0) = T(0.5), a(1, 1) = T(0.25);
    numbers o(12);
    outer_data<T> data;
    data.queries = heads_of(q, 2, 2);
    data.keys = heads_of(k, 2, 1);
    data.values = heads_of(v, 2, 2);
    data.outputs = {o.data(), {1, 2, 2, 3}};
    outer(a, data, sequences<T>{.final_states = last.view()}, form);
    const T half(0.5), quarter(0.25);
    CHECK(numbers(last.data(), last.data() + 12) ==
          numbers{half, 1, 3 * half, 2, 3, 4, 1, 5 * quarter, 3 * half, 3, 7 * half, 4});
    // q = (1, 0): row 0; (10, 100) of head 1: 10 row 0 + 100 row 1 = 210 v. Then (1, 10), (0, 1).
    CHECK(o == numbers{1, 2, 3, 840, 1050, 1260, 20 + half, 31, 41 + half, 3, 7 * half, 4});
  }
  SUBCASE("the gated delta rule: h = 1, g = 1/2, k = 1, v = 2, beta = 1/2") {
    const numbers k{1}, v{2}, beta{T(0.5)}, q{1};
    const numbers g{T(0.5)};
    numbers state{1}, o(1);
    delta_data<T> data;
    data.queries = heads_of(q, 1, 1);
    data.keys = heads_of(k, 1, 1);
    data.values = heads_of(v, 1, 1);
    data.weights = heads_of(beta, 1, 1);
    data.outputs = {o.data(), {1, 1, 1, 1}};
    step(strided_view<const T>(g.data(), 1, 1), 1, data, std::span<T>(state), form);
    CHECK(state == numbers{T(1.25)});  // 1/2 + 1/2 (2 - 1/2)
    CHECK(o == state);
  }
  SUBCASE("the delta rule: removals see the state before it decays") {
    // S = (1, 2; 3, 4), w = 1/2 by key and 1/4, z = (1, 1), u = (-1/2, 2), k = (1, 0), v = (8, 16):
    // z^T S = (4, 6); rows (1/2, 1) + (-2, -3) + (8, 16) and (3/4, 1) + (8, 12).
    const numbers k{1, 0}, v{8, 16}, z{1, 1}, u{T(-0.5), 2}, q{1, 4}, w{T(0.5), T(0.25)};
    const numbers skip{2};
    numbers state{1, 2, 3, 4}, o(2);
    delta_data<T> data;
    data.queries = heads_of(q, 1, 1);
    data.keys = heads_of(k, 1, 1);
    data.values = heads_of(v, 1, 1);
    data.removals = heads_of(z, 1, 1);
    data.corrections = heads_of(u, 1, 1);
    data.outputs = {o.data(), {1, 1, 1, 2}};
    data.decays = decay_per::key;
    data.skip = skip;
    data.scale = 0.5;
    step(strided_view<const T>(w.data(), 1, 2), 1, data, std::span<T>(state), form);
    CHECK(state == numbers{T(6.5), 14, T(8.75), 13});
    CHECK(o == numbers{T((6.5 + 35) / 2 + 16), T((14.0 + 52) / 2 + 32)});
  }
  SUBCASE("weight 1 is the running sum of k v^T: exact integers") {
    // |S| <= 70 * 16 and |o| <= 5 * 4 * 1120: whole numbers that every type here holds.
    constexpr index_t steps = 70, keys = 5, values = 11;
    draws random(4);
    numbers q, k, v, o(steps * values), right, state(keys * values);
    const auto draw = [&](numbers& to, index_t count) {
      for (index_t i = 0; i < count; ++i)
        to.push_back(static_cast<T>(static_cast<double>(random.integer(-4, 4))));
    };
    draw(q, steps * keys), draw(k, steps * keys), draw(v, steps * values);
    for (index_t t = 0; t < steps; ++t)
      for (index_t i = 0; i < values; ++i) {
        T sum = 0;
        for (index_t j = 0; j < keys; ++j) {
          T& s = state[static_cast<std::size_t>(j * values + i)];
          s += k[static_cast<std::size_t>(t * keys + j)] *
               v[static_cast<std::size_t>(t * values + i)];
          sum += q[static_cast<std::size_t>(t * keys + j)] * s;
        }
        right.push_back(sum);
      }
    outer_data<T> data;
    data.queries = heads_of(q, steps, 1);
    data.keys = heads_of(k, steps, 1);
    data.values = heads_of(v, steps, 1);
    data.outputs = {o.data(), {1, steps, 1, values}};
    const T one = 1, zero = 0;
    outer(strided_view<const T>(&one, {1, steps, 1}, {0, 0}), data, form);
    CHECK(o == right);
    outer(stored_logs(strided_view<const T>(&zero, {1, steps, 1}, {0, 0})), data, form);
    CHECK(o == right);
  }
  check_forgetting<Form, T>(form);
}

/// Two calls of one case that mean the same: both within the bound of the same truth.
/// @param change  from the data of the first to those of the second
template <class Form, class T, class Data, class Other, class Decay, class OtherDecay, class Change>
void same_truth(const matrix_problem<T, T>& problem, const Decay& one, const OtherDecay& two,
                const Change& change, const Form& form) {
  const Data data = problem.template data<Data>();
  Other other = change(data);
  const auto where = problem.where();
  const head_memory<T> before = problem.outputs.copy();
  const matrix_truth truth = truth_of(one, data, where);
  run_matrix(one, data, where, form);
  check_results<Form>(problem, truth, before);
  problem.outputs.each([](T& x) { x = T(-8); });
  run_matrix(two, other, where, form);
  check_results<Form>(problem, truth, before);
}

template <class Form, class T>
void check_identities(const Form& form = {}) {
  matrix_case c{.batches = 2, .steps = 10, .heads = 2, .keys = 5, .values = 13, .weights = true};
  const auto outer_of = [](const delta_data<T>& data) {
    outer_data<T> result;
    result.queries = data.queries, result.keys = data.keys, result.values = data.values;
    result.outputs = data.outputs, result.weights = data.weights;
    result.decays = data.decays;
    return result;
  };
  SUBCASE("corrections of 0: outer products") {
    c.rule = matrix_rule::corrections;
    for (const decay_per decays : {decay_per::head, decay_per::key}) {
      c.decays = decays;
      const matrix_problem<T, T> problem(c);
      problem.corrections.each([](T& x) { x = 0; });
      same_truth<Form, T, delta_data<T>, outer_data<T>>(
          problem, stored_logs(problem.decays), stored_logs(problem.decays), outer_of, form);
    }
  }
  SUBCASE("weight 0: the gated rule only decays") {
    c.rule = matrix_rule::gated;
    const matrix_problem<T, T> problem(c);
    problem.weights.each([](T& x) { x = 0; });
    same_truth<Form, T, delta_data<T>, outer_data<T>>(problem, stored_logs(problem.decays),
                                                      stored_logs(problem.decays), outer_of, form);
  }
  SUBCASE("the gated rule is the general one with z = w * k, u = -c k") {
    c.rule = matrix_rule::gated;
    c.logs = false;
    const matrix_problem<T, T> problem(c);
    // Numbers whose products are exact: multiples of 1/8 up to 1.
    draws random(8);
    const auto coarse = [&](T& x) { x = static_cast<T>(0.125 * double(random.integer(-8, 8))); };
    problem.keys.each(coarse), problem.weights.each(coarse);
    ebb::array<T> factors(problem.decays.size());
    for (index_t i = 0; i < c.batches * c.steps * c.heads; ++i) coarse(factors.data()[i]);
    const head_memory<T> z = problem.keys.copy(), u = problem.keys.copy();
    for (index_t b = 0; b < c.batches; ++b)
      for (index_t t = 0; t < c.steps; ++t)
        for (index_t h = 0; h < c.heads; ++h)
          for (index_t j = 0; j < c.keys; ++j) {
            z.view()(b, t, h, j) *= factors(b, t, h);
            u.view()(b, t, h, j) *= -problem.weights.view()(b, t, h, 0);
          }
    same_truth<Form, T, delta_data<T>, delta_data<T>>(
        problem, stored_factors(factors), stored_factors(factors),
        [&](delta_data<T> data) {
          data.removals = z.view();
          data.corrections = u.view();
          return data;
        },
        form);
  }
  SUBCASE("a decay of the head is that decay for each of its keys") {
    for (const matrix_rule rule : {matrix_rule::outer, matrix_rule::gated, matrix_rule::rates}) {
      c.rule = rule;
      const matrix_problem<T, T> problem(c);
      ebb::array<T> each({c.batches, c.steps, c.heads * c.keys});
      for (index_t b = 0; b < c.batches; ++b)
        for (index_t t = 0; t < c.steps; ++t)
          for (index_t n = 0; n < c.heads * c.keys; ++n)
            each(b, t, n) = problem.decays(b, t, n / c.keys);
      const auto by_key = [](auto data) {
        data.decays = decay_per::key;
        return data;
      };
      if (rule == matrix_rule::outer)
        same_truth<Form, T, outer_data<T>, outer_data<T>>(problem, stored_logs(problem.decays),
                                                          stored_logs(each), by_key, form);
      else
        same_truth<Form, T, delta_data<T>, delta_data<T>>(problem, stored_logs(problem.decays),
                                                          stored_logs(each), by_key, form);
    }
  }
  SUBCASE("decays that lie channel by channel, of another type") {
    c.decays = decay_per::key;
    for (const bool logs : {true, false}) {
      c.logs = logs;
      matrix_problem<T, T> problem(c);
      ebb::array<float, channel_major> turned(problem.decays.size());
      for (index_t b = 0; b < c.batches; ++b)
        for (index_t t = 0; t < c.steps; ++t)
          for (index_t n = 0; n < problem.decays.channels(); ++n) {
            turned(b, t, n) = static_cast<float>(problem.decays(b, t, n));
            problem.decays(b, t, n) = static_cast<T>(turned(b, t, n));
          }
      const auto same = [](const auto& data) { return data; };
      if (logs)
        same_truth<Form, T, outer_data<T>, outer_data<T>>(problem, stored_logs(problem.decays),
                                                          stored_logs(turned), same, form);
      else
        same_truth<Form, T, outer_data<T>, outer_data<T>>(problem, stored_factors(problem.decays),
                                                          stored_factors(turned), same, form);
    }
  }
  SUBCASE("a decay bound to rates is the stored one of the same numbers") {
    matrix_problem<T, T> problem(c);
    const std::vector<double> rates{0.125, 2};
    const auto constant = constant_decay().bind(std::span<const double>(rates));
    for (index_t i = 0; i < c.batches * c.steps; ++i)
      for (index_t h = 0; h < c.heads; ++h)
        problem.decays.data()[i * c.heads + h] =
            static_cast<T>(-rates[static_cast<std::size_t>(h)]);
    const auto data = problem.template data<outer_data<T>>();
    const auto where = problem.where();
    outer(constant, data, where, form);
    const head_memory<T> first = problem.outputs.copy();
    outer(stored_logs(problem.decays), data, where, form);
    bool same = true;
    for (index_t t = 0; t < c.steps; ++t)
      for (index_t h = 0; h < c.heads; ++h)
        for (index_t i = 0; i < c.values; ++i)
          same = same && same_number(first.view()(1, t, h, i), data.outputs(1, t, h, i));
    CHECK(same);
  }
  SUBCASE("the fastest channel of a taper, alpha = 0, has a constant decay") {
    // Exponents run from 1 to 0 over the channels; the last is a constant rate, and another call
    // with that rate for the last head gives it the same bits.
    const matrix_problem<T, T> problem(c);
    const std::vector<double> rates{0.01, 0.5};
    const auto data = problem.template data<outer_data<T>>();
    outer(post_taper::relative(100).bind(std::span<const double>(rates)), data, problem.where(),
          form);
    const head_memory<T> tapered = problem.outputs.copy();
    outer(constant_decay().bind(std::span<const double>(rates)), data, problem.where(), form);
    bool last = true, first = true;
    for (index_t t = 0; t < c.steps; ++t)
      for (index_t i = 0; i < c.values; ++i) {
        last = last && same_number(tapered.view()(0, t, 1, i), data.outputs(0, t, 1, i));
        first = first && same_number(tapered.view()(0, t, 0, i), data.outputs(0, t, 0, i));
      }
    CHECK(last);
    CHECK_FALSE(first);
  }
}

/// Lengths at which the majorant says nothing: steps as real models take them, which only shrink a
/// state before they write to it, so that an error made at a step never grows afterwards. Each step
/// adds a few roundings of what is there, K of them from the products over the keys, that partly
/// cancel: 1e-5 of the largest output leaves 168 u.
template <class Form>
void check_long_runs(const Form& form = {}) {
  each_kind<Form>(
      {.batches = 1,
       .steps = 300,
       .heads = 2,
       .keys = 24,
       .values = 20,
       .weights = true,
       .unit_queries = 1e-6,
       .unit_keys = 1e-6,
       .unit_removals = 1e-6},
      [&](const matrix_case& c) {
        if (c.rule == matrix_rule::corrections) return;  // nothing bounds those
        INFO(c);
        matrix_problem<float, float> problem(c);
        draws random(c.seed);
        problem.weights.each([&](float& x) { x = static_cast<float>(random.uniform(0, 1)); });
        for (index_t i = 0; i < c.steps * problem.decays.channels(); ++i) {
          const double log = -std::exp(random.uniform(-12, 3));
          problem.decays.data()[i] = static_cast<float>(c.logs ? log : std::exp(log));
        }
        problem.visit([&](const auto& decay, const auto& data) {
          const auto where = problem.where();
          const matrix_truth truth = truth_of(decay, data, where);
          run_matrix(decay, data, where, form);
          long double most = 0, worst = 0;
          std::size_t n = 0;
          for (index_t t = 0; t < c.steps; ++t)
            for (index_t h = 0; h < c.heads; ++h)
              for (index_t i = 0; i < c.values; ++i, ++n) {
                const long double right = truth.outputs[n].value;
                most = std::max(most, std::abs(right));
                const long double error = std::abs(data.outputs(0, t, h, i) - right);
                if (!(error <= worst)) worst = error;
              }
          CHECK(worst <= 1e-5L * most);
        });
      });
}

/// 1e5 steps that write nothing, of a rate of 1e-6: exp(-0.1) is left. With the decay rounded to
/// float the rate would be off by 1.3 %, the state by 1.3e-3; a tenth of that is allowed.
template <class Form>
void check_slow_decays(const Form& form = {}) {
  constexpr index_t steps = 1000, pieces = 100, keys = 3, values = values_for<Form>(9);
  const float rate = -1e-6f;
  const std::vector<float> row{0.6f, 0, -0.8f}, nothing(values), zero(keys);
  const auto repeated = [&](const std::vector<float>& numbers) {
    return head_view<const float>(
        numbers.data(), {1, steps, 1, static_cast<index_t>(numbers.size())}, head_strides{});
  };
  for (const decay_per decays : {decay_per::head, decay_per::key})
    for (int rule = 0; rule < (form_domain<Form>::corrections ? 3 : 1); ++rule) {
      INFO("by key: " << (decays == decay_per::key) << ", rule " << rule);
      std::vector<float> state(keys * values, 1), o(steps * values);
      delta_data<float> data;
      data.queries = repeated(row);
      data.keys = rule == 1 ? repeated(zero) : repeated(row);
      data.values = repeated(nothing);
      data.outputs = {o.data(), {1, steps, 1, values}};
      data.decays = decays;
      if (rule == 2) data.removals = repeated(row), data.corrections = repeated(zero);
      outer_data<float> plain{.queries = data.queries,
                              .keys = data.keys,
                              .values = data.values,
                              .outputs = data.outputs,
                              .decays = decays};
      const strided_view<float> states(state.data(), 1, keys * values);
      const sequences<float> where{.initial_states = states, .final_states = states};
      const index_t channels = decays == decay_per::key ? keys : 1;
      const std::vector<float> logs(static_cast<std::size_t>(channels), rate);
      const auto decay =
          stored_logs(strided_view<const float>(logs.data(), {1, steps, channels}, {0, 0}));
      for (index_t i = 0; i < pieces; ++i) {
        if (rule == 0)
          run_matrix(decay, plain, where, form);
        else
          run_matrix(decay, data, where, form);
      }
      for (const float s : state) CHECK(std::abs(double(s) - std::exp(-0.1)) <= 1.3e-4);
      // q^T S, q = (0.6, 0, -0.8).
      CHECK(std::abs(double(o.back()) + 0.2 * std::exp(-0.1)) <= 1.4 * 1.3e-4);
    }
}

/// A state fades through the subnormals: each step rounds to a multiple of the smallest one d, so
/// that d / (1 - a) is left at the most.
template <class Form>
void check_fading(const Form& form = {}) {
  constexpr index_t steps = 20000, keys = 2, values = values_for<Form>(5);
  const float log = -0.01f;
  const std::vector<float> row{1, 1}, nothing(values);
  std::vector<float> state(keys * values, 1), o(steps * values);
  outer_data<float> data;
  data.queries = data.keys = {row.data(), {1, steps, 1, keys}, head_strides{}};
  data.values = {nothing.data(), {1, steps, 1, values}, head_strides{}};
  data.outputs = {o.data(), {1, steps, 1, values}};
  const strided_view<float> states(state.data(), 1, keys * values);
  outer(stored_logs(strided_view<const float>(&log, {1, steps, 1}, {0, 0})), data,
        sequences<float>{.initial_states = states, .final_states = states}, form);
  const double d = static_cast<double>(std::numeric_limits<float>::denorm_min());
  for (const float s : state) CHECK((s >= 0 && double(s) <= 102 * d));
  for (index_t t = 0; t < 4000; t += 97) {
    const double right = 2 * std::exp(-0.01 * double(t + 1));
    CHECK(double(o[static_cast<std::size_t>(t * values)]) ==
          doctest::Approx(right).epsilon(6e-8 * 6 * double(t + 1) + 1e-6));
  }
}

}  // namespace ebb::test
