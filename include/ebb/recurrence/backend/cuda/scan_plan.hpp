// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/scan_plan.hpp
/// @brief  A scan on a GPU from the host's side: its decays, its arrays, its launch.
#pragma once

#include <concepts>
#include <type_traits>

#include <ebb/recurrence/backend/cuda/logistic_gate.hpp>
#include <ebb/recurrence/backend/cuda/place.hpp>
#include <ebb/recurrence/backend/cuda/scan_launch.hpp>
#include <ebb/recurrence/backend/cuda/steps_gate.hpp>
#include <ebb/recurrence/concept.hpp>
#include <ebb/recurrence/update.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// What a scan on a GPU keeps to, whatever kernel runs.
///
/// Accuracy: of any tree of compositions; the gain of an input counts once. docs/accuracy.md
constexpr double scan_error_bound(index_t steps, const step_kind& kind) {
  const auto t = static_cast<double>(steps);
  if (kind.complex) return kind.form == decay_form::factor ? 4 * t + 4 : 17 * t + 22;
  return kind.form == decay_form::factor ? 2 * t + 2 : 7 * t + 6;
}

/// The decays that kernels make, or a sentence.
template <class Decay, class State>
constexpr bool is_made_on_device() {
  static_assert(device_state<State>, "ebb::cuda: states must be float, double or complex of these");
  static_assert(has_gate<Decay, State>,
                "ebb::cuda: no kernel makes this decay; there are stored and constant ones, "
                "post_taper, selective_decay, sigmoid_gate and irregular_decay, bound to rates of "
                "float or double");
  return true;
}

/// One scan, of arguments that have been checked (recurrence/concept.hpp), on a launcher.
template <template <class> class Tiles, class Launcher, class Decay, class T, class InAxis,
          class OutAxis, class State>
class scan_plan {
  static_assert(is_made_on_device<Decay, State>());

 public:
  static void run(Launcher& launcher, const Decay& decay, const strided_view<const T, InAxis>& in,
                  const strided_view<T, OutAxis>& out, const sequences<State>& where,
                  const scan_options& options) {
    if (out.batches() == 0 || out.channels() == 0) return;
    with_gate<State>(launcher, decay, [&](const auto& gate) {
      using Gate = std::remove_cvref_t<decltype(gate)>;
      using steps = scan_steps<T, State, Gate, gain_of<Decay>>;
      typename steps::params p{};
      p.gate = gate;
      p.in = operand_of(in);
      p.out = operand_of(out);
      p.where = sequences_of(launcher, where);
      p.batches = out.batches(), p.steps = out.steps(), p.channels = out.channels();
      p.reverse = options.order == direction::reverse;
      scan_launch<Tiles, Launcher, steps, std::same_as<OutAxis, channel_major>>::run(
          launcher, p, where, !where.snapshot_steps.empty());
    });
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
