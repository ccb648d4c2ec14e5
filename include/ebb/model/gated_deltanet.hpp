// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/model/gated_deltanet.hpp
/// @brief  The gated delta rule, with its own decay or a tapered one, a head or a key channel each.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <ebb/model/parts.hpp>
#include <ebb/recurrence/delta.hpp>
#include <ebb/spectrum/geometric.hpp>

namespace ebb::inline EBB_ABI {

/// The arrays of Gated DeltaNet. For each head, with a state S of K x V,
///
///   S_t = G_t S_{t-1} + beta_t k_t (v_t - (G_t S_{t-1})^T k_t)^T      o_t = scale S_t^T q_t
///
/// G_t = g_t, or diag(w_t) as in Kimi Delta Attention.
///
/// | member    | shape         | meaning                                              | left out  |
/// |-----------|---------------|------------------------------------------------------|-----------|
/// | `q`, `k`  | (B, T, Hk, K) | queries and keys; head h reads head h / (H / Hk)     | needed    |
/// | `v`       | (B, T, H, V)  | values                                               | needed    |
/// | `beta`    | (B, T, H, 1)  | strength of the write, 0 <= beta <= 1 (or 2)         | needed    |
/// | `o`       | (B, T, H, V)  | gets the outputs; may be `v` itself                  | needed    |
/// | `scale`   |               | finite                                               | 1/sqrt(K) |
/// | `epsilon` | >= 0          | q / sqrt(|q|^2 + epsilon) for q, k likewise;         | 1e-6      |
/// |           |               | nullopt: as given. 0 makes rows of zeros NaN         |           |
/// | `decays`  |               | whether the decay is a number a head or a vector of K| head      |
template <class T>
struct gated_deltanet_arrays {
  using value_type = T;
  head_view<const T> q{}, k{}, v{}, beta{};
  head_view<T> o{};
  std::optional<double> scale{};
  std::optional<double> epsilon = 1e-6;
  decay_per decays = decay_per::head;

  /// The same as the arrays of the recurrence, for its other entry points.
  /// @throws shape_error where `beta` is left out: the recurrence would take it for 1.
  delta_data<T> recurrence() const {
    detail::require_array("gated_deltanet", "beta", beta);
    return {.queries = q,
            .keys = k,
            .values = v,
            .outputs = o,
            .weights = beta,
            .scale = detail::scale_or_usual(scale, k.width()),
            .unit_queries = epsilon,
            .unit_keys = epsilon,
            .decays = decays};
  }
};

/// The native decay: log g = -exp(A_log_h) softplus(a_t + dt_bias).
///
/// @param A_log  (H), finite, in any order
/// @param steps  raw (B, T, H, 1), or (B, T, H, K) for a decay by key: `a`; bias: `dt_bias`
/// @throws shape_error unless they have as many heads; domain_error for numbers out of their
///   domain.
/// Accuracy: as selective_decay. Source: [GatedDeltaNet].
template <class Values, class T, class Bias>
auto gated_deltanet_decay(const Values& A_log, const raw_steps<T, Bias>& steps) {
  return detail::head_decay("gated_deltanet_decay", detail::exp_of(A_log), steps);
}

/// The tapered decay: the same with s_{t,h} = ((t + t_0) / t_ref)^(-alpha_h) behind.
///
/// @param spectrum  of H rates exp(A_log), `ordered_spectrum(A_log_base, A_log_delta)` or another
/// @param taper     `post_taper::absolute_by_gaps(T)` as published, T the length of training
/// @param steps     as above
/// @throws as above. Source: [PoST].
template <class Spectrum, class T, class Bias>
auto gated_deltanet_post_decay(const Spectrum& spectrum, const post_taper& taper,
                               const raw_steps<T, Bias>& steps) {
  return detail::head_decay("gated_deltanet_post_decay", detail::head_rates(spectrum, steps), steps,
                            taper);
}

/// The spectrum that the tapered model starts from: A_log equally spaced on [0, log T].
/// @param horizon  T >= 1, steps
inline geometric_spectrum gated_deltanet_post_initial(double horizon) {
  return geometric_spectrum::rates(1, horizon);
}

namespace detail {
template <class T>
void check_deltanet(const gated_deltanet_arrays<T>& arrays) {
  constexpr std::string_view name = "gated_deltanet";
  require_array(name, "q", arrays.q);
  require_array(name, "k", arrays.k);
  require_array(name, "v", arrays.v);
  require_array(name, "beta", arrays.beta);
  require_array(name, "o", arrays.o);
}
}  // namespace detail

/// Evaluate Gated DeltaNet.
///
/// @param decay   of H channels, or H K (decay_per::key): `gated_deltanet_decay`,
///                `gated_deltanet_post_decay`
/// @param arrays  see gated_deltanet_arrays
/// @param where   the sequences, states of H K V channels: element (j, i) of head h is channel
///                (h K + j) V + i. Left out: one sequence per batch entry, from position 1, state 0
/// @param form    as of `delta`
/// @throws as delta; shape_error for an array that is left out. Nothing has been written then.
/// Cost, accuracy: those of the form.
template <class Decay, class T, class State, class Form = sequential>
void gated_deltanet(const Decay& decay, const gated_deltanet_arrays<T>& arrays,
                    const sequences<State>& where, const Form& form = {}) {
  detail::check_deltanet(arrays);
  detail::run_matrix("gated_deltanet", decay, arrays.recurrence(), where, form);
}
template <class Decay, class T, class Form = sequential>
void gated_deltanet(const Decay& decay, const gated_deltanet_arrays<T>& arrays,
                    const Form& form = {}) {
  gated_deltanet(decay, arrays, sequences<default_state_t<T>>{}, form);
}

/// One step of one sequence, in place: decode.
/// @param position  t, 1 <= t <= 2^62
/// @param state     (H K V), read and written
template <class Decay, class T, class State, class Form = sequential>
void step(const Decay& decay, index_t position, const gated_deltanet_arrays<T>& arrays,
          std::span<State> state, const Form& form = {}) {
  detail::check_deltanet(arrays);
  detail::step_matrix("gated_deltanet", decay, position, arrays.recurrence(), state, form);
}

}  // namespace ebb::inline EBB_ABI
