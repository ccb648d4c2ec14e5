// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/state_chunk.hpp
/// @brief  The steps of a chunk of one head as matrices: what they read of the state before it,
///   what they tell each other, and what they add to the state after it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

#include <ebb/recurrence/backend/row_products.hpp>
#include <ebb/recurrence/backend/step_group.hpp>
#include <ebb/recurrence/matrix.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Some steps of one head.
struct chunk_place {
  index_t batch, head, step, count, position;
};

/// The decay over several steps, from the sum x of -log a and the product of the factors. For float
/// the sum, in double, is as good as exact; other types lose |x| u, and take the product far from
/// 1.
template <class State>
[[gnu::always_inline]] inline pass_decay<State> decay_over(const log_sum<State>& x,
                                                           const State& product) {
  pass_decay<State> result = pass_decay_of<State>(x);
  if constexpr (!std::is_same_v<State, float>)
    if (!(result.base > 0)) result.d = product;
  return result;
}

/// The matrices of a chunk of n steps. With w(s..e) the decay of the steps s .. e, a number or a
/// diagonal matrix, rows (n x K):
///
///   query      scale w(first..e) q_e
///   removal    w(first..e-1) z_e; gated: -w(first..e) k_e
///
/// columns (K x n), column s at [j * pairs + s]:
///
///   key        w(s+1..last) c_s k_s; gated: without c_s
///   correction w(s+1..last) u_s
///
/// pairs (n x n), element (e, s) at [e * pairs + s], of which s <= e (removals: s < e) are set:
///
///   query_key      scale c_s q_e^T w(s+1..e) k_s; gated: without c_s
///   removal_key    c_s z_e^T w(s+1..e-1) k_s; gated: -k_e^T w(s+1..e) k_s
///   ..._correction scale q_e^T w(s+1..e) u_s, z_e^T w(s+1..e-1) u_s
///
/// and the decay of row j of the state, base + d. All of w are products of decays from one step on,
/// or exponentials of sums of their logarithms: none is above the decays given, and nothing is
/// divided.
///
/// Decays by key stand inside the products over the keys. Within a sub-block of 16 steps keys are
/// decayed step by step; before it they stand decayed up to its start, and queries from there on.
template <state_rule Rule, class Decay, class Data, class State>
class state_chunk {
 public:
  /// @param longest  the most steps of a chunk
  state_chunk(const Decay& decay, const Data& data, index_t longest)
      : decay_(decay),
        data_(data),
        size_(shape_of(data)),
        pairs_((longest + block - 1) / block * block) {
    const index_t K = size_.keys, blocks = by_key() ? block * K : longest;
    const bool sees = Rule != state_rule::outer, corrects = Rule == state_rule::delta;
    const index_t rows = longest * K, columns = K * pairs_, square = longest * pairs_;
    memory_.resize(static_cast<std::size_t>(
        (sees ? 2 : 1) * (rows + square) + (corrects ? 2 : 1) * columns +
        (corrects ? 2 * square : 0) + 7 * K + 2 * pairs_ + longest + 2 * blocks));
    sums_.resize(static_cast<std::size_t>(by_key() ? 2 * K : pairs_ + 1));
    State* next = memory_.data();
    const auto take = [&](index_t count) {
      State* const result = next;
      next += count;
      return result;
    };
    query = take(rows), key = take(columns), query_key = take(square);
    if (sees) removal = take(rows), removal_key = take(square);
    if (corrects) {
      correction = take(columns);
      query_correction = take(square), removal_correction = take(square);
    }
    decay_d = take(K), base = take(K), key_row_ = take(K), correction_row_ = take(K);
    prefix_ = take(K), whole_ = take(K), before_ = take(K);
    between_ = take(pairs_), product_ = take(pairs_);
    weight = take(longest);
    factor_ = take(blocks), filled_ = take(blocks);
  }
  state_chunk(const state_chunk&) = delete;
  state_chunk& operator=(const state_chunk&) = delete;

  void prepare(const chunk_place& at) {
    at_ = at;
    std::fill_n(query_key, at.count * pairs_, State(0));
    if constexpr (Rule != state_rule::outer) std::fill_n(removal_key, at.count * pairs_, State(0));
    if constexpr (Rule == state_rule::delta) {
      std::fill_n(query_correction, at.count * pairs_, State(0));
      std::fill_n(removal_correction, at.count * pairs_, State(0));
    }
    find_weights();
    if (by_key())
      decay_by_key();
    else
      decay_by_head();
    fold();
  }

  /// The distance of rows of pairs and of columns.
  index_t pairs() const { return pairs_; }

  State *query = nullptr, *removal = nullptr, *key = nullptr, *correction = nullptr;
  State *query_key = nullptr, *query_correction = nullptr;
  State *removal_key = nullptr, *removal_correction = nullptr;
  State *decay_d = nullptr, *base = nullptr;
  State* weight = nullptr;  ///< c_e

 private:
  using T = typename Data::value_type;
  using V = pack<State>;
  static constexpr index_t block = 16;  ///< steps of a sub-block; whole packs of any type
  static constexpr index_t lanes = pack_of<State>::lanes;
  static constexpr auto packs = static_cast<std::size_t>(block / lanes);

  bool by_key() const { return data_.decays == decay_per::key; }

  void read_row(const head_view<const T>& view, index_t e, const std::optional<double>& epsilon,
                State* to) const {
    const index_t K = size_.keys;
    const T* const from =
        view.pointer(at_.batch, at_.step + e, shared_head(view, at_.head, size_.heads));
    for (index_t j = 0; j < K; ++j) to[j] = static_cast<State>(from[j]);
    if (!epsilon) return;
    const State inverse = State(1) / std::sqrt(over_keys(to, to, K) + static_cast<State>(*epsilon));
    for (index_t j = 0; j < K; ++j) to[j] *= inverse;
  }
  // The rows of step e as given: `query`, `removal`, key_row_, correction_row_.
  void read_step(index_t e) {
    const index_t K = size_.keys;
    read_row(data_.queries, e, data_.unit_queries, query + e * K);
    read_row(data_.keys, e, data_.unit_keys, key_row_);
    if constexpr (Rule == state_rule::gated) std::copy_n(key_row_, K, removal + e * K);
    if constexpr (Rule == state_rule::delta) {
      State* const z = removal + e * K;
      read_row(data_.removals, e, data_.unit_removals, z);
      read_row(data_.rates.left_out() ? data_.corrections : data_.rates, e, {}, correction_row_);
      if (!data_.rates.left_out())
        for (index_t j = 0; j < K; ++j) correction_row_[j] = -correction_row_[j] * z[j];
    }
  }
  void put_columns(index_t e) {
    for (index_t j = 0; j < size_.keys; ++j) key[j * pairs_ + e] = key_row_[j];
    if constexpr (Rule == state_rule::delta)
      for (index_t j = 0; j < size_.keys; ++j) correction[j * pairs_ + e] = correction_row_[j];
  }

  void find_weights() {
    const index_t n = at_.count;
    for (index_t e = 0; e < n; ++e)
      weight[e] =
          data_.weights.left_out()
              ? State(1)
              : static_cast<State>(*data_.weights.pointer(at_.batch, at_.step + e, at_.head));
    if constexpr (weighing_decay<Decay, State>) {
      decay_.weigh({at_.batch, at_.step, at_.head, at_.position},
                   strided_view<State>(between_, n, 1));
      for (index_t e = 0; e < n; ++e) weight[e] *= between_[e];
    }
  }

  // factor_ and filled_: the decays of steps first .. first + count - 1, `width` numbers each.
  void fill_decays(index_t first, index_t count, index_t channel, index_t width) {
    decay_.fill({at_.batch, at_.step + first, channel, at_.position + first},
                strided_view<State>(filled_, count, width));
    for (index_t i = 0; i < count * width; ++i) {
      if constexpr (Decay::form == decay_form::factor) {
        factor_[i] = filled_[i];
      } else {
        const pass_decay<State> a = pass_decay_of<State>(-static_cast<log_sum<State>>(filled_[i]));
        factor_[i] = a.base + a.d;
      }
    }
  }

  // f(pairs of row e, rows of step e, columns) for all products of the rule.
  template <class F>
  void each_product(const F& f) {
    f(query_key, query, key);
    if constexpr (Rule != state_rule::outer) f(removal_key, removal, key);
    if constexpr (Rule == state_rule::delta) {
      f(query_correction, query, correction);
      f(removal_correction, removal, correction);
    }
  }
  static void scale_by(State* numbers, index_t count, const State& factor) {
    for (index_t i = 0; i < count; ++i) numbers[i] *= factor;
  }
  static void multiply_by(State* numbers, index_t count, const State* factors) {
    for (index_t i = 0; i < count; ++i) numbers[i] *= factors[i];
  }

  void decay_by_head() {
    const index_t n = at_.count, K = size_.keys;
    for (index_t e = 0; e < n; ++e) {
      read_step(e);
      put_columns(e);
    }
    each_product([&](State* pairs, const State* rows, const State* columns) {
      for (index_t e = 0; e < n; e += rows_together)
        add_products<State>({rows + e * K, K, 1}, {columns, pairs_}, std::min(rows_together, n - e),
                            K, std::min(e + rows_together, n), {pairs + e * pairs_, pairs_});
    });
    fill_decays(0, n, at_.head, 1);
    // The decay from the start, then those after the steps so far up to this one.
    State start = 1, start_product = 1, start_base = 0, start_d = 1;
    sums_[static_cast<std::size_t>(pairs_)] = 0;
    for (index_t e = 0; e < n; ++e) {
      State* const row = Rule != state_rule::outer ? removal_key + e * pairs_ : nullptr;
      if constexpr (Rule == state_rule::delta) {
        scale_by(removal + e * K, K, start);
        multiply_by(row, e, between_);
        multiply_by(removal_correction + e * pairs_, e, between_);
      }
      between_[e] = product_[e] = 1;
      log_sum<State>* const sums = sums_.data();
      sums[e] = 0;
      if constexpr (Decay::form == decay_form::factor) {
        scale_by(between_, e, factor_[e]);
        start *= factor_[e];
        start_d = start;
      } else {
        const auto x = -static_cast<log_sum<State>>(filled_[e]);
        for (index_t s = 0; s < e; ++s) {
          sums[s] += x;
          product_[s] *= factor_[e];
          const pass_decay<State> d = decay_over<State>(sums[s], product_[s]);
          between_[s] = d.base + d.d;
        }
        const pass_decay<State> all =
            decay_over<State>(sums[pairs_] += x, start_product *= factor_[e]);
        start = all.base + all.d;
        start_base = all.base, start_d = all.d;
      }
      scale_by(query + e * K, K, start);
      multiply_by(query_key + e * pairs_, e, between_);
      if constexpr (Rule == state_rule::gated) {
        scale_by(removal + e * K, K, start);
        multiply_by(row, e, between_);
      }
      if constexpr (Rule == state_rule::delta)
        multiply_by(query_correction + e * pairs_, e, between_);
    }
    for (index_t j = 0; j < K; ++j) {
      multiply_by(key + j * pairs_, n, between_);
      if constexpr (Rule == state_rule::delta) multiply_by(correction + j * pairs_, n, between_);
      decay_d[j] = start_d, base[j] = start_base;
    }
  }

  void decay_by_key() {
    const index_t n = at_.count, K = size_.keys;
    log_sum<State>* const all = sums_.data();
    std::fill_n(all, K, log_sum<State>(0));
    std::fill_n(before_, K, State(1));
    for (index_t first = 0; first < n; first += block) {
      const index_t count = std::min(block, n - first);
      fill_decays(first, count, at_.head * K, K);
      std::fill_n(prefix_, K, State(1));
      for (index_t e = 0; e < count; ++e) one_step(first, e);
      find_whole(count);
      // With the steps before the sub-block, whose keys stand decayed up to its start.
      each_product([&](State* pairs, const State* rows, const State* columns) {
        add_products<State>({rows + first * K, K, 1}, {columns, pairs_}, count, K, first,
                            {pairs + first * pairs_, pairs_});
      });
      for (index_t j = 0; j < K; ++j) {
        scale_by(key + j * pairs_, first, whole_[j]);
        if constexpr (Rule == state_rule::delta)
          scale_by(correction + j * pairs_, first, whole_[j]);
      }
      for (index_t e = first; e < first + count; ++e) {
        multiply_by(query + e * K, K, before_);
        if constexpr (Rule != state_rule::outer) multiply_by(removal + e * K, K, before_);
      }
      multiply_by(before_, K, whole_);
    }
    for (index_t j = 0; j < K; ++j) {
      pass_decay<State> d{before_[j], 0};
      if constexpr (Decay::form == decay_form::log_factor)
        d = decay_over<State>(all[j], before_[j]);
      decay_d[j] = d.d, base[j] = d.base;
    }
  }

  // Step e of the sub-block that begins with step `first`: its products with the steps of the
  // sub-block before it, which it decays; its own rows get the decays from the start of it.
  void one_step(index_t first, index_t e) {
    const index_t K = size_.keys, step = first + e;
    const State* const a = factor_ + e * K;
    read_step(step);
    State* const q = query + step * K;
    State* const z = Rule != state_rule::outer ? removal + step * K : nullptr;
    V query_keys[packs]{}, query_corrections[packs]{}, removal_keys[packs]{};
    V removal_corrections[packs]{};
    for (index_t j = 0; j < K; ++j) {
      State* const k = key + j * pairs_ + first;
      State* const u = Rule == state_rule::delta ? correction + j * pairs_ + first : nullptr;
      const V decay = broadcast<V>(a[j]), query_here = broadcast<V>(q[j]);
#pragma GCC unroll 4
      for (std::size_t p = 0; p < packs; ++p) {
        const index_t at = static_cast<index_t>(p) * lanes;
        V keys = load<V>(k + at);
        if constexpr (Rule == state_rule::delta) {
          const V seen = broadcast<V>(z[j]);
          V corrections = load<V>(u + at);
          removal_keys[p] = seen * keys + removal_keys[p];
          removal_corrections[p] = seen * corrections + removal_corrections[p];
          corrections = corrections * decay;
          query_corrections[p] = query_here * corrections + query_corrections[p];
          store(u + at, corrections);
        }
        keys = keys * decay;
        query_keys[p] = query_here * keys + query_keys[p];
        if constexpr (Rule == state_rule::gated)
          removal_keys[p] = broadcast<V>(z[j]) * keys + removal_keys[p];
        store(k + at, keys);
      }
    }
    const auto put = [&](State* pairs, const V* sums) {
      State* const row = pairs + step * pairs_ + first;
      for (std::size_t p = 0; p < packs; ++p) store(row + static_cast<index_t>(p) * lanes, sums[p]);
    };
    put(query_key, query_keys);
    query_key[step * pairs_ + step] = over_keys(q, key_row_, K);
    if constexpr (Rule != state_rule::outer) put(removal_key, removal_keys);
    if constexpr (Rule == state_rule::delta) {
      put(query_correction, query_corrections);
      put(removal_correction, removal_corrections);
      query_correction[step * pairs_ + step] = over_keys(q, correction_row_, K);
      multiply_by(z, K, prefix_);
    }
    put_columns(step);
    multiply_by(prefix_, K, a);
    multiply_by(q, K, prefix_);
    if constexpr (Rule == state_rule::gated) multiply_by(z, K, prefix_);
  }

  // whole_: the decay of a sub-block, the products of whose factors are in prefix_.
  void find_whole(index_t count) {
    const index_t K = size_.keys;
    std::copy_n(prefix_, K, whole_);
    if constexpr (Decay::form == decay_form::log_factor) {
      log_sum<State>*const all = sums_.data(), *const here = all + K;
      std::fill_n(here, K, log_sum<State>(0));
      for (index_t e = 0; e < count; ++e)
        for (index_t j = 0; j < K; ++j) here[j] -= static_cast<log_sum<State>>(filled_[e * K + j]);
      for (index_t j = 0; j < K; ++j) {
        const pass_decay<State> d = decay_over<State>(here[j], prefix_[j]);
        whole_[j] = d.base + d.d;
        all[j] += here[j];
      }
    }
  }

  // Scale, weights and signs.
  void fold() {
    const index_t n = at_.count, K = size_.keys;
    const auto scale = static_cast<State>(data_.scale);
    scale_by(query, n * K, scale);
    for (index_t e = 0; e < n; ++e) scale_by(query_key + e * pairs_, e + 1, scale);
    if constexpr (Rule == state_rule::gated) {
      scale_by(removal, n * K, State(-1));
      for (index_t e = 0; e < n; ++e) scale_by(removal_key + e * pairs_, e, State(-1));
      return;
    }
    for (index_t e = 0; e < n; ++e) multiply_by(query_key + e * pairs_, e + 1, weight);
    for (index_t j = 0; j < K; ++j) multiply_by(key + j * pairs_, n, weight);
    if constexpr (Rule == state_rule::delta)
      for (index_t e = 0; e < n; ++e) {
        scale_by(query_correction + e * pairs_, e + 1, scale);
        multiply_by(removal_key + e * pairs_, e, weight);
      }
  }

  const Decay& decay_;
  const Data& data_;
  matrix_shape size_;
  index_t pairs_;
  chunk_place at_{};
  std::vector<State> memory_;
  std::vector<log_sum<State>> sums_;
  State *key_row_, *correction_row_, *prefix_, *whole_, *before_;
  State *between_, *product_, *factor_, *filled_;
};

}  // namespace ebb::inline EBB_ABI::detail
