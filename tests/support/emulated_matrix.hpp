// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulated_matrix.hpp
/// @brief  The form of matrix states that runs the kernels of CUDA, and their planning, on the
///   processor.
#pragma once

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ebb/recurrence/backend/cuda/matrix_plan.hpp>

#include "support/emulator/launcher.hpp"
#include "support/matrix_contract.hpp"

namespace ebb::inline EBB_ABI::detail::gpu {

/// The gate of support/matrix_contract.hpp's `weighing`.
template <class Gate, class State>
struct stored_weights_gate : Gate {
  using weight_value = State;
  operand<const State> weights;

  const State* weight_at(index_t b, index_t t, index_t h) const { return weights.at(b, t, h); }
  template <class Context>
  State weight_of(Context&, index_t, const State& weight) const {
    return weight;
  }
};
template <class Decay, class State>
struct gate_maker<ebb::test::weighing<Decay, State>, State> {
  template <class Launcher, class Body>
  static void choose(Launcher& launcher, const ebb::test::weighing<Decay, State>& decay,
                     const Body& body) {
    with_gate<State>(launcher, decay.decay, [&](const auto& gate) {
      body(stored_weights_gate<std::remove_cvref_t<decltype(gate)>, State>{
          gate, operand_of(decay.weights)});
    });
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu

namespace ebb::test {

/// The arrays of a call, which its kernels may touch and nothing else: of rows of steps those that
/// belong to sequences.
template <class Decay, class Data, class State>
void add_matrix_memory(emulator::memory& m, const Decay& decay, const Data& data,
                       const sequences<State>& where) {
  using emulator::usage;
  const index_t steps = data.outputs.steps();
  const index_t begin = where.offsets.empty() ? 0 : where.offsets.front();
  const index_t end = where.offsets.empty() ? steps : where.offsets.back();
  const auto add_heads = [&](const auto& view, usage how_used, const char* what) {
    for (index_t b = 0; b < view.batches() && !view.empty(); ++b)
      for (index_t t = begin; t < end; ++t)
        for (index_t h = 0; h < view.heads(); ++h)
          m.add(view.pointer(b, t, h), view.width(), how_used, what);
  };
  const auto inside = [&](const auto& view) {
    return view.empty() ? view : view.steps_from(begin, end - begin);
  };
  detail::each_input(data, [&](const auto& view, std::string_view) {
    if (view.data() != data.outputs.data()) add_heads(view, usage::input, "input");
  });
  add_heads(data.outputs, data.values.data() == data.outputs.data() ? usage::in_out : usage::output,
            "outputs");
  m.add(data.skip.data(), static_cast<index_t>(data.skip.size()), usage::input, "skip");
  if constexpr (requires { decay.view(); }) m.add(inside(decay.view()), usage::input, "decay");
  if constexpr (requires { decay.weights.pointer(0, 0, 0); }) {
    m.add(inside(decay.decay.view()), usage::input, "decay");
    m.add(inside(decay.weights), usage::input, "weights");
  }
  const bool in_place = where.initial_states.data() == where.final_states.data();
  if (!in_place) m.add(where.initial_states, usage::input, "initial states");
  m.add(where.final_states, in_place ? usage::in_out : usage::output, "final states");
  m.add(where.snapshots, usage::output, "snapshots");
}

/// A matrix_form_for.
/// @tparam Tiles       as matrix_tiles
/// @tparam Processors  what the plan is told: with 0 it takes the tiles for many states, with 1000
///                     those for few
template <template <class> class Tiles = detail::gpu::matrix_tiles, index_t Processors = 4>
struct emulated_matrix {
  static constexpr std::string_view name = "emulated_matrix";
  static constexpr determinism repeats = determinism::run_to_run;
  static constexpr double error_bound(index_t steps, index_t keys, bool corrected = true) {
    return detail::gpu::matrix_error_bound(steps, keys, corrected);
  }

  emulator::config how{};

  template <class Decay, class Data, class State>
  void run(const Decay& decay, const Data& data, const sequences<State>& where) const {
    emulator::launcher launcher(how, Processors);
    emulator::memory& m = launcher.begin_call();
    add_matrix_memory(m, decay, data, where);
    detail::gpu::matrix_plan<Tiles, emulator::launcher, Decay, Data, State>::run(launcher, decay,
                                                                                 data, where);
  }
};

/// Small tiles: one warp with up to 32 keys for many states, four warps with up to 16 for few; all
/// else is in memory.
template <class State>
struct small_matrix_tiles {
  static constexpr int wide = 16 / static_cast<int>(sizeof(State));

  template <class Body>
  static bool choose(index_t keys, bool many, const Body& body) {
    if (keys > (many ? 32 : 16)) return false;
    many ? body.template operator()<detail::gpu::matrix_tile<8, 4, wide, 1>>()
         : body.template operator()<detail::gpu::matrix_tile<4, 4, 1, 4>>();
    return true;
  }
};

}  // namespace ebb::test
