// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/chunk_walk.hpp
/// @brief  Matrix states through time in chunks: head by head, chunk by chunk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <ebb/recurrence/backend/state_chunk.hpp>
#include <ebb/recurrence/matrix.hpp>

namespace ebb::inline EBB_ABI::detail {

/// One call of `chunked`.
template <state_rule Rule, class Decay, class Data, class State>
class chunk_walk {
 public:
  chunk_walk(const Decay& decay, const Data& data, const sequences<State>& where, index_t steps)
      : data_(data),
        where_(where),
        size_(shape_of(data)),
        longest_(std::min(steps, longest_sequence())),
        width_((size_.values + lanes - 1) / lanes * lanes),
        chunk_(decay, data, longest_) {
    const index_t arrays = Rule == state_rule::delta ? 3 : 2;
    memory_.resize(static_cast<std::size_t>((size_.keys + arrays * longest_) * width_));
    state_ = memory_.data();
    written_ = state_ + size_.keys * width_;
    read_ = written_ + longest_ * width_;
    seen_ = Rule == state_rule::delta ? read_ + longest_ * width_ : nullptr;
  }
  chunk_walk(const chunk_walk&) = delete;
  chunk_walk& operator=(const chunk_walk&) = delete;

  void run() {
    for (index_t b = 0; b < size_.batches; ++b)
      for (index_t s = 0; s < where_.count(); ++s)
        for (index_t h = 0; h < size_.heads; ++h) one_head(b, s, h);
  }

 private:
  using T = typename Data::value_type;
  static constexpr index_t lanes = pack_of<State>::lanes;

  index_t longest_sequence() const {
    index_t longest = 0;
    for (index_t s = 0; s < where_.count(); ++s)
      longest = std::max(longest, where_.end(s, size_.steps) - where_.begin(s));
    return longest;
  }

  void one_head(index_t b, index_t s, index_t h) {
    const index_t begin = where_.begin(s), end = where_.end(s, size_.steps);
    std::fill_n(state_, size_.keys * width_, State(0));
    if (where_.initial_states.data() != nullptr)
      for (index_t j = 0; j < size_.keys; ++j)
        std::copy_n(where_.initial_states.pointer(b, s, channel(h, j)), size_.values,
                    state_ + j * width_);
    for (index_t t = begin; t < end;) {
      if (where_.resets_at(b, t, size_.steps)) std::fill_n(state_, size_.keys * width_, State(0));
      index_t count = std::min(longest_, end - t);
      for (index_t i = 1; i < count; ++i)
        if (where_.resets_at(b, t + i, size_.steps)) count = i;
      const auto& kept = where_.snapshot_steps;
      const auto next = std::lower_bound(kept.begin(), kept.end(), t);
      if (next != kept.end()) count = std::min(count, *next + 1 - t);
      advance({b, h, t, count, where_.first_position(b, s) + (t - begin)});
      t += count;
      if (const index_t m = where_.snapshot_of(t - 1); m >= 0) keep(where_.snapshots, b, m, h);
    }
    if (where_.final_states.data() != nullptr) keep(where_.final_states, b, s, h);
  }
  index_t channel(index_t h, index_t j) const { return (h * size_.keys + j) * size_.values; }
  void keep(const strided_view<State>& states, index_t b, index_t row, index_t h) const {
    for (index_t j = 0; j < size_.keys; ++j)
      std::copy_n(state_ + j * width_, size_.values, states.pointer(b, row, channel(h, j)));
  }

  void advance(const chunk_place& at) {
    const index_t n = at.count, K = size_.keys, pairs = chunk_.pairs();
    chunk_.prepare(at);
    for (index_t e = 0; e < n; ++e) {
      const T* const from = data_.values.pointer(at.batch, at.step + e, at.head);
      for (index_t i = 0; i < size_.values; ++i)
        written_[e * width_ + i] = static_cast<State>(from[i]);
    }
    const lane_matrix<const State> state{state_, width_}, x{written_, width_}, y{seen_, width_};
    const lane_matrix<State> out{read_, width_};
    const auto nothing = [](index_t) {};

    if constexpr (Rule == state_rule::gated) {
      const lane_matrix<State> errors{written_, width_};
      add_products<State>({chunk_.removal, K, 1}, state, n, K, width_, errors);
      add_earlier<State>({chunk_.removal_key, pairs, 1}, x, n, width_, errors, true,
                         [&](index_t e) {
                           for (index_t i = 0; i < width_; ++i)
                             written_[e * width_ + i] *= chunk_.weight[e];
                         });
    }
    if constexpr (Rule == state_rule::delta) {
      const lane_matrix<State> seen{seen_, width_};
      std::fill_n(seen_, n * width_, State(0));
      add_products<State>({chunk_.removal, K, 1}, state, n, K, width_, seen);
      add_earlier<State>({chunk_.removal_key, pairs, 1}, x, n, width_, seen, true, nothing);
      add_earlier<State>({chunk_.removal_correction, pairs, 1}, y, n, width_, seen, true, nothing);
    }

    std::fill_n(read_, n * width_, State(0));
    add_products<State>({chunk_.query, K, 1}, state, n, K, width_, out);
    add_earlier<State>({chunk_.query_key, pairs, 1}, x, n, width_, out, false, nothing);
    if constexpr (Rule == state_rule::delta)
      add_earlier<State>({chunk_.query_correction, pairs, 1}, y, n, width_, out, false, nothing);
    put_outputs(at);

    for (index_t j = 0; j < K; ++j) {
      State* const row = state_ + j * width_;
      const State d = chunk_.decay_d[j];
      if (chunk_.base[j] > 0)
        for (index_t i = 0; i < width_; ++i) row[i] = d * row[i] + row[i];
      else
        for (index_t i = 0; i < width_; ++i) row[i] *= d;
    }
    const lane_matrix<State> after{state_, width_};
    add_products<State>({chunk_.key, pairs, 1}, x, K, n, width_, after);
    if constexpr (Rule == state_rule::delta)
      add_products<State>({chunk_.correction, pairs, 1}, y, K, n, width_, after);
  }

  // Values are read once more: outputs may take their place.
  void put_outputs(const chunk_place& at) const {
    for (index_t e = 0; e < at.count; ++e) {
      State* const out = read_ + e * width_;
      const T* const values = data_.values.pointer(at.batch, at.step + e, at.head);
      T* const to = data_.outputs.pointer(at.batch, at.step + e, at.head);
      if (!data_.skip.empty())
        for (index_t i = 0; i < size_.values; ++i)
          out[i] += static_cast<State>(skip_at(data_, at.head, i)) * static_cast<State>(values[i]);
      for (index_t i = 0; i < size_.values; ++i) to[i] = static_cast<T>(out[i]);
    }
  }

  const Data& data_;
  const sequences<State>& where_;
  matrix_shape size_;
  index_t longest_, width_;
  state_chunk<Rule, Decay, Data, State> chunk_;
  std::vector<State> memory_;
  State *state_, *written_, *read_, *seen_;
};

}  // namespace ebb::inline EBB_ABI::detail
