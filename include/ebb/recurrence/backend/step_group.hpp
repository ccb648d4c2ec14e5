// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/step_group.hpp
/// @brief  Several steps of a matrix state at once: what they do to each other, and the rows and
///   decays of their common pass.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>

#include <ebb/core/exponential.hpp>
#include <ebb/core/pack.hpp>
#include <ebb/decay/concept.hpp>
#include <ebb/decay/weight.hpp>
#include <ebb/recurrence/backend/state_pass.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Numbers for pairs of steps of a group: [later][earlier].
template <class Real, int Steps>
using step_pairs = Real[Steps][Steps];

/// The products over the keys of rows of a group. A pass of several steps reads the state as it was
/// before the first, so what they tell each other goes by way of these.
template <class Real, int Steps>
struct pair_products {
  step_pairs<Real, Steps> query_key, query_correction, removal_key, removal_correction;
};

/// `Steps` steps of one head, ready for a pass. With w(s..e) the decay of the steps s .. e:
template <class Real, int Steps>
struct step_group {
  pass_rows<Real, Steps> rows;  ///< `removal`: of this group
  row_decay decay;
  Real weight[Steps];                ///< c_e
  Real from_start[Steps];            ///< times what is read of the state: w(first..e)
  Real seen_by[Steps];               ///< the same of the removals' products
  Real to_end[Steps];                ///< times what is written: w(e+1..last)
  Real decay_to_end[Steps];          ///< the same of the corrections
  pair_products<Real, Steps> pairs;  ///< with the decays between them; of several steps only

  /// Multiplies the scale into what is read, and the weights into what is written, save under the
  /// gated rule, where they weigh the error.
  void fold(state_rule rule, const Real& scale) {
    for (int e = 0; e < Steps; ++e) {
      from_start[e] *= scale;
      for (int s = 0; Steps > 1 && s <= e; ++s) {
        const Real c = rule == state_rule::gated ? Real(1) : weight[s];
        pairs.query_key[e][s] *= scale * c;
        if (rule == state_rule::delta) {
          pairs.query_correction[e][s] *= scale;
          pairs.removal_key[e][s] *= c;
        }
      }
    }
    for (int e = 0; e < Steps; ++e) {
      decay_to_end[e] = to_end[e];
      if (rule != state_rule::gated) to_end[e] *= weight[e];
    }
  }
};

/// What logarithms of a group are added in: for float double, wider types keep their own.
template <class Real>
using log_sum = std::conditional_t<has_exponential<Real>, double, Real>;

/// A factor, 0 for one below the smallest normal number: multiplied with a whole state it would make
/// each product many times slower.
template <class Real>
[[gnu::always_inline]] inline Real flushed(const Real& x) {
  const Real size = x < 0 ? Real(-x) : x;
  return size < std::numeric_limits<Real>::min() ? Real(0) : x;  // NaN stays NaN
}

/// The decay of a row for a pass, from x = -log a: d = a, base = 0, or d = a - 1, base = 1 where
/// a >= 1/2. NaN stays NaN.
template <class Real>
struct pass_decay {
  Real d, base;
};
template <class Real>
[[gnu::always_inline]] inline pass_decay<Real> pass_decay_of(const log_sum<Real>& x) {
  if constexpr (has_exponential<Real>) {
    const bool near = x <= 0x1.62e42fefa39efp-1;
    const double finite = choose(x > 1e4, 1e4, x);  // -log 0 is infinite
    const decayed<Real> d = decay_of<Real>(finite);
    const auto number = static_cast<Real>(finite - finite);
    return {choose(near, Real(-d.m), d.a) + number, choose(near, Real(1), Real(0))};
  } else {
    using std::exp;
    using std::expm1;
    if (x <= Real(0x1.62e42fefa39efp-1)) return {expm1(Real(-x)), Real(1)};
    return {exp(Real(-x)), Real(0)};
  }
}

/// The product of two rows of K numbers.
template <class Real>
Real over_keys(const Real* x, const Real* y, index_t keys) {
  using V = pack<Real>;
  constexpr index_t lanes = pack_of<Real>::lanes;
  V sum{};
  index_t j = 0;
  for (; j + lanes <= keys; j += lanes) sum = load<V>(x + j) * load<V>(y + j) + sum;
  Real rest = sum_of_lanes<Real>(sum);
  for (; j < keys; ++j) rest += x[j] * y[j];
  return rest;
}

/// f(product, same product) for all that the rule needs.
template <state_rule Rule, class One, class Other, int Steps, class F>
[[gnu::always_inline]] inline void each_product(pair_products<One, Steps>& one,
                                                pair_products<Other, Steps>& other, const F& f) {
#pragma GCC unroll 4
  for (int e = 0; e < Steps; ++e)
#pragma GCC unroll 4
    for (int s = 0; s <= e; ++s) {
      f(one.query_key[e][s], other.query_key[e][s]);
      if constexpr (Rule == state_rule::delta)
        f(one.query_correction[e][s], other.query_correction[e][s]);
      if (s == e) continue;
      if constexpr (Rule != state_rule::outer) f(one.removal_key[e][s], other.removal_key[e][s]);
      if constexpr (Rule == state_rule::delta)
        f(one.removal_correction[e][s], other.removal_correction[e][s]);
    }
}

/// Adds the sums of the lanes, as many products at a time as a pack has lanes.
template <state_rule Rule, class V, class Real, int Steps>
[[gnu::always_inline]] inline void add_products(pair_products<V, Steps>& sum,
                                                pair_products<Real, Steps>& products) {
  if constexpr (std::is_same_v<V, Real>) {
    each_product<Rule>(
        products, sum,
        [](Real & to, const Real& from) __attribute__((always_inline)) { to += from; });
  } else {
    constexpr int lanes = static_cast<int>(sizeof(V) / sizeof(Real));
    constexpr int pairs = Steps * (Steps + 1) / 2, before = pairs - Steps;
    constexpr int count = Rule == state_rule::outer   ? pairs
                          : Rule == state_rule::gated ? pairs + before
                                                      : 2 * (pairs + before);
    constexpr int up = (count + lanes - 1) / lanes * lanes;
    V list[static_cast<std::size_t>(up)] = {};
    int n = 0;
    each_product<Rule>(
        sum, products, [&](const V& from, const Real&) __attribute__((always_inline)) {
          list[n++] = from;
        });
    Real total[static_cast<std::size_t>(up)];
    for (int i = 0; i < up; i += lanes) store(total + i, sums_of_packs<lanes / 2>(list + i));
    n = 0;
    each_product<Rule>(
        products,
        sum, [&](Real & to, const V&) __attribute__((always_inline)) { to += total[n++]; });
  }
}

/// Adds to the products over the keys j, j + lanes, ... up to `end`, of packs V.
template <state_rule Rule, class V, class Real, int Steps>
index_t multiply_rows(const pass_rows<Real, Steps>& rows, index_t j, index_t end,
                      pair_products<Real, Steps>& products) {
  constexpr auto lanes = static_cast<index_t>(sizeof(V) / sizeof(Real));
  pair_products<V, Steps> sum{};
  for (; j + lanes <= end; j += lanes) {
    V q[Steps], z[Steps], k[Steps], u[Steps];
#pragma GCC unroll 4
    for (int e = 0; e < Steps; ++e) {
      q[e] = load<V>(rows.query[e] + j);
      k[e] = load<V>(rows.key[e] + j);
      z[e] = Rule == state_rule::outer ? V{} : load<V>(rows.removal[e] + j);
      u[e] = Rule == state_rule::delta ? load<V>(rows.correction[e] + j) : V{};
    }
#pragma GCC unroll 4
    for (int e = 0; e < Steps; ++e)
#pragma GCC unroll 4
      for (int s = 0; s <= e; ++s) {
        sum.query_key[e][s] = q[e] * k[s] + sum.query_key[e][s];
        if constexpr (Rule == state_rule::delta)
          sum.query_correction[e][s] = q[e] * u[s] + sum.query_correction[e][s];
        if (s == e) continue;
        if constexpr (Rule != state_rule::outer)
          sum.removal_key[e][s] = z[e] * k[s] + sum.removal_key[e][s];
        if constexpr (Rule == state_rule::delta)
          sum.removal_correction[e][s] = z[e] * u[s] + sum.removal_correction[e][s];
      }
  }
  add_products<Rule>(sum, products);
  return j;
}

/// The products over K keys of the rows of a group, without decays.
template <state_rule Rule, class Real, int Steps>
pair_products<Real, Steps> products_of_rows(const pass_rows<Real, Steps>& rows, index_t keys) {
  pair_products<Real, Steps> products{};
  const index_t j = multiply_rows<Rule, pack<Real>>(rows, 0, keys, products);
  multiply_rows<Rule, Real>(rows, j, keys, products);
  return products;
}

/// Decays of one number a step: the rows of the group stay as they are.
/// @param plain  the products of the rows
/// @param a      the factor of each step
template <state_rule Rule, class Real, int Steps>
void decay_by_head(step_group<Real, Steps>& group, const pair_products<Real, Steps>& plain,
                   const Real* a) {
  Real whole = 1;
  for (int e = 0; e < Steps; ++e) {
    if constexpr (Rule == state_rule::delta) group.seen_by[e] = whole;
    whole = flushed(Real(whole * a[e]));
    group.from_start[e] = whole;
    if constexpr (Rule == state_rule::gated) group.seen_by[e] = whole;
  }
  for (int s = 0; s < Steps; ++s) {
    Real between = 1;
    for (int e = s; e < Steps; ++e) {
      if (e > s && Rule == state_rule::delta) {
        group.pairs.removal_key[e][s] = between * plain.removal_key[e][s];
        group.pairs.removal_correction[e][s] = between * plain.removal_correction[e][s];
      }
      if (e > s) between = flushed(Real(between * a[e]));
      if (e > s && Rule == state_rule::gated)
        group.pairs.removal_key[e][s] = between * plain.removal_key[e][s];
      group.pairs.query_key[e][s] = between * plain.query_key[e][s];
      if constexpr (Rule == state_rule::delta)
        group.pairs.query_correction[e][s] = between * plain.query_correction[e][s];
    }
    group.to_end[s] = between;
  }
}

/// Where the rows of a group go that its decays are multiplied into: K numbers each.
template <class Real, int Steps>
struct group_storage {
  Real *query[Steps], *key[Steps], *correction[Steps], *removal[Steps];
};

/// For the keys j, j + lanes, ... up to `end`: multiplies the decays into the rows, and adds to the
/// products. `target` may be the rows given.
/// @param factors  of each step a row of K
/// @param all      unless null, gets their products
template <state_rule Rule, class V, class Real, int Steps>
[[gnu::always_inline]] inline index_t decay_rows(const pass_rows<Real, Steps>& given,
                                                 const Real* const (&factors)[Steps], index_t j,
                                                 index_t end,
                                                 const group_storage<Real, Steps>& target,
                                                 Real* all, pair_products<Real, Steps>& products) {
  constexpr auto lanes = static_cast<index_t>(sizeof(V) / sizeof(Real));
  // Copies: for all that a compiler knows, a stored row might change what they point to.
  const pass_rows<Real, Steps> from = given;
  const group_storage<Real, Steps> to = target;
  const Real* a[Steps];
  for (int e = 0; e < Steps; ++e) a[e] = factors[e];
  pair_products<V, Steps> sum{};
  for (; j + lanes <= end; j += lanes) {
    V w[Steps], q[Steps], z[Steps], k[Steps], u[Steps];
#pragma GCC unroll 4
    for (int e = 0; e < Steps; ++e) {
      w[e] = load<V>(a[e] + j);
      q[e] = load<V>(from.query[e] + j);
      k[e] = load<V>(from.key[e] + j);
      if constexpr (Rule != state_rule::outer) z[e] = load<V>(from.removal[e] + j);
      if constexpr (Rule == state_rule::delta) u[e] = load<V>(from.correction[e] + j);
    }
#pragma GCC unroll 4
    for (int s = 0; s < Steps; ++s) {
#pragma GCC unroll 4
      for (int e = s; e < Steps; ++e) {
        if (e > s) {
          if constexpr (Rule == state_rule::delta) {
            sum.removal_key[e][s] = z[e] * k[s] + sum.removal_key[e][s];
            sum.removal_correction[e][s] = z[e] * u[s] + sum.removal_correction[e][s];
            u[s] = u[s] * w[e];
          }
          k[s] = k[s] * w[e];
          if constexpr (Rule == state_rule::gated)
            sum.removal_key[e][s] = z[e] * k[s] + sum.removal_key[e][s];
        }
        sum.query_key[e][s] = q[e] * k[s] + sum.query_key[e][s];
        if constexpr (Rule == state_rule::delta)
          sum.query_correction[e][s] = q[e] * u[s] + sum.query_correction[e][s];
      }
      store(to.key[s] + j, k[s]);
      if constexpr (Rule == state_rule::delta) store(to.correction[s] + j, u[s]);
    }
    V whole = w[0];
#pragma GCC unroll 4
    for (int e = 0; e < Steps; ++e) {
      if constexpr (Rule == state_rule::delta) {
        if (e > 0) z[e] = z[e] * whole;
        store(to.removal[e] + j, z[e]);
      }
      if (e > 0) whole = whole * w[e];
      if constexpr (Rule == state_rule::gated) {
        z[e] = z[e] * whole;
        store(to.removal[e] + j, z[e]);
      }
      q[e] = q[e] * whole;
      store(to.query[e] + j, q[e]);
    }
    if (all != nullptr) store(all + j, whole);
  }
  add_products<Rule>(sum, products);
  return j;
}

/// Decays of one number a step and key: they go into rows of their own.
/// @param a    the factors of each step, a row of K each
/// @param to   rows to write; may be those of `group.rows`, which point there afterwards
/// @param all  unless null, gets the products of the factors
template <state_rule Rule, class Real, int Steps>
[[gnu::always_inline]] inline void decay_by_key(step_group<Real, Steps>& group, index_t keys,
                                                const Real* const (&a)[Steps],
                                                const group_storage<Real, Steps>& to, Real* all) {
  group.pairs = {};
  const index_t j = decay_rows<Rule, pack<Real>>(group.rows, a, 0, keys, to, all, group.pairs);
  decay_rows<Rule, Real>(group.rows, a, j, keys, to, all, group.pairs);
  for (int e = 0; e < Steps; ++e) {
    group.from_start[e] = group.seen_by[e] = group.to_end[e] = 1;
    group.rows.query[e] = to.query[e];
    group.rows.key[e] = to.key[e];
    group.rows.correction[e] = to.correction[e];
    group.rows.removal[e] = to.removal[e];
  }
}

}  // namespace ebb::inline EBB_ABI::detail
