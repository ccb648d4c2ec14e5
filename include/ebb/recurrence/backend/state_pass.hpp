// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/state_pass.hpp
/// @brief  One pass over a block of a matrix state for several steps: the inner loops.
#pragma once

#include <ebb/core/pack.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Which recurrence a pass is for: outer products; the gated delta rule, which also needs the
/// products of the next keys with the state; the delta rule with corrections of its own.
enum class state_rule { outer, gated, delta };

/// How a pass decays row j of the state, by numbers d and base:
enum class row_decay {
  factor,    ///< S <- d S
  near_one,  ///< S <- S + d S, d = a - 1: slow timescales keep their digits
  mixed      ///< S <- base S + d S, base 0 or 1
};

/// The rows that a pass reads: number j of step e at [j * Steps + e]. A pointer for each step would
/// be more than a processor has registers for, and g++ keeps the others in those of vectors, whose
/// moves take the place of multiply-adds. Of the decay one number for all rows of the state where
/// `decay_stride` is 0.
template <class Real>
struct pass_rows {
  const Real* query;
  const Real* key;
  const Real* correction;  ///< the delta rule only
  const Real* removal;     ///< both delta rules
  const Real* decay;
  const Real* base;  ///< row_decay::mixed only
  index_t decay_stride;
};

/// `Packs` packs of numbers for each of `Steps` steps.
template <class Real, int Steps, int Packs>
struct step_packs {
  pack<Real> at[Steps][Packs];
};

// The loops over steps and packs below are short and constant; only unrolled do their arrays live in
// registers, and g++ needs to be told to.

/// For the block S of `keys` rows, `row` apart, of `Packs` packs each:
///
///   read[e] = sum_j query[j, e] S[j]
///   S[j] <- decay of S[j] + sum_e key[j, e] in[e] + sum_e correction[j, e] seen[e]
///   next[e] = sum_j removal[j, e] S[j], of the next steps                  (if Next)
///
/// Where `soon` is not null its rows are asked for beside: a block that a later pass is over.
/// A single step is read after it is written, several before. A row is fetched and put back once
/// for all steps: 2 + 1/Steps operations of vectors a pack and step for outer products, where one
/// step at a time takes 3; the state's loads and stores shrink alike.
template <state_rule Rule, row_decay Decay, bool Next, int Steps, int Packs, class Real>
[[gnu::noinline]] void pass(Real* state, const Real* soon, index_t row, index_t keys,
                            const pass_rows<Real>& given, const Real* removal_of_next,
                            const step_packs<Real, Steps, Packs>& in,
                            const step_packs<Real, Steps, Packs>& seen,
                            step_packs<Real, Steps, Packs>& read,
                            step_packs<Real, Steps, Packs>& next) {
  using V = pack<Real>;
  constexpr int lanes = pack_of<Real>::lanes;
  V sum[Steps][Packs], ahead[Steps][Packs], add[Steps][Packs], fix[Steps][Packs];
#pragma GCC unroll 4
  for (int e = 0; e < Steps; ++e)
#pragma GCC unroll 4
    for (int v = 0; v < Packs; ++v) {
      sum[e][v] = ahead[e][v] = V{};
      add[e][v] = in.at[e][v];
      if constexpr (Rule == state_rule::delta) fix[e][v] = seen.at[e][v];
    }
  // Copies: for all that a compiler knows, a stored row might change what they point to.
  pass_rows<Real> rows = given;
  const index_t end = keys * Steps;
  for (index_t at = 0; at < end; at += Steps, state += row) {
    V s[Packs];
#pragma GCC unroll 4
    for (int v = 0; v < Packs; ++v) s[v] = load<V>(state + v * lanes);
    if (soon != nullptr) {
      for (int v = 0; v < Packs; ++v) prefetch(soon + v * lanes);
      soon += row;
    }
    if constexpr (Steps > 1) {
#pragma GCC unroll 4
      for (int e = 0; e < Steps; ++e) {
        const V q = broadcast<V>(rows.query[at + e]);
#pragma GCC unroll 4
        for (int v = 0; v < Packs; ++v) sum[e][v] = q * s[v] + sum[e][v];
      }
    }
    const V d = broadcast<V>(*rows.decay);
#pragma GCC unroll 4
    for (int v = 0; v < Packs; ++v) {
      if constexpr (Decay == row_decay::factor)
        s[v] = d * s[v];
      else if constexpr (Decay == row_decay::near_one)
        s[v] = d * s[v] + s[v];
      else
        s[v] = d * s[v] + broadcast<V>(*rows.base) * s[v];
    }
#pragma GCC unroll 4
    for (int e = 0; e < Steps; ++e) {
      const V k = broadcast<V>(rows.key[at + e]);
#pragma GCC unroll 4
      for (int v = 0; v < Packs; ++v) s[v] = k * add[e][v] + s[v];
    }
    if constexpr (Rule == state_rule::delta) {
#pragma GCC unroll 4
      for (int e = 0; e < Steps; ++e) {
        const V u = broadcast<V>(rows.correction[at + e]);
#pragma GCC unroll 4
        for (int v = 0; v < Packs; ++v) s[v] = u * fix[e][v] + s[v];
      }
    }
    if constexpr (Steps == 1) {
      const V q = broadcast<V>(rows.query[at]);
#pragma GCC unroll 4
      for (int v = 0; v < Packs; ++v) sum[0][v] = q * s[v] + sum[0][v];
    }
#pragma GCC unroll 4
    for (int v = 0; v < Packs; ++v) store(state + v * lanes, s[v]);
    if constexpr (Next) {
#pragma GCC unroll 4
      for (int e = 0; e < Steps; ++e) {
        const V z = broadcast<V>(removal_of_next[at + e]);
#pragma GCC unroll 4
        for (int v = 0; v < Packs; ++v) ahead[e][v] = z * s[v] + ahead[e][v];
      }
    }
    rows.decay += rows.decay_stride;
    if constexpr (Decay == row_decay::mixed) rows.base += rows.decay_stride;
  }
#pragma GCC unroll 4
  for (int e = 0; e < Steps; ++e)
#pragma GCC unroll 4
    for (int v = 0; v < Packs; ++v) {
      read.at[e][v] = sum[e][v];
      if constexpr (Next) next.at[e][v] = ahead[e][v];
    }
}

/// products[e] = sum_j removal[j, e] S[j], for the first steps of a panel.
template <int Steps, int Packs, class Real>
[[gnu::noinline]] void look(const Real* state, index_t row, index_t keys, const Real* removal,
                            step_packs<Real, Steps, Packs>& products) {
  using V = pack<Real>;
  constexpr int lanes = pack_of<Real>::lanes;
  V sum[Steps][Packs];
#pragma GCC unroll 4
  for (int e = 0; e < Steps; ++e)
#pragma GCC unroll 4
    for (int v = 0; v < Packs; ++v) sum[e][v] = V{};
  for (index_t j = 0; j < keys; ++j, state += row, removal += Steps) {
#pragma GCC unroll 4
    for (int e = 0; e < Steps; ++e) {
      const V z = broadcast<V>(removal[e]);
#pragma GCC unroll 4
      for (int v = 0; v < Packs; ++v) sum[e][v] = z * load<V>(state + v * lanes) + sum[e][v];
    }
  }
#pragma GCC unroll 4
  for (int e = 0; e < Steps; ++e)
#pragma GCC unroll 4
    for (int v = 0; v < Packs; ++v) products.at[e][v] = sum[e][v];
}

}  // namespace ebb::inline EBB_ABI::detail
