// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/gate.hpp
/// @brief  Decays on the side of the kernels: stored ones, constant ones, parts of others.
#pragma once

#include <cmath>
#include <complex>
#include <span>
#include <vector>

#include <ebb/core/storage.hpp>
#include <ebb/decay/average.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/shifted.hpp>
#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/backend/cuda/map.hpp>
#include <ebb/recurrence/backend/cuda/operand.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

// A gate gives the weights (decay/weight.hpp) of a decay in a kernel:
//
//   gate::form                  a decay_form
//   gate::value                 what it reads for each element, or no_values
//   gate.values                 operand<const value>
//   gate.column(k)              the channel of the values that serves channel k
//   gate.own_columns()          whether that is k, counted from the first of the values
//   gate::channel_part          what it keeps for a channel:  gate.channel(c, k)
//   gate::time_part             what it keeps for a step:     gate.time(c, position)
//   gate::keeps_time            whether that is anything
//   gate.times(c, position, parts)        the same for adjacent steps, cheaper
//   gate.weight(c, channel, time, value)  the weight
//   gate.moved(first, later)    the gate of shifted_decay
//
// with_gate<State>(launcher, decay, body) calls body(gate); a gate's arrays are uploaded.

/// How a decay's gate for states of a type is made: make(launcher, decay) gives the only kind there
/// is, choose(launcher, decay, body) calls body(gate) with one of several.
template <class Decay, class State>
struct gate_maker {};
template <class Decay, class State>
concept has_gate = requires {
  typename gate_maker<Decay, State>::gate;
};

template <class State, class Launcher, class Decay, class Body>
void with_gate(Launcher& launcher, const Decay& decay, const Body& body) {
  using maker = gate_maker<Decay, State>;
  if constexpr (requires { maker::choose(launcher, decay, body); })
    maker::choose(launcher, decay, body);
  else
    body(maker::make(launcher, decay));
}

struct no_part {};
/// For gates that do not depend on the position.
struct timeless {
  using time_part = no_part;
  static constexpr bool keeps_time = false;
  template <class Context>
  EBB_DEVICE no_part time(Context&, index_t) const {
    return {};
  }
  template <class Context, int N>
  EBB_DEVICE void times(Context&, index_t, no_part (&)[N]) const {}
};

/// The weight of log a; real log-decays of complex states have the weights of real ones.
///
/// Accuracy: exp and expm1 within two units in the last place, 4u.
EBB_NO_EXEC_CHECK template <class Context, class Real>
EBB_DEVICE Real weight_of_log(Context& c, const Real& x) {
  if (!(x >= static_cast<Real>(-0x1.62e42fefa39efp-1))) return c.exp(x);  // NaN too
  const Real minus = c.expm1(x);
  return minus < 0 ? minus : 1 + minus;
}
EBB_NO_EXEC_CHECK template <class Context, class Real>
EBB_DEVICE complex_weight<Real> weight_of_log(Context& c, const std::complex<Real>& log) {
  const Real x = log.real(), y = log.imag();
  if (y == 0) {
    const Real w = weight_of_log(c, x);
    return {std::complex<Real>(w, 0), w < 0 ? Real(1) : Real(0)};
  }
  const Real half_sine = std::sin(y / 2), size = c.exp(x);
  const Real re = c.expm1(x) * std::cos(y) - 2 * half_sine * half_sine, im = size * std::sin(y);
  if (re * re + im * im <= Real(0.25)) return {std::complex<Real>(re, im), Real(1)};
  if (size == 0) return {std::complex<Real>(0, 0), Real(0)};  // -inf, whatever the phase
  return {std::complex<Real>(size * std::cos(y), im), Real(0)};
}

/// Decays, or their logarithms, in an array.
template <class D, class State, decay_form Form>
struct stored_gate : timeless {
  static constexpr decay_form form = Form;
  using value = D;
  using channel_part = no_part;

  operand<const D> values;

  bool own_columns() const { return true; }
  EBB_DEVICE index_t column(index_t k) const { return k; }
  template <class Context>
  EBB_DEVICE no_part channel(Context&, index_t) const {
    return {};
  }
  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE step_weight_t<State, Form> weight(Context& c, no_part, no_part, const D& x) const {
    if constexpr (Form == decay_form::factor)
      return scalar_as<State>(x);
    else
      return weight_of_log(c, scalar_as<State>(x));
  }
  stored_gate moved(const block_origin& first, index_t) const {
    stored_gate result = *this;
    result.values.data = values.at(first.batch, first.step, first.channel);
    return result;
  }
};

template <class D, class Axis, decay_form Form, class State>
struct gate_maker<stored_decay<D, Axis, Form>, State> {
  using gate = stored_gate<D, State, Form>;
  template <class Launcher>
  static gate make(Launcher&, const stored_decay<D, Axis, Form>& decay) {
    return {{}, operand_of(decay.view())};
  }
};

/// The same decay at every step.
template <class State>
struct constant_gate : timeless {
  static constexpr decay_form form = decay_form::log_factor;
  using value = no_values;
  using channel_part = step_weight_t<State, form>;

  const State* logs;  ///< log a of each channel

  EBB_DEVICE index_t column(index_t k) const { return k; }
  EBB_NO_EXEC_CHECK template <class Context>
  EBB_DEVICE channel_part channel(Context& c, index_t k) const {
    return weight_of_log(c, c.load_cached(logs + k));
  }
  template <class Context>
  EBB_DEVICE channel_part weight(Context&, const channel_part& w, no_part, no_values) const {
    return w;
  }
  constant_gate moved(const block_origin& first, index_t) const {
    return {{}, logs + first.channel};
  }
};

template <class Param, class State>
struct gate_maker<constant_decay::bound<Param>, State> {
  using gate = constant_gate<State>;
  template <class Launcher>
  static gate make(Launcher& launcher, const constant_decay::bound<Param>& decay) {
    std::vector<State> logs;
    for (const Param& rate : decay.rates()) logs.push_back(scalar_as<State>(-rate));
    return {{}, launcher.upload(std::span<const State>(logs))};
  }
};

/// The kernels see to the gain.
template <class Decay, class State>
requires has_gate<Decay, State>
struct gate_maker<normalised_decay<Decay>, State> {
  using gate = typename gate_maker<Decay, State>::gate;
  template <class Launcher, class Body>
  static void choose(Launcher& launcher, const normalised_decay<Decay>& decay, const Body& body) {
    with_gate<State>(launcher, decay.decay(), body);
  }
};

template <class Decay, class State>
requires has_gate<Decay, State>
struct gate_maker<shifted_decay<Decay>, State> {
  using gate = typename gate_maker<Decay, State>::gate;
  template <class Launcher, class Body>
  static void choose(Launcher& launcher, const shifted_decay<Decay>& decay, const Body& body) {
    with_gate<State>(launcher, decay.decay(),
                     [&](const auto& gate) { body(gate.moved(decay.first(), decay.later())); });
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
