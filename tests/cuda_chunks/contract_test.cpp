// SPDX-License-Identifier: Apache-2.0
// Outer products in chunks, as on tensor cores: the contract of the forms, but for numbers that are
// not finite.
#include <doctest/doctest.h>

#include <ebb/core/storage.hpp>

#include "support/emulated_chunks.hpp"
#include "support/matrix_calls.hpp"

namespace {

using four = ebb::test::emulated_chunks<4>;
using sixteen = ebb::test::emulated_chunks<16>;
// Four roundings to the type of the data (rows of unit length among them), as so many of float.
using of_bfloat16 = ebb::test::emulated_chunks<4, 4 * 0x10000>;
using of_half = ebb::test::emulated_chunks<8, 4 * 0x2000>;

TEST_CASE("shapes") { ebb::test::check_shapes<four, float, float>(); }
TEST_CASE("options") { ebb::test::check_options<four, float, float>(60); }
TEST_CASE("lengths") {
  ebb::test::check_lengths<sixteen, float, float>();
  ebb::test::check_lengths<ebb::test::emulated_chunks<48>, float, float>();
}
TEST_CASE("pieces") { ebb::test::check_pieces<four, float, float>(); }
TEST_CASE("positions") { ebb::test::check_positions<sixteen, float, float>(); }
TEST_CASE("packed sequences") { ebb::test::check_packed<four, float, float>(); }
TEST_CASE("rollback") { ebb::test::check_rollback<four, float>(); }
TEST_CASE("decode") { ebb::test::check_steps<four, float, float>(); }
TEST_CASE("weighing decays") { ebb::test::check_weighing<four, float, float>(); }
TEST_CASE("bfloat16") { ebb::test::check_options<of_bfloat16, ebb::bfloat16, float>(30); }
TEST_CASE("half") { ebb::test::check_options<of_half, ebb::half, float>(30); }

}  // namespace
