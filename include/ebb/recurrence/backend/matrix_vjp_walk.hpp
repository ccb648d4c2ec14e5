// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/matrix_vjp_walk.hpp
/// @brief  The way back through matrix states: one head of one sequence, chunk by chunk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <ebb/recurrence/backend/matrix_vjp_pairs.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Goes back through heads of sequences:
///
///   forth   the states before each chunk of steps, from the data
///   back    chunk after chunk from the last: G = dL/dS from its end to its start
///
/// A state has a row of keys, in whole packs, for each lane of V. With n steps in a chunk, its
/// sources X K^T and its sinks Y Q^T, decays included, all of it is products of matrices:
///
///   S <- decay of S + X K^T      (the delta rules: Z^T S and the pairs first, step by step)
///   dX = G^T K + pairs           dQ = S Y + pairs          dK = G X + pairs
///   G <- decay of G + Q Y^T
///
/// Chunks end at resets and snapshots.
template <state_rule Rule, class Call>
class vjp_walk {
  using State = typename Call::state_type;
  using T = typename Call::value_type;
  using chunk = vjp_chunk<Rule, Call>;
  static constexpr bool gated = chunk::gated, corrected = chunk::corrected;

 public:
  /// @param sums  where what the walk returns goes
  vjp_walk(const Call& call, shared_sums<Call>& sums)
      : call_(call),
        shared_(sums),
        shape_(shape_of(call.data)),
        rows_(call.gradients, shape_.heads),
        chunk_(call),
        pairs_(shape_),
        row_(chunk_.row()),
        size_(shape_.values * row_),
        cotangent_(static_cast<std::size_t>(size_)) {}

  /// The gradients of one head. Those that no other adds to are written; the rest is returned.
  head_sums<State> operator()(const head_place& at) {
    const auto& where = call_.where;
    at_ = at;
    begin_ = where.begin(at.sequence);
    length_ = where.end(at.sequence, shape_.steps) - begin_;
    cut();
    make_room();
    transpose(where.initial_states, at.sequence, state(0));
    for (index_t i = 0; i < chunks(); ++i) {
      if (erased(i)) std::fill_n(state(i), size_, State(0));
      if (i + 1 < chunks() || Rule != state_rule::outer) go_forth(i);
    }
    transpose(call_.cotangents.final_states, at.sequence, cotangent_.data());
    for (index_t i = chunks(); i-- > 0;) go_back(i);
    const auto& initial = call_.gradients.initial_states;
    if (initial.data() != nullptr) {
      State* const to = initial.pointer(at.batch, at.sequence, at.head * shape_.state());
      for (index_t j = 0; j < shape_.keys; ++j)
        for (index_t i = 0; i < shape_.values; ++i)
          to[j * shape_.values + i] = cotangent_[static_cast<std::size_t>(i * row_ + j)];
    }
    return std::move(sums_);
  }

 private:
  // The first steps of the chunks, and the end.
  void cut() {
    starts_.assign(1, begin_);
    const index_t end = begin_ + length_;
    for (index_t t = begin_ + 1; t < end; ++t)
      if (t - starts_.back() == chunk_.most_steps() || resets(t) || snapshot(t - 1) >= 0)
        starts_.push_back(t);
    if (length_ > 0) starts_.push_back(end);
  }
  index_t chunks() const { return static_cast<index_t>(starts_.size()) - 1; }
  bool resets(index_t t) const { return call_.where.resets_at(at_.batch, t, shape_.steps); }
  bool erased(index_t i) const { return resets(start(i)); }
  index_t start(index_t i) const { return starts_[static_cast<std::size_t>(i)]; }
  // The row of snapshot cotangents that enter after step t, or -1.
  index_t snapshot(index_t t) const {
    return call_.cotangents.snapshots.data() == nullptr ? -1 : call_.where.snapshot_of(t);
  }

  void make_room() {
    const auto room = [](std::vector<State>& numbers, index_t count) {
      if (static_cast<index_t>(numbers.size()) < count)
        numbers.resize(static_cast<std::size_t>(count));
    };
    room(states_, std::max<index_t>(1, chunks()) * size_);
    if constexpr (Rule != state_rule::outer) room(seen_, length_ * shape_.values);
    sums_ = shared_.spare();
    rows_.queries.make_room(sums_.queries, length_);
    rows_.keys.make_room(sums_.keys, length_);
    rows_.removals.make_room(sums_.removals, length_);
    rows_.corrections.make_room(sums_.corrections, length_);
    if (call_.wants_decay_gradients()) {
      room(sums_.filled, length_ * call_.decay_width());
      room(sums_.changes, length_ * call_.decay_width());
      if constexpr (weighing_decay<typename Call::decay_type, State>) room(sums_.weighed, length_);
    }
    if (const auto& skip = call_.gradients.skip; !skip.empty())
      sums_.skip.assign(skip.size() / static_cast<std::size_t>(shape_.heads), State(0));
  }

  // The state before chunk i.
  State* state(index_t i) { return states_.data() + i * size_; }
  lane_matrix<const State> as_const(const State* numbers) const { return {numbers, row_}; }

  // The state of row s of a view, or zeros.
  void transpose(const strided_view<const State>& states, index_t s, State* to) const {
    std::fill_n(to, size_, State(0));
    add_transposed(states, s, to);
  }
  void add_transposed(const strided_view<const State>& states, index_t s, State* to) const {
    if (states.data() == nullptr) return;
    const State* const from = states.pointer(at_.batch, s, at_.head * shape_.state());
    for (index_t j = 0; j < shape_.keys; ++j)
      for (index_t i = 0; i < shape_.values; ++i) to[i * row_ + j] += from[j * shape_.values + i];
  }

  void read(index_t i, bool back) {
    chunk_.read({at_, start(i), start(i + 1) - start(i), start(i) - begin_, erased(i)}, back);
    auto& c = chunk_;
    const index_t n = c.count(), V = shape_.values;
    if constexpr (Rule == state_rule::outer) {
      for (index_t r = 0; r < n; ++r) std::copy_n(c.value[r], V, c.written[r]);
    } else {
      auto& seen = corrected ? c.source[chunk::sources - 1].lanes : c.written;
      seen.clear(n);  // what a NaN has left behind the last lane
      if (back)
        for (index_t r = 0; r < n; ++r)
          std::copy_n(seen_.data() + (start(i) - begin_ + r) * V, V, seen[r]);
      if constexpr (corrected)
        for (index_t r = 0; r < n; ++r) std::copy_n(c.value[r], V, c.written[r]);
    }
    if (gated && !back) return;
    for (index_t r = 0; r < n; ++r)
      for (index_t k = 0; k < V; ++k) c.source[0].lanes[r][k] = c.weight[r][0] * c.written[r][k];
  }

  // From the state before chunk i to the one after it.
  void go_forth(index_t i) {
    auto& c = chunk_;
    read(i, false);
    if (i + 1 < chunks()) c.prefetch(at_, start(i + 1), start(i + 2), false);
    const index_t n = c.count(), V = shape_.values;
    const auto nothing = [](index_t) {};
    if constexpr (Rule != state_rule::outer) {
      // What the removals see: of the state, and of the steps before.
      auto& seen = corrected ? c.source[chunk::sources - 1].lanes : c.written;
      row_dots<State>(as_const(c.sink[1].from_start), n, as_const(state(i)), V, row_, seen.lanes(),
                      false);
      pairs_.find_strengths(c, 1);
      const auto pairs = [&](std::size_t m) -> left_matrix<State> {
        const auto& all = pairs_.strength[1][m];
        return {all[0], all.row(), 1};
      };
      if constexpr (gated) {
        add_earlier<State>(pairs(0), as_const(c.source[0].lanes), n, V, seen.lanes(), true,
                           [&](index_t r) {
                             for (index_t k = 0; k < V; ++k) {
                               c.written[r][k] = c.value[r][k] - c.written[r][k];
                               c.source[0].lanes[r][k] = c.weight[r][0] * c.written[r][k];
                             }
                           });
      } else {
        add_earlier<State>(pairs(0), as_const(c.source[0].lanes), n, V, seen.lanes(), true,
                           nothing);
        add_earlier<State>(pairs(1), as_const(seen), n, V, seen.lanes(), true, nothing);
      }
      for (index_t r = 0; r < n; ++r)
        std::copy_n(seen[r], V, seen_.data() + (start(i) - begin_ + r) * V);
    }
    if (i + 1 == chunks()) return;
    const auto columns = [](auto& one) -> left_matrix<State> {
      return {one.lanes[0], 1, one.lanes.row()};
    };
    decay_and_add<false, State>(state(i), state(i + 1), V, row_, c.whole(), columns(c.source[0]),
                                as_const(c.source[0].to_end), n);
    for (std::size_t m = 1; m < chunk::sources; ++m)
      add_products<State>(columns(c.source[m]), as_const(c.source[m].to_end), V, n, row_,
                          {state(i + 1), row_});
  }
  static lane_matrix<const State> as_const(const step_rows<State>& rows) { return rows.lanes(); }

  void go_back(index_t i) {
    auto& c = chunk_;
    if (const index_t m = snapshot(start(i + 1) - 1); m >= 0)
      add_transposed(call_.cotangents.snapshots, m, cotangent_.data());
    read(i, true);
    if (i > 0) c.prefetch(at_, start(i - 1), start(i), true);
    const index_t n = c.count(), V = shape_.values;
    for (std::size_t k = 0; k < chunk::sinks; ++k) pairs_.find_strengths(c, k);
    find_lanes();
    for (auto& one : c.sink) {
      one.of_row.clear(n);
      add_products<State>({one.lanes[0], one.lanes.row(), 1}, as_const(state(i)), n, V, row_,
                          one.of_row.lanes());
    }
    for (auto& one : c.source) {
      one.of_row.clear(n);
      add_products<State>({one.lanes[0], one.lanes.row(), 1}, as_const(cotangent_.data()), n, V,
                          row_, one.of_row.lanes());
    }
    pairs_.along.clear(1);
    State* const g = cotangent_.data();
    const auto columns = [](auto& one) -> left_matrix<State> {
      return {one.lanes[0], 1, one.lanes.row()};
    };
    decay_and_add<true, State>(g, g, V, row_, c.whole(), columns(c.sink[0]),
                               as_const(c.sink[0].from_start), n, state(i), pairs_.along[0]);
    for (std::size_t k = 1; k < chunk::sinks; ++k)
      add_products<State>(columns(c.sink[k]), as_const(c.sink[k].from_start), V, n, row_,
                          {g, row_});
    if (erased(i)) std::fill(cotangent_.begin(), cotangent_.end(), State(0));
    pairs_.finish_rows(c);
    put();
  }

  // The gradients of lanes: G^T k and G^T u of every step; with them what removals are worth.
  void find_lanes() {
    auto& c = chunk_;
    const index_t n = c.count(), V = shape_.values;
    for (std::size_t m = chunk::sources; m-- > 0;) {
      auto& to = c.source[m].of_lanes;
      row_dots<State>(as_const(c.source[m].to_end), n, as_const(cotangent_.data()), V, row_,
                      to.lanes(), false);
      const auto add = [&](std::size_t k, const auto& finish) {
        const auto& pairs = pairs_.strength[k][m];
        add_later<State>({pairs[0], 1, pairs.row()}, as_const(c.sink[k].lanes), n, V, to.lanes(),
                         pairs_.strict(k), finish);
      };
      add(0, [](index_t) {});
      if constexpr (chunk::sinks > 1)
        add(1, [&](index_t r) {
          State* const fix = c.sink[1].lanes[r];
          if constexpr (gated)
            for (index_t k = 0; k < V; ++k) fix[k] = -c.weight[r][0] * to[r][k];
          else if (m == 1)
            std::copy_n(to[r], V, fix);
        });
    }
  }

  // The gradients of the steps go where they were asked for.
  void put() {
    auto& c = chunk_;
    const index_t V = shape_.values, wide = call_.decay_width();
    const auto& skip = call_.data.skip;
    c.undo_rows();
    c.undo_decays();
    for (index_t r = 0; r < c.count(); ++r) {
      const index_t b = at_.batch, t = c.place().first + r, h = at_.head, at = t - begin_;
      State* const dv = c.source[0].of_lanes[r];
      c.of_weight[r][0] = over_keys<State>(dv, c.written[r], V);
      for (index_t i = 0; i < V; ++i) dv[i] *= c.weight[r][0];
      if (!skip.empty())
        for (index_t i = 0; i < V; ++i)
          dv[i] += static_cast<State>(skip_at(call_.data, h, i)) * c.output[r][i];
      rows_.queries.put(b, t, h, c.sink[0].of_row[r], sums_.queries, at);
      rows_.keys.put(b, t, h, c.source[0].of_row[r], sums_.keys, at);
      std::vector<State> none;
      rows_.values.put(b, t, h, dv, none, at);
      const State of_given = c.of_given(r);
      rows_.weights.put(b, t, h, &of_given, none, at);
      if constexpr (corrected) {
        rows_.removals.put(b, t, h, c.sink[1].of_row[r], sums_.removals, at);
        rows_.corrections.put(b, t, h, c.source[1].of_row[r], sums_.corrections, at);
      }
      const bool one = sums_.skip.size() == 1;
      if (!sums_.skip.empty())
        for (index_t i = 0; i < V; ++i)
          sums_.skip[static_cast<std::size_t>(one ? 0 : i)] += c.output[r][i] * c.value[r][i];
      if (!call_.wants_decay_gradients()) continue;
      std::copy_n(c.filled[r], wide, sums_.filled.data() + at * wide);
      std::copy_n(c.changes[r], wide, sums_.changes.data() + at * wide);
      if (!sums_.weighed.empty()) sums_.weighed[static_cast<std::size_t>(at)] = c.of_weighed(r);
    }
  }

  const Call& call_;
  shared_sums<Call>& shared_;
  matrix_shape shape_;
  all_row_gradients<T, State> rows_;
  chunk chunk_;
  vjp_pairs<Rule, Call> pairs_;
  index_t row_, size_;
  head_place at_{};
  index_t begin_ = 0, length_ = 0;
  std::vector<index_t> starts_;
  std::vector<State> states_, cotangent_, seen_;  // seen_: what removals have seen, or left
  head_sums<State> sums_;
};

}  // namespace ebb::inline EBB_ABI::detail
