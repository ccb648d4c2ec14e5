// SPDX-License-Identifier: Apache-2.0
/// @file   support/matrix_case.hpp
/// @brief  Calls of the recurrences with matrix states, from a description: arrays in memory whose
///   surroundings are watched, sequences, and states.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <span>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/delta.hpp>
#include <ebb/recurrence/outer.hpp>

#include "support/scan_oracle.hpp"

namespace ebb::test {

enum class matrix_rule { outer, gated, corrections, rates };
enum class matrix_skip { none, head, lane };
enum class matrix_states { none, separate, in_place };

/// How the arrays of heads lie: one after the other; with gaps; heads outside of steps; steps
/// backwards; and the inputs by repetition of one head and one batch entry.
enum class head_layout { dense, padded, heads_outside, backwards, repeated };

/// (batch, time, head, width) data with canaries wherever the view is not.
template <class T>
class head_memory {
 public:
  head_memory() = default;
  head_memory(const head_extents& size, head_layout kind) {
    head_strides by{};
    index_t first = 11;
    const bool dense = kind == head_layout::dense;
    if (kind == head_layout::heads_outside) {
      by.step = size.width + 1;
      by.head = size.steps * by.step + 2;
      by.batch = size.heads * by.head + 3;
    } else if (kind == head_layout::repeated) {
      by.step = size.width + 2;
    } else {
      by.head = size.width + (dense ? 0 : 3);
      by.step = size.heads * by.head + (dense ? 0 : 5);
      by.batch = size.steps * by.step + (dense ? 0 : 7);
    }
    const index_t count =
        size.batches * by.batch + size.steps * by.step + size.heads * by.head + size.width + 22;
    if (kind == head_layout::backwards) {
      first += std::max<index_t>(size.steps - 1, 0) * by.step;
      by.step = -by.step;
    }
    memory_.assign(static_cast<std::size_t>(count), canary());
    view_ = {memory_.data() + first, size, by};
  }

  head_memory(head_memory&&) noexcept = default;
  head_memory& operator=(head_memory&&) noexcept = default;
  /// The same numbers in memory of their own.
  head_memory copy() const {
    head_memory result;
    result.memory_ = memory_;
    result.view_ = {result.memory_.data() + (view_.data() - memory_.data()), view_.size(),
                    view_.stride()};
    return result;
  }

  const head_view<T>& view() const { return view_; }
  /// f(element) for all of the view.
  template <class F>
  void each(const F& f) const {
    for (index_t b = 0; b < view_.batches(); ++b)
      for (index_t t = 0; t < view_.steps(); ++t)
        for (index_t h = 0; h < view_.heads(); ++h)
          for (index_t i = 0; i < view_.width(); ++i) f(view_(b, t, h, i));
  }
  /// Whether the canaries are all there.
  bool intact() const {
    std::vector<bool> inside(memory_.size());
    each([&](T& x) { inside[static_cast<std::size_t>(&x - memory_.data())] = true; });
    for (std::size_t i = 0; i < memory_.size(); ++i)
      if (!inside[i] && !same_number(memory_[i], canary())) return false;
    return true;
  }
  static T canary() { return static_cast<T>(-77.0); }

 private:
  std::vector<T> memory_;
  head_view<T> view_;
};

/// States with canaries between and around them.
template <class State>
class state_memory {
 public:
  state_memory() = default;
  explicit state_memory(const extents& size) {
    const index_t row = size.channels + 5, entry = size.steps * row + 3;
    memory_.assign(static_cast<std::size_t>(size.batches * entry + 20), State(-55));
    view_ = {memory_.data() + 9, size, {entry, row}};
  }
  state_memory(state_memory&&) noexcept = default;
  state_memory& operator=(state_memory&&) noexcept = default;

  const strided_view<State>& view() const { return view_; }
  bool intact() const {
    std::vector<bool> inside(memory_.size());
    for (index_t b = 0; b < view_.batches(); ++b)
      for (index_t s = 0; s < view_.steps(); ++s)
        for (index_t c = 0; c < view_.channels(); ++c)
          inside[static_cast<std::size_t>(&view_(b, s, c) - memory_.data())] = true;
    for (std::size_t i = 0; i < memory_.size(); ++i)
      if (!inside[i] && !same_number(memory_[i], State(-55))) return false;
    return true;
  }

 private:
  std::vector<State> memory_;
  strided_view<State> view_;
};

/// What a call is made of.
struct matrix_case {
  index_t batches = 1, steps = 5, heads = 2, keys = 3, values = 5;
  matrix_rule rule = matrix_rule::outer;
  decay_per decays = decay_per::head;
  bool logs = true;
  index_t query_heads = 0, key_heads = 0, removal_heads = 0, correction_heads = 0;  // 0: `heads`
  bool weights = false;
  matrix_skip skip = matrix_skip::none;
  std::optional<double> unit_queries{}, unit_keys{}, unit_removals{};
  double scale = 1;
  head_layout inputs = head_layout::dense, outputs = head_layout::dense;
  bool values_in_place = false;
  matrix_states states = matrix_states::separate;
  bool finals = true, resets = false;
  std::vector<index_t> offsets{}, snapshots{};
  index_t first_position = 1;
  std::uint64_t seed = 1;

  bool corrected() const { return rule != matrix_rule::outer; }

  friend std::ostream& operator<<(std::ostream& to, const matrix_case& c) {
    return to << "B, T, H, K, V = " << c.batches << ", " << c.steps << ", " << c.heads << ", "
              << c.keys << ", " << c.values << ", rule " << static_cast<int>(c.rule)
              << ", by key: " << (c.decays == decay_per::key) << ", logs: " << c.logs
              << ", layouts " << static_cast<int>(c.inputs) << ", " << static_cast<int>(c.outputs)
              << ", seed " << c.seed;
  }
};

/// The arrays of a call.
template <class T, class State>
struct matrix_problem {
  explicit matrix_problem(const matrix_case& c)
      : of(c),
        random(c.seed),
        outputs({c.batches, c.steps, c.heads, c.values}, c.outputs),
        decays({c.batches, c.steps, c.decays == decay_per::head ? c.heads : c.heads * c.keys}) {
    // Rows about as long as unit ones, so that corrections do not make states explode.
    const double row = 1.7 / std::sqrt(static_cast<double>(std::max<index_t>(c.keys, 1)));
    const double sizes = c.corrected() ? row : 1;
    queries = input(c.query_heads, c.keys, -1, 1);
    keys = input(c.key_heads, c.keys, -sizes, sizes);
    values = input(0, c.values, -1, 1);
    if (c.weights) weights = input(0, 1, c.corrected() ? 0 : -2, c.corrected() ? 1 : 2);
    if (c.rule == matrix_rule::corrections || c.rule == matrix_rule::rates) {
      removals = input(c.removal_heads, c.keys, -row, row);
      if (c.rule == matrix_rule::rates)
        rates = input(c.correction_heads, c.keys, 0, 1);
      else
        corrections = input(c.correction_heads, c.keys, -row, row);
    }
    const index_t skips = c.skip == matrix_skip::none   ? 0
                          : c.skip == matrix_skip::head ? c.heads
                                                        : c.heads * c.values;
    for (index_t i = 0; i < skips; ++i)
      skip.push_back(static_cast<default_state_t<T>>(random.uniform(-1, 1)));
    if (c.values_in_place)
      for (index_t b = 0; b < c.batches; ++b)
        for (index_t t = 0; t < c.steps; ++t)
          for (index_t h = 0; h < c.heads; ++h)
            for (index_t i = 0; i < c.values; ++i)
              outputs.view()(b, t, h, i) = values.view()(b, t, h, i);
    for (index_t i = 0; i < c.batches * c.steps * decays.channels(); ++i)
      decays.data()[i] = decay_number();

    const index_t sequences = c.offsets.empty() ? 1 : static_cast<index_t>(c.offsets.size()) - 1;
    const index_t channels = c.heads * c.keys * c.values;
    const extents states{c.batches, sequences, channels};
    if (c.states != matrix_states::none) initial = state_memory<State>(states);
    if (c.finals || c.states == matrix_states::in_place) finals = state_memory<State>(states);
    if (!c.snapshots.empty())
      kept = state_memory<State>({c.batches, static_cast<index_t>(c.snapshots.size()), channels});
    for (index_t b = 0; b < initial.view().batches(); ++b)
      for (index_t s = 0; s < initial.view().steps(); ++s)
        for (index_t n = 0; n < channels; ++n) {
          initial.view()(b, s, n) = static_cast<State>(random.uniform(-1, 1));
          if (c.states == matrix_states::in_place) finals.view()(b, s, n) = initial.view()(b, s, n);
        }
    for (index_t i = 0; i < c.batches * sequences; ++i) first.push_back(c.first_position + i);
    if (c.resets)
      for (index_t i = 0; i < c.batches * c.steps; ++i)
        resets.push_back(random.integer(0, 4) == 0 ? 255 : 0);
  }

  template <class Data>
  Data data() const {
    Data result;
    result.queries = queries.view();
    result.keys = keys.view();
    result.values = of.values_in_place ? outputs.view() : values.view();
    result.outputs = outputs.view();
    if (of.weights) result.weights = weights.view();
    result.skip = skip;
    result.scale = of.scale;
    result.unit_queries = of.unit_queries;
    result.unit_keys = of.unit_keys;
    result.decays = of.decays;
    if constexpr (requires { result.removals; }) {
      if (of.rule == matrix_rule::corrections) result.corrections = corrections.view();
      if (of.rule == matrix_rule::rates) result.rates = rates.view();
      if (of.rule != matrix_rule::gated) {
        result.removals = removals.view();
        result.unit_removals = of.unit_removals;
      }
    }
    return result;
  }
  sequences<State> where() const {
    sequences<State> result;
    result.offsets = of.offsets;
    result.first_positions = first;
    if (of.states == matrix_states::separate) result.initial_states = initial.view();
    if (of.states == matrix_states::in_place) result.initial_states = finals.view();
    if (of.finals || of.states == matrix_states::in_place) result.final_states = finals.view();
    result.resets = resets;
    result.snapshot_steps = of.snapshots;
    result.snapshots = kept.view();
    return result;
  }
  /// body(decay, data) for the case's rule and form of decay.
  template <class Body>
  void visit(const Body& body) const {
    const auto with = [&](const auto& decay) {
      if (of.rule == matrix_rule::outer)
        body(decay, data<outer_data<T>>());
      else
        body(decay, data<delta_data<T>>());
    };
    if (of.logs)
      with(stored_logs(decays));
    else
      with(stored_factors(decays));
  }
  bool intact() const { return outputs.intact() && finals.intact() && kept.intact(); }

  matrix_case of;
  draws random;
  head_memory<T> queries, keys, values, outputs, weights, removals, corrections, rates;
  std::vector<default_state_t<T>> skip;
  ebb::array<State> decays;
  state_memory<State> initial, finals, kept;
  std::vector<index_t> first;
  std::vector<std::uint8_t> resets;

 private:
  T number(double low, double high) {
    return static_cast<T>(static_cast<default_state_t<T>>(random.uniform(low, high)));
  }
  head_memory<T> input(index_t heads, index_t width, double low, double high) {
    head_memory<T> result({of.batches, of.steps, heads == 0 ? of.heads : heads, width}, of.inputs);
    result.each([&](T& x) { x = number(low, high); });
    return result;
  }
  // Of every size: 0, -inf and -1e-8 .. -100; as factors of both signs, 0 and 1 included.
  State decay_number() {
    const index_t kind = random.integer(0, 20);
    if (of.logs) {
      if (kind == 0) return State(0);
      if (kind == 1) return -std::numeric_limits<State>::infinity();
      return static_cast<State>(-std::exp(random.uniform(-18, kind < 15 ? 0 : 4.6)));
    }
    if (kind < 3) return State(0);
    if (kind < 6) return State(1);
    return static_cast<State>(random.uniform(-1, 1));
  }
};

}  // namespace ebb::test
