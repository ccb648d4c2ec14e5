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
#include <ebb/core/pack_exponential.hpp>
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
  step_pairs<Real, Steps> query_key;    ///< s <= e
  step_pairs<Real, Steps> removal_key;  ///< s < e; the gated rule only
};

/// Rows of K numbers as they are given, and where they go to be read by a pass.
template <class Real, int Steps>
struct given_rows {
  const Real* query[Steps];
  const Real* key[Steps];
};
template <class Real>
struct group_storage {
  Real *query, *key, *removal;  ///< Steps K numbers each
};

/// `Steps` steps of one head, ready for a pass. With w(s..e) the decay of the steps s .. e:
template <class Real, int Steps>
struct step_group {
  pass_rows<Real> rows;  ///< `removal`: of this group
  row_decay decay;
  Real weight[Steps];                ///< c_e
  Real from_start[Steps];            ///< times what is read of the state: w(first..e)
  Real seen_by[Steps];               ///< the same of the removals' products
  Real to_end[Steps];                ///< times what is written: w(e+1..last)
  pair_products<Real, Steps> pairs;  ///< with the decays between them; of several steps only

  /// One decay for all rows of the state: d and base of the pass.
  void decay_all_keys(const Real* d, const Real* base) {
    rows.decay = d;
    rows.base = base;
    rows.decay_stride = 0;
    decay = *base > 0 ? row_decay::near_one : row_decay::factor;
  }
  /// A single step, which is read after it is written. @param seen  `seen_by`
  void step_decay(const Real& seen) requires(Steps == 1) {
    seen_by[0] = seen;
    from_start[0] = to_end[0] = 1;
  }

  /// Multiplies the scale into what is read, and the weights into what is written, save under the
  /// gated rule, where they weigh the error.
  void fold(state_rule rule, const Real& scale) {
    for (int e = 0; e < Steps; ++e) {
      from_start[e] *= scale;
      for (int s = 0; Steps > 1 && s <= e; ++s)
        pairs.query_key[e][s] *= scale * (rule == state_rule::gated ? Real(1) : weight[s]);
    }
    if (rule == state_rule::gated) return;
    for (int e = 0; e < Steps; ++e) to_end[e] *= weight[e];
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

/// From what a decay filled for `count` steps or heads: their factors, and d and base of a pass.
template <decay_form Form, class Real>
void decays_of_steps(const Real* filled, index_t count, Real* factor, Real* d, Real* base) {
  for (index_t i = 0; i < count; ++i) {
    if constexpr (Form == decay_form::log_factor) {
      const pass_decay<Real> one = pass_decay_of<Real>(-static_cast<log_sum<Real>>(filled[i]));
      factor[i] = flushed(Real(one.base + one.d));
      d[i] = one.base > 0 ? one.d : factor[i];
      base[i] = one.base;
    } else {
      factor[i] = d[i] = filled[i];
      base[i] = 0;
    }
  }
}

/// Decays of a number for each key, for a group of steps: from the logarithms of each step its
/// factors, maybe in their place, a row every `row` numbers; for the pass d and base of the whole
/// decay.
template <class Real, std::size_t Count>
row_decay decays_by_key(const Real* const (&logs)[Count], Real* factor, index_t row, index_t keys,
                        Real* d, Real* base) {
  index_t near = 0, j = 0;
#if defined(__GNUC__)
  if constexpr (std::is_same_v<Real, float>) {
    using V = pack<Real>;
    constexpr index_t lanes = pack_of<Real>::lanes;
    decltype(V{} < V{}) nears{};  // minus how many, by lane
    for (; j + lanes <= keys; j += lanes) {
      V high{}, low{};
#pragma GCC unroll 4
      for (std::size_t e = 0; e < Count; ++e) {
        const V x = -load<V>(logs[e] + j);
        if (Count > 1) store(factor + static_cast<index_t>(e) * row + j, decay_of_pack(x, V{}).a);
        if (e == 0)
          high = x;
        else
          add_exactly(high, low, x);
      }
      // Next to infinity the rest of a sum is no number. NOLINTNEXTLINE(misc-redundant-expression)
      low = low == low ? low : V{};
      const decayed<V> all = decay_of_pack(high, low);
      const auto is_near = high <= broadcast<V>(0x1.62e43p-1F);
      store(d + j, V(is_near ? -all.m : all.a));
      store(base + j, V(is_near ? broadcast<V>(1.0F) : V{}));
      if (Count == 1) store(factor + j, all.a);
      nears += is_near;
    }
    for (index_t i = 0; i < lanes; ++i) near -= nears[i];
  }
#endif
  for (; j < keys; ++j) {
    log_sum<Real> x = 0;
    Real product = 1;
    for (std::size_t e = 0; e < Count; ++e) {
      const auto log_decay = static_cast<log_sum<Real>>(logs[e][j]);
      x -= log_decay;
      const pass_decay<Real> one = pass_decay_of<Real>(-log_decay);
      product *= factor[static_cast<index_t>(e) * row + j] = one.base + one.d;
    }
    const pass_decay<Real> all = pass_decay_of<Real>(x);
    d[j] = all.base > 0 ? all.d : product;
    base[j] = all.base;
    near += all.base > 0 ? 1 : 0;
  }
  return near == keys ? row_decay::near_one : near > 0 ? row_decay::mixed : row_decay::factor;
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
      if (Rule == state_rule::gated && s < e) f(one.removal_key[e][s], other.removal_key[e][s]);
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
    constexpr int pairs = Steps * (Steps + 1) / 2;
    constexpr int count = Rule == state_rule::gated ? 2 * pairs - Steps : pairs;
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

/// For the keys j, j + lanes, ... up to `end`: adds to the products, and stores the rows.
template <state_rule Rule, class V, class Real, int Steps>
index_t multiply_rows(const given_rows<Real, Steps>& rows, index_t j, index_t end,
                      const group_storage<Real>& to, pair_products<Real, Steps>& products) {
  constexpr auto lanes = static_cast<index_t>(sizeof(V) / sizeof(Real));
  pair_products<V, Steps> sum{};
  for (; j + lanes <= end; j += lanes) {
    V q[Steps], k[Steps];
#pragma GCC unroll 4
    for (int e = 0; e < Steps; ++e) {
      q[e] = load<V>(rows.query[e] + j);
      k[e] = load<V>(rows.key[e] + j);
    }
#pragma GCC unroll 4
    for (int e = 0; e < Steps; ++e)
#pragma GCC unroll 4
      for (int s = 0; s <= e; ++s) {
        sum.query_key[e][s] = q[e] * k[s] + sum.query_key[e][s];
        if constexpr (Rule == state_rule::gated)
          if (s < e) sum.removal_key[e][s] = k[e] * k[s] + sum.removal_key[e][s];
      }
    store_in_turns(q, to.query + j * Steps);
    store_in_turns(k, to.key + j * Steps);
  }
  add_products<Rule>(sum, products);
  return j;
}

/// The products over K keys of the rows of a group, without decays; stores the rows for its pass.
template <state_rule Rule, class Real, int Steps>
pair_products<Real, Steps> products_of_rows(const given_rows<Real, Steps>& rows, index_t keys,
                                            const group_storage<Real>& to) {
  pair_products<Real, Steps> products{};
  const index_t j = multiply_rows<Rule, pack<Real>>(rows, 0, keys, to, products);
  multiply_rows<Rule, Real>(rows, j, keys, to, products);
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
    whole = flushed(Real(whole * a[e]));
    group.from_start[e] = group.seen_by[e] = whole;
  }
  for (int s = 0; s < Steps; ++s) {
    Real between = 1;
    for (int e = s; e < Steps; ++e) {
      if (e > s) between = flushed(Real(between * a[e]));
      if (e > s && Rule == state_rule::gated)
        group.pairs.removal_key[e][s] = between * plain.removal_key[e][s];
      group.pairs.query_key[e][s] = between * plain.query_key[e][s];
    }
    group.to_end[s] = between;
  }
}

/// For the keys j, j + lanes, ... up to `end`: multiplies the decays into the rows, stores them and
/// adds to the products.
/// @param factors  of each step a row of K
/// @param all      unless null, gets their products
template <state_rule Rule, class V, class Real, int Steps>
[[gnu::always_inline]] inline index_t decay_rows(const given_rows<Real, Steps>& given,
                                                 const Real* const (&factors)[Steps], index_t j,
                                                 index_t end, const group_storage<Real>& target,
                                                 Real* all, pair_products<Real, Steps>& products) {
  constexpr auto lanes = static_cast<index_t>(sizeof(V) / sizeof(Real));
  // Copies: for all that a compiler knows, a stored row might change what they point to.
  const given_rows<Real, Steps> from = given;
  const group_storage<Real> to = target;
  const Real* a[Steps];
  for (int e = 0; e < Steps; ++e) a[e] = factors[e];
  pair_products<V, Steps> sum{};
  for (; j + lanes <= end; j += lanes) {
    V w[Steps], q[Steps], z[Steps], k[Steps];
#pragma GCC unroll 4
    for (int e = 0; e < Steps; ++e) {
      w[e] = load<V>(a[e] + j);
      q[e] = load<V>(from.query[e] + j);
      z[e] = k[e] = load<V>(from.key[e] + j);
    }
#pragma GCC unroll 4
    for (int s = 0; s < Steps; ++s)
#pragma GCC unroll 4
      for (int e = s; e < Steps; ++e) {
        if (e > s) {
          k[s] = k[s] * w[e];
          if constexpr (Rule == state_rule::gated)
            sum.removal_key[e][s] = z[e] * k[s] + sum.removal_key[e][s];
        }
        sum.query_key[e][s] = q[e] * k[s] + sum.query_key[e][s];
      }
    V whole = w[0];
#pragma GCC unroll 4
    for (int e = 0; e < Steps; ++e) {
      if (e > 0) whole = whole * w[e];
      z[e] = z[e] * whole;
      q[e] = q[e] * whole;
    }
    store_in_turns(k, to.key + j * Steps);
    store_in_turns(q, to.query + j * Steps);
    if constexpr (Rule == state_rule::gated) store_in_turns(z, to.removal + j * Steps);
    if (all != nullptr) store(all + j, whole);
  }
  add_products<Rule>(sum, products);
  return j;
}

/// Decays of one number a step and key: they go into the rows for the pass.
/// @param a    the factors of each step, a row of K each
/// @param all  unless null, gets the products of the factors
template <state_rule Rule, class Real, int Steps>
[[gnu::always_inline]] inline void decay_by_key(step_group<Real, Steps>& group,
                                                const given_rows<Real, Steps>& rows, index_t keys,
                                                const Real* const (&a)[Steps],
                                                const group_storage<Real>& to, Real* all) {
  group.pairs = {};
  const index_t j = decay_rows<Rule, pack<Real>>(rows, a, 0, keys, to, all, group.pairs);
  decay_rows<Rule, Real>(rows, a, j, keys, to, all, group.pairs);
  for (int e = 0; e < Steps; ++e) group.from_start[e] = group.seen_by[e] = group.to_end[e] = 1;
}

}  // namespace ebb::inline EBB_ABI::detail
