// SPDX-License-Identifier: Apache-2.0
// The contract of the forms for the tiles of published models' shapes, and for states in memory.
#include <doctest/doctest.h>

#include "support/emulated_matrix.hpp"

namespace {

using wide = ebb::test::emulated_matrix<ebb::detail::gpu::matrix_tiles, 0>;
using narrow = ebb::test::emulated_matrix<ebb::detail::gpu::matrix_tiles, 1000>;

/// More steps than a panel has (8 for up to 128 keys, else 4); lanes of V that fill no block.
template <class Form>
void check() {
  using ebb::test::matrix_case;
  for (const matrix_case& c : {matrix_case{.steps = 9, .keys = 64, .values = 40},
                               {.steps = 3, .keys = 50, .values = 9},
                               {.steps = 9, .keys = 128, .values = 24},
                               {.steps = 5, .keys = 200, .values = 5},
                               {.steps = 2, .keys = 300, .values = 33}}) {
    matrix_case one = c;
    one.heads = 1, one.seed = 5, one.unit_keys = 1e-6;
    ebb::test::each_kind<Form>(
        one, [](const matrix_case& x) { ebb::test::check_case<Form, float, float>(x); });
  }
}

TEST_CASE("many states") { check<wide>(); }
TEST_CASE("few states") { check<narrow>(); }

}  // namespace
