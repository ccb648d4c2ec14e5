// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/chunk_rows.hpp
/// @brief  Kernels before the products of chunks: sums of logarithms, rows of what is multiplied.
#pragma once

#include <cmath>
#include <type_traits>

#include <ebb/recurrence/backend/cuda/chunk_params.hpp>
#include <ebb/recurrence/backend/cuda/matrix_gate.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// log a_1 + .. + log a_i of the steps of a chunk, in double, and the weights of what is written; a
/// warp for each chunk and head. A decay of 0 counts as e^-10000, so that differences are numbers.
///
/// Accuracy: log a within 4u of the float weight, whatever made it; sums within 2^-46 |sum|.
template <class T, class Gate>
struct chunk_logs {
  using params = chunk_params<T, Gate>;
  static constexpr int warps = 4, threads = warp_size * warps;
  template <class Context>
  struct shared_memory {};

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void run(Context& c, shared_memory<Context>&, const params& p) {
    const index_t number = c.block() * warps + c.warp();
    if (number >= p.chunk_count * p.heads) return;
    const index_t n = number / p.heads, h = number % p.heads;
    const chunk_place place = c.load_cached(p.chunks + n);
    const auto channel = p.gate.channel(c, h);
    double sum = 0;
    for (index_t first = 0; first < p.length; first += warp_size) {
      const index_t i = first + c.lane(), t = place.begin + i;
      double log = 0;
      float weight = 0;
      if (i < place.count) {
        typename Gate::value value[1]{};
        read_gate(c, p.gate, place.batch, t, h, 1, value);
        log = log_of(c, p.gate.weight(c, channel, p.gate.time(c, place.position + i), value[0]));
        weight = 1;
        if (p.weights.data != nullptr)
          weight = static_cast<float>(
              c.template load<1>(p.weights.first(place.batch, h) + t * p.weights.step).v[0]);
        if constexpr (weighing_gate<Gate>)
          weight *= static_cast<float>(
              p.gate.weight_of(c, h, c.template load<1>(p.gate.weight_at(place.batch, t, h)).v[0]));
      }
      EBB_UNROLL for (int d = 1; d < warp_size; d *= 2) {
        const double below = c.shuffle_up(log, d);
        if (c.lane() >= d) log += below;
      }
      if (i < p.length) {
        c.store(p.logs + (p.step_of(n, h) + i), packed<double, 1>{{sum + log}});
        c.store(p.written + (p.step_of(n, h) + i), packed<float, 1>{{weight}});
      }
      sum += c.shuffle(log, warp_size - 1);
    }
  }

  static index_t blocks(const params& p) { return (p.chunk_count * p.heads + warps - 1) / warps; }

 private:
  template <class Context>
  static EBB_DEVICE double log_of(Context& c, float weight) {
    constexpr double log_2 = 0x1.62e42fefa39efp-1, least = -10000;
    const auto w = static_cast<double>(weight);
    const double log = w < 0 ? c.log1p(w) : log_2 * c.log2(w);
    return log < least ? least : log;
  }
};

/// Rows of queries or keys, of unit length where asked for; a warp a row.
template <class T, class Gate, bool Queries>
struct chunk_rows {
  using params = chunk_params<T, Gate>;
  using element = typename params::element;
  static constexpr int warps = 4, threads = warp_size * warps;
  template <class Context>
  struct shared_memory {};

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void run(Context& c, shared_memory<Context>&, const params& p) {
    const index_t number = c.block() * warps + c.warp();
    if (number >= p.chunk_count * p.groups * p.length) return;
    const index_t i = number % p.length, g = number / p.length % p.groups,
                  n = number / p.length / p.groups;
    const chunk_place place = c.load_cached(p.chunks + n);
    const head_rows<const T>& rows = Queries ? p.queries : p.keys;
    const float epsilon = Queries ? p.unit_query : p.unit_key;
    const T* const from = rows.first(place.batch, g * p.each) + (place.begin + i) * rows.step;
    const bool there = i < place.count;
    float factor = 1;
    if (epsilon >= 0) {
      float square = 0;
      for (index_t j = c.lane(); j < p.key_width && there; j += warp_size) {
        const auto x = static_cast<float>(c.template load<1>(from + j).v[0]);
        square = c.multiply_add(x, x, square);
      }
      EBB_UNROLL for (int d = warp_size / 2; d > 0; d /= 2) square += c.shuffle_xor(square, d);
      factor = 1 / std::sqrt(square + epsilon);
    }
    element* const to = (Queries ? p.query_rows : p.key_rows) + number * p.wide_keys;
    for (index_t j = c.lane(); j < p.wide_keys; j += warp_size) {
      element x = static_cast<element>(0.0f);
      if (there && j < p.key_width) {
        const T given = c.template load<1>(from + j).v[0];
        x = epsilon >= 0 ? static_cast<element>(factor * static_cast<float>(given))
                         : static_cast<element>(static_cast<float>(given));
      }
      c.store(to + j, packed<element, 1>{{x}});
    }
  }

  static index_t blocks(const params& p) {
    return (p.chunk_count * p.groups * p.length + warps - 1) / warps;
  }
};

/// Values, as they are and as they come to the end of the chunk.
template <class T, class Gate>
struct chunk_values : chunk_elements<chunk_values<T, Gate>> {
  using params = chunk_params<T, Gate>;
  using element = typename params::element;

  static EBB_DEVICE index_t count(const params& p) {
    return p.chunk_count * p.heads * p.length * p.wide_values;
  }
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void make(Context& c, const params& p, index_t number) {
    const index_t v = number % p.wide_values, rest = number / p.wide_values;
    const index_t i = rest % p.length, h = rest / p.length % p.heads, n = rest / p.length / p.heads;
    const chunk_place place = c.load_cached(p.chunks + n);
    auto value = static_cast<element>(0.0f), late = value;
    if (i < place.count && v < p.value_width) {
      value = static_cast<element>(static_cast<float>(
          c.template load<1>(p.values.first(place.batch, h) + (place.begin + i) * p.values.step + v)
              .v[0]));
      const index_t first = p.step_of(n, h);
      const double rest_of_chunk =
          c.load_cached(p.logs + (first + p.length - 1)) - c.load_cached(p.logs + (first + i));
      late = static_cast<element>(
          exp_of_sum(c, rest_of_chunk) *
          (c.load_cached(p.written + (first + i)) * static_cast<float>(value)));
    }
    c.store(p.value_rows + number, packed<element, 1>{{value}});
    c.store(p.late_values + p.beside(n, p.length, i, h, v), packed<element, 1>{{late}});
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
