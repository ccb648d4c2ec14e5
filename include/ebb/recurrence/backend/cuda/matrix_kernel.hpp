// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/matrix_kernel.hpp
/// @brief  Matrix states in registers: a block takes some columns of one state through time.
#pragma once

#include <cstdint>

#include <ebb/core/storage.hpp>
#include <ebb/recurrence/backend/cuda/matrix_panel.hpp>
#include <ebb/recurrence/backend/cuda/matrix_params.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

template <class Kernel, class Context>
class matrix_walk;

/// The recurrences with matrix states, one step after the other, the state in registers.
///
/// Columns of a state (lanes of V) do not see each other, so that a block has some columns of one
/// state, and a warp whole columns: sums over the keys are a few shuffles. The rows of a panel of
/// steps lie in shared memory, ready to be multiplied; those of the next panel are read meanwhile.
///
/// Memory: a row of keys is read once for each slice of V, a state once and written once.
/// @tparam Corrected  whether z^T S is wanted: every rule but outer
/// @tparam Tile       a matrix_tile with at least K keys
template <class T, class State, class Gate, bool Corrected, class Tile>
struct matrix_kernel : matrix_panel_layout<State, Tile> {
  using params = matrix_params<T, State, Gate>;
  using tile = Tile;
  using layout = matrix_panel_layout<State, Tile>;
  using data_type = T;
  using state_type = State;
  using gate_type = Gate;
  static constexpr bool corrected = Corrected;
  static constexpr int threads = Tile::threads, columns = Tile::columns;

  template <class Context>
  using shared_memory = matrix_panel_memory<Context, State, Tile, Corrected>;

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void run(Context& c, shared_memory<Context>& m, const params& p) {
    matrix_walk<matrix_kernel, Context>(c, m, p).run();
  }
};

/// One thread of it.
template <class Kernel, class Context>
class matrix_walk {
  using T = typename Kernel::data_type;
  using State = typename Kernel::state_type;
  using tile = typename Kernel::tile;
  using layout = typename Kernel::layout;
  using params = typename Kernel::params;
  using memory = typename Kernel::template shared_memory<Context>;
  static constexpr int rows = tile::keys_each, columns = tile::columns_each;
  static constexpr int width = layout::width;  // numbers of a pack of keys
  static constexpr bool by_weight = Kernel::gate_type::form == decay_form::log_factor;
  // Sums over the keys of a thread in as many parts, so that they do not wait for each other.
  static constexpr int parts = columns == 1 ? width : 1;

 public:
  EBB_NO_EXEC_CHECK EBB_DEVICE matrix_walk(Context& c, memory& m, const params& p)
      : c_(c), m_(m), p_(p), at_(c, p), panel_(c, m, p, at_) {
    const int lane = c.lane();
    key_lane_ = lane / tile::column_lanes;
    first_ = at_.slice * tile::columns + c.warp() * tile::warp_columns +
             lane % tile::column_lanes * columns;
  }

  EBB_NO_EXEC_CHECK EBB_DEVICE void run() {
    load_state();
    EBB_UNROLL
    for (int i = 0; i < columns; ++i)
      skip_[i] = p_.skip != nullptr && here(i)
                     ? static_cast<State>(c_.load_cached(p_.skip + at_.head * p_.skip_head +
                                                         (first_ + i) * p_.skip_lane))
                     : State(0);
    output_ = p_.outputs.first(at_.batch, at_.head) + at_.begin * p_.outputs.step + first_;

    // A panel is read while the one before is worked on.
    int buffer = 0;
    for (index_t next = 0;; next += layout::panel) {
      const bool more = next < at_.count;
      if (more) panel_.fetch(next);
      const index_t first = next - layout::panel;
      const index_t left = first < 0 ? 0 : at_.count - first;
      const int end = left < layout::panel ? static_cast<int>(left) : layout::panel;
      for (int e = 0; e < end; ++e) step(buffer * layout::panel + e);
      if (!more) break;
      buffer ^= 1;
      panel_.put(buffer, next);
      c_.sync_block();
    }
    if (p_.where.final.data != nullptr) store_state(p_.where.final, at_.sequence);
  }

 private:
  EBB_DEVICE bool here(int i) const { return first_ + i < p_.value_width; }
  EBB_DEVICE index_t key(int r) const {
    return (r / width * tile::key_lanes + key_lane_) * index_t{width} + r % width;
  }

  /// The sums over all keys of a column.
  EBB_NO_EXEC_CHECK EBB_DEVICE void add_lanes(State (&sum)[columns]) {
    EBB_UNROLL
    for (int d = tile::column_lanes; d < 32; d *= 2) {
      EBB_UNROLL
      for (int i = 0; i < columns; ++i) sum[i] += c_.shuffle_xor(sum[i], d);
    }
  }

  /// row^T S, of the state as it stands.
  EBB_NO_EXEC_CHECK template <class Rows>
  EBB_DEVICE void product_with(Rows& from, int e, State (&sum)[columns]) {
    State part[parts][columns] = {};
    EBB_UNROLL
    for (int n = 0; n < rows / width; ++n) {
      const auto x = from.get(c_, e * layout::packs + n * tile::key_lanes + key_lane_);
      EBB_UNROLL
      for (int y = 0; y < width; ++y) {
        EBB_UNROLL
        for (int i = 0; i < columns; ++i)
          part[y % parts][i] =
              c_.multiply_add(x.v[y], state_[n * width + y][i], part[y % parts][i]);
      }
    }
    join(part, sum);
    add_lanes(sum);
  }
  static EBB_DEVICE void join(const State (&part)[parts][columns], State (&sum)[columns]) {
    EBB_UNROLL
    for (int i = 0; i < columns; ++i) {
      sum[i] = part[0][i];
      EBB_UNROLL
      for (int y = 1; y < parts; ++y) sum[i] += part[y][i];
    }
  }

  EBB_NO_EXEC_CHECK EBB_DEVICE void step(int e) {
    const index_t mark = m_.mark.get(c_, e);
    if ((mark & 1) != 0) {
      EBB_UNROLL
      for (int r = 0; r < rows; ++r) {
        EBB_UNROLL
        for (int i = 0; i < columns; ++i) state_[r][i] = State(0);
      }
    }

    const State weight = m_.weight.get(c_, e);
    State value[columns], written[columns], seen[columns] = {};
    EBB_UNROLL
    for (int i = 0; i < columns; ++i) {
      value[i] = m_.value.get(c_, e * tile::columns + c_.warp() * tile::warp_columns +
                                      c_.lane() % tile::column_lanes * columns + i);
      written[i] = weight * value[i];
    }
    State sum[columns];
    if constexpr (Kernel::corrected) {
      product_with(m_.removal, e, seen);
      if (p_.rule == matrix_rule::gated) {
        EBB_UNROLL
        for (int i = 0; i < columns; ++i) written[i] = weight * (value[i] - seen[i]);
        pass<false>(e, written, seen, sum);
      } else {
        pass<true>(e, written, seen, sum);
      }
    } else {
      pass<false>(e, written, seen, sum);
    }
    add_lanes(sum);
    EBB_UNROLL
    for (int i = 0; i < columns; ++i) sum[i] = c_.multiply_add(skip_[i], value[i], sum[i]);
    store_output(sum);
    if (mark > 1) store_state(p_.where.snapshots, (mark >> 1) - 1);
  }

  /// S = diag(w) S + k written^T, and u seen^T where it is corrected; sum: q^T S.
  EBB_NO_EXEC_CHECK template <bool AddSeen>
  EBB_DEVICE void pass(int e, const State (&written)[columns], const State (&seen)[columns],
                       State (&sum)[columns]) {
    State part[parts][columns] = {};
    EBB_UNROLL
    for (int n = 0; n < rows / width; ++n) {
      const int at = e * layout::packs + n * tile::key_lanes + key_lane_;
      const auto w = m_.decay.get(c_, at), k = m_.key.get(c_, at), q = m_.query.get(c_, at);
      typename layout::pack u{};
      if constexpr (AddSeen) u = m_.correction.get(c_, at);
      EBB_UNROLL
      for (int y = 0; y < width; ++y) {
        EBB_UNROLL
        for (int i = 0; i < columns; ++i) {
          State& s = state_[n * width + y][i];
          State next = c_.multiply_add(k.v[y], written[i], State(w.v[y] * s));
          if constexpr (AddSeen) next = c_.multiply_add(u.v[y], seen[i], next);
          // A negative weight is a - 1 (decay/weight.hpp).
          if constexpr (by_weight) next += w.v[y] < 0 ? s : State(0);
          s = next;
          part[y % parts][i] = c_.multiply_add(q.v[y], next, part[y % parts][i]);
        }
      }
    }
    join(part, sum);
  }

  EBB_NO_EXEC_CHECK EBB_DEVICE void store_output(const State (&sum)[columns]) {
    if (key_lane_ == 0) {
      if (columns > 1 && p_.outputs_aligned && here(columns - 1)) {
        packed<T, columns> o;
        EBB_UNROLL
        for (int i = 0; i < columns; ++i) o.v[i] = static_cast<T>(sum[i]);
        c_.template store<columns>(output_, o);
      } else {
        EBB_UNROLL
        for (int i = 0; i < columns; ++i)
          if (here(i)) c_.template store<1>(output_ + i, packed<T, 1>{{static_cast<T>(sum[i])}});
      }
    }
    output_ += p_.outputs.step;
  }

  /// Where the first of this thread's keys and columns is in a state.
  EBB_DEVICE index_t first_channel() const {
    return (at_.head * p_.key_width + key(0)) * p_.value_width + first_;
  }
  /// f(r, pointer) for the keys r of this thread that the state has.
  template <class Pointer, class F>
  EBB_DEVICE void each_key(Pointer from, const F& f) {
    EBB_UNROLL
    for (int r = 0; r < rows; ++r) {
      if (key(r) < p_.key_width && here(0)) f(r, from);
      from += ((r + 1) % width == 0 ? (tile::key_lanes - 1) * width + 1 : 1) * p_.value_width;
    }
  }
  EBB_NO_EXEC_CHECK EBB_DEVICE void load_state() {
    EBB_UNROLL
    for (int r = 0; r < rows; ++r) {
      EBB_UNROLL
      for (int i = 0; i < columns; ++i) state_[r][i] = State(0);
    }
    if (p_.where.initial.data == nullptr) return;
    each_key(p_.where.initial.at(at_.batch, at_.sequence, first_channel()),
             [&](int r, const State* from) {
               if (p_.states_aligned) {
                 const auto x = c_.template load<columns>(from);
                 EBB_UNROLL
                 for (int i = 0; i < columns; ++i) state_[r][i] = x.v[i];
               } else {
                 EBB_UNROLL
                 for (int i = 0; i < columns; ++i)
                   if (here(i)) state_[r][i] = c_.template load<1>(from + i).v[0];
               }
             });
  }
  EBB_NO_EXEC_CHECK EBB_DEVICE void store_state(const operand<State>& states, index_t row) {
    each_key(states.at(at_.batch, row, first_channel()), [&](int r, State* to) {
      if (p_.states_aligned) {
        packed<State, columns> x;
        EBB_UNROLL
        for (int i = 0; i < columns; ++i) x.v[i] = state_[r][i];
        c_.template store<columns>(to, x);
      } else {
        EBB_UNROLL
        for (int i = 0; i < columns; ++i)
          if (here(i)) c_.template store<1>(to + i, packed<State, 1>{{state_[r][i]}});
      }
    });
  }

  Context& c_;
  memory& m_;
  const params& p_;
  matrix_place at_;
  matrix_panel<Kernel, Context> panel_;
  int key_lane_;
  index_t first_;  // column
  T* output_;
  State state_[rows][columns], skip_[columns];
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
