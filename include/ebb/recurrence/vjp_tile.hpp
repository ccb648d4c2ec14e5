// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/vjp_tile.hpp
/// @brief  How the gradients of the scan go back through a sequence: tiles of channels, in blocks.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <ebb/recurrence/concept.hpp>
#include <ebb/recurrence/scan.hpp>  // with the walk_range of the backends
#include <ebb/recurrence/update.hpp>

namespace ebb::inline EBB_ABI::detail {

/// 1 - a of the decay a that a weight stands for, without loss next to a = 1.
template <decay_form Form, class State>
State complement_of(const step_weight_t<State, Form>& weight) {
  if constexpr (Form == decay_form::factor)
    return State(1) - weight;
  else if constexpr (is_complex<State>)
    return State((1 - weight.whole) - weight.value.real(), -weight.value.imag());
  else
    return weight < 0 ? -weight : 1 - weight;
}

/// The weight of conj(a).
template <class Weight>
Weight conjugate_weight(const Weight& weight) {
  if constexpr (requires { weight.whole; })
    return {conjugate(weight.value), weight.whole};
  else
    return conjugate(weight);
}

/// The arguments of one call.
template <class Decay, class In, class Out, class State, class Cotangents, class Gradients>
struct vjp_call {
  using decay_type = Decay;
  using state_type = State;

  const Decay& decay;
  const In& in;
  const Out& out;
  const sequences<State>& where;
  const Cotangents& cotangents;
  const Gradients& gradients;

  static constexpr bool has_decay_gradients =
      !std::is_empty_v<std::remove_pointer_t<decltype(Gradients::decay)>>;
};

/// A tile of channels that goes backwards through a sequence, in blocks of steps:
///
///   gather    the cotangents of the block's outputs, snapshots and final state
///   sweep     g_t = dh_t + conj(a_{t+1}) g_{t+1}, the scan's own step, in place
///   inputs    db_t = conj(gain_t) g_t
///   decays    da_t = g_t conj(h_{t-1} - ...), in place, for the decay's own vjp
///
/// Blocks lie on the stack, channels adjacent; g and the decays between two blocks are carried on.
/// A constant decay fills one row, which serves every step. The order of operations on an element
/// does not depend on tiles and blocks.
template <class Decay, class State, class Axis>
class vjp_tile {
  static constexpr bool constant = Decay::kind == decay_kind::constant;
  static constexpr decay_form form = Decay::form;
  static constexpr bool average = gain_of<Decay> == input_gain::one_minus_decay;
  static constexpr bool rows_are_steps = std::same_as<Axis, time_major>;
  using weight = step_weight_t<State, form>;

 public:
  static constexpr index_t widest = rows_are_steps ? 512 : 16;

  /// All of a sequence, `width` channels from `channel` on.
  template <class Call>
  void walk(const Call& call, const walk_range& range, index_t channel, index_t width) {
    range_ = range, channel_ = channel, width_ = width;
    const auto& gradients = call.gradients;
    has_carry_ = false;
    first_ = range_.begin;
    if (constant && range_.length > 0) fill(call.decay, 1);
    for (index_t done = 0; done < range_.length; done += count_) {
      count_ = std::min(block_elements / width, range_.length - done);
      from_ = range_.length - done - count_;
      first_ = forward() ? range_.begin + from_ : range_.begin + done;
      if (!constant) fill(call.decay, count_);
      gather(call.cotangents, call.where);
      sweep(call.where, call.out.steps());
      if (gradients.inputs.data()) write_inputs(gradients.inputs);
      if constexpr (Call::has_decay_gradients)
        if (gradients.decay) add_decays(call);
    }
    if (gradients.initial_states.data()) write_initial(call.cotangents, gradients.initial_states);
  }

 private:
  // 16 KB of double each for filled values, weights and g; a half more of complex numbers.
  static constexpr index_t block_elements = is_complex<State> ? 1024 : 2048;

  bool forward() const { return range_.order == direction::forward; }
  // Row of the step that comes i-th in the block, in the order of the scan.
  index_t row_of(index_t i) const { return forward() ? i : count_ - 1 - i; }
  index_t weight_row(index_t r) const { return constant ? 0 : r * width_; }
  block_origin origin() const {
    return {range_.batch, first_, channel_, range_.first_position + (first_ - range_.begin)};
  }

  // Rows `from` to before `to`, in the order of the data's memory.
  template <class Body>
  void each(index_t from, index_t to, const Body& body) const {
    if constexpr (rows_are_steps) {
      for (index_t r = from; r < to; ++r)
        for (index_t c = 0; c < width_; ++c) body(r, c);
    } else {
      for (index_t c = 0; c < width_; ++c)
        for (index_t r = from; r < to; ++r) body(r, c);
    }
  }

  void fill(const Decay& decay, index_t rows) {
    decay.fill(origin(), strided_view<State>(filled_, rows, width_));
    weights_of<form>(filled_, weights_, rows * width_);
  }

  template <class Cotangents>
  void gather(const Cotangents& cotangents, const sequences<State>& where) {
    const auto& outputs = cotangents.outputs;
    if (outputs.data())
      each(0, count_, [&](index_t r, index_t c) {
        g_[r * width_ + c] =
            static_cast<State>(*outputs.pointer(range_.batch, first_ + r, channel_ + c));
      });
    else
      std::fill_n(g_, count_ * width_, State(0));
    if (cotangents.snapshots.data() && !where.snapshot_steps.empty())
      for (index_t r = 0; r < count_; ++r)
        if (const index_t m = where.snapshot_of(first_ + r); m >= 0)
          for (index_t c = 0; c < width_; ++c)
            g_[r * width_ + c] += cotangents.snapshots(range_.batch, m, channel_ + c);
    if (cotangents.final_states.data() && from_ + count_ == range_.length)
      for (index_t c = 0; c < width_; ++c)
        g_[row_of(count_ - 1) * width_ + c] +=
            cotangents.final_states(range_.batch, range_.sequence, channel_ + c);
  }

  void sweep(const sequences<State>& where, index_t steps) {
    const State* later = has_carry_ ? carry_ : nullptr;
    const weight* decays = waiting_;
    for (index_t i = count_; i-- > 0;) {
      State* g = g_ + row_of(i) * width_;
      if (later) step_back(decays, later, g, width_);
      decays = weights_ + weight_row(row_of(i));
      later = where.resets_at(range_.batch, range_.step(from_ + i), steps) ? nullptr : g;
    }
    has_carry_ = later != nullptr;
    if (has_carry_) std::copy_n(later, width_, carry_);
    std::copy_n(decays, width_, waiting_);
  }

  static void step_back(const weight* decays, const State* later, State* g, index_t width) {
    for (index_t c = 0; c < width; ++c)
      g[c] = advance<form, input_gain::one, State>(conjugate_weight(decays[c]), later[c], g[c]);
  }

  template <class Inputs>
  void write_inputs(const Inputs& inputs) const {
    using T = typename Inputs::value_type;
    each(0, count_, [&](index_t r, index_t c) {
      State value = g_[r * width_ + c];
      if constexpr (average)
        value = product(conjugate(complement_of<form, State>(weights_[weight_row(r) + c])), value);
      *inputs.pointer(range_.batch, first_ + r, channel_ + c) = static_cast<T>(value);
    });
  }

  template <class Call>
  void add_decays(const Call& call) {
    const auto& where = call.where;
    const index_t b = range_.batch, earlier = forward() ? -1 : 1, start = range_.step(0);
    const auto erased = [&](index_t r) { return where.resets_at(b, first_ + r, call.out.steps()); };
    const auto special = [&](index_t r) { return first_ + r == start || erased(r); };
    for (index_t r = 0, end = 0; r < count_; r = end) {
      end = r + 1;
      if (erased(r)) {
        // Nothing was multiplied by this decay, whatever it is.
        if constexpr (average)
          multiply(call, r, end, [](index_t, index_t) { return State(0); });
        else
          std::fill_n(g_ + r * width_, width_, State(0));
      } else if (special(r)) {
        multiply(call, r, end, [&](index_t, index_t c) {
          return where.initial_states.data()
                     ? where.initial_states(b, range_.sequence, channel_ + c)
                     : State(0);
        });
      } else {
        while (end < count_ && !special(end)) ++end;
        multiply(call, r, end, [&](index_t row, index_t c) {
          return static_cast<State>(*call.out.pointer(b, first_ + row + earlier, channel_ + c));
        });
      }
    }
    const strided_view<const State> filled(filled_, {1, count_, width_},
                                           {0, constant ? 0 : width_});
    const strided_view<const State> changes(g_, count_, width_);
    call.decay.vjp(origin(), filled, changes, *call.gradients.decay);
  }

  // From g to the cotangents of the filled values, in rows with these states before them.
  template <class Call, class Before>
  void multiply(const Call& call, index_t from, index_t to, const Before& before) {
    each(from, to, [&](index_t r, index_t c) {
      State& g = g_[r * width_ + c];
      State factor = before(r, c);
      if constexpr (average)
        factor -= static_cast<State>(*call.in.pointer(range_.batch, first_ + r, channel_ + c));
      g = product(g, conjugate(factor));
      if constexpr (form == decay_form::log_factor)
        g = product(conjugate(factor_of<form, State>(weights_[weight_row(r) + c])), g);
    });
  }

  template <class Cotangents>
  void write_initial(const Cotangents& cotangents, const strided_view<State>& initial) const {
    const index_t b = range_.batch, s = range_.sequence;
    for (index_t c = 0; c < width_; ++c) {
      State& value = initial(b, s, channel_ + c);
      if (has_carry_)
        value = advance<form, input_gain::one, State>(conjugate_weight(waiting_[c]), carry_[c],
                                                      State(0));
      else if (range_.length == 0 && cotangents.final_states.data())
        value = cotangents.final_states(b, s, channel_ + c);  // an empty sequence hands it on
      else
        value = State(0);
    }
  }

  walk_range range_{};
  index_t channel_ = 0, width_ = 0;
  // The block at hand: its rows, and its first step in the order of the scan and in the data.
  index_t count_ = 0, from_ = 0, first_ = 0;
  bool has_carry_ = false;
  State carry_[static_cast<std::size_t>(widest)];
  weight waiting_[static_cast<std::size_t>(widest)];
  State filled_[static_cast<std::size_t>(block_elements)];
  weight weights_[static_cast<std::size_t>(block_elements)];
  State g_[static_cast<std::size_t>(block_elements)];
};

}  // namespace ebb::inline EBB_ABI::detail
