// SPDX-License-Identifier: Apache-2.0
/// @file   bench/matrix_streaming.hpp
/// @brief  What one would write in place of ebb::outer and ebb::delta, step after step, and
///   what the processor allows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <ebb/core/pack.hpp>

#include "baselines.hpp"
#include "matrix_models.hpp"

namespace bench {

/// The recurrences as their formulas say, steps outside, heads inside: for each step all states
/// of a layer go by. Lanes of V, or of K where V = 1, are adjacent and a loop that the compiler
/// makes vectors of; the factors of the decays are ready. In double it is what both are checked against.
template <class Real>
class streaming_loop {
 public:
  /// @param factors  a number for each step and head, or step, head and key
  streaming_loop(const matrix_arrays& p, std::vector<Real> factors)
      : p_(p), factors_(std::move(factors)), seen_(static_cast<std::size_t>(p.size.values)) {}

  /// @param states   (H, K, V), read and written
  /// @param outputs  (T, H, V)
  void run(Real* states, Real* outputs) {
    const auto& [heads, key_heads, keys, values, rule, decays, weighted, scaled] = p_.size;
    const bool by_key = decays == ebb::decay_per::key;
    const auto scale = static_cast<Real>(p_.size.scale());
    for (index_t t = 0; t < p_.steps; ++t)
      for (index_t h = 0; h < heads; ++h) {
        const index_t own = t * heads + h, row = (t * key_heads + h / (heads / key_heads)) * keys;
        const Real weight = weighted ? static_cast<Real>(p_.weights.data()[own]) : Real(1);
        const float* const x = p_.values.data() + own * values;
        const float *const k = p_.keys.data() + row, *const q = p_.queries.data() + row;
        const Real* const a = factors_.data() + (by_key ? own * keys : own);
        const index_t next = by_key ? 1 : 0;
        Real* const state = states + h * keys * values;
        Real* const o = outputs + own * values;
        std::fill_n(o, values, Real(0));
        if (values == 1) {
          along_keys(state, a, weight * static_cast<Real>(*x), k, q, o);
        } else if (rule == matrix_rule::outer) {
          for (index_t j = 0; j < keys; ++j)
            write(state + j * values, a[j * next], weight * static_cast<Real>(k[j]), x,
                  scale * static_cast<Real>(q[j]), o);
        } else if (rule == matrix_rule::gated) {
          gated(state, a, next, k, q, weight, scale, x, o);
        } else {
          const float* const z = p_.removals.data() + own * keys;
          const float* const u = p_.corrections.data() + own * keys;
          std::fill(seen_.begin(), seen_.end(), Real(0));
          for (index_t j = 0; j < keys; ++j)
            see(state + j * values, Real(1), static_cast<Real>(z[j]), seen_.data());
          for (index_t j = 0; j < keys; ++j)
            correct(state + j * values, a[j * next], weight * static_cast<Real>(k[j]), x,
                    static_cast<Real>(u[j]), seen_.data(), scale * static_cast<Real>(q[j]), o);
        }
      }
    written(outputs);
  }

 private:
  void gated(Real* state, const Real* a, index_t next, const float* k, const float* q, Real weight,
             Real scale, const float* x, Real* o) {
    const index_t keys = p_.size.keys, values = p_.size.values;
    std::fill(seen_.begin(), seen_.end(), Real(0));
    for (index_t j = 0; j < keys; ++j)
      see(state + j * values, a[j * next], static_cast<Real>(k[j]), seen_.data());
    for (index_t i = 0; i < values; ++i) {
      Real& missing = seen_[static_cast<std::size_t>(i)];
      missing = weight * (static_cast<Real>(x[i]) - missing);
    }
    for (index_t j = 0; j < keys; ++j)
      write(state + j * values, a[j * next], static_cast<Real>(k[j]), seen_.data(),
            scale * static_cast<Real>(q[j]), o);
  }

  // Of outer products with V = 1 and a decay for each key: lanes of K are adjacent. The sum is in
  // parts, or it would be a chain that no vector breaks.
  void along_keys(Real* __restrict s, const Real* __restrict a, Real in, const float* __restrict k,
                  const float* __restrict q, Real* __restrict o) const {
    constexpr index_t parts = 16;
    Real part[static_cast<std::size_t>(parts)] = {};
    for (index_t j = 0; j < p_.size.keys; j += parts) EBB_BENCH_APART
    for (index_t l = 0; l < parts; ++l) {
      s[j + l] = a[j + l] * s[j + l] + static_cast<Real>(k[j + l]) * in;
      part[l] += static_cast<Real>(q[j + l]) * s[j + l];
    }
    for (index_t width = parts / 2; width > 0; width /= 2)
      for (index_t l = 0; l < width; ++l) part[l] += part[l + width];
    *o = part[0];
  }
  // S <- a S + k x, o <- o + q S, for one row of the state.
  template <class Value>
  void write(Real* __restrict s, Real a, Real k, const Value* __restrict x, Real q,
             Real* __restrict o) const {
    const index_t values = p_.size.values;
    EBB_BENCH_APART
    for (index_t i = 0; i < values; ++i) {
      s[i] = a * s[i] + k * static_cast<Real>(x[i]);
      o[i] += q * s[i];
    }
  }
  // sum <- sum + z a S
  void see(const Real* __restrict s, Real a, Real z, Real* __restrict sum) const {
    const Real product = z * a;
    const index_t values = p_.size.values;
    EBB_BENCH_APART
    for (index_t i = 0; i < values; ++i) sum[i] += product * s[i];
  }
  // S <- a S + k x + u seen, o <- o + q S
  void correct(Real* __restrict s, Real a, Real k, const float* __restrict x, Real u,
               const Real* __restrict seen, Real q, Real* __restrict o) const {
    const index_t values = p_.size.values;
    EBB_BENCH_APART
    for (index_t i = 0; i < values; ++i) {
      s[i] = a * s[i] + k * static_cast<Real>(x[i]) + u * seen[i];
      o[i] += q * s[i];
    }
  }

  const matrix_arrays& p_;
  std::vector<Real> factors_, seen_;
};

/// The factors of a decay at all its steps, exact to double and rounded.
template <class Real, class Decay>
std::vector<Real> factors_at(const Decay& decay, const matrix_arrays& p, index_t first_position) {
  const index_t channels = p.size.decay_channels();
  std::vector<double> row(static_cast<std::size_t>(channels));
  std::vector<Real> factors;
  factors.reserve(row.size() * static_cast<std::size_t>(p.steps));
  for (index_t t = 0; t < p.steps; ++t) {
    decay.fill({0, t, 0, first_position + t}, ebb::strided_view<double>(row.data(), 1, channels));
    for (const double log_decay : row) factors.push_back(static_cast<Real>(std::exp(log_decay)));
  }
  return factors;
}

/// `count` multiply-adds of vectors, as fast as the processor starts them: chains that do not wait
/// for each other.
inline constexpr int chains = 12;
[[gnu::noinline]] inline void multiply_adds(index_t count) {
  using pack = ebb::detail::pack<float>;
  const volatile float factor = 0.5F, term = 1;
  const auto a = ebb::detail::broadcast<pack>(float{factor});
  const auto b = ebb::detail::broadcast<pack>(float{term});
  pack x[chains];  // each from a number of its own, or they would be one chain
  for (int chain = 0; chain < chains; ++chain)
    x[chain] = ebb::detail::broadcast<pack>(float{term} + static_cast<float>(chain));
  for (index_t i = 0; i < count; i += chains)
#pragma GCC unroll 12
    for (int chain = 0; chain < chains; ++chain) x[chain] = a * x[chain] + b;
  for (int chain = 1; chain < chains; ++chain) x[0] = x[0] + x[chain];
  benchmark::DoNotOptimize(&x);
  benchmark::ClobberMemory();
}

}  // namespace bench
