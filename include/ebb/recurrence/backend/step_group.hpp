// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/step_group.hpp
/// @brief  Several steps of a matrix state at once: what they do to each other, and the rows and
///   decays of their common pass.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>

#include <ebb/core/exponential.hpp>
#include <ebb/core/pack.hpp>
#include <ebb/decay/concept.hpp>
#include <ebb/decay/weight.hpp>
#include <ebb/recurrence/backend/state_pass.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Numbers for pairs of steps of a group: [later][earlier].
template <class Real, int Steps>
using step_pairs = Real[Steps][Steps];

/// The products over the keys of rows of a group. A pass reads the state as it was before its first
/// step, so what the steps of one group tell each other goes by way of these.
template <class Real, int Steps>
struct pair_products {
  step_pairs<Real, Steps> query_key, query_correction, removal_key, removal_correction;
};

/// `Steps` steps of one head, ready for a pass. With w(s..e) the decay of the steps s .. e:
template <class Real, int Steps>
struct step_group {
  pass_rows<Real, Steps> rows;  ///< `removal`: of this group
  row_decay decay;
  Real weight[Steps];      ///< c_e
  Real from_start[Steps];  ///< times what is read of the state: w(first..e), or 1 if in the rows
  Real seen_by[Steps];     ///< the same of the removals' products
  Real to_end[Steps];      ///< times what is written: w(e+1..last), or 1 if in the rows
  pair_products<Real, Steps> pairs;  ///< with the decays between them
};

/// The decay of a row for a pass, from x = -log a, summed in double: a, or a - 1 where a >= 1/2.
template <class Real>
struct pass_decay {
  Real d, base;
};
template <class Real>
[[gnu::always_inline]] inline pass_decay<Real> pass_decay_of(double x) {
  const bool near = x <= 0x1.62e42fefa39efp-1;
  Real a, m;
  if constexpr (has_exponential<Real>) {
    const decayed<Real> d = decay_of<Real>(x);
    a = d.a, m = d.m;
  } else {
    a = static_cast<Real>(std::exp(static_cast<long double>(-x)));
    m = static_cast<Real>(-std::expm1(static_cast<long double>(-x)));
  }
  // NaN stays NaN.
  const Real number = static_cast<Real>(x - x);
  return {choose(near, Real(-m), a) + number, near ? Real(1) : Real(0)};
}

/// The same for -log a = inf, where x - x is no number: a = 0.
template <class Real>
[[gnu::always_inline]] inline pass_decay<Real> safe_pass_decay_of(double x) {
  constexpr double longest = 2 * largest_exponent<double>;
  return pass_decay_of<Real>(choose(x > longest, longest, x));
}

/// The factor behind a weight (decay/weight.hpp).
template <class Real>
[[gnu::always_inline]] inline Real factor_of_weight(const Real& w) {
  return choose(w < 0, Real(1) + w, w);
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

/// The products over K keys of the rows of a group, without decays.
template <state_rule Rule, class Real, int Steps>
void multiply_rows(const pass_rows<Real, Steps>& rows, index_t keys,
                   pair_products<Real, Steps>& products) {
  for (int e = 0; e < Steps; ++e)
    for (int s = 0; s <= e; ++s) {
      products.query_key[e][s] = over_keys(rows.query[e], rows.key[s], keys);
      if constexpr (Rule == state_rule::delta)
        products.query_correction[e][s] = over_keys(rows.query[e], rows.correction[s], keys);
      if (s == e || Rule == state_rule::outer) continue;
      products.removal_key[e][s] = over_keys(rows.removal[e], rows.key[s], keys);
      if constexpr (Rule == state_rule::delta)
        products.removal_correction[e][s] = over_keys(rows.removal[e], rows.correction[s], keys);
    }
}

/// A group whose steps decay each by one number for all keys: the rows are the caller's own.
/// @param plain    their products
/// @param filled   what the decay filled, one number a step
/// @param storage  two numbers that live as long as the group
template <state_rule Rule, decay_form Form, class Real, int Steps>
void prepare_by_head(step_group<Real, Steps>& group, const pair_products<Real, Steps>& plain,
                     const Real* filled, Real* storage) {
  Real a[Steps];
  if constexpr (Form == decay_form::factor) {
    Real all = 1;
    for (int e = 0; e < Steps; ++e) all *= a[e] = filled[e];
    storage[0] = all;
    group.decay = row_decay::factor;
  } else {
    double x = 0;
    for (int e = 0; e < Steps; ++e) {
      x -= static_cast<double>(filled[e]);
      const pass_decay<Real> one = safe_pass_decay_of<Real>(-static_cast<double>(filled[e]));
      a[e] = one.base + one.d;
    }
    const pass_decay<Real> all = safe_pass_decay_of<Real>(x);
    storage[0] = all.d;
    group.decay = all.base > 0 ? row_decay::near_one : row_decay::factor;
  }
  group.rows.decay = group.rows.base = storage;
  group.rows.decay_stride = 0;
  Real whole = 1;
  for (int e = 0; e < Steps; ++e) {
    if constexpr (Rule == state_rule::delta) group.seen_by[e] = whole;
    group.from_start[e] = whole *= a[e];
    if constexpr (Rule == state_rule::gated) group.seen_by[e] = whole;
  }
  for (int s = 0; s < Steps; ++s) {
    Real between = 1;
    for (int e = s; e < Steps; ++e) {
      if (e > s && Rule == state_rule::delta) {
        group.pairs.removal_key[e][s] = between * plain.removal_key[e][s];
        group.pairs.removal_correction[e][s] = between * plain.removal_correction[e][s];
      }
      if (e > s) between *= a[e];
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
  Real *query[Steps], *key[Steps], *correction[Steps], *removal[Steps], *decay, *base;
};

/// What a group of steps of K decays each works on, at key j and for V: a pack, or one number.
template <state_rule Rule, class V, class Real, int Steps>
struct decayed_products {
  step_pairs<V, Steps> query_key{}, query_correction{}, removal_key{}, removal_correction{};

  [[gnu::always_inline]] void add(index_t j, const pass_rows<Real, Steps>& from,
                                  const Real* const (&factor)[Steps],
                                  const group_storage<Real, Steps>& to) {
    V a[Steps], q[Steps], z[Steps];
    V whole = broadcast<V>(Real(1));
    for (int e = 0; e < Steps; ++e) {
      a[e] = load<V>(factor[e] + j);
      q[e] = load<V>(from.query[e] + j);
      if constexpr (Rule != state_rule::outer) z[e] = load<V>(from.removal[e] + j);
    }
    V key[Steps], correction[Steps];
    for (int e = 0; e < Steps; ++e) {
      key[e] = load<V>(from.key[e] + j);
      if constexpr (Rule == state_rule::delta) correction[e] = load<V>(from.correction[e] + j);
    }
    for (int s = 0; s < Steps; ++s) {
      V k = key[s], u = correction[s];
      for (int e = s; e < Steps; ++e) {
        if constexpr (Rule == state_rule::delta)
          if (e > s) {
            removal_key[e][s] = z[e] * k + removal_key[e][s];
            removal_correction[e][s] = z[e] * u + removal_correction[e][s];
          }
        if (e > s) {
          k = k * a[e];
          if constexpr (Rule == state_rule::delta) u = u * a[e];
          if constexpr (Rule == state_rule::gated) removal_key[e][s] = z[e] * k + removal_key[e][s];
        }
        query_key[e][s] = q[e] * k + query_key[e][s];
        if constexpr (Rule == state_rule::delta)
          query_correction[e][s] = q[e] * u + query_correction[e][s];
      }
      store(to.key[s] + j, k);
      if constexpr (Rule == state_rule::delta) store(to.correction[s] + j, u);
    }
    for (int e = 0; e < Steps; ++e) {
      if constexpr (Rule == state_rule::delta) store(to.removal[e] + j, V(z[e] * whole));
      whole = whole * a[e];
      if constexpr (Rule == state_rule::gated) store(to.removal[e] + j, V(z[e] * whole));
      store(to.query[e] + j, V(q[e] * whole));
    }
  }
};

/// A group whose steps decay each key by its own number.
/// @param filled   for each step the row of K numbers that the decay filled; factors or logarithms
/// @param factor   for each step memory for K factors; may be the rows filled
/// @param to       rows to write; may be those of `group.rows`, which point there afterwards
template <state_rule Rule, decay_form Form, class Real, int Steps>
void prepare_by_key(step_group<Real, Steps>& group, index_t keys,
                    const Real* const (&filled)[Steps], Real* const (&factor)[Steps],
                    const group_storage<Real, Steps>& to) {
  using V = pack<Real>;
  constexpr index_t lanes = pack_of<Real>::lanes;
  if constexpr (Form == decay_form::factor) {
    for (index_t j = 0; j < keys; ++j) {
      Real all = 1;
      for (int e = 0; e < Steps; ++e) all *= filled[e][j];
      to.decay[j] = all;
    }
    group.decay = row_decay::factor;
  } else {
    Real near = 0;
    for (index_t j = 0; j < keys; ++j) {
      double x = 0;
      for (int e = 0; e < Steps; ++e) x -= static_cast<double>(filled[e][j]);
      const pass_decay<Real> all = safe_pass_decay_of<Real>(x);
      to.decay[j] = all.d;
      to.base[j] = all.base;
      near += all.base;
    }
    group.decay = near > static_cast<Real>(keys) - Real(0.5) ? row_decay::near_one
                  : near > 0                                 ? row_decay::mixed
                                                             : row_decay::factor;
    for (int e = 0; e < Steps; ++e)
      for (index_t j = 0; j < keys; ++j) {
        const pass_decay<Real> one = safe_pass_decay_of<Real>(-static_cast<double>(filled[e][j]));
        factor[e][j] = one.base + one.d;
      }
  }
  const Real* a[Steps];
  for (int e = 0; e < Steps; ++e) {
    a[e] = Form == decay_form::factor ? filled[e] : factor[e];
    group.from_start[e] = group.seen_by[e] = group.to_end[e] = 1;
  }
  decayed_products<Rule, V, Real, Steps> packs;
  decayed_products<Rule, Real, Real, Steps> rest;
  index_t j = 0;
  for (; j + lanes <= keys; j += lanes) packs.add(j, group.rows, a, to);
  for (; j < keys; ++j) rest.add(j, group.rows, a, to);
  const auto total = [](const step_pairs<V, Steps>& many, const step_pairs<Real, Steps>& few,
                        step_pairs<Real, Steps>& sums) {
    for (int e = 0; e < Steps; ++e)
      for (int s = 0; s <= e; ++s) sums[e][s] = sum_of_lanes<Real>(many[e][s]) + few[e][s];
  };
  total(packs.query_key, rest.query_key, group.pairs.query_key);
  if constexpr (Rule != state_rule::outer)
    total(packs.removal_key, rest.removal_key, group.pairs.removal_key);
  if constexpr (Rule == state_rule::delta) {
    total(packs.query_correction, rest.query_correction, group.pairs.query_correction);
    total(packs.removal_correction, rest.removal_correction, group.pairs.removal_correction);
  }
  for (int e = 0; e < Steps; ++e) {
    group.rows.query[e] = to.query[e];
    group.rows.key[e] = to.key[e];
    group.rows.correction[e] = to.correction[e];
    group.rows.removal[e] = to.removal[e];
  }
  group.rows.decay = to.decay;
  group.rows.base = to.base;
  group.rows.decay_stride = 1;
}

}  // namespace ebb::inline EBB_ABI::detail
