// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/matrix_vjp_gradients.hpp
/// @brief  The gradients of matrix states: of what one head reads alone, and of what heads share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include <ebb/decay/concept.hpp>
#include <ebb/recurrence/matrix.hpp>

namespace ebb::inline EBB_ABI::detail {

/// The arguments of one call.
template <class Decay, class Data, class State, class Cotangents, class Gradients>
struct matrix_vjp_call {
  using decay_type = Decay;
  using data_type = Data;
  using state_type = State;
  using value_type = typename Data::value_type;

  const Decay& decay;
  const Data& data;
  const Cotangents& cotangents;
  const Gradients& gradients;
  const sequences<State>& where;

  static constexpr bool has_decay_gradients =
      !std::is_empty_v<std::remove_pointer_t<decltype(Gradients::decay)>>;

  bool wants_decay_gradients() const {
    if constexpr (has_decay_gradients)
      return gradients.decay != nullptr;
    else
      return false;
  }
  /// Numbers a step that the decay fills for one head.
  index_t decay_width() const { return data.decays == decay_per::head ? 1 : data.keys.width(); }
};

/// A head of a sequence.
struct head_place {
  index_t batch, sequence, head;
};

/// What one head of one sequence adds to gradients that others add to as well: rows for each step
/// of the sequence, or nothing where it is not asked for or not shared.
template <class State>
struct head_sums {
  std::vector<State> queries, keys, removals, corrections;
  std::vector<State> filled, changes;  ///< what the decay has filled, and its cotangents
  std::vector<State> weighed;          ///< the cotangents of what a weighing decay has filled
  std::vector<State> skip;             ///< one number, or V
};

/// The gradients of an array of rows for steps and heads, which several heads may read.
template <class T, class State>
class row_gradients {
 public:
  row_gradients() = default;
  row_gradients(const head_view<T>& to, index_t heads) : to_(to) {
    if (!to.left_out() && !to.empty()) share_ = heads / to.heads();
  }

  bool asked() const { return share_ > 0; }
  bool shared() const { return share_ > 1; }
  /// Room for the rows of a head, where they are shared.
  void make_room(std::vector<State>& rows, index_t steps) const {
    if (shared()) rows.resize(static_cast<std::size_t>(steps * to_.width()));
  }

  /// The row of head h at step t, the step `at` of its sequence.
  void put(index_t b, index_t t, index_t h, const State* row, std::vector<State>& rows,
           index_t at) const {
    if (shared())
      std::copy_n(row, to_.width(), rows.data() + at * to_.width());
    else if (asked())
      write(to_.pointer(b, t, h), row);
  }

  /// Adds the rows of a head to the sum over the heads before it, and writes it after the last.
  /// @param rows  gets the sum
  void add(index_t b, index_t t, index_t h, std::vector<State>& rows,
           std::vector<State>& sums) const {
    if (!shared()) return;
    if (h % share_ > 0)
      for (std::size_t n = 0; n < rows.size(); ++n) rows[n] = sums[n] + rows[n];
    sums.swap(rows);
    if (h % share_ + 1 < share_) return;
    const index_t width = to_.width();
    for (index_t n = 0; n * width < static_cast<index_t>(sums.size()); ++n)
      write(to_.pointer(b, t + n, h / share_), sums.data() + n * width);
  }

 private:
  void write(T* to, const State* row) const {
    for (index_t j = 0; j < to_.width(); ++j) to[j] = static_cast<T>(row[j]);
  }

  head_view<T> to_{};
  index_t share_ = 0;  // how many heads read a row; 0: not asked for
};

/// The gradients of all arrays of rows.
template <class T, class State>
struct all_row_gradients {
  row_gradients<T, State> queries, keys, values, weights, removals, corrections;

  template <class Gradients>
  all_row_gradients(const Gradients& asked, index_t heads)
      : queries(asked.queries, heads),
        keys(asked.keys, heads),
        values(asked.values, heads),
        weights(asked.weights, heads),
        removals(asked.removals, heads),
        corrections(asked.rates.left_out() ? asked.corrections : asked.rates, heads) {}
};

/// Adds what the heads of all sequences leave, which come in order: the sums are the same whoever
/// has made their parts.
template <class Call>
class shared_sums {
  using State = typename Call::state_type;
  using T = typename Call::value_type;
  using Decay = typename Call::decay_type;

 public:
  explicit shared_sums(const Call& call)
      : call_(call), shape_(shape_of(call.data)), rows_(call.gradients, shape_.heads) {
    const auto& skip = call.gradients.skip;
    std::fill(skip.begin(), skip.end(), State(0));
  }

  /// @param part  its memory is kept for a later head: new memory costs as much as what is done
  ///              with it
  void add(const head_place& at, head_sums<State>& part) {
    const index_t b = at.batch, t = call_.where.begin(at.sequence), h = at.head;
    rows_.queries.add(b, t, h, part.queries, sums_.queries);
    rows_.keys.add(b, t, h, part.keys, sums_.keys);
    rows_.removals.add(b, t, h, part.removals, sums_.removals);
    rows_.corrections.add(b, t, h, part.corrections, sums_.corrections);
    for (std::size_t i = 0; i < part.skip.size(); ++i)
      call_.gradients.skip[static_cast<std::size_t>(h) * part.skip.size() + i] += part.skip[i];
    if constexpr (Call::has_decay_gradients)
      if (call_.wants_decay_gradients()) add_decays(at, part);
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(part));
  }
  /// Memory of a head that has been added, if there is any; its numbers are left over. Any thread.
  head_sums<State> spare() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return {};
    head_sums<State> result = std::move(spare_.back());
    spare_.pop_back();
    return result;
  }

 private:
  // In blocks, the last first.
  void add_decays(const head_place& at, const head_sums<State>& part) const {
    constexpr index_t longest = 32;
    const index_t wide = call_.decay_width();
    const index_t channel = at.head * wide, begin = call_.where.begin(at.sequence);
    const index_t length = call_.where.end(at.sequence, shape_.steps) - begin;
    const index_t position = call_.where.first_position(at.batch, at.sequence);
    auto& sums = *call_.gradients.decay;
    for (index_t block = (length + longest - 1) / longest; block-- > 0;) {
      const index_t first = block * longest, count = std::min(longest, length - first);
      const auto rows = [&](const std::vector<State>& from, index_t width) {
        return strided_view<const State>(from.data() + first * width, count, width);
      };
      const block_origin origin{at.batch, begin + first, channel, position + first};
      call_.decay.vjp(origin, rows(part.filled, wide), rows(part.changes, wide), sums);
      if constexpr (weighing_decay<Decay, State>)
        call_.decay.weigh_vjp({at.batch, begin + first, at.head, position + first},
                              rows(part.weighed, 1), sums);
    }
  }

  const Call& call_;
  matrix_shape shape_;
  all_row_gradients<T, State> rows_;
  head_sums<State> sums_;
  std::mutex mutex_;
  std::vector<head_sums<State>> spare_;
};

}  // namespace ebb::inline EBB_ABI::detail
