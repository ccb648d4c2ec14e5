// SPDX-License-Identifier: Apache-2.0
// The contract of the forms for the kernels of matrix states, with float data and states.
#include <doctest/doctest.h>

#include "support/emulated_matrix.hpp"

namespace {

using wide = ebb::test::emulated_matrix<ebb::test::small_matrix_tiles, 0>;
using narrow = ebb::test::emulated_matrix<ebb::test::small_matrix_tiles, 1000>;

TEST_CASE("shapes") { ebb::test::check_shapes<wide, float, float>(); }
TEST_CASE("options") { ebb::test::check_options<narrow, float, float>(120); }
TEST_CASE("lengths") { ebb::test::check_lengths<narrow, float, float>(); }
TEST_CASE("adversarial") { ebb::test::check_adversarial<narrow, float>(); }

}  // namespace
