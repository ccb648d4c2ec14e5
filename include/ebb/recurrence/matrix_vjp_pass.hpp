// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/matrix_vjp_pass.hpp
/// @brief  The way back through matrix states: the passes over a state for one step.
#pragma once

#include <algorithm>

#include <ebb/core/pack.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Which recurrence goes back: outer products, the gated delta rule, or the general delta rule.
enum class vjp_rule { outer, gated, corrected };

/// How many packs of keys a panel has.
inline constexpr int panel_packs = registers >= 32 ? 2 : 1;

/// How matrix states and their cotangents lie here: in panels of a few packs of keys, a row for
/// each lane of V, so that sums over lanes, of which there are up to five, need no sums across a
/// register, and a pass reads memory in order. What lies behind K is 0.
template <class Real>
struct panels {
  static constexpr index_t pack_lanes = pack_of<Real>::lanes, width = panel_packs * pack_lanes;
  index_t lanes, row;  ///< V, and K up to a multiple of a pack

  static constexpr panels of(index_t keys, index_t values) {
    return {values, (keys + pack_lanes - 1) / pack_lanes * pack_lanes};
  }
  constexpr index_t size() const { return lanes * row; }
  /// Where element (j, i) of the state is.
  constexpr index_t place(index_t j, index_t i) const {
    const index_t first = j / width * width;
    return first * lanes + i * (row - first < width ? row - first : width) + (j - first);
  }
};

// f.template operator()<Packs>(first) for the panels, `first` their first key.
template <class Real, class F>
[[gnu::always_inline]] inline void each_panel(const panels<Real>& size, const F& f) {
  static_assert(panel_packs <= 2, "what is left over is one pack");
  constexpr index_t width = panels<Real>::width;
  index_t first = 0;
  for (; first + width <= size.row; first += width) f.template operator()<panel_packs>(first);
  if (first < size.row) f.template operator()<1>(first);
}

/// One sum for each lane of V from its pack of parts.
template <class Real>
void sum_parts(const Real* parts, index_t lanes, Real* sums) {
  for (index_t i = 0; i < lanes; ++i)
    sums[i] = sum_of_lanes<Real>(load<pack<Real>>(parts + i * pack_of<Real>::lanes));
}

/// The sum of a row of packs.
template <class Real>
Real sum_of(const Real* row, index_t count) {
  using Pack = pack<Real>;
  constexpr index_t lanes = pack_of<Real>::lanes;
  Pack sums{};
  for (index_t j = 0; j < count; j += lanes) sums = load<Pack>(row + j) + sums;
  return sum_of_lanes<Real>(sums);
}

/// sum x[i] y[i], in the lanes of a pack.
template <class Real>
Real dot(const Real* x, const Real* y, index_t count) {
  using Pack = pack<Real>;
  constexpr index_t lanes = pack_of<Real>::lanes;
  Pack sums{};
  index_t i = 0;
  for (; i + lanes <= count; i += lanes) sums = load<Pack>(x + i) * load<Pack>(y + i) + sums;
  Real sum = sum_of_lanes<Real>(sums);
  for (; i < count; ++i) sum += x[i] * y[i];
  return sum;
}

/// parts[i] = the parts of sum_j row[j] S[i][j].
template <class Real>
void look_at(const panels<Real>& size, const Real* state, const Real* row, Real* parts) {
  using Pack = pack<Real>;
  constexpr index_t lanes = pack_of<Real>::lanes;
  std::fill_n(parts, size.lanes * lanes, Real(0));
  each_panel(size, [&]<int Packs>(index_t first) {
    const Real* at = state + first * size.lanes;
    for (index_t i = 0; i < size.lanes; ++i) {
      Pack sum = load<Pack>(parts + i * lanes);
      for (int p = 0; p < Packs; ++p, at += lanes)
        sum = load<Pack>(row + first + p * lanes) * load<Pack>(at) + sum;
      store(parts + i * lanes, sum);
    }
  });
}

/// What a step forward reads: K numbers a row, V numbers in lanes.
template <class Real>
struct forth_rows {
  const Real *decay, *base;  ///< S <- base S + decay S
  const Real *key, *correction;
  const Real *written, *seen;  ///< lanes: c v, or what the gated rule writes; z^T S
  const Real* next_removal;    ///< of the step after; null where it is not looked at
};

/// to = base S + decay S + key written^T + correction seen^T, and what the next step sees of it.
template <vjp_rule Rule, class Real>
[[gnu::noinline]] void go_forth(const panels<Real>& size, const Real* from, Real* to,
                                const forth_rows<Real>& rows, Real* parts) {
  using Pack = pack<Real>;
  constexpr index_t lanes = pack_of<Real>::lanes;
  const bool next = rows.next_removal != nullptr;
  if (next) std::fill_n(parts, size.lanes * lanes, Real(0));
  each_panel(size, [&]<int Packs>(index_t first) {
    Pack decay[Packs], base[Packs], key[Packs], fix[Packs], removal[Packs];
    for (int p = 0; p < Packs; ++p) {
      const index_t at = first + p * lanes;
      decay[p] = load<Pack>(rows.decay + at), base[p] = load<Pack>(rows.base + at);
      key[p] = load<Pack>(rows.key + at);
      if constexpr (Rule == vjp_rule::corrected) fix[p] = load<Pack>(rows.correction + at);
      removal[p] = next ? load<Pack>(rows.next_removal + at) : Pack{};
    }
    // Here, so that no store makes the compiler fetch them again.
    const index_t count = size.lanes;
    const Real *const written = rows.written, *const seen_in = rows.seen;
    const Real* x_at = from + first * count;
    Real *s_at = to + first * count, *part = parts;
    for (index_t i = 0; i < count; ++i) {
      const Pack in = broadcast<Pack>(written[i]);
      [[maybe_unused]] Pack seen{}, sum{};
      if constexpr (Rule == vjp_rule::corrected) seen = broadcast<Pack>(seen_in[i]);
      for (int p = 0; p < Packs; ++p, x_at += lanes, s_at += lanes) {
        const Pack x = load<Pack>(x_at);
        Pack s = decay[p] * x + base[p] * x;
        s = key[p] * in + s;
        if constexpr (Rule == vjp_rule::corrected) s = fix[p] * seen + s;
        store(s_at, s);
        if constexpr (Rule != vjp_rule::outer) sum = removal[p] * s + sum;
      }
      if constexpr (Rule != vjp_rule::outer)
        if (next) {
          store(part, load<Pack>(part) + sum);
          part += lanes;
        }
    }
  });
}

/// What a step back reads of the step at hand and of the one before it, to which it hands on G.
template <class Real>
struct back_rows {
  const Real *decay, *base;
  const Real* removal;         ///< z; of the gated rule the keys
  const Real* output;          ///< lanes: the cotangents of the outputs
  const Real *written, *seen;  ///< lanes: v, or v - D^T k of the gated rule; z^T S
  const Real* fix;             ///< lanes: G^T u; of the gated rule c G^T k
  // The step before.
  const Real *query, *key, *correction;
  const Real* scaled_output;  ///< lanes
};

/// Where a step back writes: K sums each, and parts of one sum for each lane.
template <class Real>
struct back_sums {
  Real *query, *key, *removal, *correction, *decay;
  Real *key_parts, *correction_parts;  ///< of the step before: G^T k, G^T u
};

/// Opens a step, where the one after it did not: G += q (scale do)^T, G^T k and G^T u.
template <vjp_rule Rule, class Real>
[[gnu::noinline]] void open_step(const panels<Real>& size, Real* cotangent,
                                 const back_rows<Real>& rows, const back_sums<Real>& sums) {
  using Pack = pack<Real>;
  constexpr index_t lanes = pack_of<Real>::lanes;
  constexpr bool corrected = Rule == vjp_rule::corrected;
  std::fill_n(sums.key_parts, size.lanes * lanes, Real(0));
  if constexpr (corrected) std::fill_n(sums.correction_parts, size.lanes * lanes, Real(0));
  each_panel(size, [&]<int Packs>(index_t first) {
    Real* at = cotangent + first * size.lanes;
    for (index_t i = 0; i < size.lanes; ++i) {
      const Pack out = broadcast<Pack>(rows.scaled_output[i]);
      Pack by_key = load<Pack>(sums.key_parts + i * lanes), by_correction{};
      if constexpr (corrected) by_correction = load<Pack>(sums.correction_parts + i * lanes);
      for (int p = 0; p < Packs; ++p, at += lanes) {
        const index_t j = first + p * lanes;
        const Pack g = load<Pack>(rows.query + j) * out + load<Pack>(at);
        store(at, g);
        by_key = load<Pack>(rows.key + j) * g + by_key;
        if constexpr (corrected)
          by_correction = load<Pack>(rows.correction + j) * g + by_correction;
      }
      store(sums.key_parts + i * lanes, by_key);
      if constexpr (corrected) store(sums.correction_parts + i * lanes, by_correction);
    }
  });
}

/// One step back, with P the state before it:
///
///   query = sum_i P[i] do[i]              key = sum_i G[i] written[i]
///   correction = sum_i G[i] seen[i]       removal = sum_i P[i] fix[i]
///   G[i] -= k fix[i]                      (the gated rule)
///   decay = sum_i G[i] P[i]
///   G[i] <- base G[i] + decay G[i] + z fix[i]
///
/// and the opening of the step before (Next).
template <vjp_rule Rule, bool Next, class Real>
[[gnu::noinline]] void go_back(const panels<Real>& size, const Real* state, Real* cotangent,
                               const back_rows<Real>& rows, const back_sums<Real>& sums) {
  using Pack = pack<Real>;
  constexpr index_t lanes = pack_of<Real>::lanes;
  constexpr bool gated = Rule == vjp_rule::gated, corrected = Rule == vjp_rule::corrected;
  if constexpr (Next) {
    std::fill_n(sums.key_parts, size.lanes * lanes, Real(0));
    if constexpr (corrected) std::fill_n(sums.correction_parts, size.lanes * lanes, Real(0));
  }
  each_panel(size, [&]<int Packs>(index_t first) {
    [[maybe_unused]] Pack removal[Packs], q[Packs], k[Packs], u[Packs];
    [[maybe_unused]] Pack d_removal[Packs], d_correction[Packs];
    Pack decay[Packs], base[Packs], d_query[Packs], d_key[Packs], d_decay[Packs];
    for (int p = 0; p < Packs; ++p) {
      const index_t at = first + p * lanes;
      decay[p] = load<Pack>(rows.decay + at), base[p] = load<Pack>(rows.base + at);
      if constexpr (gated || corrected) removal[p] = load<Pack>(rows.removal + at);
      if constexpr (Next) {
        q[p] = load<Pack>(rows.query + at), k[p] = load<Pack>(rows.key + at);
        if constexpr (corrected) u[p] = load<Pack>(rows.correction + at);
      }
      d_query[p] = d_key[p] = d_decay[p] = d_removal[p] = d_correction[p] = Pack{};
    }
    // Here, so that no store makes the compiler fetch them again.
    const index_t count = size.lanes;
    const Real *const output = rows.output, *const written = rows.written;
    const Real *const seen_in = rows.seen, *const fix_in = rows.fix;
    const Real* const next_output = rows.scaled_output;
    const Real* x_at = state + first * count;
    Real *g_at = cotangent + first * count, *part = sums.key_parts, *more = sums.correction_parts;
    for (index_t i = 0; i < count; ++i) {
      const Pack out = broadcast<Pack>(output[i]), in = broadcast<Pack>(written[i]);
      [[maybe_unused]] Pack seen{}, fix{}, next_out{}, by_key{}, by_correction{};
      if constexpr (corrected) seen = broadcast<Pack>(seen_in[i]);
      if constexpr (gated || corrected) fix = broadcast<Pack>(fix_in[i]);
      if constexpr (Next) next_out = broadcast<Pack>(next_output[i]);
      for (int p = 0; p < Packs; ++p, x_at += lanes, g_at += lanes) {
        const Pack x = load<Pack>(x_at);
        Pack g = load<Pack>(g_at);
        d_query[p] = x * out + d_query[p];
        d_key[p] = g * in + d_key[p];
        if constexpr (corrected) d_correction[p] = g * seen + d_correction[p];
        if constexpr (gated || corrected) d_removal[p] = x * fix + d_removal[p];
        if constexpr (gated) g = g - removal[p] * fix;
        d_decay[p] = g * x + d_decay[p];
        g = decay[p] * g + base[p] * g;
        if constexpr (corrected) g = removal[p] * fix + g;
        if constexpr (Next) {
          g = q[p] * next_out + g;
          by_key = k[p] * g + by_key;
          if constexpr (corrected) by_correction = u[p] * g + by_correction;
        }
        store(g_at, g);
      }
      if constexpr (Next) {
        store(part, load<Pack>(part) + by_key), part += lanes;
        if constexpr (corrected) store(more, load<Pack>(more) + by_correction), more += lanes;
      }
    }
    for (int p = 0; p < Packs; ++p) {
      const index_t at = first + p * lanes;
      store(sums.query + at, d_query[p]);
      store(sums.key + at, d_key[p]);
      store(sums.decay + at, d_decay[p]);
      if constexpr (gated || corrected) store(sums.removal + at, d_removal[p]);
      if constexpr (corrected) store(sums.correction + at, d_correction[p]);
    }
  });
}

}  // namespace ebb::inline EBB_ABI::detail
