// SPDX-License-Identifier: Apache-2.0
/// @file   support/matrix_vjp_contract.hpp
/// @brief  All gradients of a matrix recurrence against their definition, within derived bounds.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <ebb/core/storage.hpp>
#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/matrix_vjp.hpp>

#include "support/matrix_vjp_oracle.hpp"

namespace ebb::test {

/// Stored decays that also weigh what is written by stored numbers.
template <class State, decay_form Form>
struct weighing {
  using stored = stored_decay<State, time_major, Form>;
  static constexpr decay_kind kind = decay_kind::stored;
  static constexpr decay_form form = Form;
  struct gradients {
    typename stored::gradients decays{};
    strided_view<State> weights{};
  };

  stored decays;
  strided_view<const State> weights;

  template <class Block>
  void fill(const block_origin& where, const Block& block) const {
    decays.fill(where, block);
  }
  template <class Block>
  void weigh(const block_origin& where, const Block& block) const {
    for (index_t t = 0; t < block.steps(); ++t)
      for (index_t h = 0; h < block.channels(); ++h)
        block(t, h) = weights(where.batch, where.step + t, where.channel + h);
  }
  template <class Block, class Cotangent>
  void vjp(const block_origin& where, const Block& block, const Cotangent& cotangent,
           gradients& sums) const {
    decays.vjp(where, block, cotangent, sums.decays);
  }
  template <class Cotangent>
  void weigh_vjp(const block_origin& where, const Cotangent& cotangent, gradients& sums) const {
    for (index_t t = 0; t < cotangent.steps(); ++t)
      for (index_t h = 0; h < cotangent.channels(); ++h)
        sums.weights(where.batch, where.step + t, where.channel + h) += cotangent(t, h);
  }
  void check(const extents& size) const { decays.check(size); }
};

/// How many roundings of the state's type lie on the longest way from a number to a gradient
/// (docs/accuracy.md, section 8).
inline double matrix_vjp_roundings(const matrix_vjp_case& of) {
  const auto T = static_cast<double>(of.steps), K = static_cast<double>(of.keys);
  const auto V = static_cast<double>(of.values), H = static_cast<double>(of.heads);
  const bool unit = of.unit_queries || of.unit_keys || of.unit_removals;
  const double row = unit ? K / 2 + 6 : 0;
  const double step = of.rule == matrix_rule::outer ? 8 : K + 18 + 3 * row;
  return step * (T + 2) + 2 * K + V + 2 * row + H + 40;
}

/// How many gradients other than 0 were compared, and how many of them were at least 10 times as
/// large as their bound.
struct seen_gradients {
  index_t all = 0, told = 0;
};

/// One gradient against the truth.
template <class T, class State>
void compare_gradient(seen_gradients& seen, const std::string& name, const matrix_vjp_case& of,
                      const head_array<T>& got, const head_array<bounded<long double>>& truth,
                      double roundings, long double largest) {
  using Wide = long double;
  REQUIRE(got.size == truth.size);
  const Wide u = static_cast<Wide>(std::numeric_limits<State>::epsilon()) / 2;
  const Wide growth = std::expm1(static_cast<Wide>(roundings) * std::log1p(u));
  // Of the oracle: a few operations for each of the code's.
  const Wide own = static_cast<Wide>(4 * roundings) * std::numeric_limits<Wide>::epsilon();
  const Wide tiny = static_cast<Wide>(roundings) *
                    static_cast<Wide>(std::numeric_limits<State>::denorm_min()) * largest * largest;
  const bool by_step = got.size.steps == of.steps && name != "initial" && name != "skip";
  Wide worst = 0;
  std::string place = "nowhere";
  std::size_t n = 0;
  for (index_t b = 0; b < got.size.batches; ++b)
    for (index_t t = 0; t < got.size.steps; ++t)
      for (index_t h = 0; h < got.size.heads; ++h)
        for (index_t i = 0; i < got.size.width; ++i, ++n) {
          const Wide x = static_cast<Wide>(static_cast<State>(got.numbers[n]));
          Wide ratio = 0;
          if (by_step && !of.covers(t)) {
            const bool sums = name == "decays" || name == "weighed";
            ratio = x == (sums ? 0 : -7) ? 0 : 2;
          } else {
            const auto& right = truth.numbers[n];
            Wide allowed = (growth + own) * right.size + tiny;
            if (sizeof(T) < sizeof(State))
              allowed +=
                  (std::abs(right.value) + allowed) *
                      static_cast<Wide>(static_cast<float>(std::numeric_limits<T>::epsilon())) / 2 +
                  static_cast<Wide>(static_cast<float>(std::numeric_limits<T>::denorm_min()));
            seen.all += std::abs(right.value) > 0;
            seen.told += std::abs(right.value) >= 10 * allowed;
            const Wide error = std::abs(x - right.value);
            ratio = error <= 0 ? 0 : error / allowed;
            if (!(ratio >= 0)) ratio = std::numeric_limits<Wide>::infinity();
          }
          if (ratio <= worst) continue;
          worst = ratio;
          place = std::to_string(b) + ", " + std::to_string(t) + ", " + std::to_string(h) + ", " +
                  std::to_string(i);
        }
  INFO(name << ": worst error / bound = " << worst << " at " << place);
  CHECK(worst <= 1);
}

/// The data of a call, in its types, and the call of the gradients.
template <class T, class State>
struct matrix_vjp_call {
  const matrix_vjp_case& of;
  matrix_arrays<double> numbers;
  matrix_arrays<T> data, d_data;
  matrix_arrays<State> states, d_states;
  head_array<T> out;
  std::vector<default_state_t<T>> skip;
  std::vector<State> d_skip;

  matrix_vjp_call(const matrix_vjp_case& which, const matrix_arrays<double>& from)
      : of(which),
        numbers(from),
        data(widened_arrays<T>(which, from)),
        d_data(arrays_of<T>(which, T(-7))),
        states(widened_arrays<State>(which, from)),
        d_states(arrays_of<State>(which, State(-7))),
        out(arrays_of<T>(which, T(-7)).values),
        skip(from.skip.numbers.begin(), from.skip.numbers.end()),
        d_skip(static_cast<std::size_t>(which.skip), State(-7)) {
    std::fill(d_states.decays.numbers.begin(), d_states.decays.numbers.end(), State(0));
    std::fill(d_states.weighed.numbers.begin(), d_states.weighed.numbers.end(), State(0));
  }

  template <class Data>
  Data call_data() {
    Data all;
    all.queries = data.queries.heads(), all.keys = data.keys.heads();
    all.values = data.values.heads(), all.weights = data.weights.heads();
    all.outputs = out.heads();
    all.skip = skip;
    all.scale = of.scale, all.decays = of.decays;
    all.unit_queries = of.unit_queries, all.unit_keys = of.unit_keys;
    if constexpr (detail::has_corrections<Data>) {
      if (of.rule != matrix_rule::gated) all.unit_removals = of.unit_removals;
      all.removals = data.removals.heads();
      (of.rule == matrix_rule::rates ? all.rates : all.corrections) = data.corrections.heads();
    }
    return all;
  }

  sequences<State> where() {
    auto result = of.where<State>();
    result.initial_states = states.initial.rows();
    return result;
  }
  matrix_cotangents<T, State> cotangents() {
    return {.outputs = data.outputs.heads(),
            .final_states = of.finals_known ? states.finals.rows() : strided_view<State>(),
            .snapshots = states.snapshots.size == head_extents{} ? strided_view<State>()
                                                                 : states.snapshots.rows()};
  }
  template <class Sums>
  matrix_gradients<T, Sums, State> gradients(Sums& sums) {
    matrix_gradients<T, Sums, State> all;
    all.queries = d_data.queries.heads(), all.keys = d_data.keys.heads();
    all.values = d_data.values.heads(), all.weights = d_data.weights.heads();
    all.removals = d_data.removals.heads();
    (of.rule == matrix_rule::rates ? all.rates : all.corrections) = d_data.corrections.heads();
    all.skip = d_skip;
    all.initial_states = d_states.initial.rows();
    all.decay = &sums;
    return all;
  }

  template <class Decay, class Sums, class Form = sequential>
  void run(const Decay& decay, Sums& sums, const Form& form = {}) {
    if (of.rule == matrix_rule::outer)
      ebb::outer_vjp(decay, call_data<outer_data<T>>(), cotangents(), gradients(sums), where(),
                     form);
    else
      ebb::delta_vjp(decay, call_data<delta_data<T>>(), cotangents(), gradients(sums), where(),
                     form);
  }
  template <decay_form Kind, class Form>
  void run_stored(const Form& form) {
    const stored_decay<State, time_major, Kind> stored{states.decays.rows()};
    typename stored_decay<State, time_major, Kind>::gradients sums{d_states.decays.rows()};
    if (!of.weighing) {
      run(stored, sums, form);
    } else {
      const weighing<State, Kind> decay{stored, states.weighed.rows()};
      typename weighing<State, Kind>::gradients both{sums, d_states.weighed.rows()};
      run(decay, both, form);
    }
  }
  template <class Form = sequential>
  void run(const Form& form = {}) {
    if (of.logs)
      run_stored<decay_form::log_factor>(form);
    else
      run_stored<decay_form::factor>(form);
  }

  void compare(const matrix_arrays<bounded<long double>>& truth) {
    long double largest = 1;
    auto sizes = truth;
    sizes.each([&](const char*, const auto& array) {
      for (const auto& x : array.numbers) largest = std::max(largest, x.size);
    });
    const double n = matrix_vjp_roundings(of);
    seen_gradients seen;
    const auto data_of = [&](const char* name, const head_array<T>& got, const auto& right) {
      compare_gradient<T, State>(seen, name, of, got, right, n, largest);
    };
    const auto state_of = [&](const char* name, const head_array<State>& got, const auto& right,
                              double more) {
      compare_gradient<State, State>(seen, name, of, got, right, n + more, largest);
    };
    data_of("queries", d_data.queries, truth.queries);
    data_of("keys", d_data.keys, truth.keys);
    data_of("values", d_data.values, truth.values);
    data_of("weights", d_data.weights, truth.weights);
    data_of("removals", d_data.removals, truth.removals);
    data_of("corrections", d_data.corrections, truth.corrections);
    head_array<State> to_skip = arrays_of<State>(of, State(0)).skip;
    to_skip.numbers = d_skip;
    state_of("skip", to_skip, truth.skip, static_cast<double>(of.batches * of.steps * of.values));
    state_of("decays", d_states.decays, truth.decays, 0);
    state_of("weighed", d_states.weighed, truth.weighed, 0);
    state_of("initial", d_states.initial, truth.initial, 0);
    // The bounds are not so wide that they let everything pass.
    INFO("told " << seen.told << " of " << seen.all);
    CHECK(2 * seen.told >= seen.all);
  }
};

/// All gradients of a call with seeded numbers against their definition.
template <class T, class State>
void check_matrix_vjp_definition(const matrix_vjp_case& of, std::uint64_t seed) {
  INFO("rule " << static_cast<int>(of.rule) << ", steps " << of.steps << ", seed " << seed);
  matrix_vjp_call<T, State> call(of, random_arrays<T, State>(of, seed));
  call.run();
  call.compare(matrix_truth<long double>(of, call.numbers));
}

}  // namespace ebb::test
