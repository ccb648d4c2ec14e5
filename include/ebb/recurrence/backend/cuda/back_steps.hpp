// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/back_steps.hpp
/// @brief  What the kernels of the scan do at a step on the way back of gradients.
#pragma once

#include <ebb/recurrence/backend/cuda/scan_params.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// The conjugate of a weight.
template <class Weight>
EBB_DEVICE Weight conjugate_of_weight(const Weight& w) {
  if constexpr (requires { w.whole; })
    return {conjugate(w.value), w.whole};
  else
    return conjugate(w);
}

/// A way back on the device: a scan whose inputs are cotangents, with states that are gradients.
///
/// | member          | of the way back                                            |
/// |-----------------|------------------------------------------------------------|
/// | `in`            | the cotangents of outputs; null: zeros                     |
/// | `out`           | what is made of the gradients g of the states; null: left out |
/// | `where.initial` | the cotangents of final states                             |
/// | `where.final`   | the gradients of initial states                            |
/// | `where`         | the sequences; its snapshots are none                      |
/// | `reverse`       | as this walk goes: against the scan                        |
template <class T, class To, class State, class Gate>
struct back_params {
  Gate gate;
  operand<const T> in;
  operand<To> out;
  device_sequences<State> where;
  index_t batches, steps, channels;
  bool reverse;
  tile_buffer tiles;
  const index_t* kept_steps;
  index_t kept_count;
  operand<const State> kept;  ///< the cotangents of snapshots

  EBB_DEVICE index_t step(index_t i) const { return reverse ? steps - 1 - i : i; }
};

/// With q the gradient at the state before a step, dh the cotangents of what the step put out:
///
///   g = dh + q of the step after,   q = conj(a) g, or 0 before a reset
///
/// so that the weight is that of the step itself, what begins the walk is the cotangent of the
/// final state, and what ends it the gradient of the initial one.
///
/// Accuracy: g after m steps within scan_error_bound(m), gain one, and 2 for the sums of
/// cotangents. docs/accuracy.md
///
/// @tparam Gain  outputs are g, or conj(1 - a) g
template <class T, class To, class State, class Gate, input_gain Gain>
struct back_steps : step_values<T, State, Gate> {
  using base = step_values<T, State, Gate>;
  using output = To;
  using weight = typename base::weight;
  using params = back_params<T, To, State, Gate>;
  template <bool Cuts>
  using algebra = map_algebra<State, Gate::form, Cuts>;

  static EBB_DEVICE bool reads(const params& p) { return p.in.data != nullptr; }
  static EBB_DEVICE bool writes(const params& p) { return p.out.data != nullptr; }

  template <class Context>
  static EBB_DEVICE void make(Context&, weight& w, State& x, const T& data) {
    w = conjugate_of_weight(w);
    x = scalar_as<State>(data);
  }
  static EBB_DEVICE void note(const step_place& here, word32 bit, cut_bits& cuts) {
    if (here.first) cuts.begins |= bit;
    if (here.reset) cuts.ends |= bit;
  }
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void meet(Context& c, const params& p, const step_place& here, index_t b,
                              index_t t, index_t k, const weight&, State& x) {
    if (p.kept_count > 0) {
      const index_t n = count_up_to(c, p.kept_steps, p.kept_count, t) - 1;
      if (n >= 0 && c.load_cached(p.kept_steps + n) == t)
        x = plus(x, c.template load<1>(p.kept.at(b, n, k)).v[0]);
    }
    if (here.first) x = plus(x, base::initial(c, p.where, b, here.sequence, k));
  }
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE step_map<State> map_of(Context& c, const weight& w, const State& x, bool begins,
                                           bool ends) {
    return algebra<true>::of(w, ends ? State(0) : algebra<false>::step(c, w, x, State(0)),
                             begins || ends);
  }
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE State advance(Context& c, const weight& w, const State& x, bool begins,
                                  bool ends, State& h) {
    const State g = begins ? x : plus(h, x);
    h = ends ? State(0) : algebra<false>::step(c, w, g, State(0));
    return g;
  }
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE To stored(Context& c, const weight& w, const State& g) {
    return scalar_as<To>(algebra<false>::template gained<Gain>(c, w, g));
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
