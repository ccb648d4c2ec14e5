// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/state_walk.hpp
/// @brief  Matrix states through time: panels of steps, head by head, block of lanes by block.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include <ebb/recurrence/backend/step_group.hpp>
#include <ebb/recurrence/matrix.hpp>

namespace ebb::inline EBB_ABI::detail {

/// How many steps go together, and how many packs of lanes: as many as the registers hold.
template <state_rule Rule>
inline constexpr int steps_together = registers < 32 || Rule == state_rule::delta ? 2 : 4;
inline constexpr int packs_together = 2;
/// Of single steps, which need fewer registers.
inline constexpr int packs_alone = registers < 32 ? 2 : 4;

/// A part of a call that depends on no other: heads and lanes of V of one sequence.
struct walk_piece {
  index_t batch, sequence;
  index_t first_head, heads;
  index_t first_lane, lanes;
};

/// Memory of a walk: on the stack up to a size that any decode step fits in, else allocated.
template <class Real>
class walk_memory {
 public:
  explicit walk_memory(index_t count) {
    if (count > here_count) away_.resize(static_cast<std::size_t>(count));
    next_ = count > here_count ? away_.data() : here_;
  }
  walk_memory(const walk_memory&) = delete;
  walk_memory& operator=(const walk_memory&) = delete;
  /// The next `count` numbers, uninitialised. @param count  a multiple of 16
  Real* take(index_t count) {
    Real* const result = next_;
    next_ += count;
    return result;
  }

 private:
  static constexpr index_t here_count = 3 * (index_t{1} << 15) / static_cast<index_t>(sizeof(Real));
  alignas(64) Real here_[static_cast<std::size_t>(here_count)];
  std::vector<Real> away_;
  Real* next_;
};

/// One piece of a call.
template <state_rule Rule, class Decay, class Data, class State>
class state_walk {
 public:
  /// @param state  of all heads of the piece: element (j, i) of head first_head + h at
  ///               (h K + j) V + i; the state before the first step, then after the last
  state_walk(const Decay& decay, const Data& data, const sequences<State>& where,
             const walk_piece& piece, State* state)
      : decay_(decay),
        data_(data),
        where_(where),
        piece_(piece),
        size_(shape_of(data)),
        state_(state),
        keys_up_((size_.keys + 15) / 16 * 16),
        longest_(panel_steps(size_.keys)) {}

  void run() {
    const index_t begin = where_.begin(piece_.sequence);
    const index_t end = where_.end(piece_.sequence, size_.steps);
    if (begin == end || piece_.lanes == 0) return;
    const index_t steps = std::min(longest_, end - begin);
    walk_memory<State> memory(rows_needed(steps) * keys_up_ + 2 * steps + 64 +
                              (copies() ? keys_up_ * block_lanes : 0));
    take(memory, steps);
    for (index_t t = begin; t < end;) {
      if (where_.resets_at(piece_.batch, t, size_.steps)) erase();
      index_t count = std::min(longest_, end - t);
      for (index_t i = 1; i < count; ++i)
        if (where_.resets_at(piece_.batch, t + i, size_.steps)) count = i;
      const index_t kept = next_snapshot(t);
      if (kept >= 0) count = std::min(count, kept + 1 - t);
      for (index_t h = piece_.first_head; h < piece_.first_head + piece_.heads; ++h)
        panel(h, t, count, where_.first_position(piece_.batch, piece_.sequence) + (t - begin));
      if (kept == t + count - 1) keep(kept);
      t += count;
    }
  }

 private:
  using T = typename Data::value_type;
  static constexpr int Steps = steps_together<Rule>;
  static constexpr index_t lanes = pack_of<State>::lanes;
  static constexpr index_t block_lanes = packs_alone * lanes;
  static constexpr index_t longest_panel = 64;

  // Rows of a panel that stay in the L1 cache while the lanes of V pass.
  static index_t panel_steps(index_t keys) {
    const index_t fit = 8192 / static_cast<index_t>(sizeof(State)) / std::max<index_t>(keys, 1);
    return std::clamp<index_t>(fit / Steps * Steps, Steps, longest_panel);
  }
  bool by_key() const { return data_.decays == decay_per::key; }
  // Rows of four kinds, decays and factors; two a group for its pass.
  static index_t rows_needed(index_t steps) { return 6 * steps + 2 * steps; }
  // Lanes that do not fill a pack pass by way of a copy.
  bool copies() const { return piece_.lanes % lanes != 0; }

  void take(walk_memory<State>& memory, index_t steps) {
    query_ = memory.take(steps * keys_up_);
    key_ = memory.take(steps * keys_up_);
    correction_ = memory.take(steps * keys_up_);
    removal_ = memory.take(steps * keys_up_);
    filled_ = memory.take(steps * keys_up_);
    factor_ = memory.take(steps * keys_up_);
    passes_ = memory.take(2 * steps * keys_up_);
    head_decays_ = memory.take(2 * steps + 32);
    if (copies()) copy_ = memory.take(keys_up_ * block_lanes);
  }

  void erase() {
    for (index_t r = 0; r < piece_.heads * size_.keys; ++r)
      std::fill_n(state_ + r * size_.values + piece_.first_lane, piece_.lanes, State(0));
  }
  index_t next_snapshot(index_t t) const {
    const auto at = std::lower_bound(where_.snapshot_steps.begin(), where_.snapshot_steps.end(), t);
    return at == where_.snapshot_steps.end() ? -1 : *at;
  }
  void keep(index_t t) {
    State* const to = where_.snapshots.pointer(piece_.batch, where_.snapshot_of(t),
                                               piece_.first_head * size_.state());
    for (index_t r = 0; r < piece_.heads * size_.keys; ++r)
      std::copy_n(state_ + r * size_.values + piece_.first_lane, piece_.lanes,
                  to + r * size_.values + piece_.first_lane);
  }

  // The rows of a view for the steps of a panel: where they lie, or converted, or of unit length.
  struct row_list {
    const State* first;
    index_t step;
    const State* operator[](index_t t) const { return first + t * step; }
  };
  row_list rows_of(const head_view<const T>& view, const std::optional<double>& epsilon, index_t h,
                   index_t t, index_t count, State* to) const {
    const T* const from = view.pointer(piece_.batch, t, shared_head(view, h, size_.heads));
    if constexpr (std::is_same_v<T, State>)
      if (!epsilon) return {from, view.stride().step};
    for (index_t i = 0; i < count; ++i) {
      State* const row = to + i * keys_up_;
      for (index_t j = 0; j < size_.keys; ++j)
        row[j] = static_cast<State>(from[i * view.stride().step + j]);
      if (!epsilon) continue;
      const State square = over_keys(row, row, size_.keys) + static_cast<State>(*epsilon);
      const State inverse = State(1) / std::sqrt(square);
      for (index_t j = 0; j < size_.keys; ++j) row[j] *= inverse;
    }
    return {to, keys_up_};
  }
  // u = -r * z.
  row_list rows_from_rates(index_t h, index_t t, index_t count) const {
    const row_list rates = rows_of(data_.rates, {}, h, t, count, correction_);
    for (index_t i = 0; i < count; ++i)
      for (index_t j = 0; j < size_.keys; ++j)
        correction_[i * keys_up_ + j] = -rates[i][j] * rows_removal_[i][j];
    return {correction_, keys_up_};
  }

  // Steps t .. t + count - 1 of head h.
  void panel(index_t h, index_t t, index_t count, index_t position) {
    rows_query_ = rows_of(data_.queries, data_.unit_queries, h, t, count, query_);
    rows_key_ = rows_of(data_.keys, data_.unit_keys, h, t, count, key_);
    rows_removal_ = rows_key_;
    if constexpr (Rule == state_rule::delta) {
      rows_removal_ = rows_of(data_.removals, data_.unit_removals, h, t, count, removal_);
      rows_correction_ = data_.rates.left_out()
                             ? rows_of(data_.corrections, {}, h, t, count, correction_)
                             : rows_from_rates(h, t, count);
    }
    for (index_t i = 0; i < count; ++i)
      weight_[i] = data_.weights.left_out()
                       ? State(1)
                       : static_cast<State>(*data_.weights.pointer(piece_.batch, t + i, h));
    if constexpr (weighing_decay<Decay, State>) {
      State weighed[static_cast<std::size_t>(longest_panel)];
      decay_.weigh({piece_.batch, t, h, position}, strided_view<State>(weighed, count, 1));
      for (index_t i = 0; i < count; ++i) weight_[i] *= weighed[i];
    }
    if (by_key())
      decay_.fill({piece_.batch, t, h * size_.keys, position},
                  strided_view<State>(filled_, {1, count, size_.keys}, {0, keys_up_}));
    else
      decay_.fill({piece_.batch, t, h, position}, strided_view<State>(filled_, count, 1));

    step_group<State, Steps> many[static_cast<std::size_t>(longest_panel / Steps)];
    step_group<State, 1> few[static_cast<std::size_t>(Steps)];
    const index_t groups = count / Steps, rest = count % Steps;
    for (index_t g = 0; g < groups; ++g) prepare(many[g], g * Steps);
    for (index_t g = 0; g < rest; ++g) prepare(few[g], groups * Steps + g);

    State* const state = state_ + (h - piece_.first_head) * size_.state();
    index_t lane = piece_.first_lane;
    const index_t end = piece_.first_lane + piece_.lanes;
    const auto blocks = [&]<int Packs>() {
      for (; lane + Packs * lanes <= end; lane += Packs * lanes) {
        State* const block = state + lane;
        walk_block<Packs>(many, groups, block, size_.values, h, t, lane, Packs * lanes);
        walk_block<Packs>(few, rest, block, size_.values, h, t + groups * Steps, lane,
                          Packs * lanes);
      }
    };
    if (groups == 0) blocks.template operator()<packs_alone>();
    blocks.template operator()<packs_together>();
    blocks.template operator()<1>();
    if (lane == end) return;
    // The last lanes, with zeros after them.
    const index_t left = end - lane;
    for (index_t j = 0; j < size_.keys; ++j) {
      std::copy_n(state + j * size_.values + lane, left, copy_ + j * lanes);
      std::fill_n(copy_ + j * lanes + left, lanes - left, State(0));
    }
    walk_block<1>(many, groups, copy_, lanes, h, t, lane, left);
    walk_block<1>(few, rest, copy_, lanes, h, t + groups * Steps, lane, left);
    for (index_t j = 0; j < size_.keys; ++j)
      std::copy_n(copy_ + j * lanes, left, state + j * size_.values + lane);
  }

  // The group of the steps from i on of the panel that begins at step t.
  template <int Count>
  void prepare(step_group<State, Count>& group, index_t i) {
    for (int e = 0; e < Count; ++e) {
      group.rows.query[e] = rows_query_[i + e];
      group.rows.key[e] = rows_key_[i + e];
      group.rows.removal[e] = rows_removal_[i + e];
      group.rows.correction[e] =
          Rule == state_rule::delta ? rows_correction_[i + e] : rows_key_[i + e];
      group.weight[e] = weight_[i + e];
    }
    if (!by_key()) {
      pair_products<State, Count> plain;
      multiply_rows<Rule>(group.rows, size_.keys, plain);
      prepare_by_head<Rule, Decay::form>(group, plain, filled_ + i, head_decays_ + 2 * i);
      return;
    }
    const State* filled[Count];
    State* factor[Count];
    group_storage<State, Count> to;
    for (int e = 0; e < Count; ++e) {
      const index_t row = (i + e) * keys_up_;
      filled[e] = filled_ + row;
      factor[e] = factor_ + row;
      to.query[e] = query_ + row;
      to.key[e] = key_ + row;
      to.correction[e] = correction_ + row;
      to.removal[e] = removal_ + row;
    }
    to.decay = passes_ + 2 * i * keys_up_;
    to.base = to.decay + keys_up_;
    prepare_by_key<Rule, Decay::form>(group, size_.keys, filled, factor, to);
  }

  // Groups of steps over a block of lanes whose rows are `row` apart; the first `count` are there.
  template <int Packs, int Count>
  void walk_block(const step_group<State, Count>* groups, index_t number, State* block, index_t row,
                  index_t h, index_t t, index_t lane, index_t count) {
    if (number == 0) return;
    step_packs<State, Count, Packs> seen;
    if constexpr (Rule != state_rule::outer)
      look<Count, Packs>(block, row, size_.keys, groups[0].rows.removal, seen);
    for (index_t g = 0; g < number; ++g)
      advance<Packs>(groups[g], g + 1 < number ? &groups[g + 1] : nullptr, block, row, h,
                     t + g * Count, lane, count, seen);
  }

  template <int Packs, int Count>
  void advance(const step_group<State, Count>& group, const step_group<State, Count>* next,
               State* block, index_t row, index_t h, index_t t, index_t lane, index_t count,
               step_packs<State, Count, Packs>& seen) {
    using V = pack<State>;
    step_packs<State, Count, Packs> x, in, fix, read;
    for (int e = 0; e < Count; ++e) {
      fetch<Packs>(data_.values.pointer(piece_.batch, t + e, h) + lane, count, x.at[e]);
      if (t + e + Count < size_.steps)
        for (index_t far = 0; far < count; far += 64 / static_cast<index_t>(sizeof(T))) {
          prefetch(data_.values.pointer(piece_.batch, t + e + Count, h) + lane + far);
          prefetch(data_.outputs.pointer(piece_.batch, t + e + Count, h) + lane + far);
        }
    }
    for (int e = 0; e < Count; ++e)
      for (int v = 0; v < Packs; ++v) {
        const V weight = broadcast<V>(group.weight[e]);
        if constexpr (Rule != state_rule::outer) {
          V sum = broadcast<V>(group.seen_by[e]) * seen.at[e][v];
          for (int s = 0; s < e; ++s) {
            sum = broadcast<V>(group.pairs.removal_key[e][s]) * x.at[s][v] + sum;
            if constexpr (Rule == state_rule::delta)
              sum = broadcast<V>(group.pairs.removal_correction[e][s]) * seen.at[s][v] + sum;
          }
          if constexpr (Rule == state_rule::delta) {
            seen.at[e][v] = sum;
            fix.at[e][v] = broadcast<V>(group.to_end[e]) * sum;
          } else {
            x.at[e][v] = x.at[e][v] - sum;
          }
        }
        x.at[e][v] = weight * x.at[e][v];
        in.at[e][v] = broadcast<V>(group.to_end[e]) * x.at[e][v];
      }
    step_packs<State, Count, Packs> ahead;
    pass_rows<State, Count> rows = group.rows;
    if (Rule != state_rule::outer && next != nullptr) {
      for (int e = 0; e < Count; ++e) rows.removal[e] = next->rows.removal[e];
      go<true>(group.decay, block, row, rows, in, fix, read, ahead);
    } else {
      go<false>(group.decay, block, row, rows, in, fix, read, ahead);
    }
    const auto scale = static_cast<State>(data_.scale);
    for (int e = 0; e < Count; ++e) {
      for (int v = 0; v < Packs; ++v) {
        V sum = broadcast<V>(group.from_start[e]) * read.at[e][v];
        for (int s = 0; s <= e; ++s) {
          sum = broadcast<V>(group.pairs.query_key[e][s]) * x.at[s][v] + sum;
          if constexpr (Rule == state_rule::delta)
            sum = broadcast<V>(group.pairs.query_correction[e][s]) * seen.at[s][v] + sum;
        }
        read.at[e][v] = broadcast<V>(scale) * sum;
      }
      if (!data_.skip.empty()) add_skip<Packs>(h, t + e, lane, count, read.at[e]);
      put<Packs>(read.at[e], data_.outputs.pointer(piece_.batch, t + e, h) + lane, count);
    }
    if (Rule != state_rule::outer && next != nullptr) seen = ahead;
  }

  template <bool Next, int Packs, int Count>
  void go(row_decay decay, State* block, index_t row, const pass_rows<State, Count>& rows,
          const step_packs<State, Count, Packs>& in, const step_packs<State, Count, Packs>& fix,
          step_packs<State, Count, Packs>& read, step_packs<State, Count, Packs>& ahead) const {
    constexpr bool look_ahead = Next && Rule != state_rule::outer;
    switch (decay) {
      case row_decay::factor:
        return pass<Rule, row_decay::factor, look_ahead>(block, row, size_.keys, rows, in, fix,
                                                         read, ahead);
      case row_decay::near_one:
        return pass<Rule, row_decay::near_one, look_ahead>(block, row, size_.keys, rows, in, fix,
                                                           read, ahead);
      case row_decay::mixed:
        return pass<Rule, row_decay::mixed, look_ahead>(block, row, size_.keys, rows, in, fix, read,
                                                        ahead);
    }
  }

  // D * v, from values that are still there: outputs in their place follow.
  template <int Packs>
  void add_skip(index_t h, index_t t, index_t lane, index_t count, pack<State> (&to)[Packs]) const {
    pack<State> value[Packs], skip[Packs];
    fetch<Packs>(data_.values.pointer(piece_.batch, t, h) + lane, count, value);
    if (static_cast<index_t>(data_.skip.size()) == size_.heads) {
      for (auto& s : skip) s = broadcast<pack<State>>(static_cast<State>(skip_at(data_, h, 0)));
    } else {
      fetch<Packs>(data_.skip.data() + h * size_.values + lane, count, skip);
    }
    for (int v = 0; v < Packs; ++v) to[v] = skip[v] * value[v] + to[v];
  }

  template <int Packs>
  static void fetch(const T* from, index_t count, pack<State> (&to)[Packs]) {
    if constexpr (std::is_same_v<T, State>)
      if (count == Packs * lanes) {
        for (int v = 0; v < Packs; ++v) to[v] = load<pack<State>>(from + v * lanes);
        return;
      }
    State buffer[static_cast<std::size_t>(Packs * lanes)] = {};
    for (index_t i = 0; i < count; ++i) buffer[i] = static_cast<State>(from[i]);
    std::memcpy(to, buffer, sizeof to);
  }
  template <int Packs>
  static void put(const pack<State> (&from)[Packs], T* to, index_t count) {
    if constexpr (std::is_same_v<T, State>)
      if (count == Packs * lanes) {
        for (int v = 0; v < Packs; ++v) store(to + v * lanes, from[v]);
        return;
      }
    State buffer[static_cast<std::size_t>(Packs * lanes)];
    std::memcpy(buffer, from, sizeof from);
    for (index_t i = 0; i < count; ++i) to[i] = static_cast<T>(buffer[i]);
  }

  const Decay& decay_;
  const Data& data_;
  const sequences<State>& where_;
  walk_piece piece_;
  matrix_shape size_;
  State* state_;
  index_t keys_up_, longest_;
  State *query_, *key_, *correction_, *removal_, *filled_, *factor_, *passes_, *head_decays_;
  State* copy_ = nullptr;
  State weight_[static_cast<std::size_t>(longest_panel)];
  row_list rows_query_{}, rows_key_{}, rows_correction_{}, rows_removal_{};
};

}  // namespace ebb::inline EBB_ABI::detail
