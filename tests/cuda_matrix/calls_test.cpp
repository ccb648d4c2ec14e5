// SPDX-License-Identifier: Apache-2.0
// The contract of the forms across calls, for the kernels of matrix states: pieces, steps,
// positions, packed sequences, rollback, and what must not reach what.
#include <doctest/doctest.h>

#include "support/emulated_matrix.hpp"
#include "support/matrix_calls.hpp"

namespace {

using wide = ebb::test::emulated_matrix<ebb::test::small_matrix_tiles, 0>;
using narrow = ebb::test::emulated_matrix<ebb::test::small_matrix_tiles, 1000>;

TEST_CASE("pieces") { ebb::test::check_pieces<narrow, float, float>(); }
TEST_CASE("positions") { ebb::test::check_positions<wide, float, float>(); }
TEST_CASE("packed sequences") { ebb::test::check_packed<wide, float, float>(); }
TEST_CASE("rollback") { ebb::test::check_rollback<narrow, float>(); }
TEST_CASE("decode") { ebb::test::check_steps<wide, float, float>(); }
TEST_CASE("NaN and infinity") { ebb::test::check_isolation<narrow, float>(); }
TEST_CASE("weighing decays") { ebb::test::check_weighing<wide, float, float>(); }

}  // namespace
