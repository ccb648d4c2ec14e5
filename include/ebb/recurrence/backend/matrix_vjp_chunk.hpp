// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/matrix_vjp_chunk.hpp
/// @brief  The way back through matrix states: what a chunk of steps reads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include <ebb/decay/weight.hpp>
#include <ebb/recurrence/backend/matrix_vjp_gradients.hpp>
#include <ebb/recurrence/backend/matrix_vjp_products.hpp>
#include <ebb/recurrence/backend/step_group.hpp>
#include <ebb/recurrence/update.hpp>

namespace ebb::inline EBB_ABI::detail {

/// What the steps of a chunk add to the state: rows of K numbers times lanes of V.
template <class Real>
struct vjp_source {
  step_rows<Real> row, to_end;  ///< as given, and decayed to the end of the chunk
  step_rows<Real> lanes;
  step_rows<Real> of_row, of_lanes;  ///< gradients

  vjp_source() = default;
  vjp_source(index_t steps, index_t keys, index_t values)
      : row(steps, keys), to_end(row), lanes(steps, values), of_row(row), of_lanes(lanes) {}
};

/// What the loss takes from the state by way of the steps of a chunk: likewise. The gradient of a
/// row is the state times the lanes.
template <class Real>
struct vjp_sink {
  step_rows<Real> row, from_start;  ///< as given, and decayed from the start of the chunk
  step_rows<Real> lanes;
  step_rows<Real> of_row;  ///< gradient

  vjp_sink() = default;
  vjp_sink(index_t steps, index_t keys, index_t values)
      : row(steps, keys), from_start(row), lanes(steps, values), of_row(row) {}
};

/// Some steps of one head of one sequence.
struct vjp_steps {
  head_place head{};
  index_t first = 0, count = 0;  ///< in the data
  index_t in_sequence = 0;       ///< first, counted in the sequence
  bool erased = false;           ///< whether the state is, before the first step
};

/// The steps of a chunk in the type of the state. With w_t the decays, a number or one a key:
///
///   sources  keys, with lanes c v or c (v - S^T z); under the general rule corrections u, seen
///   sinks    queries, which read the state after a step, with lanes scale do; removals z, which
///            read the one before it; z = w k under the gated rule
///
/// Decays are multiplied up from step to step, each within a chunk only; over the whole chunk they
/// come from the sum of their logarithms where that keeps more digits.
template <state_rule Rule, class Call>
class vjp_chunk {
  using State = typename Call::state_type;
  using Decay = typename Call::decay_type;

 public:
  static constexpr bool gated = Rule == state_rule::gated, corrected = Rule == state_rule::delta;
  static constexpr std::size_t sources = corrected ? 2 : 1,
                               sinks = Rule == state_rule::outer ? 1 : 2;
  static constexpr index_t longest = 16, longest_by_key = 8;

  explicit vjp_chunk(const Call& call)
      : call_(call), shape_(shape_of(call.data)), by_key_(call.data.decays == decay_per::key) {
    const index_t K = shape_.keys, V = shape_.values, n = longest;
    for (auto& one : source) one = vjp_source<State>(n, K, V);
    for (auto& one : sink) one = vjp_sink<State>(n, K, V);
    if (corrected) rate_ = step_rows<State>(n, K);
    value = output = written = step_rows<State>(n, V);
    factor = step_rows<State>(n, by_key_ ? K : 1);
    filled = changes = factor;
    weight = given = weighed_ = of_weight = query_scale_ = key_scale_ = removal_scale_ = so_far =
        step_rows<State>(n, 1);
    between = step_rows<State>(n, n);
    whole_d_ = whole_base_ = whole_ = step_rows<State>(1, K);
    whole_logs_.resize(static_cast<std::size_t>(by_key_ ? K : 1));
  }

  /// Steps of a chunk at the most.
  index_t most_steps() const { return by_key_ ? longest_by_key : longest; }
  index_t count() const { return at_.count; }
  const vjp_steps& place() const { return at_; }
  bool by_key() const { return by_key_; }
  /// The distance of rows of K numbers.
  index_t row() const { return whole_d_.row(); }

  /// Reads the steps: what goes forth, and on the way back the rest.
  void read(const vjp_steps& at, bool back) {
    at_ = at;
    const auto& data = call_.data;
    read_decays();
    read_weights();
    read_rows(data.keys, source[0].row);
    make_unit(data.unit_keys, source[0].row, key_scale_);
    read_rows(data.values, value);
    if constexpr (gated)
      for (index_t r = 0; r < at_.count; ++r)
        for (index_t j = 0; j < shape_.keys; ++j)
          sink[1].row[r][j] = decay_at(r, j) * source[0].row[r][j];
    if constexpr (corrected) read_corrections();
    if (back) {
      read_rows(data.queries, sink[0].row);
      make_unit(data.unit_queries, sink[0].row, query_scale_);
      const auto& outputs = call_.cotangents.outputs;
      const auto scale = static_cast<State>(data.scale);
      if (!outputs.left_out()) read_rows(outputs, output);
      for (index_t r = 0; r < at_.count; ++r)
        for (index_t i = 0; i < shape_.values; ++i) sink[0].lanes[r][i] = scale * output[r][i];
    }
    decay_rows(back);
  }

  /// Asks for the rows of the steps first .. end - 1, which are read next: no hardware follows rows
  /// of other heads' distance.
  void prefetch(const head_place& at, index_t first, index_t end, bool back) const {
    const auto rows = [&](const auto& view) {
      const index_t h = shared_head(view, at.head, shape_.heads);
      for (index_t t = first; t < end; ++t)
        prefetch_row(view.pointer(at.batch, t, h), view.width());
    };
    rows(call_.data.values);
    rows(call_.data.keys);
    if (!back) return;
    rows(call_.data.queries);
    if (!call_.cotangents.outputs.left_out()) rows(call_.cotangents.outputs);
  }

  /// The decay of step r for key j.
  State decay_at(index_t r, index_t j) const { return factor[r][by_key_ ? j : 0]; }
  /// The decay over the chunk.
  chunk_decay<State> whole() const { return {whole_d_[0], whole_base_[0]}; }

  /// Gradients of rows of unit length, or made of others, become those of the data: rows of keys,
  /// queries, removals; corrections or rates.
  void undo_rows() {
    const auto& data = call_.data;
    for (index_t r = 0; r < at_.count; ++r) {
      if constexpr (corrected)
        if (!data.rates.left_out())
          for (index_t j = 0; j < shape_.keys; ++j) {
            sink[1].of_row[r][j] -= rate_[r][j] * source[1].of_row[r][j];
            source[1].of_row[r][j] *= -sink[1].row[r][j];
          }
      undo_unit(data.unit_queries, sink[0].row[r], query_scale_[r][0], sink[0].of_row[r]);
      undo_unit(data.unit_keys, source[0].row[r], key_scale_[r][0], source[0].of_row[r]);
      if constexpr (corrected)
        undo_unit(data.unit_removals, sink[1].row[r], removal_scale_[r][0], sink[1].of_row[r]);
    }
  }

  /// The gradients of the weights, with respect to the data's and to those of the decay.
  State of_given(index_t r) const { return weighed_[r][0] * of_weight[r][0]; }
  State of_weighed(index_t r) const { return given[r][0] * of_weight[r][0]; }

  /// The gradients with respect to the decays become those of what the decay has filled.
  void undo_decays() {
    for (index_t r = 0; r < at_.count; ++r)
      for (index_t j = 0; j < call_.decay_width(); ++j)
        if (r == 0 && at_.erased)
          changes[r][j] = State(0);  // nothing was multiplied by this decay, whatever it is
        else if constexpr (Decay::form == decay_form::log_factor)
          changes[r][j] *= factor[r][j];
  }

  vjp_source<State> source[sources];
  vjp_sink<State> sink[sinks];
  step_rows<State> value, output, written;  ///< v; do; v, or v - S^T z of the gated rule
  step_rows<State> weight, given, of_weight;
  step_rows<State> factor, filled, changes;  ///< decays, one a step or K
  step_rows<State> so_far;                   ///< of a head: the decay of the steps up to this one
  step_rows<State> between;  ///< of a head: row u, number s <= u: the decay of the steps s+1 .. u

 private:
  template <class View>
  void read_rows(const View& view, step_rows<State>& to) const {
    const index_t h = shared_head(view, at_.head.head, shape_.heads);
    for (index_t r = 0; r < at_.count; ++r) {
      const auto* const from = view.pointer(at_.head.batch, at_.first + r, h);
      State* const row = to[r];
      for (index_t j = 0; j < view.width(); ++j) row[j] = static_cast<State>(from[j]);
    }
  }

  // y = s x, s = 1 / sqrt(|x|^2 + epsilon)
  void make_unit(const std::optional<double>& epsilon, step_rows<State>& rows,
                 step_rows<State>& scales) const {
    if (!epsilon) return;
    for (index_t r = 0; r < at_.count; ++r) {
      const State square = over_keys<State>(rows[r], rows[r], shape_.keys);
      scales[r][0] = State(1) / std::sqrt(square + static_cast<State>(*epsilon));
      for (index_t j = 0; j < shape_.keys; ++j) rows[r][j] *= scales[r][0];
    }
  }
  // dx = s (dy - y (y . dy))
  void undo_unit(const std::optional<double>& epsilon, const State* unit, const State& scale,
                 State* d) const {
    if (!epsilon) return;
    const State along = over_keys<State>(unit, d, shape_.keys);
    for (index_t j = 0; j < shape_.keys; ++j) d[j] = scale * (d[j] - along * unit[j]);
  }

  void read_corrections() {
    const auto& data = call_.data;
    read_rows(data.removals, sink[1].row);
    make_unit(data.unit_removals, sink[1].row, removal_scale_);
    if (data.rates.left_out()) {
      read_rows(data.corrections, source[1].row);
      return;
    }
    read_rows(data.rates, rate_);
    for (index_t r = 0; r < at_.count; ++r)
      for (index_t j = 0; j < shape_.keys; ++j)
        source[1].row[r][j] = -rate_[r][j] * sink[1].row[r][j];
  }

  block_origin origin(index_t channel) const {
    return {at_.head.batch, at_.first, channel,
            call_.where.first_position(at_.head.batch, at_.head.sequence) + at_.in_sequence};
  }

  void read_weights() {
    const auto& weights = call_.data.weights;
    State now[static_cast<std::size_t>(longest)];
    std::fill_n(now, at_.count, State(1));
    if constexpr (weighing_decay<Decay, State>)
      call_.decay.weigh(origin(at_.head.head), strided_view<State>(now, at_.count, 1));
    for (index_t r = 0; r < at_.count; ++r) {
      weighed_[r][0] = now[r], given[r][0] = State(1);
      if (!weights.left_out())
        given[r][0] =
            static_cast<State>(*weights.pointer(at_.head.batch, at_.first + r, at_.head.head));
      weight[r][0] = given[r][0] * weighed_[r][0];
    }
  }

  void read_decays() {
    const index_t wide = call_.decay_width(), row = filled.row();
    call_.decay.fill(origin(at_.head.head * wide),
                     strided_view<State>(filled[0], {1, at_.count, wide}, {0, row}));
    if (by_key_) {
      for (index_t r = 0; r < at_.count; ++r)
        weights_of<Decay::form>(static_cast<const State*>(filled[r]), factor[r], wide);
    } else {  // side by side, so that they become vectors
      State logs[static_cast<std::size_t>(longest)] = {}, now[static_cast<std::size_t>(longest)];
      for (index_t r = 0; r < at_.count; ++r) logs[r] = filled[r][0];
      weights_of<Decay::form>(static_cast<const State*>(logs), now, at_.count);
      for (index_t r = 0; r < at_.count; ++r) {
        factor[r][0] = now[r];
        wide_[r] =
            r == 0 && at_.erased
                ? 0
                : factor_of<Decay::form, log_sum<State>>(static_cast<log_sum<State>>(now[r]));
      }
    }
    for (index_t r = 0; r < at_.count; ++r)
      for (index_t j = 0; j < wide; ++j)
        factor[r][j] =
            r == 0 && at_.erased ? State(0) : factor_of<Decay::form, State>(factor[r][j]);
    find_whole(wide);
  }
  // The decay over the chunk; step by step for all keys, so that each loop becomes vectors.
  void find_whole(index_t wide) {
    if (shape_.keys == 0) return;
    State* const d = whole_d_[0];
    State* const base = whole_base_[0];
    log_sum<State>* const x = whole_logs_.data();
    std::fill_n(d, wide, State(1));
    std::fill_n(base, wide, State(0));
    std::fill_n(x, wide, log_sum<State>(0));
    for (index_t r = 0; r < at_.count; ++r) {
      const State *const one = factor[r], *const log = filled[r];
      for (index_t j = 0; j < wide; ++j) d[j] *= one[j];
      for (index_t j = 0; j < wide; ++j) x[j] -= static_cast<log_sum<State>>(log[j]);
    }
    if constexpr (Decay::form == decay_form::log_factor)
      if (!at_.erased)
        for (index_t j = 0; j < wide; ++j) {
          const pass_decay<State> all = pass_decay_of<State>(x[j]);
          const State product = d[j];
          d[j] = choose(all.base > 0, all.d, product);
          base[j] = all.base;
        }
    for (index_t j = 0; j < wide; ++j) d[j] = flushed(d[j]);
    if (by_key_) return;
    std::fill_n(d, shape_.keys, d[0]);
    std::fill_n(base, shape_.keys, base[0]);
  }

  // Rows decayed to the end of the chunk and from its start.
  void decay_rows(bool back) {
    const index_t n = at_.count;
    if (!by_key_)
      for (index_t s = 0; s < n; ++s) {
        log_sum<State> product = 1;
        between[s][s] = State(1);
        for (index_t u = s + 1; u < n; ++u)
          between[u][s] = flushed(static_cast<State>(product *= wide_[u]));
      }
    undecayed();
    for (index_t r = n; r-- > 0; decay(r))
      for (auto& one : source) multiply(one.row[r], one.to_end[r]);
    if (sinks == 1 && !back) return;
    undecayed();
    for (index_t r = 0; r < n; ++r) {
      if constexpr (sinks > 1) multiply(sink[1].row[r], sink[1].from_start[r]);
      decay(r);
      if (back) multiply(sink[0].row[r], sink[0].from_start[r]);
    }
  }
  // By the decay so far, in `whole_`: a number, or one a key.
  void multiply(const State* from, State* to) {
    const State* const all = whole_[0];
    if (by_key_)
      for (index_t j = 0; j < row(); ++j) to[j] = all[j] * from[j];
    else
      for (index_t j = 0; j < row(); ++j) to[j] = one_whole_ * from[j];
  }
  void undecayed() {
    wide_whole_ = 1, one_whole_ = 1;
    std::fill_n(whole_[0], row(), State(1));
  }
  void decay(index_t r) {
    State* const all = whole_[0];
    const State* const one = factor[r];
    if (by_key_)
      for (index_t j = 0; j < row(); ++j) all[j] *= one[j];
    else
      one_whole_ = so_far[r][0] = flushed(static_cast<State>(wide_whole_ *= wide_[r]));
  }

  const Call& call_;
  matrix_shape shape_;
  bool by_key_;
  vjp_steps at_{};
  // Of a head: the decay of each step, and of those so far. In float factors next to 1 are no
  // timescales; products of them in double are.
  log_sum<State> wide_[static_cast<std::size_t>(longest)] = {};
  log_sum<State> wide_whole_ = 1;
  State one_whole_ = 1;
  step_rows<State> rate_, weighed_, query_scale_, key_scale_, removal_scale_;
  step_rows<State> whole_d_, whole_base_, whole_;
  std::vector<log_sum<State>> whole_logs_;
};

}  // namespace ebb::inline EBB_ABI::detail
