// SPDX-License-Identifier: Apache-2.0
// The form in chunks across calls: pieces, steps, positions, packed sequences, isolation; and
// identities.
#include <doctest/doctest.h>

#include <ebb/recurrence/backend/chunked.hpp>

#include "support/matrix_calls.hpp"
#include "support/matrix_identities.hpp"

namespace {

using form = ebb::chunked;

// Chunks of one step, where a decay that is rounded to a factor is wrong at every step.
struct single : form {
  single() : form(1) {}
};

TEST_CASE("pieces, steps and positions") {
  ebb::test::check_pieces<form, float, float>(form(4));
  ebb::test::check_steps<form, float, float>();
  ebb::test::check_positions<form, float, float>(form(5));
}
TEST_CASE("packed sequences and rollback") {
  ebb::test::check_packed<form, float, float>(form(3));
  ebb::test::check_rollback<form, double>(form(4));
}
TEST_CASE("NaN and infinity") {
  ebb::test::check_isolation<form, float>();
  ebb::test::check_isolation<form, float>(form(3));
}
TEST_CASE("by hand") { ebb::test::check_by_hand<form, float>(); }
TEST_CASE("identities") { ebb::test::check_identities<form, double>(); }
TEST_CASE("long runs") {
  for (const ebb::index_t steps : {16, 64, 256}) ebb::test::check_long_runs<form>(form(steps));
}
TEST_CASE_TEMPLATE("slow decays keep their timescale", Form, form, single) {
  ebb::test::check_slow_decays<Form>();
}
TEST_CASE("fading through the subnormals") { ebb::test::check_fading<form>(); }
TEST_CASE("run to run") {
  ebb::test::check_same_bits<float, float>(
      form(16), form(16),
      {.batches = 2, .steps = 70, .keys = 7, .values = 37, .weights = true, .snapshots = {3, 66}});
}

}  // namespace
