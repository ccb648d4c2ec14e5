// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/matrix_vjp_products.hpp
/// @brief  The way back through matrix states: the products of matrices that a chunk is made of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include <ebb/recurrence/backend/row_products.hpp>

namespace ebb::inline EBB_ABI::detail {

/// `count` up to a multiple of a pack.
template <class Real>
constexpr index_t whole_packs(index_t count) {
  constexpr index_t lanes = pack_of<Real>::lanes;
  return (count + lanes - 1) / lanes * lanes;
}

/// A row of `width` numbers for each step of a chunk, zeros behind them up to whole packs.
template <class Real>
class step_rows {
 public:
  step_rows() = default;
  step_rows(index_t steps, index_t width)
      : row_(whole_packs<Real>(width)), numbers_(static_cast<std::size_t>(steps * row_)) {}

  Real* operator[](index_t r) { return numbers_.data() + r * row_; }
  const Real* operator[](index_t r) const { return numbers_.data() + r * row_; }
  /// The distance of rows.
  index_t row() const { return row_; }
  lane_matrix<Real> lanes() { return {numbers_.data(), row_}; }
  lane_matrix<const Real> lanes() const { return {numbers_.data(), row_}; }
  /// The rows of the first `count` steps become 0.
  void clear(index_t count) { std::fill_n(numbers_.data(), count * row_, Real(0)); }

 private:
  index_t row_ = 0;
  std::vector<Real> numbers_;
};

/// totals[n] = the sum of the lanes of packs[n].
template <int Count, class V, class Real>
[[gnu::always_inline]] inline void sum_packs(const V (&packs)[Count], Real (&totals)[Count]) {
  constexpr int lanes = static_cast<int>(sizeof(V) / sizeof(Real));
  if constexpr (lanes == 1 || Count % lanes != 0) {
    for (int n = 0; n < Count; ++n) totals[n] = sum_of_lanes<Real>(packs[n]);
  } else {
    for (int n = 0; n < Count; n += lanes) store(totals + n, sums_of_packs<lanes / 2>(packs + n));
  }
}

// `Rows` rows of a with `Columns` rows of b.
template <int Rows, int Columns, class Real>
[[gnu::always_inline]] inline void dot_tile(const lane_matrix<const Real>& a,
                                            const lane_matrix<const Real>& b, index_t terms,
                                            const lane_matrix<Real>& c) {
  using V = pack<Real>;
  constexpr index_t lanes = pack_of<Real>::lanes;
  V sums[Rows * Columns] = {};
  for (index_t n = 0; n < terms; n += lanes) {
    V y[Columns];
#pragma GCC unroll 4
    for (int i = 0; i < Columns; ++i) y[i] = load<V>(b.first + i * b.row + n);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const V x = load<V>(a.first + r * a.row + n);
#pragma GCC unroll 4
      for (int i = 0; i < Columns; ++i) sums[r * Columns + i] = x * y[i] + sums[r * Columns + i];
    }
  }
  Real totals[Rows * Columns];
  sum_packs(sums, totals);
  for (int r = 0; r < Rows; ++r)
    for (int i = 0; i < Columns; ++i) c.first[r * c.row + i] = totals[r * Columns + i];
}

/// c(r, i) = sum over n of a(r, n) b(i, n) for `rows` rows, `columns` columns and `terms` terms in
/// whole packs, with zeros in the place of missing ones.
/// @param lower  whether only r >= i is needed
template <class Real>
[[gnu::noinline]] void row_dots(const lane_matrix<const Real>& a, index_t rows,
                                const lane_matrix<const Real>& b, index_t columns, index_t terms,
                                const lane_matrix<Real>& c, bool lower) {
  constexpr int many = registers < 32 ? 2 : 4, wide = 4;
  const auto band = [&]<int Rows>(index_t r) {
    const index_t end = lower ? std::min(columns, r + Rows) : columns;
    const lane_matrix<const Real> from{a.first + r * a.row, a.row};
    index_t i = 0;
    for (; i + wide <= end; i += wide)
      dot_tile<Rows, wide, Real>(from, {b.first + i * b.row, b.row}, terms,
                                 {c.first + r * c.row + i, c.row});
    for (; i < end; ++i)
      dot_tile<Rows, 1, Real>(from, {b.first + i * b.row, b.row}, terms,
                              {c.first + r * c.row + i, c.row});
  };
  index_t r = 0;
  for (; r + many <= rows; r += many) band.template operator()<many>(r);
  for (; r < rows; ++r) band.template operator()<1>(r);
}

/// What a step takes from the steps after it: c(e, i) += sum over u of a(e, u) b(u, i), for u >= e,
/// or u > e where `strict`; numbers beyond are not touched. b may be c where `strict`.
/// @param finish  called with each row that is complete, the last first
template <class Real, class Finish>
void add_later(const left_matrix<Real>& a, const lane_matrix<const Real>& b, index_t rows,
               index_t lanes, const lane_matrix<Real>& c, bool strict, const Finish& finish) {
  const index_t blocks = (rows + rows_together - 1) / rows_together;
  const auto add = [&](index_t first, index_t count, index_t u, index_t end) {
    add_products<Real>({a.first + first * a.row + u * a.column, a.row, a.column},
                       {b.first + u * b.row, b.row}, count, end - u, lanes,
                       {c.first + first * c.row, c.row});
  };
  for (index_t block = blocks; block-- > 0;) {
    const index_t first = block * rows_together, end = std::min(rows, first + rows_together);
    if (end < rows) add(first, end - first, end, rows);
    for (index_t e = end; e-- > first;) {
      const index_t u = strict ? e + 1 : e;
      if (u < end) add(e, 1, u, end);
      finish(e);
    }
  }
}

/// The decay of the rows of a state over a chunk: base + d, a number for each key.
template <class Real>
struct chunk_decay {
  const Real *d, *base;
};

// Rows of a state, `Packs` packs of keys each: decayed, and what the steps add to them.
template <int Rows, int Packs, bool Along, class Real>
[[gnu::always_inline]] inline void decay_tile(const Real* from, Real* to, index_t row,
                                              const chunk_decay<Real>& decay,
                                              const left_matrix<Real>& a,
                                              const lane_matrix<const Real>& b, index_t terms,
                                              const Real* other, Real* along) {
  using V = pack<Real>;
  constexpr index_t lanes = pack_of<Real>::lanes;
  V sum[Rows][Packs];
#pragma GCC unroll 4
  for (int p = 0; p < Packs; ++p) {
    const V d = load<V>(decay.d + p * lanes), base = load<V>(decay.base + p * lanes);
    [[maybe_unused]] V both{};
    if constexpr (Along) both = load<V>(along + p * lanes);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const V x = load<V>(from + r * row + p * lanes);
      sum[r][p] = d * x + base * x;
      if constexpr (Along) both = x * load<V>(other + r * row + p * lanes) + both;
    }
    if constexpr (Along) store(along + p * lanes, both);
  }
  for (index_t n = 0; n < terms; ++n) {
    V x[Packs];
#pragma GCC unroll 4
    for (int p = 0; p < Packs; ++p) x[p] = load<V>(b.first + n * b.row + p * lanes);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const V factor = broadcast<V>(a.first[r * a.row + n * a.column]);
#pragma GCC unroll 4
      for (int p = 0; p < Packs; ++p) sum[r][p] = factor * x[p] + sum[r][p];
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < Packs; ++p) store(to + r * row + p * lanes, sum[r][p]);
}

/// to(i, j) = base_j S(i, j) + d_j S(i, j) + sum over n of a(i, n) b(n, j), for `rows` rows of
/// `row` keys in whole packs; `to` may be S.
/// @param other, along  with Along: along_j += sum over i of S(i, j) other(i, j)
template <bool Along, class Real>
[[gnu::noinline]] void decay_and_add(const Real* state, Real* to, index_t rows, index_t row,
                                     const chunk_decay<Real>& decay, const left_matrix<Real>& a,
                                     const lane_matrix<const Real>& b, index_t terms,
                                     const Real* other = nullptr, Real* along = nullptr) {
  constexpr index_t width = pack_of<Real>::lanes;
  constexpr int packs = registers < 32 ? 2 : 4;
  const auto column = [&]<int Packs>(index_t j) {
    const auto tile = [&]<int Rows>(index_t i) {
      const index_t at = i * row + j;
      decay_tile<Rows, Packs, Along, Real>(
          state + at, to + at, row, {decay.d + j, decay.base + j},
          {a.first + i * a.row, a.row, a.column}, {b.first + j, b.row}, terms,
          Along ? other + at : nullptr, Along ? along + j : nullptr);
    };
    index_t i = 0;
    for (; i + rows_together <= rows; i += rows_together)
      tile.template operator()<rows_together>(i);
    for (; i < rows; ++i) tile.template operator()<1>(i);
  };
  index_t j = 0;
  for (; j + packs * width <= row; j += packs * width) column.template operator()<packs>(j);
  for (; j < row; j += width) column.template operator()<1>(j);
}

}  // namespace ebb::inline EBB_ABI::detail
