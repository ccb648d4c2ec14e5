// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/key_lanes.hpp
/// @brief  Outer-product states of one value a head, vectors along the keys: Mamba-1.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <ebb/decay/weight.hpp>
#include <ebb/recurrence/matrix.hpp>
#include <ebb/recurrence/update.hpp>

namespace ebb::inline EBB_ABI {

/// States of many heads with V = 1, h_t = w_t * h_{t-1} + c_t v_t k_t: heads whose states fill half
/// of the nearest cache pass through time together, a few steps of their decays filled each time.
///
/// Cost: 3 T H K operations and the decay's own; one exponential for each log-decay. Stack: 100 KB
/// at most. Allocates only for more than 1024 keys.
/// Accuracy: error_bound below (docs/accuracy.md). Log-decays near 0 keep their digits. Cutting a
/// sequence into pieces or steps changes no operation: same bits.
struct key_lanes {
  static constexpr std::string_view name = "key_lanes";
  static constexpr determinism repeats = determinism::any_thread_count;

  /// 6 a step (recurrence/update.hpp); c v k 4; the sum over K keys and its products K + 1; those
  /// of unit rows, scale and skip the rest.
  static constexpr double error_bound(index_t steps, index_t keys) {
    return 6 * static_cast<double>(steps) + 2 * static_cast<double>(keys) + 16;
  }

  /// @throws shape_error unless V = 1; nothing has been written then.
  template <class Decay, class T, class State>
  void run(const Decay& decay, const outer_data<T>& data, const sequences<State>& where) const {
    const detail::matrix_shape size = detail::shape_of(data);
    detail::require_shape(size.values == 1, name, "need values of width 1", size.values);
    const index_t together = std::max<index_t>(1, block / std::max<index_t>(size.keys, 1));
    for (index_t b = 0; b < size.batches; ++b)
      for (index_t s = 0; s < where.count(); ++s)
        for (index_t h = 0; h < size.heads; h += together)
          walk<Decay, T, State>(decay, data, where, {b, s, h, std::min(together, size.heads - h)})
              .run();
  }

 private:
  static constexpr index_t block = 1024, lanes = 16;

  struct piece {
    index_t batch, sequence, first_head, heads;
  };

  // Numbers on the stack, or allocated where they are many.
  template <class State, index_t Here>
  class memory {
   public:
    explicit memory(index_t count) {
      if (count > Here) away_.resize(static_cast<std::size_t>(count));
    }
    State* data() { return away_.empty() ? here_.data() : away_.data(); }

   private:
    std::array<State, static_cast<std::size_t>(Here)> here_;
    std::vector<State> away_;
  };

  template <class Decay, class T, class State>
  class walk {
   public:
    walk(const Decay& decay, const outer_data<T>& data, const sequences<State>& where,
         const piece& at)
        : decay_(decay),
          data_(data),
          where_(where),
          at_(at),
          size_(detail::shape_of(data)),
          width_(at.heads * size_.keys),
          panel_(std::clamp<index_t>(2 * block / std::max(width_, at.heads), 1, 64)),
          state_(width_),
          weights_(panel_ * width_) {}

    void run() {
      const index_t row = at_.first_head * size_.keys;
      const auto& before = where_.initial_states;
      if (before.data() != nullptr)
        std::copy_n(before.pointer(at_.batch, at_.sequence, row), width_, state_.data());
      else
        std::fill_n(state_.data(), width_, State(0));
      const index_t begin = where_.begin(at_.sequence);
      const index_t end = where_.end(at_.sequence, size_.steps);
      for (index_t t = begin; t < end; t += panel_) {
        const index_t count = std::min(panel_, end - t);
        fill(t, count, where_.first_position(at_.batch, at_.sequence) + (t - begin));
        for (index_t i = 0; i < count; ++i) {
          if (where_.resets_at(at_.batch, t + i, size_.steps))
            std::fill_n(state_.data(), width_, State(0));
          for (index_t h = 0; h < at_.heads; ++h) one_step(t + i, i, h);
          if (const index_t m = where_.snapshot_of(t + i); m >= 0)
            std::copy_n(state_.data(), width_, where_.snapshots.pointer(at_.batch, m, row));
        }
      }
      if (where_.final_states.data() != nullptr)
        std::copy_n(state_.data(), width_,
                    where_.final_states.pointer(at_.batch, at_.sequence, row));
    }

   private:
    // The weights of the decays of a panel, and c.
    void fill(index_t t, index_t count, index_t position) {
      const index_t h = at_.first_head;
      State* const w = weights_.data();
      if (data_.decays == decay_per::key) {
        decay_.fill({at_.batch, t, h * size_.keys, position},
                    strided_view<State>(w, count, width_));
        weights_of<Decay::form>(w, w, count * width_);
      } else {
        // The numbers of the heads at the end of each row, then spread over their keys.
        for (index_t i = 0; i < count; ++i) {
          State* const row = w + i * width_;
          for (index_t g = 0; g < at_.heads; ++g) {
            State one{};
            decay_.fill({at_.batch, t + i, h + g, position + i}, strided_view<State>(&one, 1, 1));
            std::fill_n(row + g * size_.keys, size_.keys, weight_of<Decay::form>(one));
          }
        }
      }
      if constexpr (weighing_decay<Decay, State>)
        decay_.weigh({at_.batch, t, h, position},
                     strided_view<State>(gain_.data(), count, at_.heads));
    }

    static State inverse_length(const T* row, index_t keys, const std::optional<double>& epsilon) {
      State square = 0;
      for (index_t j = 0; j < keys; ++j)
        square += static_cast<State>(row[j]) * static_cast<State>(row[j]);
      return State(1) / std::sqrt(square + static_cast<State>(*epsilon));
    }

    // Step t, number i of the panel, of a head of the piece.
    void one_step(index_t t, index_t i, index_t h) {
      const index_t head = at_.first_head + h, keys = size_.keys;
      const T* const k =
          data_.keys.pointer(at_.batch, t, detail::shared_head(data_.keys, head, size_.heads));
      const T* const q = data_.queries.pointer(
          at_.batch, t, detail::shared_head(data_.queries, head, size_.heads));
      const auto v = static_cast<State>(*data_.values.pointer(at_.batch, t, head));
      State in = v, scale = static_cast<State>(data_.scale);
      if (!data_.weights.left_out())
        in *= static_cast<State>(*data_.weights.pointer(at_.batch, t, head));
      if constexpr (weighing_decay<Decay, State>)
        in *= gain_[static_cast<std::size_t>(i * at_.heads + h)];
      if (data_.unit_keys) in *= inverse_length(k, keys, data_.unit_keys);
      if (data_.unit_queries) scale *= inverse_length(q, keys, data_.unit_queries);

      State* const state = state_.data() + h * keys;
      const State* const w = weights_.data() + i * width_ + h * keys;
      State part[static_cast<std::size_t>(lanes)] = {};
      const auto advanced = [&](index_t j) {
        return state[j] = advance<Decay::form, input_gain::one, State>(
                   w[j], state[j], State(static_cast<State>(k[j]) * in));
      };
      index_t j = 0;
      for (; j + lanes <= keys; j += lanes)
        for (index_t l = 0; l < lanes; ++l)
          part[l] += advanced(j + l) * static_cast<State>(q[j + l]);
      for (index_t l = 0; j < keys; ++j, ++l) part[l] += advanced(j) * static_cast<State>(q[j]);
      for (index_t width = lanes / 2; width > 0; width /= 2)
        for (index_t l = 0; l < width; ++l) part[l] += part[l + width];
      State out = scale * part[0];
      if (!data_.skip.empty()) out += static_cast<State>(detail::skip_at(data_, head, 0)) * v;
      *data_.outputs.pointer(at_.batch, t, head) = static_cast<T>(out);
    }

    const Decay& decay_;
    const outer_data<T>& data_;
    const sequences<State>& where_;
    piece at_;
    detail::matrix_shape size_;
    index_t width_, panel_;
    memory<State, block> state_;
    memory<State, 2 * block> weights_;
    std::array<State, static_cast<std::size_t>(2 * block)> gain_;
  };
};

}  // namespace ebb::inline EBB_ABI
