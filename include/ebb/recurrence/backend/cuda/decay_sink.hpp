// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/decay_sink.hpp
/// @brief  The way back through decays in a kernel: stored, constant and tapered ones.
#pragma once

#include <complex>
#include <span>
#include <type_traits>

#include <ebb/decay/average.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/backend/cuda/gate.hpp>
#include <ebb/recurrence/backend/cuda/taper_gate.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

// A sink takes the cotangents d of what a decay fills, element by element, as the decay's own vjp
// does:
//
//   sink::element           the type of what an element adds to an array, or no_values
//   sink::sum, sink::sums   the type of the sums over steps that each channel has, and how many
//   sink.take(c, gate, channel, time, value, d, sums, element)
//                           adds to the sums and sets the element; the parts are the gate's
//
// On the host, sink_maker<Decay, State>:
//
//   sink                    its type
//   make(decay)             the sink
//   each(decay, gradients, to)
//                           calls to.sums(number, span, n): where the sums of n channels side by
//                           side go, added up; and to.elements(view): (batch, step, column), in
//                           which columns of as many channels side by side add up

template <class Decay, class State>
struct sink_maker {};
template <class Decay, class State>
concept has_sink = requires {
  typename sink_maker<Decay, State>::sink;
};

/// A cotangent as the parameter's type has it: of a real parameter the real part counts.
template <class Param, class State>
EBB_DEVICE Param cotangent_on_device(const State& d) {
  if constexpr (is_complex<Param>)
    return Param(d.real(), d.imag());
  else
    return static_cast<Param>(real_part(d));
}

/// Stored factors or logarithms: d.
template <class Element>
struct stored_sink {
  using element = Element;
  using sum = double;
  static constexpr int sums = 0;

  template <class Context, class Gate, class State>
  EBB_DEVICE void take(Context&, const Gate&, const typename Gate::channel_part&,
                       const typename Gate::time_part&, const typename Gate::value&, const State& d,
                       sum (&)[1], element& to) const {
    to = cotangent_on_device<element>(d);
  }
};

template <class D, class Axis, decay_form Form, class State>
struct sink_maker<stored_decay<D, Axis, Form>, State> {
  using decay = stored_decay<D, Axis, Form>;
  using sink = stored_sink<typename decay::sum_type>;
  static sink make(const decay&) { return {}; }
  template <class To>
  static void each(const decay&, const typename decay::gradients& sums, const To& to) {
    to.elements(sums.values);
  }
};

/// Constant decays: d r -= d.
template <class Param>
struct constant_sink {
  using element = no_values;
  using sum = Param;
  static constexpr int sums = 1;

  template <class Context, class Gate, class State>
  EBB_DEVICE void take(Context&, const Gate&, const typename Gate::channel_part&,
                       const typename Gate::time_part&, const typename Gate::value&, const State& d,
                       sum (&to)[1], element&) const {
    const Param part = cotangent_on_device<Param>(d);
    to[0] = plus(to[0], by_real(part, -1));
  }
};

template <class Param, class State>
struct sink_maker<constant_decay::bound<Param>, State> {
  using decay = constant_decay::bound<Param>;
  using sink = constant_sink<Param>;
  static sink make(const decay&) { return {}; }
  template <class To>
  static void each(const decay&, const typename decay::gradients& sums, const To& to) {
    to.sums(0, sums.rates, 1);
  }
};

/// log((t + t_0) / t_ref) from the time part of a taper.
template <class Real>
EBB_DEVICE double log_time_of(const split_number<Real>& time) {
  constexpr double log_2 = 0x1.62e42fefa39efp-1;
  double sum = static_cast<double>(time.high);
  if constexpr (sizeof(Real) == sizeof(float)) sum += static_cast<double>(time.low);
  return log_2 * sum;
}

/// Tapers: with s the factor of the step, d r -= s d and d alpha += r s log((t + t_0) / t_ref) d.
///
/// Accuracy: s within what taper_clock states; r rounded to the type of states; products and sums
/// in double.
struct taper_sink {
  using element = no_values;
  using sum = double;
  static constexpr int sums = 2;

  EBB_NO_EXEC_CHECK template <class Context, class Gate, class State>
  EBB_DEVICE void take(Context& c, const Gate& gate, const typename Gate::channel_part& channel,
                       const typename Gate::time_part& time, const typename Gate::value&,
                       const State& d, sum (&to)[2], element&) const {
    const double scaled = static_cast<double>(gate.clock.taper(c, channel.alpha, time)) *
                          cotangent_on_device<double>(d);
    to[0] -= scaled;
    to[1] -= static_cast<double>(channel.minus_rate) * log_time_of(time) * scaled;
  }
};

template <class State>
struct sink_maker<post_taper::bound<double>, State> {
  using decay = post_taper::bound<double>;
  using sink = taper_sink;
  static sink make(const decay&) { return {}; }
  template <class To>
  static void each(const decay&, const typename decay::gradients& sums, const To& to) {
    to.sums(0, sums.rates, 1);
    to.sums(1, sums.alpha, 1);
  }
};

/// The kernels see to the gain.
template <class Decay, class State>
requires has_sink<Decay, State>
struct sink_maker<normalised_decay<Decay>, State> {
  using inner = sink_maker<Decay, State>;
  using sink = typename inner::sink;
  static sink make(const normalised_decay<Decay>& decay) { return inner::make(decay.decay()); }
  template <class Sums, class To>
  static void each(const normalised_decay<Decay>& decay, const Sums& sums, const To& to) {
    inner::each(decay.decay(), sums, to);
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
