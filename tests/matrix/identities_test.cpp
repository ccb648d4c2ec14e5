// SPDX-License-Identifier: Apache-2.0
// Cases by hand, identities between the recurrences, and long runs, for every form.
#include <doctest/doctest.h>

#include <ebb/recurrence/backend/matrix_reference.hpp>
#include <ebb/recurrence/backend/sequential.hpp>

#include "support/matrix_identities.hpp"

namespace {

TEST_CASE_TEMPLATE("by hand", Form, ebb::sequential, ebb::matrix_reference) {
  ebb::test::check_by_hand<Form, float>();
}
TEST_CASE("by hand in other types") { ebb::test::check_by_hand<ebb::sequential, double>(); }
TEST_CASE_TEMPLATE("identities", Form, ebb::sequential, ebb::matrix_reference) {
  ebb::test::check_identities<Form, float>();
}
TEST_CASE("identities in double") { ebb::test::check_identities<ebb::sequential, double>(); }
TEST_CASE_TEMPLATE("long runs", Form, ebb::sequential, ebb::matrix_reference) {
  ebb::test::check_long_runs<Form>();
}
TEST_CASE("slow decays keep their timescale") { ebb::test::check_slow_decays<ebb::sequential>(); }
TEST_CASE("fading through the subnormals") { ebb::test::check_fading<ebb::sequential>(); }

}  // namespace
