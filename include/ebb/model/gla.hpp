// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/model/gla.hpp
/// @brief  Gated linear attention, with its own gates or a tapered decay.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <ebb/model/parts.hpp>
#include <ebb/recurrence/outer.hpp>
#include <ebb/spectrum/geometric.hpp>

namespace ebb::inline EBB_ABI {

/// The arrays of gated linear attention. For each head, with a state S of K x V,
///
///   S_t = diag(w_t) S_{t-1} + k_t v_t^T      o_t = scale S_t^T q_t
///
/// | member     | shape        | meaning                                             | left out  |
/// |------------|--------------|-----------------------------------------------------|-----------|
/// | `q`, `k`   | (B, T, H, K) | queries and keys; fewer heads are shared            | needed    |
/// | `v`        | (B, T, H, V) | values                                              | needed    |
/// | `o`        | (B, T, H, V) | gets the outputs; may be `v` itself                 | needed    |
/// | `scale`    |              | finite                                              | 1/sqrt(K) |
/// | `decays`   |              | whether w_t is a number a head or a vector of K     | as below  |
///
/// Left out, decays are those of the decay: of a constant one, such as `retnet_decay`, a number a
/// head, of others a vector.
template <class T>
struct gla_arrays {
  using value_type = T;
  head_view<const T> q{}, k{}, v{};
  head_view<T> o{};
  std::optional<double> scale{};
  std::optional<decay_per> decays{};

  /// The same as the arrays of the recurrence, for its other entry points.
  /// @param usual  for decays that are left out
  outer_data<T> recurrence(decay_per usual = decay_per::key) const {
    return {.queries = q,
            .keys = k,
            .values = v,
            .outputs = o,
            .scale = detail::scale_or_usual(scale, k.width()),
            .decays = decays.value_or(usual)};
  }
};

/// The native gate: log w = log(sigma(x)) / normalizer, for each key channel.
///
/// @param logits      x, (B, T, H, K), heads side by side; its memory must outlive the decay
/// @param normalizer  > 0; 16 in the published code
/// @throws domain_error outside this domain; shape_error for logits that are left out.
/// Accuracy: as selective_decay. Source: [GLA].
template <class T>
auto gla_decay(const head_view<T>& logits, double normalizer = 16) {
  detail::require_array("gla_decay", "logits", logits);
  detail::require_domain(normalizer > 0 && normalizer < std::numeric_limits<double>::infinity(),
                         "gla_decay", "need 0 < normalizer < inf", normalizer);
  const std::vector<double> rates(static_cast<std::size_t>(logits.heads() * logits.width()),
                                  1 / normalizer);
  return selective_decay(logits.channels()).negated().bind(std::span<const double>(rates));
}

/// The tapered decay: log w = -r_h softplus(a_t + dt_bias) s_{t,h}, a rate for the keys of a head.
///
/// @param spectrum  of H rates exp(A_log), `ordered_spectrum(A_log_base, A_log_delta)` or another
/// @param taper     `post_taper::absolute_by_gaps(T)` as published, T the length of training
/// @param steps     raw (B, T, H, K): `a`; bias (H K): `dt_bias`
/// @throws shape_error for arrays that do not fit; domain_error for numbers out of their domain.
/// Source: [PoST].
template <class Spectrum, class T, class Bias>
auto gla_post_decay(const Spectrum& spectrum, const post_taper& taper,
                    const raw_steps<T, Bias>& steps) {
  return detail::head_decay("gla_post_decay", detail::head_rates(spectrum, steps), steps, taper);
}

/// The spectrum that the tapered model starts from: A_log equally spaced on [0, log 16].
inline geometric_spectrum gla_post_initial() { return geometric_spectrum::rates(1, 16); }

namespace detail {
/// What a decay is one of where the arrays do not say.
template <class Decay>
constexpr decay_per usual_decays() {
  if constexpr (requires { Decay::kind; })
    return Decay::kind == decay_kind::constant ? decay_per::head : decay_per::key;
  else
    return decay_per::key;  // an array of factors
}

template <class Arrays>
void check_attention(std::string_view name, const Arrays& arrays) {
  require_array(name, "q", arrays.q);
  require_array(name, "k", arrays.k);
  require_array(name, "v", arrays.v);
  require_array(name, "o", arrays.o);
}
}  // namespace detail

/// Evaluate gated linear attention.
///
/// @param decay   of H K channels (or H, decay_per::head): `gla_decay`, `gla_post_decay`
/// @param arrays  see gla_arrays
/// @param where   the sequences, states of H K V channels: element (j, i) of head h is channel
///                (h K + j) V + i. Left out: one sequence per batch entry, from position 1, state 0
/// @param form    as of `outer`
/// @throws as outer; shape_error for an array that is left out. Nothing has been written then.
/// Cost, accuracy: those of the form.
template <class Decay, class T, class State, class Form = sequential>
void gla(const Decay& decay, const gla_arrays<T>& arrays, const sequences<State>& where,
         const Form& form = {}) {
  detail::check_attention("gla", arrays);
  detail::run_matrix("gla", decay, arrays.recurrence(detail::usual_decays<Decay>()), where, form);
}
template <class Decay, class T, class Form = sequential>
void gla(const Decay& decay, const gla_arrays<T>& arrays, const Form& form = {}) {
  gla(decay, arrays, sequences<default_state_t<T>>{}, form);
}

/// One step of one sequence, in place: decode.
/// @param position  t, 1 <= t <= 2^62
/// @param state     (H K V), read and written
template <class Decay, class T, class State, class Form = sequential>
void step(const Decay& decay, index_t position, const gla_arrays<T>& arrays, std::span<State> state,
          const Form& form = {}) {
  detail::check_attention("step", arrays);
  detail::step_matrix("step", decay, position, arrays.recurrence(detail::usual_decays<Decay>()),
                      state, form);
}

}  // namespace ebb::inline EBB_ABI
