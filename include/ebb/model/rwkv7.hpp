// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/model/rwkv7.hpp
/// @brief  The time mixing of RWKV-7, with its own decay or a tapered one.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <ebb/decay/sigmoid_gate.hpp>
#include <ebb/model/parts.hpp>
#include <ebb/recurrence/delta.hpp>

namespace ebb::inline EBB_ABI {

/// The arrays of RWKV-7. For each head, with a state S of K x V (the published one transposed),
///
///   S_t = (diag(w_t) - (a_t * kappa_t) kappa_t^T) S_{t-1} + k_t v_t^T      o_t = S_t^T r_t
///
/// | member    | shape        | meaning                                          | left out |
/// |-----------|--------------|--------------------------------------------------|----------|
/// | `r`, `k`  | (B, T, H, K) | receptance; key, as the model replaces it        | needed   |
/// | `v`       | (B, T, H, V) | values                                           | needed   |
/// | `kappa`   | (B, T, H, K) | removal key, normalised here                     | needed   |
/// | `a`       | (B, T, H, K) | in-context rate, 0 < a < 1                       | needed   |
/// | `o`       | (B, T, H, V) | gets the outputs; may be `v` itself              | needed   |
/// | `epsilon` | >= 0         | kappa / sqrt(|kappa|^2 + epsilon)                | 1e-24    |
///
/// RWKV-LM divides by max(|kappa|, 1e-12), which is the same to 1e-6 from |kappa| = 1e-9 on, up to
/// what outer_data says of unit rows (1.8e19 in float); fla with `fuse_norm` has epsilon = 1e-6.
/// Token shift, norm, what it adds behind the norm (the sum of r_j k_j r_k_j, times v) and gate are
/// the caller's.
template <class T>
struct rwkv7_arrays {
  using value_type = T;
  head_view<const T> r{}, k{}, v{}, kappa{}, a{};
  head_view<T> o{};
  double epsilon = 1e-24;

  /// The same as the arrays of the recurrence, for its other entry points.
  /// @throws shape_error where `kappa` or `a` is left out: it would be another recurrence.
  delta_data<T> recurrence() const {
    detail::require_array("rwkv7", "kappa", kappa);
    detail::require_array("rwkv7", "a", a);
    return {.queries = r,
            .keys = k,
            .values = v,
            .outputs = o,
            .removals = kappa,
            .rates = a,
            .unit_removals = epsilon,
            .decays = decay_per::key};
  }
};

/// The native decay: log w = -e^(-1/2) sigma(lora_t), for each key channel.
///
/// @param lora  (B, T, H, K) with its bias w0 in it, heads side by side; its memory must outlive
///              the decay
/// @throws shape_error for a lora that is left out.
/// Accuracy: as sigmoid_gate. Source: [RWKV7].
template <class T>
auto rwkv7_decay(const head_view<T>& lora) {
  detail::require_array("rwkv7_decay", "lora", lora);
  const std::vector<double> none(static_cast<std::size_t>(lora.heads() * lora.width()), 0.0);
  return sigmoid_gate(lora.channels()).bind_logits(std::span<const double>(none));
}

/// The tapered decay: log w = -e^(-1/2) sigma(w0_k + lora_t - alpha_k log(t / t_ref)), alpha from
/// the rates sigma(w0_k) of all H K channels.
///
/// @param w0     (H K), ascending: `rwkv7_logits(w0_base, w0_delta)`
/// @param taper  `post_taper::absolute_by_gaps(T)` as published, T the length of training
/// @param lora   (B, T, H, K), with the bias of its own
/// @throws shape_error unless w0 has a number for each channel; domain_error unless it ascends.
/// Source: [PoST].
template <class Values, class T>
auto rwkv7_post_decay(const Values& w0, const post_taper& taper, const head_view<T>& lora) {
  const auto logits = detail::wide_copy(w0);
  detail::require_array("rwkv7_post_decay", "lora", lora);
  detail::require_shape(static_cast<index_t>(logits.size()) == lora.heads() * lora.width(),
                        "rwkv7_post_decay", "need a w0 for each channel (got, channels)",
                        logits.size(), lora.heads() * lora.width());
  return sigmoid_gate(lora.channels()).tapered(taper).bind_logits(std::span<const double>(logits));
}

/// The ordered logits of a file: w0_k = w0_base + the sum of the first k softplus(w0_delta).
template <class Values>
std::vector<double> rwkv7_logits(double w0_base, const Values& w0_delta) {
  std::vector<double> w0{w0_base};
  for (const double delta : detail::wide_copy(w0_delta)) w0.push_back(w0.back() + softplus(delta));
  return w0;
}

/// The logits that the tapered model starts from: equally spaced from logit(e^(1/2) / T), timescale
/// T, to 0.5.
/// @param horizon   T > 2.7, steps, so that they ascend
/// @param channels  N >= 2
/// @throws domain_error outside these domains.
inline std::vector<double> rwkv7_post_initial(double horizon, index_t channels) {
  detail::require_domain(horizon > 2.7 && horizon <= std::numeric_limits<double>::max(),
                         "rwkv7_post_initial", "need 2.7 < horizon < inf", horizon);
  detail::require_domain(channels >= 2, "rwkv7_post_initial", "need channels >= 2", channels);
  const double slowest = std::exp(0.5) / horizon;
  const double low = std::log(slowest) - std::log1p(-slowest), high = 0.5;
  std::vector<double> w0;
  const auto last = static_cast<double>(channels - 1);
  for (index_t k = 0; k < channels; ++k) {
    const auto up = static_cast<double>(k);
    w0.push_back(((last - up) * low + up * high) / last);
  }
  return w0;
}

namespace detail {
template <class T>
void check_rwkv7(const rwkv7_arrays<T>& arrays) {
  constexpr std::string_view name = "rwkv7";
  require_array(name, "r", arrays.r);
  require_array(name, "k", arrays.k);
  require_array(name, "v", arrays.v);
  require_array(name, "kappa", arrays.kappa);
  require_array(name, "a", arrays.a);
  require_array(name, "o", arrays.o);
}
}  // namespace detail

/// Evaluate the time mixing of RWKV-7.
///
/// @param decay   of H K channels: `rwkv7_decay`, `rwkv7_post_decay`
/// @param arrays  see rwkv7_arrays
/// @param where   the sequences, states of H K V channels: element (j, i) of head h is channel
///                (h K + j) V + i. Left out: one sequence per batch entry, from position 1, state 0
/// @param form    as of `delta`
/// @throws as delta; shape_error for an array that is left out. Nothing has been written then.
/// Cost, accuracy: those of the form.
template <class Decay, class T, class State, class Form = sequential>
void rwkv7(const Decay& decay, const rwkv7_arrays<T>& arrays, const sequences<State>& where,
           const Form& form = {}) {
  detail::check_rwkv7(arrays);
  detail::run_matrix("rwkv7 (queries r, removals kappa, rates a, outputs o)", decay,
                     arrays.recurrence(), where, form);
}
template <class Decay, class T, class Form = sequential>
void rwkv7(const Decay& decay, const rwkv7_arrays<T>& arrays, const Form& form = {}) {
  rwkv7(decay, arrays, sequences<default_state_t<T>>{}, form);
}

/// One step of one sequence, in place: decode.
/// @param position  t, 1 <= t <= 2^62
/// @param state     (H K V), read and written
template <class Decay, class T, class State, class Form = sequential>
void step(const Decay& decay, index_t position, const rwkv7_arrays<T>& arrays,
          std::span<State> state, const Form& form = {}) {
  detail::check_rwkv7(arrays);
  detail::step_matrix("rwkv7 (queries r, removals kappa, rates a, outputs o)", decay, position,
                      arrays.recurrence(), state, form);
}

}  // namespace ebb::inline EBB_ABI
