// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/matrix_plan.hpp
/// @brief  A recurrence with matrix states on a GPU from the host's side: which kernel, with what.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include <ebb/recurrence/backend/cuda/launcher.hpp>
#include <ebb/recurrence/backend/cuda/matrix_gate.hpp>
#include <ebb/recurrence/backend/cuda/matrix_kernel.hpp>
#include <ebb/recurrence/backend/cuda/matrix_memory_kernel.hpp>
#include <ebb/recurrence/backend/cuda/place.hpp>
#include <ebb/recurrence/matrix.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// The tiles of states in registers: for up to 16, 64, 128 and (of float) 256 keys; `many` with 16
/// bytes of columns for each thread, else with one, so that few states occupy more processors.
template <class State>
struct matrix_tiles {
  static constexpr int wide = 16 / static_cast<int>(sizeof(State));

  /// body.operator()<Tile>() for the tile of a state of K keys; false where there is none.
  template <class Body>
  static bool choose(index_t keys, bool many, const Body& body) {
    if (keys <= 16)
      body.template operator()<matrix_tile<4, 4, wide, 2>>();
    else if (keys <= 64)
      many ? body.template operator()<matrix_tile<8, 8, wide, 4>>()
           : body.template operator()<matrix_tile<4, 16, 1, 4>>();
    else if (keys <= 128)
      many ? body.template operator()<matrix_tile<8, 16, wide, 4>>()
           : body.template operator()<matrix_tile<8, 16, 1, 4>>();
    else if (keys <= 256 && sizeof(State) == sizeof(float))
      body.template operator()<matrix_tile<16, 16, 1, 4>>();
    else
      return false;
    return true;
  }
};

/// The bound of both kernels (recurrence/matrix.hpp), derived in docs/accuracy.md: outer products 7 a
/// step, corrected 2 K + 19, and 2 K + 11 once.
///
/// Of decays that are made in the kernels it holds with the kernels' own decays; those are off from
/// the ones filled by what their gates state of log a (cuda/taper_gate.hpp, steps_gate.hpp,
/// logistic_gate.hpp), times |log a|.
constexpr double matrix_error_bound(index_t steps, index_t keys, bool corrected) {
  const double rows = 2 * static_cast<double>(keys);
  return (corrected ? rows + 19 : 7) * static_cast<double>(steps) + rows + 11;
}

/// One call, of arguments that have been checked (recurrence/matrix.hpp), on a launcher.
template <template <class> class Tiles, class Launcher, class Decay, class Data, class State>
class matrix_plan {
  using T = typename Data::value_type;
  static constexpr bool may_correct = has_corrections<Data>;

 public:
  /// @throws shape_error for 2^31 blocks or more: one for each sequence, head and slice of V.
  static void run(Launcher& launcher, const Decay& decay, const Data& data,
                  const sequences<State>& where) {
    const matrix_shape size = shape_of(data);
    if (size.batches == 0 || where.count() == 0 || size.heads == 0 || size.values == 0) return;
    with_matrix_gate<State>(launcher, decay, [&](const auto& gate) {
      using Gate = std::remove_cvref_t<decltype(gate)>;
      matrix_params<T, State, Gate> p{};
      p.gate = gate;
      set_data(p, data, size);
      p.where = sequences_of(launcher, where);
      const index_t states = size.batches * where.count() * size.heads;
      const bool many = states * size.values >= 64 * 2 * launcher.processors();
      const bool found = Tiles<State>::choose(
          size.keys, many, [&]<class Tile>() { in_registers<Tile>(launcher, p, states); });
      if (!found) in_memory(launcher, p, size);
    });
  }

 private:
  template <class Gate>
  static void set_data(matrix_params<T, State, Gate>& p, const Data& data,
                       const matrix_shape& size) {
    const auto unit = [](const std::optional<double>& epsilon) {
      return epsilon ? static_cast<State>(*epsilon) : State(-1);
    };
    p.by_key = data.decays == decay_per::key;
    p.queries = rows_of(data.queries, size.heads);
    p.keys = rows_of(data.keys, size.heads);
    p.values = rows_of(data.values, size.heads);
    p.weights = rows_of(data.weights, size.heads);
    p.outputs = rows_of(data.outputs, size.heads);
    p.unit_query = unit(data.unit_queries);
    p.unit_key = unit(data.unit_keys);
    if constexpr (may_correct) {
      p.rule = is_gated(data)          ? matrix_rule::gated
               : data.rates.left_out() ? matrix_rule::corrections
                                       : matrix_rule::rates;
      p.removals = rows_of(data.removals, size.heads);
      p.corrections = rows_of(data.rates.left_out() ? data.corrections : data.rates, size.heads);
      p.unit_removal = unit(data.unit_removals);
    }
    if (!data.skip.empty()) {
      const bool by_head = static_cast<index_t>(data.skip.size()) == size.heads;
      p.skip = data.skip.data();
      p.skip_head = by_head ? 1 : size.values;
      p.skip_lane = by_head ? 0 : 1;
    }
    p.scale = static_cast<State>(data.scale);
    p.steps = size.steps, p.heads = size.heads;
    p.key_width = size.keys, p.value_width = size.values;
  }

  /// Whether all rows begin at, and consist of, whole packs of N.
  template <int N, class Rows>
  static bool aligned(const Rows& rows) {
    using U = std::remove_pointer_t<decltype(rows.data)>;
    return reinterpret_cast<std::uintptr_t>(rows.data) % (sizeof(U) * N) == 0 &&
           rows.batch % N == 0 && rows.step % N == 0;
  }
  template <int N, class U>
  static bool heads_aligned(const head_rows<U>& rows) {
    return aligned<N>(rows) && rows.head % N == 0;
  }

  template <class Kernel, class Params>
  static void launch(Launcher& launcher, Params& p, index_t states) {
    p.slices = (p.value_width + Kernel::columns - 1) / Kernel::columns;
    require_shape(p.slices < (index_t{1} << 31) / states, "ebb::cuda",
                  "need fewer than 2^31 blocks (states, slices of each)", states, p.slices);
    launcher.template launch<Kernel>(states * p.slices, p);
  }

  template <class Tile, class Gate>
  static void in_registers(Launcher& launcher, matrix_params<T, State, Gate>& p, index_t states) {
    using kernel = matrix_kernel<T, State, Gate, may_correct, Tile>;
    constexpr int width = kernel::layout::width, columns = Tile::columns_each;
    p.rows_aligned = p.key_width % width == 0 && heads_aligned<width>(p.queries) &&
                     heads_aligned<width>(p.keys) && heads_aligned<width>(p.removals) &&
                     heads_aligned<width>(p.corrections);
    const bool whole = p.value_width % columns == 0;
    p.states_aligned = whole && aligned<columns>(p.where.initial) &&
                       aligned<columns>(p.where.final) && aligned<columns>(p.where.snapshots);
    p.outputs_aligned = whole && heads_aligned<columns>(p.outputs);
    launch<kernel>(launcher, p, states);
  }

  template <class Gate>
  static void in_memory(Launcher& launcher, matrix_params<T, State, Gate>& p,
                        const matrix_shape& size) {
    using kernel = matrix_memory_kernel<T, State, Gate, may_correct>;
    const index_t rows = size.batches * p.where.count, channels = size.heads * size.state();
    p.work = p.where.final;
    if (p.work.data == nullptr)
      p.work = {launcher.template scratch<State>(rows * channels), p.where.count * channels,
                channels, 1, false};
    launch<kernel>(launcher, p, rows * size.heads);
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
