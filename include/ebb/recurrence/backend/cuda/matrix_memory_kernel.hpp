// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/matrix_memory_kernel.hpp
/// @brief  Matrix states with more keys than registers hold: the state stays in memory.
#pragma once

#include <cmath>

#include <ebb/core/storage.hpp>
#include <ebb/recurrence/backend/cuda/matrix_gate.hpp>
#include <ebb/recurrence/backend/cuda/matrix_params.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// The recurrences with matrix states for any K. A lane has a column of the state, the warps have
/// blocks of keys by turns; the state is read and written at every step, `work`.
template <class T, class State, class Gate, bool Corrected>
struct matrix_memory_kernel {
  using params = matrix_params<T, State, Gate>;
  static constexpr int warps = 4, threads = warp_size * warps, columns = warp_size;

  template <class Context>
  struct shared_memory {
    typename Context::template shared<State, 3 * warps> square;  ///< of queries, keys, removals
    typename Context::template shared<State, threads> seen, sum;
  };

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void run(Context& c, shared_memory<Context>& m, const params& p) {
    walk<Context>(c, m, p).run();
  }

 private:
  /// What a lane knows of a key.
  struct key_part {
    State query, key, decay, removal, correction;
  };

  template <class Context>
  class walk {
   public:
    EBB_NO_EXEC_CHECK EBB_DEVICE walk(Context& c, shared_memory<Context>& m, const params& p)
        : c_(c), m_(m), p_(p), at_(c, p) {
      column_ = at_.slice * columns + c.lane();
      here_ = column_ < p.value_width;
      state_ = p.work.at(at_.batch, at_.sequence, at_.head * p.key_width * p.value_width + column_);
    }

    EBB_NO_EXEC_CHECK EBB_DEVICE void run() {
      if (p_.where.initial.data != p_.work.data) copy_initial();
      EBB_NO_UNROLL
      for (index_t step = 0; step < at_.count; ++step) take(step);
    }

   private:
    /// Each warp those keys that it works on.
    EBB_NO_EXEC_CHECK EBB_DEVICE void copy_initial() {
      EBB_NO_UNROLL
      for (index_t j = c_.warp() * warp_size; j < p_.key_width;
           j += (j + 1) % warp_size != 0 ? 1 : threads - warp_size + 1) {
        State x = 0;
        if (p_.where.initial.data != nullptr && here_)
          x = c_.template load<1>(
                    p_.where.initial.at(at_.batch, at_.sequence,
                                        (at_.head * p_.key_width + j) * p_.value_width + column_))
                  .v[0];
        put(j, x);
      }
    }
    EBB_NO_EXEC_CHECK EBB_DEVICE State get(index_t j) {
      return here_ ? c_.template load<1>(state_ + j * p_.value_width).v[0] : State(0);
    }
    EBB_NO_EXEC_CHECK EBB_DEVICE void put(index_t j, const State& x) {
      if (here_) c_.template store<1>(state_ + j * p_.value_width, packed<State, 1>{{x}});
    }
    /// f(j, part) for the keys of this warp, the parts made by one lane each.
    template <class F>
    EBB_DEVICE void each_key(index_t step, const F& f) {
      EBB_NO_UNROLL
      for (index_t first = c_.warp() * warp_size; first < p_.key_width; first += threads) {
        const key_part own = part_of(step, first + c_.lane());
        EBB_NO_UNROLL
        for (int e = 0; e < warp_size && first + e < p_.key_width; ++e)
          f(first + e,
            key_part{c_.shuffle(own.query, e), c_.shuffle(own.key, e), c_.shuffle(own.decay, e),
                     c_.shuffle(own.removal, e), c_.shuffle(own.correction, e)});
      }
    }

    EBB_NO_EXEC_CHECK EBB_DEVICE State read(const head_rows<const T>& view, index_t t, index_t j) {
      return static_cast<State>(
          c_.template load<1>(view.first(at_.batch, at_.head) + t * view.step + j).v[0]);
    }
    EBB_NO_EXEC_CHECK EBB_DEVICE key_part part_of(index_t step, index_t j) {
      key_part part{};
      if (j >= p_.key_width) return part;
      const index_t t = at_.begin + step;
      const index_t channel = p_.by_key ? at_.head * p_.key_width + j : at_.head;
      typename Gate::value raw[1]{};
      read_gate(c_, p_.gate, at_.batch, t, channel, 1, raw);
      part.decay = p_.gate.weight(c_, p_.gate.channel(c_, channel),
                                  p_.gate.time(c_, at_.position + step), raw[0]);
      part.query = query_factor_ * read(p_.queries, t, j);
      part.key = key_factor_ * read(p_.keys, t, j);
      if constexpr (Corrected) {
        if (p_.rule == matrix_rule::gated) {
          part.removal = factor_of_weight<Gate::form>(part.decay) * part.key;
          return part;
        }
        part.removal = removal_factor_ * read(p_.removals, t, j);
        part.correction = read(p_.corrections, t, j);
        if (p_.rule == matrix_rule::rates) part.correction *= -part.removal;
      }
      return part;
    }

    /// The factors of the rows of a step: the scale, and what makes rows of unit length.
    EBB_NO_EXEC_CHECK EBB_DEVICE void find_factors(index_t t) {
      const bool removals = Corrected && p_.removals.data != nullptr && p_.unit_removal >= 0;
      add_squares(0, p_.unit_query >= 0, p_.queries, t);
      add_squares(1, p_.unit_key >= 0, p_.keys, t);
      add_squares(2, removals, p_.removals, t);
      c_.sync_block();
      query_factor_ = p_.scale * one_over_length(0, p_.unit_query >= 0, p_.unit_query);
      key_factor_ = one_over_length(1, p_.unit_key >= 0, p_.unit_key);
      removal_factor_ = one_over_length(2, removals, p_.unit_removal);
    }
    EBB_NO_EXEC_CHECK EBB_DEVICE void add_squares(int which, bool wanted,
                                                  const head_rows<const T>& view, index_t t) {
      if (!wanted) return;
      State square = 0;
      EBB_NO_UNROLL
      for (index_t j = c_.thread(); j < p_.key_width; j += threads) {
        const State x = read(view, t, j);
        square = c_.multiply_add(x, x, square);
      }
      EBB_UNROLL
      for (int d = 1; d < warp_size; d *= 2) square += c_.shuffle_xor(square, d);
      if (c_.lane() == 0) m_.square.put(c_, which * warps + c_.warp(), square);
    }
    EBB_NO_EXEC_CHECK EBB_DEVICE State one_over_length(int which, bool wanted,
                                                       const State& epsilon) {
      if (!wanted) return State(1);
      State square = epsilon;
      for (int w = 0; w < warps; ++w) square += m_.square.get(c_, which * warps + w);
      return State(1) / std::sqrt(square);
    }

    /// The sum over the warps; `memory` has a number for each thread.
    template <class Memory>
    EBB_DEVICE State over_warps(Memory& memory, const State& part) {
      memory.put(c_, c_.thread(), part);
      c_.sync_block();
      State sum = 0;
      for (int w = 0; w < warps; ++w) sum += memory.get(c_, w * warp_size + c_.lane());
      return sum;
    }

    EBB_NO_EXEC_CHECK EBB_DEVICE void take(index_t step) {
      const index_t t = at_.begin + step;
      const bool reset = p_.where.resets != nullptr &&
                         c_.load_cached(p_.where.resets + (at_.batch * p_.steps + t)) != 0;
      const index_t mark = mark_of(c_, p_, reset, t);
      State weight = 1;
      if (p_.weights.data != nullptr) weight = read(p_.weights, t, 0);
      if constexpr (weighing_gate<Gate>)
        weight *= p_.gate.weight_of(
            c_, at_.head, c_.template load<1>(p_.gate.weight_at(at_.batch, t, at_.head)).v[0]);
      const State value = here_ ? read(p_.values, t, column_) : State(0);
      find_factors(t);

      State seen = 0, written = weight * value, sum = 0;
      if constexpr (Corrected) {
        each_key(step, [&](index_t j, const key_part& x) {
          if (!reset) seen = c_.multiply_add(x.removal, get(j), seen);
        });
        seen = over_warps(m_.seen, seen);
        if (p_.rule == matrix_rule::gated) written = weight * (value - seen), seen = 0;
      }
      each_key(step, [&](index_t j, const key_part& x) {
        const State s = reset ? State(0) : get(j);
        State next = c_.multiply_add(x.key, written, State(x.decay * s));
        if constexpr (Corrected)
          if (p_.rule != matrix_rule::gated) next = c_.multiply_add(x.correction, seen, next);
        if constexpr (Gate::form == decay_form::log_factor) next += x.decay < 0 ? s : State(0);
        put(j, next);
        if (mark > 1 && here_)
          c_.template store<1>(
              p_.where.snapshots.at(at_.batch, (mark >> 1) - 1,
                                    (at_.head * p_.key_width + j) * p_.value_width + column_),
              packed<State, 1>{{next}});
        sum = c_.multiply_add(x.query, next, sum);
      });
      sum = over_warps(m_.sum, sum);
      if (c_.warp() == 0 && here_) {
        if (p_.skip != nullptr)
          sum = c_.multiply_add(static_cast<State>(c_.load_cached(
                                    p_.skip + (at_.head * p_.skip_head + column_ * p_.skip_lane))),
                                value, sum);
        c_.template store<1>(p_.outputs.first(at_.batch, at_.head) + t * p_.outputs.step + column_,
                             packed<T, 1>{{static_cast<T>(sum)}});
      }
    }

    Context& c_;
    shared_memory<Context>& m_;
    const params& p_;
    matrix_place at_;
    index_t column_;
    bool here_;
    State* state_;
    State query_factor_ = 1, key_factor_ = 1, removal_factor_ = 1;
  };
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
