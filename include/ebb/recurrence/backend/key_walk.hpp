// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/key_walk.hpp
/// @brief  States of one value a head through time, packs along the keys.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <optional>
#include <type_traits>

#include <ebb/core/pack_exponential.hpp>
#include <ebb/decay/stored.hpp>
#include <ebb/decay/weight.hpp>
#include <ebb/recurrence/backend/running_state.hpp>
#include <ebb/recurrence/backend/walk_memory.hpp>
#include <ebb/recurrence/matrix.hpp>

namespace ebb::inline EBB_ABI::detail {

/// The weights (decay/weight.hpp) of `count` filled numbers; w may be `filled`. A number's weight
/// does not depend on its neighbours.
template <decay_form Form, class State>
void weights_by_packs(const State* filled, State* w, index_t count) {
  if constexpr (Form == decay_form::factor) {
    if (w != filled) std::copy_n(filled, count, w);
  }
#if defined(__GNUC__)
  else if constexpr (std::is_same_v<State, float>) {
    using V = pack<State>;
    constexpr index_t lanes = pack_of<State>::lanes;
    const auto weight = [](const V& x) __attribute__((always_inline)) {
      const decayed<V> d = decay_of_pack(-x, V{});
      const V slow = d.m > V{} ? -d.m : broadcast<V>(1.0F) - d.m;
      return V(x >= broadcast<V>(-0x1.62e43p-1F) ? slow : d.a);  // NaN stays NaN
    };
    index_t i = 0;
    for (; i + lanes <= count; i += lanes) store(w + i, weight(load<V>(filled + i)));
    if (i == count) return;
    State some[lanes] = {};
    std::copy(filled + i, filled + count, some);
    store(some, weight(load<V>(some)));
    std::copy_n(some, count - i, w + i);
  }
#endif
  else {
    weights_of<Form>(filled, w, count);
  }
}

/// Some heads of one sequence. @tparam T  what the data is made of
template <class Decay, class T, class State>
class key_walk {
 public:
  /// How many heads go together: as many as fill 4 KB.
  static constexpr index_t heads_together(index_t keys) {
    return std::max<index_t>(1, block / std::max<index_t>(keys_up(keys), 1));
  }

  /// @param piece  at most heads_together(K) heads
  key_walk(const Decay& decay, const outer_data<T>& data, const sequences<State>& where,
           const walk_piece& piece)
      : decay_(decay),
        data_(data),
        where_(where),
        at_(piece),
        size_(shape_of(data)),
        up_(keys_up(size_.keys)),
        begin_(where.begin(piece.sequence)),
        end_(where.end(piece.sequence, size_.steps)),
        panel_(steps_together()),
        key_(rows_of(data.keys)),
        query_(rows_of(data.queries)),
        memory_(memory_needed()) {
    state_ = memory_.take(rounded(at_.heads * up_));
    weights_ = memory_.take(rounded(panel_ * at_.heads * size_.keys + lanes));
    gain_ = memory_.take(rounded(panel_ * at_.heads + lanes));
    key_.memory = memory_.take(panel_ * key_.count * up_);
    query_.memory = memory_.take(panel_ * query_.count * up_);
    // Packs reach beyond the last head.
    std::fill_n(weights_ + panel_ * at_.heads * size_.keys, lanes, State(0));
    std::fill_n(gain_ + panel_ * at_.heads, lanes, State(0));
  }

  void run() {
    start();
    const index_t first = where_.first_position(at_.batch, at_.sequence);
    for (index_t t = begin_; t < end_; t += panel_) {
      const index_t count = std::min(panel_, end_ - t);
      fill_decays(t, count, first + (t - begin_));
      fill_rows(data_.keys, data_.unit_keys, key_, t, count);
      fill_rows(data_.queries, data_.unit_queries, query_, t, count);
      for (index_t i = 0; i < count; ++i) {
        if (where_.resets_at(at_.batch, t + i, size_.steps))
          std::fill_n(state_, at_.heads * up_, State(0));
        for (index_t h = 0; h < at_.heads; h += lanes)
          one_step(t + i, i, h, std::min<index_t>(lanes, at_.heads - h));
        if (const index_t m = where_.snapshot_of(t + i); m >= 0) keep(where_.snapshots, m);
      }
    }
    if (where_.final_states.data() != nullptr) keep(where_.final_states, at_.sequence);
  }

 private:
  using V = pack<State>;
  static constexpr int lanes = pack_of<State>::lanes;
  static constexpr index_t block = 4096 / static_cast<index_t>(sizeof(State));

  // Rows of keys or queries of the piece: which heads of the array, and their memory for a panel.
  struct row_block {
    index_t first, count, shared_by;
    State* memory = nullptr;

    // The row of head h of all.
    index_t row(index_t h) const { return count == 1 ? 0 : h / shared_by - first; }
  };

  // Rows of the decays of a panel.
  struct decay_rows {
    const State* first;
    index_t row;
  };

  static constexpr index_t rounded(index_t count) { return (count + 15) / 16 * 16; }
  // Rows that whole packs may be read of.
  static constexpr index_t keys_up(index_t keys) { return rounded(keys); }

  index_t steps_together() const {
    const index_t fit = 4 * block / std::max<index_t>(at_.heads * up_, 1);
    return std::clamp<index_t>(std::min<index_t>(fit, end_ - begin_), 1, 64);
  }
  row_block rows_of(const head_view<const T>& view) const {
    const index_t by = std::max<index_t>(view.heads() > 0 ? size_.heads / view.heads() : 1, 1);
    const index_t first = at_.first_head / by;
    return {first, (at_.first_head + at_.heads - 1) / by - first + 1, by};
  }
  index_t memory_needed() const {
    return rounded(at_.heads * up_) + rounded(panel_ * at_.heads * size_.keys + lanes) +
           rounded(panel_ * at_.heads + lanes) + panel_ * (key_.count + query_.count) * up_;
  }

  void start() {
    const auto& before = where_.initial_states;
    std::fill_n(state_, at_.heads * up_, State(0));
    if (before.data() == nullptr) return;
    const State* const from = before.pointer(at_.batch, at_.sequence, at_.first_head * size_.keys);
    each_row([&](index_t here, index_t there, index_t count) {
      std::copy_n(from + there, count, state_ + here);
    });
  }
  void keep(const strided_view<State>& states, index_t row) const {
    State* const to = states.pointer(at_.batch, row, at_.first_head * size_.keys);
    each_row([&](index_t here, index_t there, index_t count) {
      std::copy_n(state_ + here, count, to + there);
    });
  }
  // f(where it begins here, where in the caller's states, how many) for all numbers of the states.
  template <class F>
  void each_row(const F& f) const {
    if (up_ == size_.keys) return f(0, 0, at_.heads * up_);
    for (index_t h = 0; h < at_.heads; ++h) f(h * up_, h * size_.keys, size_.keys);
  }

  // The weights of the decays of a panel, and what the decay weighs by.
  void fill_decays(index_t t, index_t count, index_t position) {
    const index_t h = at_.first_head, heads = at_.heads, keys = size_.keys, width = heads * keys;
    decay_rows_ = {weights_, width};
    if (data_.decays == decay_per::key) {
      const decay_rows filled = filled_rows({at_.batch, t, h * keys, position}, count);
      if (Decay::form == decay_form::factor && keys % lanes == 0)
        decay_rows_ = filled;
      else
        for (index_t i = 0; i < count; ++i)
          weights_by_packs<Decay::form>(filled.first + i * filled.row, weights_ + i * width, width);
    } else {
      decay_.fill({at_.batch, t, h, position}, strided_view<State>(gain_, count, heads));
      weights_by_packs<Decay::form>(gain_, gain_, count * heads);
      for (index_t n = 0; n < count * heads; ++n) std::fill_n(weights_ + n * keys, keys, gain_[n]);
    }
    if constexpr (weighing_decay<Decay, State>)
      decay_.weigh({at_.batch, t, h, position}, strided_view<State>(gain_, count, heads));
  }
  // What the decay fills for all keys of the piece, where it lies if it lies there as it is needed.
  decay_rows filled_rows(const block_origin& at, index_t count) const {
    const index_t width = at_.heads * size_.keys;
    if constexpr (requires {
                    { decay_.rows_at(at) } -> std::same_as<stored_rows<State, time_major>>;
                  }) {
      const auto rows = decay_.rows_at(at);
      // Of the next panel: no hardware follows rows so far apart.
      for (index_t i = count; i < std::min(2 * count, end_ - at.step); ++i)
        prefetch_row(rows.data + i * rows.row, width);
      return {rows.data, rows.row};
    } else {
      decay_.fill(at, strided_view<State>(weights_, count, width));
      return {weights_, width};
    }
  }

  // Rows with zeros behind them, of unit length where that is asked for.
  void fill_rows(const head_view<const T>& view, const std::optional<double>& unit,
                 const row_block& rows, index_t t, index_t count) const {
    for (index_t i = 0; i < count; ++i)
      for (index_t r = 0; r < rows.count; ++r) {
        const T* const from = view.pointer(at_.batch, t + i, rows.first + r);
        State* const to = rows.memory + (i * rows.count + r) * up_;
        for (index_t j = 0; j < size_.keys; ++j) to[j] = static_cast<State>(from[j]);
        std::fill(to + size_.keys, to + up_, State(0));
        if (!unit) continue;
        V sum{};
        for (index_t j = 0; j < up_; j += lanes) sum = load<V>(to + j) * load<V>(to + j) + sum;
        const State square = sum_of_lanes<State>(sum) + static_cast<State>(*unit);
        const State inverse = State(1) / std::sqrt(square);
        for (index_t j = 0; j < size_.keys; ++j) to[j] *= inverse;
      }
  }

  // A number for each of `count` heads from h on, counted in the piece.
  V numbers(const head_view<const T>& view, index_t t, index_t h, index_t count) const {
    const T* const from = view.pointer(at_.batch, t, at_.first_head + h);
    const index_t apart = view.stride().head;
    if constexpr (std::is_same_v<T, State>)
      if (count == lanes && apart == 1) return load<V>(from);
    State some[lanes] = {};
    for (index_t e = 0; e < count; ++e) some[e] = static_cast<State>(from[e * apart]);
    return load<V>(some);
  }

  // Step t, number i of the panel, of `count` heads from h on, counted in the piece.
  void one_step(index_t t, index_t i, index_t h, index_t count) {
    const V v = numbers(data_.values, t, h, count);
    V in = v;
    if (!data_.weights.left_out()) in = in * numbers(data_.weights, t, h, count);
    if constexpr (weighing_decay<Decay, State>) in = in * load<V>(gain_ + i * at_.heads + h);
    State each[lanes];
    store(each, in);
    V sums[lanes];
    // Copies: for all that a compiler knows, a stored state might change what they are.
    const index_t keys = size_.keys, up = up_, first = at_.first_head + h;
    const row_block key = key_, query = query_;
    const State* const k = key.memory + i * key.count * up;
    const State* const q = query.memory + i * query.count * up;
    const State* w = decay_rows_.first + i * decay_rows_.row + h * keys;
    State* state = state_ + h * up;
    for (index_t e = 0; e < count; ++e, state += up, w += keys)
      sums[e] = one_head(state, w, k + key.row(first + e) * up, q + query.row(first + e) * up,
                         each[e], keys);
    for (index_t e = count; e < lanes; ++e) sums[e] = V{};

    V out = broadcast<V>(static_cast<State>(data_.scale)) * sums_of_heads(sums);
    if (!data_.skip.empty()) {
      State skip[lanes] = {};
      for (index_t e = 0; e < count; ++e)
        skip[e] = static_cast<State>(skip_at(data_, at_.first_head + h + e, 0));
      out = load<V>(skip) * v + out;
    }
    T* const to = data_.outputs.pointer(at_.batch, t, at_.first_head + h);
    const index_t apart = data_.outputs.stride().head;
    if constexpr (std::is_same_v<T, State>)
      if (count == lanes && apart == 1) return store(to, out);
    store(each, out);
    for (index_t e = 0; e < count; ++e) to[e * apart] = static_cast<T>(each[e]);
  }

  // Products of the state after a step with the query, K of them in the lanes of a pack.
  [[gnu::always_inline]] static V one_head(State* state, const State* w, const State* k,
                                           const State* q, const State& in, index_t keys) {
    V sum{};
    index_t j = 0;
    for (; j + lanes <= keys; j += lanes)
      sum = advanced(state + j, w + j, k + j, in) * load<V>(q + j) + sum;
    if (j < keys) {
      // Lanes beyond the keys have the next head's decays, and may hold anything.
      State some[lanes] = {};
      const V last = advanced(state + j, w + j, k + j, in);
      store(some, V(last * load<V>(q + j)));
      std::fill(some + (keys - j), some + lanes, State(0));
      sum = sum + load<V>(some);
    }
    return sum;
  }
  [[gnu::always_inline]] static V advanced(State* state, const State* w, const State* k,
                                           const State& in) {
    const V weight = load<V>(w), s = load<V>(state);
    const V b = load<V>(k) * broadcast<V>(in);
    const V fast = weight * s + b;
    V next = fast;
    if constexpr (Decay::form == decay_form::log_factor) {
      // An infinite state would meet its own decrement, inf - inf; its decay is infinite again.
      // NOLINTNEXTLINE(misc-redundant-expression)
      const V sum = s + fast, slow = sum == sum ? sum : s + b;
      next = weight < V{} ? slow : fast;
    }
    store(state, next);
    return next;
  }
  static V sums_of_heads(const V (&sums)[lanes]) {
    if constexpr (lanes == 1)
      return sums[0];
    else
      return sums_of_packs<lanes / 2>(sums);
  }

  const Decay& decay_;
  const outer_data<T>& data_;
  const sequences<State>& where_;
  walk_piece at_;
  matrix_shape size_;
  index_t up_, begin_, end_, panel_;
  row_block key_, query_;
  walk_memory<State> memory_;
  State *state_, *weights_, *gain_;
  decay_rows decay_rows_{};
};

}  // namespace ebb::inline EBB_ABI::detail
