// SPDX-License-Identifier: Apache-2.0
/// @file   support/matrix_vjp_problem.hpp
/// @brief  Calls of matrix recurrences of all kinds: their shapes, and arrays to fill them.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <ebb/core/head_view.hpp>
#include <ebb/recurrence/matrix.hpp>

#include "support/scan_oracle.hpp"

namespace ebb::test {

enum class matrix_rule { outer, gated, corrections, rates };

/// One call: its shapes, and what it makes use of.
struct matrix_vjp_case {
  matrix_rule rule = matrix_rule::outer;
  index_t batches = 1, steps = 5, heads = 2, keys = 3, values = 2;
  index_t query_heads = 2, key_heads = 2, removal_heads = 2, correction_heads = 2;
  decay_per decays = decay_per::head;
  bool logs = false, weights = true, weighing = false;
  index_t skip = 0;  ///< 0, H or H V
  double scale = 0.75;
  std::optional<double> unit_queries{}, unit_keys{}, unit_removals{};
  std::vector<index_t> offsets{}, first{}, kept{};
  std::vector<std::uint8_t> resets{};
  bool outputs_known = true, finals_known = true, snapshots_known = true;

  template <class State>
  sequences<State> where() const {
    return {.offsets = offsets, .first_positions = first, .resets = resets, .snapshot_steps = kept};
  }
  index_t count() const { return where<double>().count(); }
  index_t states() const { return heads * keys * values; }
  bool corrected() const { return rule == matrix_rule::corrections || rule == matrix_rule::rates; }
  /// Whether a step belongs to a sequence.
  bool covers(index_t t) const {
    return offsets.empty() || (t >= offsets.front() && t < offsets.back());
  }
};

/// An array of (batch, time, head, width) numbers.
template <class Number>
struct head_array {
  head_extents size{};
  std::vector<Number> numbers{};

  head_array() = default;
  explicit head_array(const head_extents& extents, const Number& start = Number(0))
      : size(extents),
        numbers(static_cast<std::size_t>(extents.batches * extents.steps * extents.heads *
                                         extents.width),
                start) {}
  Number& operator()(index_t b, index_t t, index_t h, index_t i) {
    return numbers[place(b, t, h, i)];
  }
  const Number& operator()(index_t b, index_t t, index_t h, index_t i) const {
    return numbers[place(b, t, h, i)];
  }
  /// Views: left out where the array is empty by default.
  head_view<Number> heads() {
    return size == head_extents{} ? head_view<Number>() : head_view<Number>(numbers.data(), size);
  }
  strided_view<Number> rows() {
    return {numbers.data(), {size.batches, size.steps, size.heads * size.width}};
  }

 private:
  std::size_t place(index_t b, index_t t, index_t h, index_t i) const {
    return static_cast<std::size_t>(((b * size.steps + t) * size.heads + h) * size.width + i);
  }
};

/// Everything that a call reads; or the gradients with respect to it. What it does not use is
/// empty.
template <class Number>
struct matrix_arrays {
  head_array<Number> queries, keys, values, weights, removals, corrections, skip;
  head_array<Number> decays, weighed, initial;
  head_array<Number> outputs, finals, snapshots;  ///< cotangents

  /// f(name, array) for those that have gradients.
  template <class F>
  void each(const F& f) {
    f("queries", queries), f("keys", keys), f("values", values), f("weights", weights);
    f("removals", removals), f("corrections", corrections), f("skip", skip);
    f("decays", decays), f("weighed", weighed), f("initial", initial);
  }
};

/// Arrays of the shapes of a case, each number `start`.
template <class Number>
matrix_arrays<Number> arrays_of(const matrix_vjp_case& of, const Number& start) {
  const index_t B = of.batches, T = of.steps, H = of.heads, K = of.keys, V = of.values;
  const auto make = [&](bool used, const head_extents& size) {
    return used ? head_array<Number>(size, start) : head_array<Number>();
  };
  matrix_arrays<Number> all;
  all.queries = make(true, {B, T, of.query_heads, K});
  all.keys = make(true, {B, T, of.key_heads, K});
  all.values = make(true, {B, T, H, V});
  all.weights = make(of.weights, {B, T, H, 1});
  all.removals = make(of.corrected(), {B, T, of.removal_heads, K});
  all.corrections = make(of.corrected(), {B, T, of.correction_heads, K});
  all.skip = make(of.skip > 0, {1, 1, 1, of.skip});
  all.decays = make(true, {B, T, H, of.decays == decay_per::head ? 1 : K});
  all.weighed = make(of.weighing, {B, T, H, 1});
  all.initial = make(true, {B, of.count(), H, K * V});
  all.outputs = make(of.outputs_known, {B, T, H, V});
  all.finals = make(of.finals_known, {B, of.count(), H, K * V});
  all.snapshots = make(of.snapshots_known && !of.kept.empty(),
                       {B, static_cast<index_t>(of.kept.size()), H, K * V});
  return all;
}

/// Seeded numbers in -1 .. 1 (rows that correct a state: smaller), those of the data rounded to T and the others to State; decays of all
/// sizes: 0, next to 1, negative factors.
template <class T, class State>
matrix_arrays<double> random_arrays(const matrix_vjp_case& of, std::uint64_t seed) {
  draws random(seed);
  matrix_arrays<double> all = arrays_of<double>(of, 0);
  const auto fill = [&](head_array<double>& array, auto kind, double most = 1) {
    for (double& x : array.numbers)
      x = static_cast<double>(
          static_cast<State>(static_cast<decltype(kind)>(random.uniform(-most, most))));
  };
  for (auto* array : {&all.queries, &all.values, &all.weights, &all.outputs}) fill(*array, T());
  fill(all.skip, default_state_t<T>());
  // On absolute values a correction makes a state grow by sum |u_j z_j| a step: below 2/3.
  const double row = of.keys > 0 ? std::sqrt(2 / (3 * static_cast<double>(of.keys))) : 1;
  for (auto* array : {&all.keys, &all.removals, &all.corrections})
    fill(*array, T(), of.rule == matrix_rule::rates && array == &all.corrections ? 1 : row);
  for (auto* array : {&all.weighed, &all.initial, &all.finals, &all.snapshots})
    fill(*array, State());
  for (double& x : all.decays.numbers) {
    const index_t kind = random.integer(0, 9);
    double log_decay = -random.uniform(0, 1);
    if (kind == 0) log_decay = -std::numeric_limits<double>::infinity();
    if (kind == 1) log_decay = 0;
    if (kind == 2) log_decay = -1e-6 * random.uniform(0, 1);
    if (kind == 3) log_decay = -random.uniform(1, 20);
    x = of.logs ? log_decay : std::exp(log_decay);
    if (!of.logs && kind == 4) x = -x;
    x = static_cast<double>(static_cast<State>(x));
  }
  return all;
}

}  // namespace ebb::test
