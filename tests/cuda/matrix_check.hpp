// SPDX-License-Identifier: Apache-2.0
/// @file   cuda/matrix_check.hpp
/// @brief  Recurrences with matrix states against their definition in double.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/backend/cuda.hpp>
#include <ebb/recurrence/delta.hpp>
#include <ebb/recurrence/outer.hpp>

#include "report.hpp"

namespace ebb::test {

/// Sizes of a call, and which recurrence it is.
struct matrix_problem {
  enum rule_kind { outer, gated, corrections, rates } rule;
  index_t batches, steps, heads, key_heads, keys, values;
  bool by_key, packed;
};

/// The arrays of a call, all of (batch, time, heads times width), on the host or the device.
template <class Array, class Skip>
struct matrix_arrays {
  Array queries, keys, values, weights, removals, corrections, logs;
  Skip skip;
  Array outputs, initial, finals;

  template <class To, class ToSkip, class Copy>
  auto copied(const Copy& copy) const {
    return matrix_arrays<To, ToSkip>{copy(queries),  copy(keys),        copy(values), copy(weights),
                                     copy(removals), copy(corrections), copy(logs),   copy(skip),
                                     copy(outputs),  copy(initial),     copy(finals)};
  }
};

template <class T>
auto random_matrices(const matrix_problem& is, std::uint64_t seed) {
  numbers draw(seed);
  const auto made = [&](index_t steps, index_t channels, double low, double high) {
    ebb::array<T> values({is.batches, steps, channels});
    fill(values, [&] { return static_cast<T>(static_cast<float>(draw.uniform(low, high))); });
    return values;
  };
  ebb::array<default_state_t<T>> skip({is.batches, 1, is.heads});
  fill(skip, [&] { return static_cast<default_state_t<T>>(draw.uniform(-1, 1)); });
  const index_t t = is.steps, shared = is.key_heads * is.keys, count = is.packed ? 2 : 1;
  // Small corrections: bounds on absolute values grow with every one.
  return matrix_arrays<ebb::array<T>, ebb::array<default_state_t<T>>>{
      made(t, shared, -1, 1),
      made(t, shared, -1, 1),
      made(t, is.heads * is.values, -1, 1),
      made(t, is.heads, 0, 0.02),
      made(t, shared, -1, 1),
      made(t, shared, is.rule == matrix_problem::rates ? 0 : -0.02, 0.02),
      made(t, is.heads * (is.by_key ? is.keys : 1), -0.2, 0),
      skip,
      made(t, is.heads * is.values, -77, -77),
      made(count, is.heads * is.keys * is.values, -1, 1),
      made(count, is.heads * is.keys * is.values, -77, -77)};
}

/// The offsets of packed sequences: padding in front and behind.
inline std::vector<index_t> matrix_offsets(const matrix_problem& is) {
  if (!is.packed) return {};
  return {2, 2 + is.steps / 3, is.steps - 1};
}

/// The call itself.
template <class T, class Form, class Array, class Skip>
void call_matrix(const matrix_problem& is, matrix_arrays<Array, Skip>& on, const Form& form) {
  const auto heads = [&](const auto* data, index_t count, index_t width) {
    return head_view<const T>(data, {is.batches, is.steps, count, width});
  };
  const auto offsets = matrix_offsets(is);
  sequences<default_state_t<T>> where{.offsets = offsets};
  if constexpr (std::is_same_v<T, default_state_t<T>>) {
    where.initial_states = std::as_const(on.initial).view();
    where.final_states = on.finals.view();
  }
  const auto go = [&](auto data) {
    data.queries = heads(on.queries.data(), is.key_heads, is.keys);
    data.keys = heads(on.keys.data(), is.key_heads, is.keys);
    data.values = heads(on.values.data(), is.heads, is.values);
    data.outputs = head_view<T>(on.outputs.data(), {is.batches, is.steps, is.heads, is.values});
    data.weights = heads(on.weights.data(), is.heads, 1);
    data.skip = {static_cast<const default_state_t<T>*>(on.skip.data()),
                 static_cast<std::size_t>(is.heads)};
    data.scale = 0.5;
    data.unit_queries = data.unit_keys = 1e-6;
    data.decays = is.by_key ? decay_per::key : decay_per::head;
    return data;
  };
  const auto decay = stored_logs(std::as_const(on.logs).view());
  if (is.rule == matrix_problem::outer) {
    ebb::outer(decay, go(outer_data<T>{}), where, form);
    return;
  }
  auto data = go(delta_data<T>{});
  if (is.rule != matrix_problem::gated) {
    data.removals = heads(on.removals.data(), is.key_heads, is.keys);
    data.unit_removals = 1e-6;
    (is.rule == matrix_problem::rates ? data.rates : data.corrections) =
        heads(on.corrections.data(), is.key_heads, is.keys);
  }
  ebb::delta(decay, data, where, form);
}

/// One head of one sequence by the definition; each value beside its majorant.
template <class T>
struct matrix_definition {
  const matrix_problem& is;
  const matrix_arrays<ebb::array<T>, ebb::array<default_state_t<T>>>& from;
  struct sized {
    double value, most;
  };

  static double number(const T& x) { return static_cast<double>(static_cast<float_or_double>(x)); }
  using float_or_double = default_state_t<T>;

  std::vector<double> row(const ebb::array<T>& values, index_t b, index_t t, index_t h,
                          bool unit) const {
    const index_t own = h / (is.heads / is.key_heads);
    std::vector<double> result;
    double square = 1e-6;
    for (index_t j = 0; j < is.keys; ++j) {
      result.push_back(number(values(b, t, own * is.keys + j)));
      square += result.back() * result.back();
    }
    if (unit)
      for (double& x : result) x /= std::sqrt(square);
    return result;
  }

  /// Calls output(t, i, value, most) for each output, and returns the last state.
  template <class Output>
  std::vector<sized> run(index_t b, index_t s, index_t h, index_t begin, index_t end,
                         const Output& output) const {
    const index_t K = is.keys, V = is.values;
    std::vector<sized> S(static_cast<std::size_t>(K * V), sized{0, 0});
    const auto at = [&](index_t j, index_t i) -> sized& {
      return S[static_cast<std::size_t>(j * V + i)];
    };
    if constexpr (std::is_same_v<T, float_or_double>)
      for (index_t c = 0; c < K * V; ++c) {
        const double x = number(from.initial(b, s, h * K * V + c));
        S[static_cast<std::size_t>(c)] = {x, std::abs(x)};
      }
    for (index_t t = begin; t < end; ++t) {
      const auto q = row(from.queries, b, t, h, true), k = row(from.keys, b, t, h, true);
      auto z = row(from.removals, b, t, h, true), u = row(from.corrections, b, t, h, false);
      const double c = number(from.weights(b, t, h));
      for (std::size_t j = 0; j < k.size(); ++j) {
        const index_t channel = is.by_key ? h * K + static_cast<index_t>(j) : h;
        const double w = std::exp(number(from.logs(b, t, channel)));
        if (is.rule == matrix_problem::rates) u[j] *= -z[j];
        if (is.rule == matrix_problem::gated) z[j] = w * k[j], u[j] = -c * k[j];
      }
      for (index_t i = 0; i < V; ++i) {
        sized seen{0, 0}, out{0, 0};
        const double v = number(from.values(b, t, h * V + i));
        if (is.rule != matrix_problem::outer)
          for (index_t j = 0; j < K; ++j) {
            const double factor = z[static_cast<std::size_t>(j)];
            seen.value += factor * at(j, i).value;
            seen.most += std::abs(factor) * at(j, i).most;
          }
        for (index_t j = 0; j < K; ++j) {
          const auto n = static_cast<std::size_t>(j);
          const double w = std::exp(number(from.logs(b, t, is.by_key ? h * K + j : h)));
          sized& state = at(j, i);
          state.value = w * state.value + c * k[n] * v;
          state.most = w * state.most + std::abs(c * k[n] * v);
          if (is.rule != matrix_problem::outer) {
            state.value += u[n] * seen.value;
            state.most += std::abs(u[n]) * seen.most;
          }
          out.value += 0.5 * q[n] * state.value;
          out.most += 0.5 * std::abs(q[n]) * state.most;
        }
        const auto skip = static_cast<double>(from.skip(0, 0, h));
        output(t, i, out.value + skip * v, out.most + std::abs(skip * v));
      }
    }
    return S;
  }
};

/// One call within so many roundings. `there` copies an array to where the form reads it.
template <class T, class Form, class There>
void check_one_matrix(report& results, const std::string& name, const matrix_problem& is,
                      const Form& form, const There& there, double roundings) {
  const auto host = random_matrices<T>(is, static_cast<std::uint64_t>(is.keys * is.values));
  auto on = host.template copied<decltype(there(host.keys)), decltype(there(host.skip))>(there);
  call_matrix<T>(is, on, form);
  auto found = host;
  const auto read = [](auto& from, ebb::array<T>& to) {
    if constexpr (requires { from.copy_to(to); })
      from.copy_to(to);
    else
      to = from;
  };
  read(on.outputs, found.outputs);
  read(on.finals, found.finals);
  if constexpr (requires { form.stream(); })
    detail::gpu::require_success(cudaStreamSynchronize(form.stream()), "cudaStreamSynchronize");

  using State = default_state_t<T>;
  constexpr double u = static_cast<double>(std::numeric_limits<State>::epsilon()) / 2;
  const bool corrected = is.rule != matrix_problem::outer;
  const double finer = sequential::error_bound(is.steps, is.keys, corrected) * 0x1p-53;
  const auto agrees = [&](const T& x, double exact, double most) {
    double bound = (std::expm1(roundings * std::log1p(u)) + finer) * most + 1e-37;
    if constexpr (!std::is_same_v<T, State>)
      bound += static_cast<double>(static_cast<float>(std::numeric_limits<T>::epsilon())) *
               (std::abs(exact) + bound);
    return std::abs(matrix_definition<T>::number(x) - exact) <= bound;
  };
  const matrix_definition<T> definition{is, host};
  auto offsets = matrix_offsets(is);
  if (offsets.empty()) offsets = {0, is.steps};
  index_t wrong = 0, states = 0, touched = 0;
  for (index_t b = 0; b < is.batches; ++b)
    for (index_t h = 0; h < is.heads; ++h) {
      for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
        const auto last =
            definition.run(b, static_cast<index_t>(s), h, offsets[s], offsets[s + 1],
                           [&](index_t t, index_t i, double value, double most) {
                             wrong += !agrees(found.outputs(b, t, h * is.values + i), value, most);
                           });
        if constexpr (std::is_same_v<T, State>)
          for (std::size_t c = 0; c < last.size(); ++c) {
            const index_t channel = h * is.keys * is.values + static_cast<index_t>(c);
            states += !agrees(found.finals(b, static_cast<index_t>(s), channel), last[c].value,
                              last[c].most);
          }
      }
      for (index_t t = 0; t < is.steps; ++t)
        if (t < offsets.front() || t >= offsets.back())
          for (index_t i = 0; i < is.values; ++i)
            touched += !(found.outputs(b, t, h * is.values + i) == static_cast<T>(-77.0f));
    }
  const char* const rules[] = {"outer", "gated delta", "delta, corrections", "delta, rates"};
  const std::string what = name + ", " + rules[is.rule] + ", K = " + std::to_string(is.keys) +
                           ", V = " + std::to_string(is.values);
  results.check(wrong == 0, what + ": " + std::to_string(wrong) + " outputs");
  results.check(states == 0, what + ": " + std::to_string(states) + " elements of final states");
  results.check(touched == 0, what + ": " + std::to_string(touched) + " written outside");
}

/// Every rule on widths of keys that take another kernel.
template <class T, class Form, class There>
void check_matrices(report& results, const std::string& name, const Form& form,
                    const There& there) {
  using rule = matrix_problem;
  for (const matrix_problem& is :
       std::vector<matrix_problem>{{rule::outer, 2, 40, 3, 1, 16, 64, false, false},
                                   {rule::outer, 1, 40, 4, 2, 64, 64, true, true},
                                   {rule::outer, 1, 33, 2, 2, 128, 128, false, true},
                                   {rule::outer, 40, 9, 8, 1, 128, 64, false, false},
                                   {rule::outer, 1, 21, 1, 1, 300, 5, true, false},
                                   {rule::gated, 2, 40, 3, 3, 64, 64, false, true},
                                   {rule::gated, 40, 9, 8, 8, 64, 64, false, false},
                                   {rule::gated, 1, 33, 2, 1, 128, 96, false, false},
                                   {rule::corrections, 1, 40, 2, 2, 64, 33, true, true},
                                   {rule::rates, 2, 21, 2, 1, 16, 7, true, false},
                                   {rule::rates, 1, 21, 1, 1, 256, 16, false, false},
                                   {rule::gated, 1, 12, 1, 1, 513, 3, false, true}})
    check_one_matrix<T>(results, name, is, form, there,
                        Form::error_bound(is.steps, is.keys, is.rule != rule::outer));
}

}  // namespace ebb::test
