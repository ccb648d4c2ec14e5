// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/model/parts.hpp
/// @brief  What the models share: raw steps with their bias, decays of them, checks, calls.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ebb/core/head_view.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/decay/selective.hpp>
#include <ebb/recurrence/matrix_call.hpp>
#include <ebb/spectrum/concept.hpp>

namespace ebb::inline EBB_ABI {

/// Input-dependent steps before their softplus: dt = clamp(softplus(raw + bias), lowest, highest).
///
/// | member              | shape                        | meaning               | left out |
/// |---------------------|------------------------------|-----------------------|----------|
/// | `raw`               | (B, T, H, 1) or (B, T, H, K) | heads side by side    | needed   |
/// | `bias`              | H or H K, 1                  | finite                | 0        |
/// | `lowest`, `highest` |                              | 0 <= lowest <= highest| 0, inf   |
///
/// The memory of `raw` must outlive the decay; it reads further pieces with
/// `decay.read_from(raw.channels())`.
template <class T, class Bias = default_state_t<T>>
struct raw_steps {
  head_view<const T> raw{};
  std::span<const Bias> bias{};
  double lowest = 0, highest = std::numeric_limits<double>::infinity();
};

namespace detail {

/// @throws shape_error for an array that is left out.
template <class T>
void require_array(std::string_view model, std::string_view array, const head_view<T>& view) {
  if (view.left_out())
    require_shape(false, model, "need " + std::string(array) + ", which was left out");
}

/// Parameters of a file, in a span, vector or array of numbers, as double.
template <class Values>
std::vector<double> wide_copy(const Values& values) {
  std::vector<double> result;
  for (const auto& value : std::span(values)) result.push_back(static_cast<double>(loaded(value)));
  return result;
}

/// Rates from their logarithms.
template <class Values>
std::vector<double> exp_of(const Values& logs) {
  std::vector<double> rates = wide_copy(logs);
  for (double& rate : rates) rate = std::exp(rate);
  return rates;
}

/// The policy of log a = -r_h dt s_h, for each head or for each of its keys.
template <class T, class Bias>
auto head_policy(std::string_view model, std::size_t rates, const raw_steps<T, Bias>& steps,
                 const std::optional<post_taper>& taper) {
  require_array(model, "raw", steps.raw);
  require_shape(static_cast<index_t>(rates) == steps.raw.heads(), model,
                "need one rate for each head of raw (got, heads)", rates, steps.raw.heads());
  const auto policy = selective_decay(steps.raw.channels())
                          .with_bias(steps.bias)
                          .limited(steps.lowest, steps.highest)
                          .rates_for(steps.raw.width());
  return taper ? policy.tapered(*taper) : policy;
}

/// The same bound to rates.
template <class T, class Bias>
auto head_decay(std::string_view model, const std::vector<double>& rates,
                const raw_steps<T, Bias>& steps, const std::optional<post_taper>& taper = {}) {
  return head_policy(model, rates.size(), steps, taper).bind(std::span<const double>(rates));
}

/// The rates that a spectrum gives to the heads of raw.
template <class Spectrum, class T, class Bias>
std::vector<double> head_rates(const Spectrum& spectrum, const raw_steps<T, Bias>& steps) {
  return rates_of<double>(spectrum, steps.raw.heads());
}

/// 1/sqrt(K), or what was given.
inline double scale_or_usual(const std::optional<double>& scale, index_t keys) {
  return scale ? *scale : keys > 0 ? 1 / std::sqrt(static_cast<double>(keys)) : 1;
}

}  // namespace detail
}  // namespace ebb::inline EBB_ABI
