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

#include <ebb/recurrence/backend/running_state.hpp>
#include <ebb/recurrence/backend/state_panel.hpp>
#include <ebb/recurrence/matrix.hpp>

namespace ebb::inline EBB_ABI::detail {

/// How many packs of lanes go together: as many as the registers hold; more of single steps.
inline constexpr int packs_together = 2;
inline constexpr int packs_alone = registers < 32 ? 2 : 4;

/// One piece of a call.
template <state_rule Rule, class Decay, class Data, class State>
class state_walk {
 public:
  state_walk(const Decay& decay, const Data& data, const sequences<State>& where,
             const walk_piece& piece)
      : decay_(decay),
        data_(data),
        where_(where),
        piece_(piece),
        size_(shape_of(data)),
        state_(where, piece, size_, steps()),
        panel_(decay, data),
        far_(Rule == state_rule::delta && bytes() > 8e6) {}

  void run() {
    const index_t begin = where_.begin(piece_.sequence);
    const index_t end = begin + steps();
    if (begin == end || piece_.lanes == 0) {
      for (index_t h = 0; h < piece_.heads; ++h) state_.begin(h);
      return state_.finish();
    }
    const index_t longest = panel_.steps_for(size_.keys);
    const index_t copied =
        piece_.lanes % lanes != 0 && !state_.padded() ? (size_.keys + 15) / 16 * 16 * lanes : 0;
    walk_memory<State> memory(panel_.memory_needed(std::min(longest, steps())) + copied);
    panel_.take(memory, std::min(longest, steps()));
    copy_ = memory.take(copied);
    bool begun = false;
    for (index_t t = begin; t < end;) {
      if (where_.resets_at(piece_.batch, t, size_.steps)) {
        state_.erase();
        begun = true;  // whatever the initial state was
      }
      index_t count = std::min(longest, end - t);
      for (index_t i = 1; i < count; ++i)
        if (where_.resets_at(piece_.batch, t + i, size_.steps)) count = i;
      const index_t kept = next_snapshot(t);
      if (kept >= 0) count = std::min(count, kept + 1 - t);
      for (index_t h = piece_.first_head; h < piece_.first_head + piece_.heads; ++h) {
        if (!begun) state_.begin(h - piece_.first_head);
        walk_panel(h, t, count, where_.first_position(piece_.batch, piece_.sequence) + (t - begin));
      }
      begun = true;
      if (kept == t + count - 1) state_.keep(where_.snapshot_of(kept));
      t += count;
    }
    state_.finish();
  }

 private:
  using T = typename Data::value_type;
  using panel = state_panel<Rule, Decay, Data, State>;
  static constexpr int Steps = panel::Steps;
  static constexpr index_t lanes = pack_of<State>::lanes;

  index_t steps() const {
    return where_.end(piece_.sequence, size_.steps) - where_.begin(piece_.sequence);
  }
  // What the arrays of this sequence take, decays by key taken for as wide as the data.
  double bytes() const {
    double numbers = static_cast<double>(size_.heads * size_.values);
    each_input(data_, [&](const auto& view, std::string_view) {
      numbers += static_cast<double>(view.heads() * view.width());
    });
    if (data_.decays == decay_per::key) numbers += static_cast<double>(size_.heads * size_.keys);
    return numbers * static_cast<double>(steps()) * sizeof(T);
  }
  index_t next_snapshot(index_t t) const {
    const auto at = std::lower_bound(where_.snapshot_steps.begin(), where_.snapshot_steps.end(), t);
    return at == where_.snapshot_steps.end() ? -1 : *at;
  }
  // Steps t .. t + count - 1 of head h.
  void walk_panel(index_t h, index_t t, index_t count, index_t position) {
    panel_.prepare(piece_.batch, h, t, count, position, h > piece_.first_head);
    const index_t groups = panel_.groups();
    const auto* const many = panel_.many();
    const auto* const few = panel_.few();
    const index_t head = h - piece_.first_head;
    index_t lane = piece_.first_lane;
    const index_t end = piece_.first_lane + piece_.lanes;
    const auto walk = [&]<int Packs>(const lane_block* blocks, index_t together) {
      walk_blocks<Packs>(many, groups, blocks, together, h, t);
      walk_blocks<Packs>(few, panel_.rest(), blocks, together, h, t + groups * Steps);
    };
    const auto walk_all = [&]<int Packs>() {
      constexpr index_t width = Packs * lanes;
      const index_t most = blocks_together(width);
      while (lane + width <= end) {
        lane_block blocks[static_cast<std::size_t>(most_blocks)];
        index_t together = 0;
        for (; together < most && lane + width <= end; lane += width) {
          const auto [first, row] = state_.at(head, lane);
          blocks[together++] = {first, row, lane, width};
        }
        walk.template operator()<Packs>(blocks, together);
      }
    };
    if (Steps == 1 || groups == 0) walk_all.template operator()<packs_alone>();
    walk_all.template operator()<packs_together>();
    walk_all.template operator()<1>();
    if (lane == end) return;
    // The last lanes, with zeros after them.
    const auto [first, row] = state_.at(head, lane);
    lane_block last{first, row, lane, end - lane};
    if (state_.padded()) return walk.template operator()<1>(&last, 1);
    last.state = copy_;
    last.row = lanes;
    for (index_t j = 0; j < size_.keys; ++j) {
      std::copy_n(first + j * row, last.count, copy_ + j * lanes);
      std::fill_n(copy_ + j * lanes + last.count, lanes - last.count, State(0));
    }
    walk.template operator()<1>(&last, 1);
    for (index_t j = 0; j < size_.keys; ++j)
      std::copy_n(copy_ + j * lanes, last.count, first + j * row);
  }

  // Lanes of V from `lane` on, of which the first `count` are there, and their part of the state.
  struct lane_block {
    State* state;
    index_t row, lane, count;
  };
  // Blocks that go through time side by side: what one waits for at the end of its pass, the pass of
  // the next one hides. As many as fit into the L1 cache.
  static constexpr index_t most_blocks = 4;
  index_t blocks_together(index_t width) const {
    const index_t bytes = std::max<index_t>(size_.keys, 1) * width * index_t{sizeof(State)};
    return std::clamp<index_t>(32768 / bytes, 1, most_blocks);
  }

  // The rows of values and outputs of one head, from a step on.
  struct value_rows {
    const T* values;
    T* outputs;
    index_t value_step, output_step;
    bool more;  // whether there are as many steps again after those of a group
  };

  template <int Packs, int Count>
  void walk_blocks(const step_group<State, Count>* groups, index_t number, const lane_block* blocks,
                   index_t together, index_t h, index_t t) {
    if (number == 0) return;
    step_packs<State, Count, Packs> seen[2][static_cast<std::size_t>(most_blocks)];
    if constexpr (Rule != state_rule::outer)
      for (index_t b = 0; b < together; ++b)
        look<Count, Packs>(blocks[b].state, blocks[b].row, size_.keys, groups[0].rows.removal,
                           seen[0][b]);
    const bool last = h + 1 == piece_.first_head + piece_.heads;
    value_rows rows{data_.values.pointer(piece_.batch, t, h),
                    data_.outputs.pointer(piece_.batch, t, h), data_.values.stride().step,
                    data_.outputs.stride().step, true};
    for (index_t g = 0; g < number; ++g) {
      if (blocks[0].lane == piece_.first_lane) {
        if (far_)
          panel_.touch_row(piece_.batch, t + number, (h - piece_.first_head) * number + g,
                           piece_.first_head, piece_.heads);
        else
          panel_.prefetch_steps(piece_.batch, last ? piece_.first_head : h + 1,
                                t + g * Count + (last ? panel_.steps_for(size_.keys) : 0), Count);
      }
      rows.more = t + (g + 2) * Count <= size_.steps;
      const auto* const next = g + 1 < number ? groups + g + 1 : nullptr;
      for (index_t b = 0; b < together; ++b) {
        // Beside the last pass over a block the state of the next head comes nearer, for the rules
        // whose first look at a state waits for it. The gated one gains by it in single steps.
        const bool waits = Rule == state_rule::delta || (Rule == state_rule::gated && number == 1);
        const State* const soon =
            !waits || next != nullptr || piece_.heads == 1
                ? nullptr
                : state_.at(last ? 0 : h + 1 - piece_.first_head, blocks[b].lane).first;
        advance<Packs>(groups[g], next, blocks[b], soon, h, rows, seen[g % 2][b],
                       seen[1 - g % 2][b]);
      }
      rows.values += Count * rows.value_step;
      rows.outputs += Count * rows.output_step;
    }
  }

  // One group of steps over one block. @param seen   products of its removals with the state
  //                                    @param ahead  gets those of the next group
  template <int Packs, int Count>
  void advance(const step_group<State, Count>& group, const step_group<State, Count>* next,
               const lane_block& block, const State* soon, index_t h, const value_rows& rows,
               step_packs<State, Count, Packs>& seen, step_packs<State, Count, Packs>& ahead) {
    using V = pack<State>;
    // Only a single pack may be there in part; known to the compiler, no row takes a branch.
    const index_t width = Packs > 1 ? Packs * lanes : block.count;
    step_packs<State, Count, Packs> x, in, read;
#pragma GCC unroll 4
    for (int e = 0; e < Count; ++e) {
      const T* const value = rows.values + e * rows.value_step + block.lane;
      fetch<Packs>(value, width, x.at[e]);
      if (rows.more)
        for (index_t far = 0; far < width; far += 64 / static_cast<index_t>(sizeof(T))) {
          prefetch(value + Count * rows.value_step + far);
          prefetch(rows.outputs + (e + Count) * rows.output_step + block.lane + far);
        }
    }
#pragma GCC unroll 4
    for (int e = 0; e < Count; ++e)
#pragma GCC unroll 4
      for (int v = 0; v < Packs; ++v) {
        if constexpr (Rule != state_rule::outer) {
          V sum = broadcast<V>(group.seen_by[e]) * seen.at[e][v];
#pragma GCC unroll 4
          for (int s = 0; s < e; ++s)
            sum = broadcast<V>(group.pairs.removal_key[e][s]) * x.at[s][v] + sum;
          if constexpr (Rule == state_rule::delta) {
            seen.at[e][v] = sum;
          } else {
            x.at[e][v] = broadcast<V>(group.weight[e]) * (x.at[e][v] - sum);
          }
        }
        in.at[e][v] = broadcast<V>(group.to_end[e]) * x.at[e][v];
      }
    if (Rule != state_rule::outer && next != nullptr)
      go<true>(group, next->rows.removal, block, soon, in, seen, read, ahead);
    else
      go<false>(group, group.rows.removal, block, soon, in, seen, read, ahead);
#pragma GCC unroll 4
    for (int e = 0; e < Count; ++e) {
#pragma GCC unroll 4
      for (int v = 0; v < Packs; ++v) {
        V sum = broadcast<V>(group.from_start[e]) * read.at[e][v];
#pragma GCC unroll 4
        for (int s = 0; Count > 1 && s <= e; ++s)
          sum = broadcast<V>(group.pairs.query_key[e][s]) * x.at[s][v] + sum;
        read.at[e][v] = sum;
      }
      if (!data_.skip.empty())
        add_skip<Packs>(h, rows.values + e * rows.value_step, block, read.at[e]);
      put<Packs>(read.at[e], rows.outputs + e * rows.output_step + block.lane, width);
    }
  }

  template <bool Next, int Packs, int Count>
  void go(const step_group<State, Count>& group, const State* removal_of_next,
          const lane_block& block, const State* soon, const step_packs<State, Count, Packs>& in,
          const step_packs<State, Count, Packs>& seen, step_packs<State, Count, Packs>& read,
          step_packs<State, Count, Packs>& ahead) const {
    constexpr bool look_ahead = Next && Rule != state_rule::outer;
    const auto decayed = [&]<row_decay Way>() {
      pass<Rule, Way, look_ahead>(block.state, soon, block.row, size_.keys, group.rows,
                                  removal_of_next, in, seen, read, ahead);
    };
    switch (group.decay) {
      case row_decay::factor:
        return decayed.template operator()<row_decay::factor>();
      case row_decay::near_one:
        return decayed.template operator()<row_decay::near_one>();
      case row_decay::mixed:
        return decayed.template operator()<row_decay::mixed>();
    }
  }

  // D * v, from values that are still there: outputs in their place follow.
  template <int Packs>
  void add_skip(index_t h, const T* values, const lane_block& block,
                pack<State> (&to)[Packs]) const {
    pack<State> value[Packs], skip[Packs];
    fetch<Packs>(values + block.lane, block.count, value);
    if (static_cast<index_t>(data_.skip.size()) == size_.heads) {
      for (auto& s : skip) s = broadcast<pack<State>>(static_cast<State>(skip_at(data_, h, 0)));
    } else {
      fetch<Packs>(data_.skip.data() + h * size_.values + block.lane, block.count, skip);
    }
    for (int v = 0; v < Packs; ++v) to[v] = skip[v] * value[v] + to[v];
  }

  template <int Packs, class Number>
  static void fetch(const Number* from, index_t count, pack<State> (&to)[Packs]) {
    if constexpr (std::is_same_v<Number, State>)
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
  running_state<State> state_;
  panel panel_;
  bool far_;  // whether the rows of the general rule come from beyond the caches
  State* copy_ = nullptr;
};

}  // namespace ebb::inline EBB_ABI::detail
