// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/matrix_vjp_pairs.hpp
/// @brief  The way back through matrix states: what the steps of a chunk do to each other.
#pragma once

#include <algorithm>
#include <cstddef>

#include <ebb/recurrence/backend/matrix_vjp_chunk.hpp>

namespace ebb::inline EBB_ABI::detail {

/// The pairs of a sink at step u and a source at step s of a chunk. With w(s+1..u) the decay in
/// between, s <= u for queries, and up to the step before, s < u for removals:
///
///   strength   row_u . w row_s, over the keys
///   inner      lanes_u . lanes_s, over the lanes of V
///
/// so that the loss has the sum over all pairs of strength times inner in it. From them the
/// gradients of all rows and decays, with those of the state before the chunk and of the loss with
/// respect to the state after it.
template <state_rule Rule, class Call>
class vjp_pairs {
  using State = typename Call::state_type;
  using chunk = vjp_chunk<Rule, Call>;
  using V = pack<State>;
  static constexpr index_t lanes = pack_of<State>::lanes, longest = chunk::longest;
  static constexpr std::size_t sources = chunk::sources, sinks = chunk::sinks;

 public:
  explicit vjp_pairs(const matrix_shape& shape) : shape_(shape) {
    for (auto& of_sink : strength)
      for (auto& one : of_sink) one = step_rows<State>(longest, longest);
    for (auto& of_sink : inner_)
      for (auto& one : of_sink) one = step_rows<State>(longest, longest);
    for (auto& of_sink : plain_)
      for (auto& one : of_sink) one = step_rows<State>(longest, longest);
    along = step_rows<State>(1, shape.keys);
    parts_ = step_rows<State>(longest, lanes);
  }

  /// Whether a sink reads the state before its step.
  static constexpr bool strict(std::size_t k) { return k > 0; }

  /// The strengths of the pairs of sink k.
  void find_strengths(chunk& c, std::size_t k) {
    for (std::size_t m = 0; m < sources; ++m)
      if (c.by_key())
        strengths_by_key(c, k, m);
      else
        strengths_by_head(c, k, m);
  }

  /// The gradients of rows and decays. Those of rows hold the products with the states at the ends
  /// of the chunk, `along` the sums over V of the product of these states, for each key.
  void finish_rows(chunk& c) {
    for (std::size_t k = 0; k < sinks; ++k)
      for (std::size_t m = 0; m < sources; ++m)
        row_dots<State>(as_const(c.sink[k].lanes), c.count(), as_const(c.source[m].lanes),
                        c.count(), c.value.row(), inner_[k][m].lanes(), true);
    if (c.by_key())
      finish_by_key(c);
    else
      finish_by_head(c);
    if constexpr (chunk::gated) finish_removals(c);
  }

  step_rows<State> strength[sinks][sources];  ///< row u, number s
  step_rows<State> along;

 private:
  static lane_matrix<const State> as_const(const step_rows<State>& rows) { return rows.lanes(); }
  // The decay between a source and a sink, of a head.
  static State between(const chunk& c, std::size_t k, index_t u, index_t s) {
    return strict(k) ? c.between[u - 1][s] : c.between[u][s];
  }

  void strengths_by_head(chunk& c, std::size_t k, std::size_t m) {
    row_dots<State>(as_const(c.sink[k].row), c.count(), as_const(c.source[m].row), c.count(),
                    c.row(), plain_[k][m].lanes(), true);
    for (index_t u = 0; u < c.count(); ++u)
      for (index_t s = 0; s < u + (strict(k) ? 0 : 1); ++s)
        strength[k][m][u][s] = between(c, k, u, s) * plain_[k][m][u][s];
  }

  void strengths_by_key(chunk& c, std::size_t k, std::size_t m) {
    const index_t row = c.row();
    for (index_t u = 0; u < c.count(); ++u) {
      const State* const from = c.sink[k].row[u];
      const index_t last = strict(k) ? u - 1 : u;
      parts_.clear(longest);
      for (index_t j = 0; j < row; j += lanes) {
        V x = load<V>(from + j);
        for (index_t s = last; s >= 0; --s) {
          State* const part = parts_[s];
          store(part, V(x * load<V>(c.source[m].row[s] + j) + load<V>(part)));
          x = x * load<V>(c.factor[s] + j);
        }
      }
      for (index_t s = 0; s <= last; ++s)
        strength[k][m][u][s] = sum_of_lanes<State>(load<V>(parts_[s]));
    }
  }

  // Rows stay as they are; decays multiply the pairs.
  void finish_by_head(chunk& c) {
    const index_t n = c.count(), K = c.row();
    State change[static_cast<std::size_t>(longest)] = {};
    for (index_t j = 0; j < K; ++j) change[0] += along[0][j];
    // G S through time: the loss by way of the end of the chunk.
    State now = change[0];
    const auto decay = [&](index_t t) { return c.factor[t][0]; };
    for (index_t t = 0; t < n; ++t) {
      change[t] = c.between[n - 1][t] * now;
      now = decay(t) * now;
      for (auto& one : c.source) now += over_keys<State>(one.row[t], one.of_row[t], K);
    }
    for (std::size_t k = 0; k < sinks; ++k) {
      auto& sink = c.sink[k];
      for (index_t u = 0; u < n; ++u) {
        now = over_keys<State>(sink.row[u], sink.of_row[u], K);
        const index_t last = strict(k) ? u - 1 : u;
        for (index_t t = 0; t <= last; ++t) {
          change[t] += between(c, k, u, t) * now;
          now = decay(t) * now;
          for (std::size_t m = 0; m < sources; ++m) now += plain_[k][m][u][t] * inner_[k][m][u][t];
        }
      }
    }
    for (index_t t = 0; t < n; ++t) c.changes[t][0] = change[t];

    State start = 1;
    for (index_t u = 0; u < n; ++u) {
      const auto multiply = [&](std::size_t k) {
        for (index_t j = 0; j < K; ++j) c.sink[k].of_row[u][j] *= start;
        for (std::size_t m = 0; m < sources; ++m)
          for (index_t s = 0; s < u + (strict(k) ? 0 : 1); ++s)
            inner_[k][m][u][s] *= between(c, k, u, s);
      };
      if constexpr (sinks > 1) multiply(1);
      start = c.so_far[u][0];
      multiply(0);
      for (auto& one : c.source)
        for (index_t j = 0; j < K; ++j) one.of_row[u][j] *= c.between[n - 1][u];
    }
    const auto nothing = [](index_t) {};
    for (std::size_t k = 0; k < sinks; ++k)
      for (std::size_t m = 0; m < sources; ++m) {
        auto& pairs = inner_[k][m];
        add_earlier<State>({pairs[0], pairs.row(), 1}, as_const(c.source[m].row), n, K,
                           c.sink[k].of_row.lanes(), strict(k), nothing);
        add_later<State>({pairs[0], 1, pairs.row()}, as_const(c.sink[k].row), n, K,
                         c.source[m].of_row.lanes(), strict(k), nothing);
      }
  }

  // The gated rule: z = w k.
  void finish_removals(chunk& c) {
    for (index_t r = 0; r < c.count(); ++r) {
      const State *const dz = c.sink[1].of_row[r], *const k = c.source[0].row[r];
      State* const dk = c.source[0].of_row[r];
      for (index_t j = 0; j < shape_.keys; ++j) dk[j] += c.decay_at(r, j) * dz[j];
      if (c.by_key())
        for (index_t j = 0; j < shape_.keys; ++j) c.changes[r][j] += k[j] * dz[j];
      else
        c.changes[r][0] += over_keys<State>(k, dz, c.row());
    }
  }

  // Pack of keys by pack of keys: rows of sinks decayed back to each step, and their products with
  // the state on its way through the chunk.
  void finish_by_key(chunk& c) {
    for (index_t j = 0; j < c.row(); j += lanes) keys_at(c, j);
  }
  void keys_at(chunk& c, index_t j) {
    const index_t n = c.count();
    constexpr auto most = static_cast<std::size_t>(chunk::longest_by_key);
    V back[sinks][most][most];  // row u decayed back to step t
    V read[sinks][most];        // S lanes_u
    for (std::size_t k = 0; k < sinks; ++k)
      for (index_t u = 0; u < n; ++u) {
        read[k][u] = load<V>(c.sink[k].of_row[u] + j);
        V x = load<V>(c.sink[k].row[u] + j);
        for (index_t t = strict(k) ? u - 1 : u; t >= 0; --t) {
          back[k][t][u] = x;
          x = x * load<V>(c.factor[t] + j);
        }
      }
    V end[most];  // the decay from each step to the end
    end[n - 1] = broadcast<V>(State(1));
    for (index_t t = n - 1; t > 0; --t) end[t - 1] = end[t] * load<V>(c.factor[t] + j);
    V both = load<V>(along[0] + j);
    for (index_t t = 0; t < n; ++t) {
      const V w = load<V>(c.factor[t] + j);
      V change = end[t] * both;
      V row[sources], of_row[sources];
      both = w * both;
      for (std::size_t m = 0; m < sources; ++m) {
        row[m] = load<V>(c.source[m].row[t] + j);
        const V at_end = load<V>(c.source[m].of_row[t] + j);
        of_row[m] = end[t] * at_end;
        both = row[m] * at_end + both;
      }
      for (std::size_t k = 0; k < sinks; ++k) {
        if (strict(k)) store(c.sink[k].of_row[t] + j, read[k][t]);
        for (index_t u = strict(k) ? t + 1 : t; u < n; ++u) {
          const V x = back[k][t][u];
          V state = read[k][u];
          change = x * state + change;
          state = w * state;
          for (std::size_t m = 0; m < sources; ++m) {
            const V pair = broadcast<V>(inner_[k][m][u][t]);
            of_row[m] = x * pair + of_row[m];
            state = row[m] * pair + state;
          }
          read[k][u] = state;
        }
        if (!strict(k)) store(c.sink[k].of_row[t] + j, read[k][t]);
      }
      for (std::size_t m = 0; m < sources; ++m) store(c.source[m].of_row[t] + j, of_row[m]);
      store(c.changes[t] + j, change);
    }
  }

  matrix_shape shape_;
  step_rows<State> inner_[sinks][sources], plain_[sinks][sources];
  step_rows<State> parts_;
};

}  // namespace ebb::inline EBB_ABI::detail
