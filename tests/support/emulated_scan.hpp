// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulated_scan.hpp
/// @brief  The scan of the GPU, kernels and planning, as a backend on the emulator.
#pragma once

#include <string_view>

#include <ebb/recurrence/backend/cuda/scan_vjp_plan.hpp>
#include <ebb/recurrence/scan.hpp>
#include <ebb/recurrence/vjp.hpp>

#include "support/emulator/launcher.hpp"
#include "support/scan_contract.hpp"

namespace ebb::test {

/// Tiles so small that short data has many of them.
template <class State>
struct small_tiles {
  static constexpr int width = detail::gpu::scan_tiles<State>::width;
  static constexpr int column_warps = 2, row_warps = 2, row_runs = 1;
  template <class Gate>
  static constexpr int column_depth = 2;
  template <class Gate>
  static constexpr int ahead = 4;
  static constexpr index_t column_shortest = 0, row_shortest = 0;
};
/// Tiles as they are, but no call is too short for them.
template <class State>
struct shipped_tiles : detail::gpu::scan_tiles<State> {
  static constexpr index_t column_shortest = 0, row_shortest = 0;
};

/// The scan backend of the kernels. `Loops`: without look-back.
///
/// One launcher for all calls of a type: descriptors of earlier calls stay where they are, and
/// every launch has another order of threads.
template <template <class> class Tiles, bool Loops = false, int Resident = 4>
struct emulated_scan {
  static constexpr std::string_view name = "emulated";
  static constexpr determinism repeats = determinism::run_to_run;
  static constexpr double error_bound(index_t steps, const step_kind& kind = {}) {
    return detail::gpu::scan_error_bound(steps, kind);
  }

  static emulator::launcher& shared_launcher() {
    static emulator::launcher one = make_launcher({});
    return one;
  }
  static emulator::launcher make_launcher(emulator::config how) {
    how.resident = Resident;
    return emulator::launcher(how, Loops ? 0 : index_t{1} << 40);
  }

  template <class Decay, scan_scalar T, class InAxis, class OutAxis, class State>
  void scan(const Decay& decay, const strided_view<const T, InAxis>& in,
            const strided_view<T, OutAxis>& out, const sequences<State>& where,
            const scan_options& options) const {
    emulator::launcher& l = shared_launcher();
    emulator::memory& m = l.begin_call();
    using emulator::usage;
    m.add(in, usage::input, "in");
    m.add(out, usage::output, "out");
    m.add(where.initial_states, usage::input, "initial states");
    m.add(where.final_states, usage::output, "final states");
    m.add(where.snapshots, usage::output, "snapshots");
    add_values(m, decay);
    detail::gpu::scan_plan<Tiles, emulator::launcher, Decay, T, InAxis, OutAxis, State>::run(
        l, decay, in, out, where, options);
  }

  template <class Call>
  void scan_vjp(const Call& call, const scan_options& options) const {
    emulator::launcher& l = shared_launcher();
    emulator::memory& m = l.begin_call();
    using emulator::usage;
    const auto& given = call.cotangents;
    const auto& asked = call.gradients;
    m.add(given.outputs, usage::input, "output cotangents");
    m.add(given.final_states, usage::input, "final-state cotangents");
    m.add(given.snapshots, usage::input, "snapshot cotangents");
    m.add(asked.inputs, usage::output, "input gradients");
    m.add(asked.initial_states, usage::output, "initial-state gradients");
    add_values(m, call.decay);
    if constexpr (Call::has_decay_gradients)
      if (asked.decay != nullptr) {
        m.add(call.in, usage::input, "in");
        m.add(call.out, usage::input, "out");
        m.add(call.where.initial_states, usage::input, "initial states");
        detail::each_sum(*asked.decay,
                         [&](const auto& view) { m.add(view, usage::in_out, "sums"); });
      }
    detail::gpu::scan_vjp_plan<Tiles, emulator::launcher, Call>::run(l, call, options);
  }

 private:
  // What a decay reads in the caller's memory.
  template <class Decay>
  static void add_values(emulator::memory& m, const Decay& decay) {
    if constexpr (requires { decay.view(); })
      m.add(decay.view(), emulator::usage::input, "decay");
    else if constexpr (requires {
                         decay.first();
                         decay.decay();
                       })
      add_values(m, decay.decay());
    else if constexpr (requires { decay.decay; })
      add_values(m, decay.decay);
  }
};

/// The scan contract on what an emulator has time for.
template <class Config>
void check_small_scan_contract() {
  check_error_bound<Config>({1, 0, 3});
  check_error_bound<Config>({1, 1, 3});
  check_error_bound<Config>({2, 37, 5});
  check_underflow<Config>({1, 24, 5});
  check_pieces<Config>({1, 9, 3}, {1, 3, 2});
  check_layouts<Config>({2, 9, 5});
  check_packed<Config>(3, {2, 2, 5, 5, 13, 14, 14}, 17);
  check_packed<Config>(2, {0, 0, 0}, 0);
  check_packed<Config>(2, {4}, 4);
  check_reverse<Config>({2, 23, 3});
  check_resets_and_snapshots<Config>(3);
  if constexpr (std::floating_point<typename Config::value>) check_propagation<Config>({2, 20, 5});
  check_repeats<Config>({2, 21, 4});
}

}  // namespace ebb::test

// Tiles begin where the data does, not where a sequence does.
template <template <class> class Tiles, bool Loops, int Resident>
inline constexpr bool
    ebb::test::bits_of_any_packing<ebb::test::emulated_scan<Tiles, Loops, Resident>> = Loops;

// Each layout of the output has kernels of its own.
template <template <class> class Tiles, bool Loops, int Resident>
inline constexpr bool
    ebb::test::bits_of_any_layout<ebb::test::emulated_scan<Tiles, Loops, Resident>> = Loops;

/// The averages of the contract.
template <class Decay, class State>
requires ebb::detail::gpu::has_gate<Decay, State>
struct ebb::detail::gpu::gate_maker<ebb::test::averaging<Decay>, State> {
  using gate = typename gate_maker<Decay, State>::gate;
  template <class Launcher>
  static gate make(Launcher& launcher, const ebb::test::averaging<Decay>& decay) {
    return gate_maker<Decay, State>::make(launcher, decay.decay);
  }
};
