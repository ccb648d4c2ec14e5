// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/matrix_panel.hpp
/// @brief  Rows of a panel of steps in shared memory: read, converted, of unit length, with decays.
#pragma once

#include <cmath>
#include <cstdint>

#include <ebb/core/storage.hpp>
#include <ebb/recurrence/backend/cuda/matrix_gate.hpp>
#include <ebb/recurrence/backend/cuda/matrix_params.hpp>
#include <ebb/recurrence/backend/cuda/matrix_tile.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// Who reads what of a panel: neighbouring lanes read packs of a row, a warp as many rows as fit.
template <class State, class Tile>
struct matrix_panel_layout {
  static constexpr int width = 16 / static_cast<int>(sizeof(State));  ///< numbers of a pack
  static constexpr int packs = Tile::keys / width;                    ///< of a row
  static constexpr int row_lanes = packs < warp_size ? packs : warp_size;
  static constexpr int lane_packs = packs / row_lanes;
  static constexpr int warp_rows = warp_size / row_lanes;
  static constexpr int panel = warp_rows * Tile::warps;  ///< steps of a panel, a row a lane each
  static constexpr int value_round = Tile::threads / Tile::columns;  ///< rows of values at once
  static constexpr int value_rounds = (panel + value_round - 1) / value_round;
  static_assert(Tile::keys % width == 0 && packs % row_lanes == 0);
  static_assert(Tile::threads % Tile::columns == 0);
  using pack = packed<State, width>;
};

/// The rows of two panels: of the one that is worked on, and of the next.
template <class Context, class State, class Tile, bool Corrected>
struct matrix_panel_memory {
  using layout = matrix_panel_layout<State, Tile>;
  static constexpr int rows = 2 * layout::panel;
  using pack_rows = typename Context::template shared<typename layout::pack, rows * layout::packs>;
  using more_rows = typename Context::template shared<typename layout::pack,
                                                      Corrected ? rows * layout::packs : 1>;

  pack_rows query;  ///< times the scale
  pack_rows key;
  pack_rows decay;  ///< weights (decay/weight.hpp), or factors
  more_rows removal, correction;
  typename Context::template shared<State, rows * Tile::columns> value;
  typename Context::template shared<State, rows> weight;
  typename Context::template shared<index_t, rows> mark;  ///< see mark_of
};

/// The part of one thread in reading panels.
template <class Kernel, class Context>
class matrix_panel {
  using T = typename Kernel::data_type;
  using State = typename Kernel::state_type;
  using Gate = typename Kernel::gate_type;
  using tile = typename Kernel::tile;
  using layout = typename Kernel::layout;
  using params = typename Kernel::params;
  using memory = typename Kernel::template shared_memory<Context>;
  using pack = typename layout::pack;
  using raw_pack = packed<T, layout::width>;
  static constexpr int width = layout::width, lane_packs = layout::lane_packs;
  static constexpr bool corrected = Kernel::corrected;

 public:
  EBB_NO_EXEC_CHECK EBB_DEVICE matrix_panel(Context& c, memory& m, const params& p,
                                            const matrix_place& at)
      : c_(c), m_(m), p_(p), at_(at) {
    lane_ = c.lane() % layout::row_lanes;
    row_ = c.warp() * layout::warp_rows + c.lane() / layout::row_lanes;
    const index_t column = at.slice * tile::columns + c.thread() % tile::columns;
    value_here_ = column < p.value_width;
    values_ = p.values.first(at.batch, at.head) +
              (at.begin + c.thread() / tile::columns) * p.values.step + column;
  }

  /// Begins to read the steps from `first` on.
  EBB_NO_EXEC_CHECK EBB_DEVICE void fetch(index_t first) {
    const index_t own = first + row_;
    raw_row& to = raw_;
    to = raw_row{};
    if (own < at_.count) {
      const index_t t = at_.begin + own;
      read_row(p_.queries, t, to.query);
      read_row(p_.keys, t, to.key);
      if constexpr (corrected)
        if (p_.rule != matrix_rule::gated) {
          read_row(p_.removals, t, to.removal);
          read_row(p_.corrections, t, to.correction);
        }
      if (p_.weights.data != nullptr)
        to.weight = read(p_.weights.first(at_.batch, at_.head) + t * p_.weights.step);
      if (p_.where.resets != nullptr)
        to.reset = c_.load_cached(p_.where.resets + (at_.batch * p_.steps + t));
      if constexpr (weighing_gate<Gate>)
        to.gate_weight = c_.template load<1>(p_.gate.weight_at(at_.batch, t, at_.head)).v[0];
      if (p_.by_key) {
        EBB_UNROLL
        for (int q = 0; q < lane_packs; ++q)
          read_gate(c_, p_.gate, at_.batch, t, at_.head * p_.key_width + key(q),
                    p_.key_width - key(q), to.decay[q]);
      } else {
        read_gate(c_, p_.gate, at_.batch, t, at_.head, 1, to.decay[0]);
      }
    }
    const T* from = values_ + first * p_.values.step;
    EBB_UNROLL
    for (int n = 0; n < layout::value_rounds; ++n) {
      const index_t step = first + n * layout::value_round + c_.thread() / tile::columns;
      value_[n] = value_here_ && step < at_.count ? read(from) : T{};
      from += layout::value_round * p_.values.step;
    }
  }

  /// Puts them into a buffer, ready to be multiplied.
  EBB_NO_EXEC_CHECK EBB_DEVICE void put(int buffer, index_t first) {
    const int row = buffer * layout::panel + row_;
    const index_t step = first + row_;
    const raw_row& from = raw_;
    pack query[lane_packs], key[lane_packs], decay[lane_packs];
    convert(from.query, query);
    convert(from.key, key);
    multiply(query,
             p_.unit_query >= 0 ? p_.scale * one_over_length(query, p_.unit_query) : p_.scale);
    if (p_.unit_key >= 0) multiply(key, one_over_length(key, p_.unit_key));
    decays(from, step, decay);
    if constexpr (corrected) {
      pack removal[lane_packs], correction[lane_packs];
      if (p_.rule == matrix_rule::gated) {
        EBB_UNROLL
        for (int q = 0; q < lane_packs; ++q) {
          EBB_UNROLL
          for (int y = 0; y < width; ++y)
            removal[q].v[y] = factor_of_weight<Gate::form>(decay[q].v[y]) * key[q].v[y];
        }
      } else {
        convert(from.removal, removal);
        convert(from.correction, correction);
        if (p_.unit_removal >= 0) multiply(removal, one_over_length(removal, p_.unit_removal));
        if (p_.rule == matrix_rule::rates) {
          EBB_UNROLL
          for (int q = 0; q < lane_packs; ++q) {
            EBB_UNROLL
            for (int y = 0; y < width; ++y) correction[q].v[y] *= -removal[q].v[y];
          }
        }
        keep(m_.correction, row, correction);
      }
      keep(m_.removal, row, removal);
    }
    keep(m_.query, row, query);
    keep(m_.key, row, key);
    keep(m_.decay, row, decay);
    if (lane_ == 0) {
      State weight = p_.weights.data != nullptr ? static_cast<State>(from.weight) : State(1);
      if constexpr (weighing_gate<Gate>)
        weight *= p_.gate.weight_of(c_, at_.head, from.gate_weight);
      m_.weight.put(c_, row, weight);
      m_.mark.put(c_, row, mark_of(c_, p_, from.reset != 0, at_.begin + step));
    }
    EBB_UNROLL
    for (int n = 0; n < layout::value_rounds; ++n) {
      const int i = c_.thread() + n * tile::threads;
      if (i < layout::panel * tile::columns)
        m_.value.put(c_, buffer * layout::panel * tile::columns + i, static_cast<State>(value_[n]));
    }
  }

 private:
  static auto gate_weight_type() {
    if constexpr (weighing_gate<Gate>)
      return typename Gate::weight_value{};
    else
      return no_values{};
  }
  using gate_weight_value = decltype(gate_weight_type());

  /// What a lane has of a row, as it lies in memory.
  struct raw_row {
    raw_pack query[lane_packs], key[lane_packs];
    raw_pack removal[corrected ? lane_packs : 1], correction[corrected ? lane_packs : 1];
    typename Gate::value decay[lane_packs][width];
    [[no_unique_address]] gate_weight_value gate_weight;
    T weight;
    std::uint8_t reset;
  };

  EBB_DEVICE index_t key(int q) const { return (lane_ + q * layout::row_lanes) * index_t{width}; }
  EBB_NO_EXEC_CHECK EBB_DEVICE T read(const T* from) { return c_.template load<1>(from).v[0]; }
  EBB_NO_EXEC_CHECK EBB_DEVICE void read_row(const head_rows<const T>& view, index_t t,
                                             raw_pack (&to)[lane_packs]) {
    const T* const from = view.first(at_.batch, at_.head) + t * view.step;
    EBB_UNROLL
    for (int q = 0; q < lane_packs; ++q) {
      to[q] = raw_pack{};
      if (p_.rows_aligned) {
        if (key(q) < p_.key_width) to[q] = c_.template load<width>(from + key(q));
      } else {
        EBB_UNROLL
        for (int y = 0; y < width; ++y)
          if (key(q) + y < p_.key_width) to[q].v[y] = read(from + key(q) + y);
      }
    }
  }

  static EBB_DEVICE void convert(const raw_pack (&from)[lane_packs], pack (&to)[lane_packs]) {
    EBB_UNROLL
    for (int q = 0; q < lane_packs; ++q) {
      EBB_UNROLL
      for (int y = 0; y < width; ++y) to[q].v[y] = static_cast<State>(from[q].v[y]);
    }
  }
  static EBB_DEVICE void multiply(pack (&row)[lane_packs], const State& by) {
    EBB_UNROLL
    for (int q = 0; q < lane_packs; ++q) {
      EBB_UNROLL
      for (int y = 0; y < width; ++y) row[q].v[y] *= by;
    }
  }
  /// 1 / sqrt(|row|^2 + epsilon)
  EBB_NO_EXEC_CHECK EBB_DEVICE State one_over_length(const pack (&row)[lane_packs],
                                                     const State& epsilon) {
    State square = 0;
    EBB_UNROLL
    for (int q = 0; q < lane_packs; ++q) {
      EBB_UNROLL
      for (int y = 0; y < width; ++y) square = c_.multiply_add(row[q].v[y], row[q].v[y], square);
    }
    EBB_UNROLL
    for (int d = 1; d < layout::row_lanes; d *= 2) square += c_.shuffle_xor(square, d);
    return State(1) / std::sqrt(square + epsilon);
  }
  EBB_NO_EXEC_CHECK EBB_DEVICE void decays(const raw_row& from, index_t step,
                                           pack (&to)[lane_packs]) {
    const auto time = p_.gate.time(c_, at_.position + step);
    State one = 0;
    if (!p_.by_key) one = p_.gate.weight(c_, p_.gate.channel(c_, at_.head), time, from.decay[0][0]);
    EBB_UNROLL
    for (int q = 0; q < lane_packs; ++q) {
      EBB_UNROLL
      for (int y = 0; y < width; ++y) {
        const index_t j = key(q) + y;
        State& w = to[q].v[y] = one;
        if (p_.by_key && j < p_.key_width && step < at_.count)
          w = p_.gate.weight(c_, p_.gate.channel(c_, at_.head * p_.key_width + j), time,
                             from.decay[q][y]);
      }
    }
  }
  template <class Rows>
  EBB_DEVICE void keep(Rows& to, int row, const pack (&from)[lane_packs]) {
    EBB_UNROLL
    for (int q = 0; q < lane_packs; ++q)
      to.put(c_, row * layout::packs + lane_ + q * layout::row_lanes, from[q]);
  }
  Context& c_;
  memory& m_;
  const params& p_;
  matrix_place at_;
  int lane_, row_;   // which packs of which rows are this thread's
  const T* values_;  // of its column, from its first row on
  bool value_here_;
  raw_row raw_;
  T value_[layout::value_rounds];
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
