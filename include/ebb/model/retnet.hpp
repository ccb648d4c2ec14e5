// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/model/retnet.hpp
/// @brief  Retention: linear attention with one constant decay a head, or a tapered one.
#pragma once

#include <cmath>
#include <vector>

#include <ebb/decay/constant.hpp>
#include <ebb/model/gla.hpp>

namespace ebb::inline EBB_ABI {

/// The native decay of retention: log w_h = log(1 - 2^(-5-h)), fastest head first.
///
/// @param heads  0 <= H <= 1000
/// @throws domain_error outside this domain.
/// Accuracy: a rate within 2 unit roundoffs of double. Source: [RetNet].
inline constant_decay::bound<double> retnet_decay(index_t heads) {
  detail::require_domain(heads >= 0 && heads <= 1000, "retnet_decay", "need 0 <= heads <= 1000",
                         heads);
  std::vector<double> rates;
  for (index_t h = 0; h < heads; ++h)
    rates.push_back(-std::log1p(-std::ldexp(1.0, static_cast<int>(-5 - h))));
  return constant_decay::bound<double>(std::move(rates));
}

/// Tapered, retention is tapered gated linear attention: the same decay of each key channel.
template <class Spectrum, class T, class Bias>
auto retnet_post_decay(const Spectrum& spectrum, const post_taper& taper,
                       const raw_steps<T, Bias>& steps) {
  return detail::head_decay("retnet_post_decay", detail::head_rates(spectrum, steps), steps, taper);
}

/// Evaluate retention: gated linear attention (model/gla.hpp), with a number a head for
/// `retnet_decay` and a vector of keys for `retnet_post_decay`. The rotation of queries and keys is
/// the caller's.
/// @throws as gla.
template <class Decay, class T, class State, class Form = sequential>
void retnet(const Decay& decay, const gla_arrays<T>& arrays, const sequences<State>& where,
            const Form& form = {}) {
  detail::check_attention("retnet", arrays);
  detail::run_matrix("retnet", decay, arrays.recurrence(detail::usual_decays<Decay>()), where,
                     form);
}
template <class Decay, class T, class Form = sequential>
void retnet(const Decay& decay, const gla_arrays<T>& arrays, const Form& form = {}) {
  retnet(decay, arrays, sequences<default_state_t<T>>{}, form);
}

}  // namespace ebb::inline EBB_ABI
