// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/state_panel.hpp
/// @brief  A panel of steps of one head, in groups that are ready for their passes.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <type_traits>

#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/backend/step_group.hpp>
#include <ebb/recurrence/backend/walk_memory.hpp>
#include <ebb/recurrence/matrix.hpp>

namespace ebb::inline EBB_ABI::detail {

/// How many steps go together: as many as the registers hold. For the general delta rule what they
/// tell each other costs more than is gained.
template <state_rule Rule>
inline constexpr int steps_together = Rule == state_rule::delta ? 1
                                      : registers < 32          ? 2
                                                                : 4;

/// The steps of a panel: rows converted, of unit length or where they lie, of a group side by side;
/// decays and weights; the groups, of `Steps` steps and then of single ones.
template <state_rule Rule, class Decay, class Data, class State>
class state_panel {
 public:
  static constexpr int Steps = steps_together<Rule>;
  static constexpr index_t longest = 64;
  static constexpr std::size_t heads_at_once = 32;

  state_panel(const Decay& decay, const Data& data)
      : decay_(decay), data_(data), size_(shape_of(data)), keys_up_((size_.keys + 15) / 16 * 16) {}

  /// Steps of a panel, so few that their rows stay in a near cache while the lanes of V pass; fewest
  /// where every step has decays for each key.
  index_t steps_for(index_t keys) const {
    const index_t bytes = by_key() ? 8192 : 16384, most = by_key() ? 8 : 32;
    const index_t fit = bytes / static_cast<index_t>(sizeof(State)) / std::max<index_t>(keys, 1);
    return std::clamp<index_t>(fit / Steps * Steps, Steps, most);
  }
  /// Numbers that panels of up to `steps` steps need.
  index_t memory_needed(index_t steps) const { return (by_key() ? 8 : 5) * steps * keys_up_; }
  void take(walk_memory<State>& memory, index_t steps) {
    for (State** rows : {&query_, &key_, &of_pass_.query, &of_pass_.key, &of_pass_.removal})
      *rows = memory.take(steps * keys_up_);
    for (State** rows : {&filled_, &decay_rows_, &base_rows_})
      *rows = by_key() ? memory.take(steps * keys_up_) : nullptr;
    correction_ = of_pass_.key, removal_ = of_pass_.removal;  // delta rule: steps go singly
  }

  /// Prepares the steps t .. t + count - 1 of head h of a batch entry.
  /// @param again  whether the call before was for head h - 1 and the same steps
  void prepare(index_t batch, index_t h, index_t t, index_t count, index_t position, bool again) {
    at_ = {batch, h, t, count, position};
    groups_ = count / Steps;
    rest_ = count % Steps;
    if (by_key() || !again || !rows_shared_with_previous()) {
      find_rows();
      if (Steps > 1 && !by_key())
        for (index_t g = 0; g < groups_; ++g)
          plain_[g] = products_of_rows<Rule>(given_[g], size_.keys, storage_of(g * Steps));
    }
    State filled[static_cast<std::size_t>(longest)], weighed[static_cast<std::size_t>(longest)];
    fill_of_head(filled, weighed, again);
    find_weights(weighed);
    if (by_key())
      find_decays_by_key();
    else
      find_decays_by_head(filled);
    const auto scale = static_cast<State>(data_.scale);
    each_group([&](auto& group, index_t, auto) { group.fold(Rule, scale); });
  }

  /// Asks for the rows of steps t .. t + count - 1 of head h, which a later panel reads: no hardware
  /// follows rows of other heads' distance.
  void prefetch_steps(index_t batch, index_t h, index_t t, index_t count) const {
    for (index_t end = std::min(t + count, size_.steps); t < end; ++t)
      each_row(batch, t, h, [](const auto* row, index_t width) { prefetch_row(row, width); });
  }
  /// Reads from each line of the n-th row of the steps from t on, head by head as they lie in
  /// memory: processors fetch ahead of such reads, which they do not of a prefetch, and memory is
  /// too far away for the few of these that can be under way.
  void touch_row(index_t batch, index_t t, index_t n, index_t first_head, index_t heads) const {
    if (t + n / heads >= size_.steps) return;
    each_row(batch, t + n / heads, first_head + n % heads, [](const auto* row, index_t width) {
      constexpr auto line = static_cast<index_t>(64 / sizeof(*row));
      for (index_t j = 0; j < width; j += line)
        static_cast<void>(*reinterpret_cast<const volatile char*>(row + j));
    });
  }

  const step_group<State, Steps>* many() const { return many_; }
  const step_group<State, 1>* few() const { return few_; }
  index_t groups() const { return groups_; }
  index_t rest() const { return rest_; }

 private:
  using T = typename Data::value_type;
  struct place {
    index_t batch, head, step, count, position;
  };
  /// Rows of K numbers.
  struct row_list {
    const State* first;
    index_t step;
    const State* operator[](index_t t) const { return first + t * step; }
  };

  // Only declared: what is stored so lies side by side for the keys of a head.
  template <class Number>
  static void along_channels(const stored_rows<Number, time_major>&);

  // f(row, count) for the rows of a step of head h that lie in the caller's memory, but values.
  template <class F>
  void each_row(index_t batch, index_t t, index_t h, const F& f) const {
    const auto row = [&](const head_view<const T>& view) {
      f(view.pointer(batch, t, shared_head(view, h, size_.heads)), size_.keys);
    };
    row(data_.queries);
    row(data_.keys);
    if constexpr (Rule == state_rule::delta) {
      row(data_.removals);
      row(data_.rates.left_out() ? data_.corrections : data_.rates);
    }
    if constexpr (requires { along_channels(decay_.rows_at(block_origin{})); })
      if (by_key()) f(decay_.rows_at({batch, t, h * size_.keys, 1}).data, size_.keys);
  }

  bool by_key() const { return data_.decays == decay_per::key; }

  bool rows_shared_with_previous() const {
    const auto same = [&](const auto& view) {
      return shared_head(view, at_.head, size_.heads) ==
             shared_head(view, at_.head - 1, size_.heads);
    };
    bool all = same(data_.queries) && same(data_.keys);
    if constexpr (Rule == state_rule::delta)
      all = all && same(data_.removals) &&
            same(data_.rates.left_out() ? data_.corrections : data_.rates);
    return all;
  }

  row_list rows_of(const head_view<const T>& view, const std::optional<double>& epsilon,
                   State* to) const {
    const T* const from =
        view.pointer(at_.batch, at_.step, shared_head(view, at_.head, size_.heads));
    if constexpr (std::is_same_v<T, State>)
      if (!epsilon) return {from, view.stride().step};
    for (index_t i = 0; i < at_.count; ++i) {
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

  void find_rows() {
    const row_list query = rows_of(data_.queries, data_.unit_queries, query_);
    const row_list key = rows_of(data_.keys, data_.unit_keys, key_);
    row_list removal = key, correction = key;
    if constexpr (Rule == state_rule::delta) {
      removal = rows_of(data_.removals, data_.unit_removals, removal_);
      if (data_.rates.left_out()) {
        correction = rows_of(data_.corrections, {}, correction_);
      } else {
        const row_list rates = rows_of(data_.rates, {}, correction_);
        for (index_t i = 0; i < at_.count; ++i)
          for (index_t j = 0; j < size_.keys; ++j)
            correction_[i * keys_up_ + j] = -rates[i][j] * removal[i][j];
        correction = {correction_, keys_up_};
      }
    }
    each_group([&](auto& group, index_t i, auto steps) {
      if constexpr (steps == 1) {
        group.rows = {query[i], key[i], correction[i], removal[i], nullptr, nullptr, 0};
      } else {
        const auto to = storage_of(i);
        group.rows = {to.query, to.key, {}, by_key() ? to.removal : to.key, {}, {}, 0};
        for (int e = 0; e < steps; ++e) {
          given_[i / Steps].query[e] = query[i + e];
          given_[i / Steps].key[e] = key[i + e];
        }
      }
    });
  }
  // Where the rows of the group that begins with step i are stored for its pass.
  group_storage<State> storage_of(index_t i) const {
    const index_t at = i * keys_up_;
    return {of_pass_.query + at, of_pass_.key + at, of_pass_.removal + at};
  }

  // What the decay gives for the whole head: decays, unless they are by key, and weights, if any.
  // For single steps, as in decoding, for some heads at once, through an exponential together.
  void fill_of_head(State* filled, State* weighed, bool again) {
    if (by_key() && !weighing_decay<Decay, State>) return;
    if (by_key() || at_.count > 1) return fill_heads(1, filled, weighed);
    constexpr auto at_once = static_cast<index_t>(heads_at_once);
    if (!again || at_.head % at_once == 0) {
      first_filled_ = at_.head;
      const index_t heads = std::min(at_once - at_.head % at_once, size_.heads - at_.head);
      fill_heads(heads, filled_heads_, weighed_heads_);
      decays_of_steps<Decay::form>(filled_heads_, heads, one_of_heads_, decay_of_heads_,
                                   base_of_heads_);
    }
    weighed[0] = weighed_heads_[at_.head - first_filled_];
  }
  void fill_heads(index_t heads, State* filled, State* weighed) const {
    fill_and_weigh(decay_, {at_.batch, at_.step, at_.head, at_.position}, !by_key(),
                   strided_view<State>(filled, at_.count, heads),
                   strided_view<State>(weighed, at_.count, heads));
  }

  void find_weights([[maybe_unused]] const State* weighed) {
    State weight[static_cast<std::size_t>(longest)];
    for (index_t i = 0; i < at_.count; ++i)
      weight[i] =
          data_.weights.left_out()
              ? State(1)
              : static_cast<State>(*data_.weights.pointer(at_.batch, at_.step + i, at_.head));
    if constexpr (weighing_decay<Decay, State>)
      for (index_t i = 0; i < at_.count; ++i) weight[i] *= weighed[i];
    each_group([&](auto& group, index_t i, auto steps) {
      for (int e = 0; e < steps; ++e) group.weight[e] = weight[i + e];
    });
  }

  void find_decays_by_head(const State* filled) {
    State factors[static_cast<std::size_t>(longest)];
    const State *one = factors, *decay = head_decay_, *base = head_base_;
    if (at_.count > 1) {
      decays_of_steps<Decay::form>(filled, at_.count, factors, head_decay_, head_base_);
      find_decays_of_groups(filled, factors);
    } else {
      const index_t i = at_.head - first_filled_;
      one = one_of_heads_ + i, decay = decay_of_heads_ + i, base = base_of_heads_ + i;
    }
    each_group([&](auto& group, index_t i, auto steps) {
      group.decay_all_keys(decay + order(i), base + order(i));
      if constexpr (steps > 1)
        decay_by_head<Rule>(group, plain_[order(i)], one + i);
      else
        group.step_decay(Rule == state_rule::gated ? one[i] : State(1));
    });
  }
  // In place of the decays of steps those of the groups; single steps come last, in their order.
  void find_decays_of_groups(const State* filled, const State* one) {
    if constexpr (Steps > 1) {
      for (State* const numbers : {head_decay_, head_base_})
        std::copy(numbers + groups_ * Steps, numbers + at_.count, numbers + groups_);
      log_sum<State> x[static_cast<std::size_t>(longest / Steps)];
      for (index_t g = 0; g < groups_; ++g) {
        log_sum<State> sum = 0;
        State product = 1;
        for (index_t i = g * Steps; i < (g + 1) * Steps; ++i) {
          sum -= static_cast<log_sum<State>>(filled[i]);
          product *= one[i];
        }
        x[g] = sum;
        head_decay_[g] = flushed(product);
        head_base_[g] = 0;
      }
      if constexpr (Decay::form == decay_form::log_factor)
        for (index_t g = 0; g < groups_; ++g) {
          const pass_decay<State> d = pass_decay_of<State>(x[g]);
          // Far from 1 the product: a sum that is rounded is off by |x| u, absolutely.
          if (d.base > 0) head_decay_[g] = d.d;
          head_base_[g] = d.base;
        }
    }
  }
  // Of the group that begins with step i.
  index_t order(index_t i) const {
    return i < groups_ * Steps ? i / Steps : i - groups_ * (Steps - 1);
  }

  // What the decay fills, where it lies if it lies there as it is needed.
  row_list filled_rows() const {
    const block_origin where{at_.batch, at_.step, at_.head * size_.keys, at_.position};
    if constexpr (requires {
                    { decay_.rows_at(where) } -> std::same_as<stored_rows<State, time_major>>;
                  }) {
      const auto rows = decay_.rows_at(where);
      return {rows.data, rows.row};
    } else {
      decay_.fill(where, strided_view<State>(filled_, {1, at_.count, size_.keys}, {0, keys_up_}));
      return {filled_, keys_up_};
    }
  }

  void find_decays_by_key() {
    const row_list filled = filled_rows();
    each_group([&](auto& group, index_t i, auto steps) {
      State* const d = decay_rows_ + order(i) * keys_up_;
      State* const base = base_rows_ + order(i) * keys_up_;
      const State* a[static_cast<std::size_t>(steps)];
      group.rows.decay = d;
      group.rows.base = base;
      group.rows.decay_stride = 1;
      if constexpr (Decay::form == decay_form::factor) {
        for (int e = 0; e < steps; ++e) a[e] = filled[i + e];
        if constexpr (steps == 1) group.rows.decay = a[0];
        group.decay = row_decay::factor;
      } else {
        const State* logs[static_cast<std::size_t>(steps)];
        for (int e = 0; e < steps; ++e) {
          logs[e] = filled[i + e];
          a[e] = filled_ + (i + e) * keys_up_;
        }
        group.decay = decays_by_key(logs, filled_ + i * keys_up_, keys_up_, size_.keys, d, base);
      }
      if constexpr (steps > 1) {
        decay_by_key<Rule>(group, given_[i / Steps], size_.keys, a, storage_of(i),
                           Decay::form == decay_form::factor ? d : nullptr);
      } else {
        group.step_decay(1);
        if constexpr (Rule == state_rule::gated) {
          State* const removal = storage_of(i).removal;
          const State* const key = group.rows.key;
          for (index_t j = 0; j < size_.keys; ++j) removal[j] = a[0][j] * key[j];
          group.rows.removal = removal;
        }
      }
    });
  }

  // f(group, first step, number of steps) for all groups.
  template <class F>
  void each_group(const F& f) {
    for (index_t g = 0; g < groups_; ++g)
      f(many_[g], g * Steps, std::integral_constant<int, Steps>{});
    for (index_t g = 0; g < rest_; ++g)
      f(few_[g], groups_ * Steps + g, std::integral_constant<int, 1>{});
  }

  const Decay& decay_;
  const Data& data_;
  matrix_shape size_;
  index_t keys_up_;
  place at_{};
  index_t groups_ = 0, rest_ = 0;
  State *query_, *key_, *correction_, *removal_, *filled_, *decay_rows_, *base_rows_;
  group_storage<State> of_pass_{};
  index_t first_filled_ = 0;
  State filled_heads_[heads_at_once]{}, weighed_heads_[heads_at_once]{};
  State one_of_heads_[heads_at_once]{}, decay_of_heads_[heads_at_once]{},
      base_of_heads_[heads_at_once]{};
  State head_decay_[static_cast<std::size_t>(longest)],
      head_base_[static_cast<std::size_t>(longest)];
  given_rows<State, Steps> given_[static_cast<std::size_t>(longest / Steps)];
  pair_products<State, Steps> plain_[static_cast<std::size_t>(longest / Steps)];
  step_group<State, Steps> many_[static_cast<std::size_t>(longest / Steps)];
  step_group<State, 1> few_[static_cast<std::size_t>(Steps)];
};

}  // namespace ebb::inline EBB_ABI::detail
