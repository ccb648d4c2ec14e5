// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/matrix_vjp_chunk.hpp
/// @brief  The way back through matrix states: what a chunk of steps reads, and its gradients.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

#include <ebb/decay/weight.hpp>
#include <ebb/recurrence/matrix.hpp>
#include <ebb/recurrence/matrix_vjp_pass.hpp>
#include <ebb/recurrence/update.hpp>

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
};

/// A head of a sequence, and how many heads there are.
struct head_place {
  index_t batch, sequence, head, heads;
};

/// Rows of `width` numbers, `stride` apart, for each step of a chunk.
template <class Real>
class step_rows {
 public:
  step_rows() = default;
  step_rows(index_t steps, index_t width, index_t stride)
      : numbers_(static_cast<std::size_t>(steps * stride)), width_(width), stride_(stride) {}

  Real* operator[](index_t r) { return numbers_.data() + r * stride_; }
  const Real* operator[](index_t r) const { return numbers_.data() + r * stride_; }
  index_t width() const { return width_; }

 private:
  std::vector<Real> numbers_;
  index_t width_ = 0, stride_ = 0;
};

/// The gradients of an array that several heads may read: sums over these heads, which come one
/// after the other.
template <class T, class State>
class shared_gradient {
 public:
  shared_gradient() = default;
  shared_gradient(const head_view<T>& to, index_t heads) : to_(to) {
    if (asked()) share_ = std::max<index_t>(1, heads / std::max<index_t>(1, to.heads()));
    if (share_ > 1) sums_.resize(static_cast<std::size_t>(to.steps() * to.width()));
  }

  bool asked() const { return !to_.left_out() && !to_.empty(); }

  /// The part of head h at step t.
  void add(index_t b, index_t t, index_t h, const State* part) {
    if (!asked()) return;
    T* const to = to_.pointer(b, t, h / share_);
    State* const sums = share_ > 1 ? sums_.data() + t * to_.width() : nullptr;
    const bool first = h % share_ == 0, last = h % share_ == share_ - 1;
    for (index_t j = 0; j < to_.width(); ++j) {
      const State sum = first ? part[j] : sums[j] + part[j];
      if (last)
        to[j] = static_cast<T>(sum);
      else
        sums[j] = sum;
    }
  }

 private:
  head_view<T> to_{};
  index_t share_ = 1;
  std::vector<State> sums_{};
};

/// A chunk of steps of one head: what they read, in the type of the state, and the gradients with
/// respect to it.
template <vjp_rule Rule, class Call>
class vjp_chunk {
  using State = typename Call::state_type;
  using T = typename Call::value_type;
  using Decay = typename Call::decay_type;
  static constexpr bool gated = Rule == vjp_rule::gated, corrected = Rule == vjp_rule::corrected;

 public:
  static constexpr index_t longest = 32;

  explicit vjp_chunk(const Call& call)
      : call_(call), shape_(shape_of(call.data)), head_wide_(call.data.decays == decay_per::head) {
    const index_t row = size().row, n = longest;
    const auto keys = [&](bool needed = true) {
      return needed ? step_rows<State>(n, shape_.keys, row) : step_rows<State>();
    };
    const auto values = [&] { return step_rows<State>(n, shape_.values, shape_.values); };
    query = keys(), key = keys(), decay = keys(), base = keys(), weighted_key = keys();
    d_query = keys(), d_key = keys(), d_decay = keys();
    removal = keys(gated || corrected), d_removal = keys(gated || corrected);
    correction = keys(corrected), d_correction = keys(corrected), rate_ = keys(corrected);
    value = values(), written = values(), seen = values();
    output = values(), scaled_output = values(), d_value = values();
    const index_t wide = head_wide_ ? 1 : shape_.keys;
    filled_ = step_rows<State>(n, wide, wide), changes_ = filled_, weights_ = filled_;
    weight = given_ = weighed_ = d_weight = query_scale_ = key_scale_ = removal_scale_ =
        step_rows<State>(n, 1, 1);
    const auto& asked = call.gradients;
    queries_ = {asked.queries, shape_.heads}, keys_ = {asked.keys, shape_.heads};
    values_ = {asked.values, shape_.heads}, weights_asked_ = {asked.weights, shape_.heads};
    removals_ = {asked.removals, shape_.heads};
    corrections_ = {asked.corrections, shape_.heads}, rates_ = {asked.rates, shape_.heads};
  }

  index_t count() const { return count_; }
  index_t step(index_t r) const { return first_ + r; }
  bool resets(index_t r) const { return call_.where.resets_at(at_.batch, step(r), shape_.steps); }
  panels<State> size() const { return panels<State>::of(shape_.keys, shape_.values); }

  /// Reads `count` steps from `first` on: what goes forth, and on the way back the rest.
  void read(const head_place& at, index_t first, index_t count, bool back) {
    at_ = at, first_ = first, count_ = count;
    const auto& data = call_.data;
    fill_decays();
    read_weights();
    read_rows(data.keys, key);
    make_unit(data.unit_keys, key, key_scale_);
    for (index_t r = 0; r < count_; ++r) {
      read_row(data.values, at.head, r, value[r]);
      const State c = weight[r][0];
      const State* const k = key[r];
      State* const to = weighted_key[r];
      for (index_t j = 0; j < shape_.keys; ++j) to[j] = c * k[j];
      if constexpr (gated)
        for (index_t j = 0; j < shape_.keys; ++j) removal[r][j] = factor(r, j) * k[j];
    }
    if constexpr (corrected) read_corrections();
    if (!back) return;
    read_rows(data.queries, query);
    make_unit(data.unit_queries, query, query_scale_);
    const auto& outputs = call_.cotangents.outputs;
    const auto scale = static_cast<State>(data.scale);
    for (index_t r = 0; r < count_; ++r) {
      if (!outputs.left_out()) read_row(outputs, at.head, r, output[r]);
      for (index_t i = 0; i < shape_.values; ++i) scaled_output[r][i] = scale * output[r][i];
    }
  }

  /// The decay that row j of the state has at step r.
  State factor(index_t r, index_t j) const { return base[r][j] + decay[r][j]; }

  /// What the sweep has left in the sums of step r becomes gradients of its rows: `by_key` is
  /// G^T k.
  void finish(index_t r, const State* by_key) {
    const index_t K = shape_.keys, V = shape_.values;
    const State c = weight[r][0], in_out = dot<State>(written[r], output[r], V);
    const auto scale = static_cast<State>(call_.data.scale);
    State *const dq = d_query[r], *const dk = d_key[r];
    const State *const near = base[r], *const w = decay[r], *const k = weighted_key[r];
    for (index_t j = 0; j < K; ++j) dq[j] = scale * ((near[j] + w[j]) * dq[j] + k[j] * in_out);
    if constexpr (corrected) {
      const State seen_out = scale * dot<State>(seen[r], output[r], V);
      const State* const u = correction[r];
      for (index_t j = 0; j < K; ++j) dq[j] += u[j] * seen_out;
    }
    for (index_t j = 0; j < K; ++j) dk[j] *= c;
    if constexpr (gated) {
      const State* const fixed = d_removal[r];
      for (index_t j = 0; j < K; ++j) dk[j] -= (near[j] + w[j]) * fixed[j];
    }
    d_weight[r][0] = dot<State>(by_key, written[r], V);
    State* const dv = d_value[r];
    for (index_t i = 0; i < V; ++i) dv[i] = c * by_key[i];
    if (!call_.data.skip.empty())
      for (index_t i = 0; i < V; ++i)
        dv[i] += static_cast<State>(skip_at(call_.data, at_.head, i)) * output[r][i];
    finish_decay(r);
  }

  /// Gradients of the rows become those of the data, and go where they were asked for.
  void write() {
    const auto& data = call_.data;
    for (index_t r = 0; r < count_; ++r) {
      if constexpr (corrected)
        if (!data.rates.left_out())
          for (index_t j = 0; j < shape_.keys; ++j) {
            d_removal[r][j] -= rate_[r][j] * d_correction[r][j];
            d_correction[r][j] *= -removal[r][j];
          }
      undo_unit(data.unit_queries, query, query_scale_, r, d_query[r]);
      undo_unit(data.unit_keys, key, key_scale_, r, d_key[r]);
      if constexpr (corrected)
        undo_unit(data.unit_removals, removal, removal_scale_, r, d_removal[r]);
      const State of_given = weighed_[r][0] * d_weight[r][0];
      const index_t b = at_.batch, t = step(r), h = at_.head;
      queries_.add(b, t, h, d_query[r]);
      keys_.add(b, t, h, d_key[r]);
      values_.add(b, t, h, d_value[r]);
      weights_asked_.add(b, t, h, &of_given);
      if constexpr (corrected) {
        removals_.add(b, t, h, d_removal[r]);
        corrections_.add(b, t, h, d_correction[r]);
        rates_.add(b, t, h, d_correction[r]);
      }
    }
    add_skip();
    if constexpr (Call::has_decay_gradients)
      if (call_.gradients.decay) add_decays();
  }

  step_rows<State> query, key, weighted_key, removal, correction, decay, base;
  step_rows<State> value, written, seen, output, scaled_output, weight;
  step_rows<State> d_query, d_key, d_removal, d_correction, d_decay, d_value, d_weight;

 private:
  block_origin origin(index_t channel) const {
    const auto& where = call_.where;
    const index_t begin = where.begin(at_.sequence);
    return {at_.batch, first_, channel,
            where.first_position(at_.batch, at_.sequence) + (first_ - begin)};
  }

  template <class View>
  void read_row(const View& view, index_t h, index_t r, State* to) const {
    const auto* const from = view.pointer(at_.batch, step(r), h);
    for (index_t j = 0; j < view.width(); ++j) to[j] = static_cast<State>(from[j]);
  }

  template <class View>
  void read_rows(const View& view, step_rows<State>& to) const {
    const index_t h = shared_head(view, at_.head, at_.heads);
    for (index_t r = 0; r < count_; ++r) read_row(view, h, r, to[r]);
  }

  // y = s x, s = 1 / sqrt(|x|^2 + epsilon)
  void make_unit(const std::optional<double>& epsilon, step_rows<State>& rows,
                 step_rows<State>& scales) const {
    if (!epsilon) return;
    for (index_t r = 0; r < count_; ++r) {
      const State square = dot<State>(rows[r], rows[r], shape_.keys);
      scales[r][0] = State(1) / std::sqrt(square + static_cast<State>(*epsilon));
      for (index_t j = 0; j < shape_.keys; ++j) rows[r][j] *= scales[r][0];
    }
  }

  // dx = s (dy - y (y . dy))
  void undo_unit(const std::optional<double>& epsilon, const step_rows<State>& unit,
                 const step_rows<State>& scales, index_t r, State* d) const {
    if (!epsilon) return;
    const State along = dot<State>(unit[r], d, shape_.keys);
    for (index_t j = 0; j < shape_.keys; ++j) d[j] = scales[r][0] * (d[j] - along * unit[r][j]);
  }

  void finish_decay(index_t r) {
    State *const changes = changes_[r], *const sums = d_decay[r];
    if (head_wide_)
      changes[0] = sum_of(sums, size().row);
    else
      std::copy_n(sums, shape_.keys, changes);
    for (index_t j = 0; j < filled_.width(); ++j) {
      if (resets(r))
        changes[j] = State(0);  // nothing was multiplied by this decay, whatever it is
      else if constexpr (Decay::form == decay_form::log_factor)
        changes[j] *= factor_of<Decay::form, State>(weights_[r][j]);
    }
  }

  void fill_decays() {
    const index_t wide = filled_.width();
    const index_t channel = head_wide_ ? at_.head : at_.head * shape_.keys;
    call_.decay.fill(origin(channel), strided_view<State>(filled_[0], count_, wide));
    weights_of<Decay::form>(filled_[0], weights_[0], count_ * wide);
    for (index_t r = 0; r < count_; ++r) {
      const bool erased = resets(r);
      State *const to = decay[r], *const near = base[r];
      const State* const from = weights_[r];
      for (index_t j = 0; j < shape_.keys; ++j) {
        to[j] = erased ? State(0) : from[head_wide_ ? 0 : j];
        near[j] = State(Decay::form == decay_form::log_factor && to[j] < State(0) ? 1 : 0);
      }
    }
  }

  void read_corrections() {
    const auto& data = call_.data;
    read_rows(data.removals, removal);
    make_unit(data.unit_removals, removal, removal_scale_);
    if (data.rates.left_out()) {
      read_rows(data.corrections, correction);
      return;
    }
    read_rows(data.rates, rate_);
    for (index_t r = 0; r < count_; ++r)
      for (index_t j = 0; j < shape_.keys; ++j) correction[r][j] = -rate_[r][j] * removal[r][j];
  }

  void read_weights() {
    const auto& weights = call_.data.weights;
    for (index_t r = 0; r < count_; ++r) {
      given_[r][0] = weighed_[r][0] = State(1);
      if (!weights.left_out()) read_row(weights, at_.head, r, given_[r]);
    }
    if constexpr (weighing_decay<Decay, State>)
      call_.decay.weigh(origin(at_.head), strided_view<State>(weighed_[0], count_, 1));
    for (index_t r = 0; r < count_; ++r) weight[r][0] = given_[r][0] * weighed_[r][0];
  }

  void add_skip() const {
    const auto& sums = call_.gradients.skip;
    if (sums.empty()) return;
    const bool by_head = static_cast<index_t>(sums.size()) == shape_.heads;
    for (index_t r = 0; r < count_; ++r)
      for (index_t i = 0; i < shape_.values; ++i) {
        const index_t place = by_head ? at_.head : at_.head * shape_.values + i;
        sums[static_cast<std::size_t>(place)] += output[r][i] * value[r][i];
      }
  }

  void add_decays() {
    auto& sums = *call_.gradients.decay;
    const index_t wide = filled_.width();
    const strided_view<const State> filled(filled_[0], count_, wide);
    const strided_view<const State> changes(changes_[0], count_, wide);
    call_.decay.vjp(origin(head_wide_ ? at_.head : at_.head * shape_.keys), filled, changes, sums);
    if constexpr (weighing_decay<Decay, State>) {
      for (index_t r = 0; r < count_; ++r) d_weight[r][0] *= given_[r][0];
      const strided_view<const State> of_weights(d_weight[0], count_, 1);
      call_.decay.weigh_vjp(origin(at_.head), of_weights, sums);
    }
  }

  const Call& call_;
  matrix_shape shape_;
  bool head_wide_;
  head_place at_{};
  index_t first_ = 0, count_ = 0;
  step_rows<State> rate_, filled_, changes_, weights_;
  step_rows<State> given_, weighed_, query_scale_, key_scale_, removal_scale_;
  shared_gradient<T, State> queries_, keys_, values_, weights_asked_, removals_, corrections_,
      rates_;
};

}  // namespace ebb::inline EBB_ABI::detail
