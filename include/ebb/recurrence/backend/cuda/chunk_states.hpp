// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/chunk_states.hpp
/// @brief  Kernels between the products of chunks: the mask, states from chunk to chunk, outputs.
#pragma once

#include <ebb/recurrence/backend/cuda/chunk_params.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// What step i of a chunk reads of step j <= i: q_i k_j e^(L_i - L_j) c_j, and 0 of later ones. The
/// exponent is the sum from j to i: at most 0 where decays are at most 1.
template <class T, class Gate>
struct chunk_mask : chunk_elements<chunk_mask<T, Gate>> {
  using params = chunk_params<T, Gate>;
  using element = typename params::element;

  static EBB_DEVICE index_t count(const params& p) {
    return p.chunk_count * p.heads * p.length * p.length;
  }
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void make(Context& c, const params& p, index_t number) {
    const index_t j = number % p.length, rest = number / p.length;
    const index_t i = rest % p.length, row = rest / p.length;
    const index_t h = row % p.heads, n = row / p.heads;
    auto x = static_cast<element>(0.0f);
    if (j <= i && i < c.load_cached(p.chunks + n).count) {
      const index_t first = p.step_of(n, h), group = n * p.groups + h / p.each;
      const double log = c.load_cached(p.logs + (first + i)) - c.load_cached(p.logs + (first + j));
      const float overlap = c.load_cached(p.overlaps + ((group * p.length + i) * p.length + j));
      x = static_cast<element>(exp_of_sum(c, log) *
                               (c.load_cached(p.written + (first + j)) * overlap));
    }
    c.store(p.masked + number, packed<element, 1>{{x}});
  }
};

/// States from chunk to chunk, S <- e^L S + what the chunk adds: a thread an element of the state
/// of a sequence. Slow decays as S + (e^L - 1) S.
template <class T, class Gate>
struct chunk_pass : chunk_elements<chunk_pass<T, Gate>> {
  using params = chunk_params<T, Gate>;
  using element = typename params::element;

  static EBB_DEVICE index_t count(const params& p) {
    return p.chain_count * p.heads * p.wide_keys * p.wide_values;
  }
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void make(Context& c, const params& p, index_t number) {
    const index_t v = number % p.wide_values, rest = number / p.wide_values;
    const index_t k = rest % p.wide_keys, h = rest / p.wide_keys % p.heads;
    const chunk_chain chain = c.load_cached(p.chains + rest / p.wide_keys / p.heads);
    const bool there = k < p.key_width && v < p.value_width;
    const index_t place = (h * p.key_width + k) * p.value_width + v;
    float s = 0;
    if (there && p.where.initial.data != nullptr)
      s = c.template load<1>(p.where.initial.at(chain.batch, chain.sequence, place)).v[0];
    for (index_t n = chain.first; n < chain.first + chain.count; ++n) {
      const chunk_place here = c.load_cached(p.chunks + n);
      if (here.erased) s = 0;
      const index_t at = p.beside(n, p.wide_keys, k, h, v);
      c.store(p.states + at, packed<element, 1>{{static_cast<element>(s)}});
      if (!there) continue;
      const double log = c.load_cached(p.logs + (p.step_of(n, h) + p.length - 1));
      const float added = c.load_cached(p.added + at);
      // An infinite state would meet its own decrement.
      s = log > -0.5 && s - s == 0 ? s + c.multiply_add(c.expm1(static_cast<float>(log)), s, added)
                                   : c.multiply_add(exp_of_sum(c, log), s, added);
      if (here.kept > 0)
        c.store(p.where.snapshots.at(chain.batch, here.kept - 1, place), packed<float, 1>{{s}});
    }
    if (there && p.where.final.data != nullptr)
      c.store(p.where.final.at(chain.batch, chain.sequence, place), packed<float, 1>{{s}});
  }
};

/// o = scale (e^L_i q_i S + what its own chunk gives) + D v.
template <class T, class Gate>
struct chunk_outputs : chunk_elements<chunk_outputs<T, Gate>> {
  using params = chunk_params<T, Gate>;

  static EBB_DEVICE index_t count(const params& p) {
    return p.chunk_count * p.heads * p.length * p.value_width;
  }
  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void make(Context& c, const params& p, index_t number) {
    const index_t v = number % p.value_width, rest = number / p.value_width;
    const index_t i = rest % p.length, h = rest / p.length % p.heads, n = rest / p.length / p.heads;
    const chunk_place place = c.load_cached(p.chunks + n);
    if (i >= place.count) return;
    const index_t row = (p.step_of(n, h) + i) * p.wide_values + v;
    const float decay = exp_of_sum(c, c.load_cached(p.logs + (p.step_of(n, h) + i)));
    const float before = c.load_cached(p.from_states + p.beside(n, p.length, i, h, v));
    const float own = c.load_cached(p.from_steps + row);
    float o = p.scale * c.multiply_add(decay, before, own);
    if (p.skip != nullptr)
      o = c.multiply_add(
          static_cast<float>(c.load_cached(p.skip + (h * p.skip_head + v * p.skip_lane))),
          static_cast<float>(c.load_cached(p.value_rows + row)), o);
    c.store(p.outputs.first(place.batch, h) + ((place.begin + i) * p.outputs.step + v),
            packed<T, 1>{{static_cast<T>(o)}});
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
