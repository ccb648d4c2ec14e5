// SPDX-License-Identifier: Apache-2.0
// The contract of the forms for the kernels of matrix states: double, and data narrower than the
// state.
#include <doctest/doctest.h>

#include <ebb/core/storage.hpp>

#include "support/emulated_matrix.hpp"

namespace {

using ebb::test::check_options;
using wide = ebb::test::emulated_matrix<ebb::test::small_matrix_tiles, 0>;
using narrow = ebb::test::emulated_matrix<ebb::test::small_matrix_tiles, 1000>;

TEST_CASE("double") { check_options<wide, double, double>(40); }
TEST_CASE("bfloat16") { check_options<wide, ebb::bfloat16, float>(40); }
TEST_CASE("half") { check_options<narrow, ebb::half, float>(40); }
TEST_CASE("float in double") { check_options<narrow, float, double>(20); }

}  // namespace
