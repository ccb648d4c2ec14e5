// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/matrix_vjp_walk.hpp
/// @brief  The way back through matrix states: heads, checkpoints and sweeps over chunks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <ebb/recurrence/matrix_vjp_chunk.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Goes back through every head of every sequence, one after the other:
///
///   forth   the states before each chunk of steps, from the data
///   back    chunk after chunk from the last: the states before each of its steps, then the sweep
///           of G = dL/dS_t from its last step to its first
template <vjp_rule Rule, class Call>
class vjp_walk {
  using State = typename Call::state_type;
  using chunk = vjp_chunk<Rule, Call>;
  static constexpr bool gated = Rule == vjp_rule::gated, corrected = Rule == vjp_rule::corrected;

 public:
  explicit vjp_walk(const Call& call)
      : call_(call), shape_(shape_of(call.data)), chunk_(call), size_(chunk_.size()) {
    const index_t size = size_.size(), lanes = pack_of<State>::lanes;
    const auto numbers = [](index_t n) { return std::vector<State>(static_cast<std::size_t>(n)); };
    index_t length = 0;
    for (index_t s = 0; s < call.where.count(); ++s)
      length = std::max(length, call.where.end(s, shape_.steps) - call.where.begin(s));
    checkpoints_ = numbers(std::max<index_t>(1, chunks(length)) * size);
    states_ = numbers(std::max<index_t>(0, std::min(length, chunk::longest) - 1) * size);
    cotangent_ = numbers(size);
    key_parts_ = correction_parts_ = numbers(shape_.values * lanes);
    by_key_ = fix_ = numbers(shape_.values);
  }

  void run() {
    auto& skip = call_.gradients.skip;
    std::fill(skip.begin(), skip.end(), State(0));
    for (index_t b = 0; b < shape_.batches; ++b)
      for (index_t s = 0; s < call_.where.count(); ++s)
        for (index_t h = 0; h < shape_.heads; ++h) one_head({b, s, h, shape_.heads});
  }

 private:
  static index_t chunks(index_t steps) { return (steps + chunk::longest - 1) / chunk::longest; }

  void one_head(const head_place& at) {
    const auto& where = call_.where;
    const index_t begin = where.begin(at.sequence);
    const index_t length = where.end(at.sequence, shape_.steps) - begin, n = chunks(length);
    at_ = at;
    transpose(where.initial_states, at.sequence, checkpoint(0));
    const auto read = [&](index_t i, bool back) {
      const index_t first = i * chunk::longest;
      chunk_.read(at, begin + first, std::min(chunk::longest, length - first), back);
    };
    for (index_t i = 0; i + 1 < n; ++i) read(i, false), go_on(i);
    transpose(call_.cotangents.final_states, at.sequence, cotangent_.data());
    for (index_t i = n; i-- > 0;) {
      read(i, true);
      remember(checkpoint(i));
      sweep(checkpoint(i));
      chunk_.write();
    }
    const auto& initial = call_.gradients.initial_states;
    if (initial.data() == nullptr) return;
    State* const to = initial.pointer(at.batch, at.sequence, at.head * shape_.state());
    for (index_t j = 0; j < shape_.keys; ++j)
      for (index_t i = 0; i < shape_.values; ++i)
        to[j * shape_.values + i] = cotangent_[static_cast<std::size_t>(size_.place(j, i))];
  }

  State* checkpoint(index_t i) { return checkpoints_.data() + i * size_.size(); }
  State* before(index_t r, State* first) {
    return r == 0 ? first : states_.data() + (r - 1) * size_.size();
  }

  // The state of row s of a view, or zeros.
  void transpose(const strided_view<const State>& states, index_t s, State* to) const {
    std::fill_n(to, size_.size(), State(0));
    add_transposed(states, s, to);
  }
  void add_transposed(const strided_view<const State>& states, index_t s, State* to) const {
    if (states.data() == nullptr) return;
    const State* const from = states.pointer(at_.batch, s, at_.head * shape_.state());
    for (index_t j = 0; j < shape_.keys; ++j)
      for (index_t i = 0; i < shape_.values; ++i)
        to[size_.place(j, i)] += from[j * shape_.values + i];
  }

  // From one checkpoint to the next.
  void go_on(index_t i) {
    State* at = checkpoint(i);
    for (index_t r = 0; r < chunk_.count(); ++r) {
      State* const to = checkpoint(i + 1);
      meet(r, at);
      go_forth<Rule>(size_, at, to, forth(r), key_parts_.data());
      at = to;
    }
  }
  // The states before the steps of the chunk.
  void remember(State* first) {
    for (index_t r = 0; r < chunk_.count(); ++r) {
      State* const at = before(r, first);
      meet(r, at);
      if (r + 1 < chunk_.count())
        go_forth<Rule>(size_, at, before(r + 1, first), forth(r), key_parts_.data());
    }
  }

  // Step r meets its state: a reset erases it; the delta rules look at it.
  void meet(index_t r, State* state) {
    if (chunk_.resets(r)) std::fill_n(state, size_.size(), State(0));
    const index_t V = shape_.values;
    if constexpr (gated || corrected) {
      if (r == 0 || chunk_.resets(r))
        look_at(size_, static_cast<const State*>(state), chunk_.removal[r], key_parts_.data());
      sum_parts(key_parts_.data(), V, chunk_.seen[r]);
    }
    for (index_t i = 0; i < V; ++i) {
      State& in = chunk_.written[r][i] = chunk_.value[r][i];
      if constexpr (gated) in -= chunk_.seen[r][i];
    }
  }

  forth_rows<State> forth(index_t r) {
    const bool next = r + 1 < chunk_.count() && !chunk_.resets(r + 1);
    return {chunk_.decay[r],
            chunk_.base[r],
            chunk_.weighted_key[r],
            corrected ? chunk_.correction[r] : nullptr,
            chunk_.written[r],
            chunk_.seen[r],
            next && Rule != vjp_rule::outer ? chunk_.removal[r + 1] : nullptr};
  }

  // The row of snapshot cotangents that enter after step r, or -1.
  index_t snapshot(index_t r) const {
    return call_.cotangents.snapshots.data() == nullptr ? -1
                                                        : call_.where.snapshot_of(chunk_.step(r));
  }

  void sweep(State* first) {
    bool open = false;
    for (index_t r = chunk_.count(); r-- > 0;) {
      if (!open) {
        if (const index_t m = snapshot(r); m >= 0)
          add_transposed(call_.cotangents.snapshots, m, cotangent_.data());
        open_step<Rule>(size_, cotangent_.data(), rows(r, r), sums(r));
      }
      sum_parts(key_parts_.data(), shape_.values, by_key_.data());
      if constexpr (corrected)
        sum_parts(correction_parts_.data(), shape_.values, fix_.data());
      else if constexpr (gated)
        for (std::size_t i = 0; i < fix_.size(); ++i) fix_[i] = chunk_.weight[r][0] * by_key_[i];
      open = r > 0 && !chunk_.resets(r) && snapshot(r - 1) < 0;
      const State* const state = before(r, first);
      if (open)
        go_back<Rule, true>(size_, state, cotangent_.data(), rows(r, r - 1), sums(r));
      else
        go_back<Rule, false>(size_, state, cotangent_.data(), rows(r, r), sums(r));
      chunk_.finish(r, by_key_.data());
      if (chunk_.resets(r)) std::fill(cotangent_.begin(), cotangent_.end(), State(0));
    }
  }

  back_rows<State> rows(index_t r, index_t earlier) {
    const State* const key = chunk_.key[r];
    return {chunk_.decay[r],
            chunk_.base[r],
            corrected ? chunk_.removal[r] : key,
            chunk_.output[r],
            chunk_.written[r],
            chunk_.seen[r],
            fix_.data(),
            chunk_.query[earlier],
            chunk_.key[earlier],
            corrected ? chunk_.correction[earlier] : nullptr,
            chunk_.scaled_output[earlier]};
  }
  back_sums<State> sums(index_t r) {
    return {chunk_.d_query[r],
            chunk_.d_key[r],
            gated || corrected ? chunk_.d_removal[r] : nullptr,
            corrected ? chunk_.d_correction[r] : nullptr,
            chunk_.d_decay[r],
            key_parts_.data(),
            correction_parts_.data()};
  }

  const Call& call_;
  matrix_shape shape_;
  chunk chunk_;
  panels<State> size_;
  head_place at_{};
  std::vector<State> checkpoints_, states_, cotangent_;
  std::vector<State> key_parts_, correction_parts_, by_key_, fix_;
};

}  // namespace ebb::inline EBB_ABI::detail
