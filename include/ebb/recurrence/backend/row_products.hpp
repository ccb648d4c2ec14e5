// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/row_products.hpp
/// @brief  Products of small matrices in vector registers, terms in order.
#pragma once

#include <algorithm>

#include <ebb/core/pack.hpp>

namespace ebb::inline EBB_ABI::detail {

/// The left matrix of a product: element (r, n) is first[r * row + n * column].
template <class Real>
struct left_matrix {
  const Real* first;
  index_t row, column;
};
/// Rows of lanes: element (r, i) is first[r * row + i].
template <class Real>
struct lane_matrix {
  Real* first;
  index_t row;
};

// `Rows` rows of the result and `Packs` packs of each stay in registers while the terms pass.
template <int Rows, int Packs, class Real>
[[gnu::always_inline]] inline void add_tile(const left_matrix<Real>& a, const Real* b,
                                            index_t b_row, index_t terms, Real* c, index_t c_row) {
  using V = pack<Real>;
  constexpr index_t lanes = pack_of<Real>::lanes;
  V sum[Rows][Packs];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < Packs; ++p) sum[r][p] = load<V>(c + r * c_row + p * lanes);
  for (index_t n = 0; n < terms; ++n) {
    V x[Packs];
#pragma GCC unroll 4
    for (int p = 0; p < Packs; ++p) x[p] = load<V>(b + n * b_row + p * lanes);
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
    for (int p = 0; p < Packs; ++p) store(c + r * c_row + p * lanes, sum[r][p]);
}

/// Rows that go through a product together.
inline constexpr index_t rows_together = 4;

/// c(r, i) += sum over n of a(r, n) b(n, i), n in ascending order, for `rows` rows, `terms` terms
/// and `lanes` lanes, rounded up to packs: as many are read and written.
template <class Real>
void add_products(const left_matrix<Real>& a, const lane_matrix<const Real>& b, index_t rows,
                  index_t terms, index_t lanes, const lane_matrix<Real>& c) {
  constexpr index_t width = pack_of<Real>::lanes;
  constexpr int packs = registers < 32 ? 2 : 4;
  const auto column = [&]<int Packs>(index_t lane) {
    index_t r = 0;
    for (; r + rows_together <= rows; r += rows_together)
      add_tile<rows_together, Packs>({a.first + r * a.row, a.row, a.column}, b.first + lane, b.row,
                                     terms, c.first + r * c.row + lane, c.row);
    for (; r < rows; ++r)
      add_tile<1, Packs>({a.first + r * a.row, a.row, a.column}, b.first + lane, b.row, terms,
                         c.first + r * c.row + lane, c.row);
  };
  index_t lane = 0;
  for (; lane + packs * width <= lanes; lane += packs * width)
    column.template operator()<packs>(lane);
  for (; lane < lanes; lane += width) column.template operator()<1>(lane);
}

/// What a step takes from the steps before it: c(e, i) += sum over s of a(e, s) b(s, i), for
/// s <= e, or s < e where `strict`; numbers beyond are not touched. b may be c where `strict`.
/// @param finish  called with each row that is complete
template <class Real, class Finish>
void add_earlier(const left_matrix<Real>& a, const lane_matrix<const Real>& b, index_t rows,
                 index_t lanes, const lane_matrix<Real>& c, bool strict, const Finish& finish) {
  for (index_t first = 0; first < rows; first += rows_together) {
    const index_t count = std::min(rows_together, rows - first);
    const lane_matrix<Real> to{c.first + first * c.row, c.row};
    add_products<Real>({a.first + first * a.row, a.row, a.column}, b, count, first, lanes, to);
    for (index_t e = first; e < first + count; ++e) {
      add_products<Real>({a.first + e * a.row + first * a.column, a.row, a.column},
                         {b.first + first * b.row, b.row}, 1, e - first + (strict ? 0 : 1), lanes,
                         {c.first + e * c.row, c.row});
      finish(e);
    }
  }
}

}  // namespace ebb::inline EBB_ABI::detail
