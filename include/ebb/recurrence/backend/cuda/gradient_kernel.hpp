// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/gradient_kernel.hpp
/// @brief  From the gradients of states to those of inputs and of what makes the decays.
#pragma once

#include <type_traits>

#include <ebb/recurrence/backend/cuda/back_steps.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// What the kernel is given. Null: left out.
template <class T, class State, class Gate, class Sink>
struct gradient_params {
  Gate gate;
  Sink sink;
  operand<const State> g;    ///< the gradients of states
  operand<const T> in, out;  ///< of the scan
  operand<T> inputs;         ///< gets conj(gain) g
  operand<typename Sink::element> elements;
  bool add_elements;              ///< to what is there; else they are written, 0 in the padding
  typename Sink::sum* sums;       ///< [number][batch][chunk][channel]
  device_sequences<State> where;  ///< with the initial states of the scan
  index_t batches, steps, channels, chunks;
  bool reverse;  ///< as the scan went
};

/// An element a thread at a time, each from g, its decay and the state before it:
///
///   d = g conj(h_{t-1}), gain 1 - a: g conj(h_{t-1} - b_t); of logarithms conj(a) times that
///
/// h_{t-1} is 0 after a reset; with gain 1 there is nothing then. A block has `tile` steps of
/// `width` channels, and adds up the sums of each channel in an order of its own: the same bits
/// every time.
///
/// @tparam StepsAdjacent  lanes lie along steps, warps along channels; else the other way round
template <class T, class State, class Gate, input_gain Gain, class Sink, bool StepsAdjacent>
struct gradient_kernel {
  using params = gradient_params<T, State, Gate, Sink>;
  static constexpr int warps = 8, threads = warp_size * warps, each = 16;
  static constexpr index_t width = StepsAdjacent ? warps : warp_size;
  static constexpr index_t tile = (StepsAdjacent ? warp_size : warps) * each;

  using sum = typename Sink::sum;
  using element = typename Sink::element;
  using values = step_values<T, State, Gate>;
  using weight = typename values::weight;
  using algebra = map_algebra<State, Gate::form, false>;
  static constexpr int sums = Sink::sums > 0 ? Sink::sums : 1;
  static constexpr bool logs = Gate::form == decay_form::log_factor;
  static constexpr bool average = Gain == input_gain::one_minus_decay;
  static constexpr bool has_elements = !std::is_same_v<element, no_values>;

  template <class Context>
  struct shared_memory {
    typename Context::template shared<sum, sums * threads> sums_of;
  };

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void run(Context& c, shared_memory<Context>& m, const params& p) {
    const index_t columns = (p.channels + width - 1) / width;
    const index_t column = c.block() % columns, rest = c.block() / columns;
    const index_t chunk = rest % p.chunks, b = rest / p.chunks;
    const index_t k = column * width + (StepsAdjacent ? c.warp() : c.lane());
    const auto step_of = [&](int i, int lane) {
      return chunk * tile + (StepsAdjacent ? i * warp_size + lane : i * warps + c.warp());
    };
    const bool there = k < p.channels;
    typename Gate::channel_part channel{};
    if (there) channel = p.gate.channel(c, k);
    place_finder finder;
    // Channels side by side share the times of their steps: lane i makes that of step i.
    constexpr bool shares_time = Gate::keeps_time && !StepsAdjacent;
    typename Gate::time_part own_time{};
    if constexpr (shares_time) {
      const index_t t = step_of(c.lane() < each ? c.lane() : each - 1, 0);
      if (t < p.steps) {
        const step_place place = finder.at(c, p.where, p.steps, p.reverse, b, t);
        if (place.inside) own_time = p.gate.time(c, place.position);
      }
    }

    sum to[sums]{};
    EBB_NO_UNROLL for (int i = 0; i < each; ++i) {
      const index_t t = step_of(i, c.lane());
      typename Gate::time_part time{};
      if constexpr (shares_time) time = c.shuffle(own_time, i);
      if (!there || t >= p.steps) continue;
      const step_place place = finder.at(c, p.where, p.steps, p.reverse, b, t);
      element here{};
      if (place.inside) {
        if constexpr (Gate::keeps_time && !shares_time) time = p.gate.time(c, place.position);
        take(c, p, b, t, k, place, channel, time, to, here);
      }
      if constexpr (has_elements) put(c, p, b, t, k, place.inside, here);
    }
    if constexpr (Sink::sums > 0) {
      if (p.sums != nullptr) add_up(c, m, p, b, chunk, column, to);
    }
  }

 private:
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void take(Context& c, const params& p, index_t b, index_t t, index_t k,
                              const step_place& place, const typename Gate::channel_part& channel,
                              const typename Gate::time_part& time, sum (&to)[sums],
                              element& here) {
    const State g = values::one(c, p.g, b, t, k);
    const auto value = values::gate_value(c, p.gate, b, t, k);
    weight w{};
    if constexpr (logs || average) w = conjugate_of_weight(p.gate.weight(c, channel, time, value));
    if (p.inputs.data != nullptr) {
      const State made = algebra::template gained<Gain>(c, w, g);
      c.store(p.inputs.at(b, t, k), packed<T, 1>{{scalar_as<T>(made)}});
    }
    State before(0);
    if (!place.reset)
      before = place.first
                   ? values::initial(c, p.where, b, place.sequence, k)
                   : scalar_as<State>(values::one(c, p.out, b, p.reverse ? t + 1 : t - 1, k));
    if constexpr (average)
      before = plus(before, by_real(scalar_as<State>(values::one(c, p.in, b, t, k)), -1));
    State d = times(c, g, conjugate(before));
    if constexpr (logs) d = times(c, factor(w), d);
    if (place.reset && !average) d = State(0);  // whatever g is
    p.sink.take(c, p.gate, channel, time, value, d, to, here);
  }
  // The factor that a weight stands for, rounded.
  static EBB_DEVICE State factor(const weight& w) {
    if constexpr (algebra::turns)
      return State(w.whole + w.value.real(), w.value.imag());
    else if constexpr (is_complex<State>)
      return w;
    else
      return w < 0 ? 1 + w : w;
  }

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void put(Context& c, const params& p, index_t b, index_t t, index_t k,
                             bool inside, element here) {
    if (p.elements.data == nullptr || (p.add_elements && !inside)) return;
    element* const at = p.elements.at(b, t, k);
    if (p.add_elements) here = plus(c.template load<1>(static_cast<const element*>(at)).v[0], here);
    c.store(at, packed<element, 1>{{here}});
  }

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void add_up(Context& c, shared_memory<Context>& m, const params& p, index_t b,
                                index_t chunk, index_t column, const sum (&own)[sums]) {
    EBB_UNROLL for (int n = 0; n < sums; ++n) {
      m.sums_of.put(c, n * threads + c.thread(), own[n]);
    }
    c.sync_block();
    constexpr int channels = static_cast<int>(width), parts = threads / channels;
    for (int i = c.thread(); i < sums * channels; i += threads) {
      const int n = i / channels, channel = i % channels;
      const index_t k = column * width + channel;
      if (k >= p.channels) continue;
      sum total{};
      for (int part = 0; part < parts; ++part)
        total = plus(total,
                     m.sums_of.get(c, n * threads + (StepsAdjacent ? channel * parts + part
                                                                   : part * channels + channel)));
      c.store(p.sums + (((n * p.batches + b) * p.chunks + chunk) * p.channels + k),
              packed<sum, 1>{{total}});
    }
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
