// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/scan_launch.hpp
/// @brief  The walk of a scan on a GPU from the host's side: which kernel, in what tiles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <ebb/recurrence/backend/cuda/column_scan.hpp>
#include <ebb/recurrence/backend/cuda/copy_states.hpp>
#include <ebb/recurrence/backend/cuda/launcher.hpp>
#include <ebb/recurrence/backend/cuda/loop_scan.hpp>
#include <ebb/recurrence/backend/cuda/row_scan.hpp>
#include <ebb/recurrence/concept.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// The sizes of tiles, for states of a type.
template <class State>
struct scan_tiles {
  /// Elements of a lane side by side: 16 bytes of states.
  static constexpr int width = 16 / static_cast<int>(sizeof(State));
  /// Whether a gate, or complex numbers, leave few registers for steps.
  template <class Gate>
  static constexpr bool crowded = is_complex<State> ||
                                  (Gate::keeps_time &&
                                   !std::is_same_v<typename Gate::value, no_values>);
  /// Whether data have to become wider, to states that are wide already.
  template <class T>
  static constexpr bool widens = std::is_same_v<State, double> && !std::is_same_v<T, State>;
  /// Time-major: 32 width channels, 128 steps, of which a lane has 8 in registers; or 64 and 4.
  static constexpr int column_warps = 16;
  template <class Steps>
  static constexpr int column_depth =
      crowded<typename Steps::gate> || widens<typename Steps::input> ||
              !std::is_base_of_v<timeless, typename Steps::gate>
          ? 4
          : 8;
  /// Channel-major: 8 warps with runs of 32 width steps.
  static constexpr int row_warps = 8, row_runs = 4;
  /// Steps that a thread of loop_scan reads ahead.
  template <class Gate>
  static constexpr int ahead = crowded<Gate>      ? 2
                               : Gate::keeps_time ? 4
                                                  : 8;
  /// Sequences up to here go by loops: fewer steps than two warps of a tile, or a run, have.
  static constexpr index_t column_shortest = 16, row_shortest = 32 * width;
};

/// Whether a call goes by loops (loop_scan) and not by tiles.
///
/// Tiles make the parallelism that few channels do not have; they cost compositions and the wait
/// for the tiles before. A loop needs enough threads to keep the memory busy, with about 64 bytes
/// each on their way: some 256 a processor make 16 KB, near what latency times bandwidth asks for.
/// Of packed sequences the longest counts, for which all wait. Rows of adjacent steps are read
/// together by tiles only, so that there only short sequences go by loops.
/// This is an estimate; no GPU has measured it.
/// @param threads  sequences times channels, of all batch entries, weighed by their length over
///   that of the longest
constexpr bool goes_by_loops(bool steps_adjacent, index_t longest, index_t shortest,
                             index_t threads, index_t processors) {
  return longest <= shortest || (!steps_adjacent && threads >= 256 * processors);
}

/// One walk of some steps (scan_params.hpp, back_steps.hpp), forwards or back.
/// @tparam StepsAdjacent  whether the steps of the outputs are adjacent in memory, not the channels
template <template <class> class Tiles, class Launcher, class Steps, bool StepsAdjacent>
class scan_launch {
  using State = typename Steps::state;
  using Gate = typename Steps::gate;
  using params = typename Steps::params;
  static constexpr bool steps_adjacent = StepsAdjacent;
  using tiles = Tiles<State>;

 public:
  /// @param where     the sequences of the host, with the states of the walk
  /// @param has_cuts  whether something happens at steps besides that of `where`
  static void run(Launcher& launcher, params& p, const sequences<State>& where, bool has_cuts) {
    if (by_loops(launcher, where, {p.batches, p.steps, p.channels}))
      loop(launcher, p, false);
    else
      by_tiles(launcher, p, where, has_cuts);
  }

 private:
  static bool by_loops(const Launcher& launcher, const sequences<State>& where,
                       const extents& size) {
    index_t longest = 0, all = 0;
    for (index_t s = 0; s < where.count(); ++s) {
      const index_t length = where.end(s, size.steps) - where.begin(s);
      longest = std::max(longest, length);
      all += length;
    }
    if (longest == 0) return true;
    const index_t threads = size.batches * size.channels * (all / longest);
    return goes_by_loops(steps_adjacent, longest,
                         steps_adjacent ? tiles::row_shortest : tiles::column_shortest, threads,
                         static_cast<index_t>(launcher.processors()));
  }

  static void loop(Launcher& launcher, const params& p, bool only_empty) {
    using kernel = loop_scan<Steps, tiles::template ahead<Gate>>;
    launcher.template launch<kernel>(blocks_of<kernel>(p.batches * p.where.count * p.channels),
                                     {p, only_empty});
  }
  template <class Kernel>
  static index_t blocks_of(index_t threads) {
    return (threads + Kernel::threads - 1) / Kernel::threads;
  }

  static void by_tiles(Launcher& launcher, params& p, const sequences<State>& where,
                       bool has_cuts) {
    const bool in_place = overlap(where.initial_states, where.final_states);
    if (where.final_states.data() != nullptr && !in_place) {
      bool some_empty = false;
      for (index_t s = 0; s < where.count(); ++s)
        some_empty = some_empty || where.begin(s) == where.end(s, p.steps);
      if (some_empty) loop(launcher, p, true);
    }
    if (in_place) move_initial(launcher, p);
    const bool whole =
        where.offsets.empty() ||
        (where.offsets.size() == 2 && where.offsets[0] == 0 && where.offsets[1] == p.steps);
    if (whole && where.resets.empty() && !has_cuts)
      with_cuts<false>(launcher, p);
    else
      with_cuts<true>(launcher, p);
  }

  // A tile may write a final state before another one reads that initial state.
  static void move_initial(Launcher& launcher, params& p) {
    const index_t count = p.where.count;
    State* const memory = launcher.template scratch<State>(p.batches * count * p.channels);
    const operand<State> to{memory, count * p.channels, p.channels, 1, false};
    using kernel = copy_states<State>;
    launcher.template launch<kernel>(blocks_of<kernel>(p.batches * count * p.channels),
                                     {p.where.initial, to, p.batches, count, p.channels});
    p.where.initial = {memory, to.batch, to.step, to.channel, false};
  }

  template <bool Cuts>
  static void with_cuts(Launcher& launcher, params& p) {
    if constexpr (steps_adjacent) {
      using kernel = row_scan<Steps, Cuts, tiles::width, tiles::row_warps, tiles::row_runs>;
      const index_t rows = p.batches * p.channels;
      tiled<kernel>(launcher, p, rows, rows);
    } else {
      using kernel = column_scan<Steps, Cuts, tiles::width, tiles::column_warps,
                                 tiles::template column_depth<Steps>>;
      const index_t columns = p.batches * ((p.channels + kernel::width - 1) / kernel::width);
      tiled<kernel>(launcher, p, columns, columns * kernel::width);
    }
  }

  template <class Kernel>
  static void tiled(Launcher& launcher, params& p, index_t columns, index_t descriptors) {
    const index_t chunks = (p.steps + Kernel::tile - 1) / Kernel::tile;
    constexpr index_t most = (index_t{1} << 31) - 1;  // blocks of a launch
    if (columns > most / chunks) return loop(launcher, p, false);
    const extents size{p.batches, p.steps, p.channels};
    // In reverse runs of steps are counted from the end.
    const bool whole = !steps_adjacent || !p.reverse || p.steps % tiles::width == 0;
    const auto runs = [&](const auto& values) {
      return whole && has_runs<tiles::width>(values, steps_adjacent, size);
    };
    p.in.runs = runs(p.in);
    p.out.runs = runs(p.out);
    if constexpr (Steps::reads_values)
      p.gate.values.runs = (steps_adjacent || p.gate.own_columns()) && runs(p.gate.values);
    p.tiles = launcher.tiles(chunks * descriptors * Kernel::descriptor::words);
    launcher.template launch<Kernel>(chunks * columns, p);
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
