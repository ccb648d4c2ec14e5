// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/model/mamba2.hpp
/// @brief  The state-space layers of Mamba-2 and Mamba-1, with their own decay or a tapered one.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <ebb/core/head_view.hpp>
#include <ebb/model/parts.hpp>
#include <ebb/readout/gate.hpp>
#include <ebb/recurrence/outer.hpp>
#include <ebb/recurrence/selective_scan.hpp>
#include <ebb/spectrum/geometric.hpp>

namespace ebb::inline EBB_ABI {

/// The arrays of Mamba-2. For each head, with a state S of N x P,
///
///   S_t = e^(log a_t) S_{t-1} + dt_t B_t x_t^T      y_t = (S_t^T C_t + D * x_t) * silu(z_t)
///
/// | member   | shape        | meaning                                               | left out |
/// |----------|--------------|-------------------------------------------------------|----------|
/// | `x`      | (B, T, H, P) | inputs                                                | needed   |
/// | `B`, `C` | (B, T, G, N) | what is written and read; head h is of group h/(H/G)  | needed   |
/// | `y`      | (B, T, H, P) | gets the outputs; may be `x` itself                   | needed   |
/// | `z`      | (B, T, H, P) | gate                                                  | none     |
/// | `D`      | H or H P     | skip; float where T has 16 bits                       | 0        |
///
/// dt and log a come from the decay. The convolution before and the norm behind are the caller's.
template <class T>
struct mamba2_arrays {
  using value_type = T;
  head_view<const T> x{}, B{}, C{};
  head_view<T> y{};
  head_view<const T> z{};
  std::span<const default_state_t<T>> D{};

  /// The same as the arrays of the recurrence, for its other entry points; without the gate.
  /// @param decays  decay_per::key for Mamba-1
  outer_data<T> recurrence(decay_per decays = decay_per::head) const {
    return {.queries = C, .keys = B, .values = x, .outputs = y, .skip = D, .decays = decays};
  }
};

/// The native decay: log a = -exp(A_log_h) dt, dt = clamp(softplus(raw + bias), limits), weighing
/// by dt.
///
/// @param A_log  (H), finite, in any order
/// @param steps  raw (B, T, H, 1): `dt`; bias: `dt_bias`
/// @throws shape_error unless they have as many heads; domain_error for numbers out of their
///   domain.
/// Accuracy: as selective_decay. Source: [Mamba2].
template <class Values, class T, class Bias>
auto mamba2_decay(const Values& A_log, const raw_steps<T, Bias>& steps) {
  const auto rates = detail::exp_of(A_log);
  return detail::head_policy("mamba2_decay", rates.size(), steps, {})
      .weighing()
      .bind(std::span<const double>(rates));
}

/// The tapered decay: log a = -r_h dt s_{t,h}; the weight dt is not tapered.
///
/// @param spectrum  of H rates exp(A_log), `ordered_spectrum(A_log_base, A_log_deltas)` or another
/// @param taper     `post_taper::absolute_by_gaps(T)` as published, T the length of training
/// @param steps     as above
/// @throws as above. Source: [PoST].
template <class Spectrum, class T, class Bias>
auto mamba2_post_decay(const Spectrum& spectrum, const post_taper& taper,
                       const raw_steps<T, Bias>& steps) {
  const auto rates = detail::head_rates(spectrum, steps);
  return detail::head_policy("mamba2_post_decay", rates.size(), steps, taper)
      .weighing()
      .bind(std::span<const double>(rates));
}

/// The spectrum that the tapered model starts from: with the step held at 0.05 at first
/// (`dt_bias` = inverse_softplus(0.05)), timescales exp(-A_log) / 0.05 on [1, T].
/// @param horizon  T >= 1, steps
inline geometric_spectrum mamba2_post_initial(double horizon) {
  return geometric_spectrum::timescales(0.05, 0.05 * horizon);
}

namespace detail {
template <class Decay, class T, class State>
void check_mamba(std::string_view name, const mamba2_arrays<T>& arrays,
                 const sequences<State>& where) {
  // Of a policy the call itself says that it must be bound.
  static_assert(weighing_decay<Decay, State> || decay_for<Decay, parameter_t<State>>,
                "ebb: Mamba needs a decay that weighs by its steps");
  require_array(name, "x", arrays.x);
  require_array(name, "B", arrays.B);
  require_array(name, "C", arrays.C);
  require_array(name, "y", arrays.y);
  if (arrays.z.left_out()) return;
  check_gate(name, arrays.z, arrays.y);
  require_shape(!overlap(arrays.z, where.final_states) && !overlap(arrays.z, where.snapshots), name,
                "need a gate apart from final states and snapshots");
}

/// The gate on the steps that belong to sequences, where the form works.
template <class T, class State, class Form>
void gate_outputs(const mamba2_arrays<T>& arrays, const sequences<State>& where,
                  [[maybe_unused]] const Form& form) {
  if (arrays.z.left_out()) return;
  const index_t begin = where.begin(0);
  const index_t end = where.count() > 0 ? where.end(where.count() - 1, arrays.y.steps()) : begin;
  const auto z = arrays.z.steps_from(begin, end - begin);
  const auto y = arrays.y.steps_from(begin, end - begin);
  if constexpr (requires { form.silu_gate(z, y); })
    form.silu_gate(z, y);
  else
    silu_gate<T>(z, y);
}
}  // namespace detail

/// Evaluate Mamba-2 (SSD).
///
/// @param decay   of H channels that weighs: `mamba2_decay`, `mamba2_post_decay`
/// @param arrays  see mamba2_arrays
/// @param where   the sequences, states of H N P channels: element (n, p) of head h is channel
///                (h N + n) P + p. Left out: one sequence per batch entry, from position 1, state 0
/// @param form    as of `outer`
/// @throws as outer; shape_error for an array that is left out and a gate that does not fit.
///   Nothing has been written then.
/// Cost, accuracy: those of the form and of silu_gate, which takes y as rounded to T.
template <class Decay, class T, class State, class Form = sequential>
void mamba2(const Decay& decay, const mamba2_arrays<T>& arrays, const sequences<State>& where,
            const Form& form = {}) {
  detail::check_mamba<Decay>("mamba2", arrays, where);
  detail::run_matrix("mamba2 (keys B, queries C, values x, outputs y)", decay, arrays.recurrence(),
                     where, form);
  detail::gate_outputs(arrays, where, form);
}
template <class Decay, class T, class Form = sequential>
void mamba2(const Decay& decay, const mamba2_arrays<T>& arrays, const Form& form = {}) {
  mamba2(decay, arrays, sequences<default_state_t<T>>{}, form);
}

/// One step of one sequence, in place: decode.
/// @param position  t, 1 <= t <= 2^62
/// @param state     (H N P), read and written
template <class Decay, class T, class State, class Form = sequential>
void step(const Decay& decay, index_t position, const mamba2_arrays<T>& arrays,
          std::span<State> state, const Form& form = {}) {
  sequences<State> where;
  where.final_states = {state.data(), 1, static_cast<index_t>(state.size())};
  detail::check_mamba<Decay>("mamba2", arrays, where);
  detail::step_matrix("mamba2 (keys B, queries C, values x, outputs y)", decay, position,
                      arrays.recurrence(), state, form);
  detail::gate_outputs(arrays, where, form);
}

/// The decay of Mamba-1: log a = -exp(A_log_{d,n}) dt_d [s_{t,d,n}], weighing by dt_d.
///
/// @param A_log  (D N), [d][n], finite, in any order; tapered: ascending, which a spectrum over
///               all of d and n is
/// @param steps  raw (B, T, D, 1) and bias (D)
/// @param taper  left out: the native decay
/// @throws shape_error unless A_log is a multiple of D; domain_error for numbers out of their
///   domain.
/// Source: [Mamba].
template <class Values, class T, class Bias>
auto mamba1_decay(const Values& A_log, const raw_steps<T, Bias>& steps,
                  const std::optional<post_taper>& taper = {}) {
  detail::require_array("mamba1_decay", "raw", steps.raw);
  const auto rates = detail::exp_of(A_log);
  const auto count = static_cast<index_t>(rates.size());
  const index_t inputs = steps.raw.heads() * steps.raw.width();
  detail::require_shape(inputs > 0 && count > 0 && count % inputs == 0, "mamba1_decay",
                        "need A_log of N numbers for each channel (got, channels)", count, inputs);
  const auto policy = selective_decay(steps.raw.channels())
                          .with_bias(steps.bias)
                          .limited(steps.lowest, steps.highest)
                          .steps_for(count / inputs)
                          .weighing();
  return (taper ? policy.tapered(*taper) : policy).bind(std::span<const double>(rates));
}

/// Evaluate Mamba-1: the arrays are those of Mamba-2 with a head for each channel, P = 1; the
/// states (D N), element n of channel d at d N + n (recurrence/selective_scan.hpp).
/// @throws as mamba2; shape_error unless P = 1.
template <class Decay, class T, class State, class Form = key_lanes>
void mamba1(const Decay& decay, const mamba2_arrays<T>& arrays, const sequences<State>& where,
            const Form& form = {}) {
  detail::check_mamba<Decay>("mamba1", arrays, where);
  detail::run_matrix("mamba1 (keys B, queries C, values x, outputs y)", decay,
                     arrays.recurrence(decay_per::key), where, form);
  detail::gate_outputs(arrays, where, form);
}
template <class Decay, class T, class Form = key_lanes>
void mamba1(const Decay& decay, const mamba2_arrays<T>& arrays, const Form& form = {}) {
  mamba1(decay, arrays, sequences<default_state_t<T>>{}, form);
}

/// One step of one sequence, in place: decode.
/// @param position  t, 1 <= t <= 2^62
/// @param state     (D N), read and written
template <class Decay, class T, class State, class Form = key_lanes>
void mamba1_step(const Decay& decay, index_t position, const mamba2_arrays<T>& arrays,
                 std::span<State> state, const Form& form = {}) {
  sequences<State> where;
  where.final_states = {state.data(), 1, static_cast<index_t>(state.size())};
  detail::check_mamba<Decay>("mamba1_step", arrays, where);
  detail::step_matrix("mamba1_step (keys B, queries C, values x, outputs y)", decay, position,
                      arrays.recurrence(decay_per::key), state, form);
  detail::gate_outputs(arrays, where, form);
}

}  // namespace ebb::inline EBB_ABI
