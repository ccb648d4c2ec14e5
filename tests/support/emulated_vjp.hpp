// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulated_vjp.hpp
/// @brief  The gradients of the scan of the GPU, on the emulator, within their own bounds.
#pragma once

#include <ebb/recurrence/vjp.hpp>

#include "support/emulated_scan.hpp"
#include "support/vjp_contract.hpp"

namespace ebb::test {

/// How the kernels round on the way back.
struct device_steps_back {
  static double states(double steps, const step_kind& kind) {
    return detail::gpu::back_error_bound(static_cast<index_t>(steps), kind);
  }
  static double gain(const step_kind& kind) { return detail::gpu::gain_error_bound(kind); }
  static double changes(const step_kind& kind) { return detail::gpu::change_error_bound(kind); }
  /// Tapers are made in the kernels, and what states an error of its own.
  template <class Decay, class State>
  static double log_error() {
    if constexpr (requires { Decay::log_error; })
      return log_slack<Decay, State>();
    else
      return Decay::kind == decay_kind::position ? log_slack<post_taper::bound<double>, State>()
                                                 : 0;
  }
};

template <class T, class State, class InAxis, class OutAxis, class CotangentAxis,
          bool Loops = false>
using device_vjp_config = vjp_config<T, State, InAxis, OutAxis, CotangentAxis,
                                     emulated_scan<small_tiles, Loops>, device_steps_back>;

}  // namespace ebb::test

namespace ebb::inline EBB_ABI::detail::gpu {

/// The decays that report cotangents: the gate of the decay inside, and elements for themselves.
template <class Decay, class State, input_gain Gain>
struct gate_maker<ebb::test::observed<Decay, State, Gain>, State> {
  using gate = typename gate_maker<Decay, State>::gate;
  template <class Launcher>
  static gate make(Launcher& launcher, const ebb::test::observed<Decay, State, Gain>& decay) {
    return gate_maker<Decay, State>::make(launcher, decay.decay);
  }
};
template <class Decay, class State, input_gain Gain>
struct sink_maker<ebb::test::observed<Decay, State, Gain>, State> {
  using decay = ebb::test::observed<Decay, State, Gain>;
  using sink = stored_sink<State>;
  static sink make(const decay&) { return {}; }
  template <class To>
  static void each(const decay&, const typename decay::gradients& sums, const To& to) {
    to.elements(sums.values);
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
