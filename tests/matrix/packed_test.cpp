// SPDX-License-Identifier: Apache-2.0
// The contract of the forms for packed sequences, rollback, and the same call twice.
#include <doctest/doctest.h>

#include <ebb/recurrence/backend/matrix_reference.hpp>
#include <ebb/recurrence/backend/sequential.hpp>

#include "support/matrix_calls.hpp"

namespace {

TEST_CASE_TEMPLATE("packed sequences", Form, ebb::sequential, ebb::matrix_reference) {
  ebb::test::check_packed<Form, float, float>();
}
TEST_CASE_TEMPLATE("rollback", Form, ebb::sequential, ebb::matrix_reference) {
  ebb::test::check_rollback<Form, double>();
}
TEST_CASE("run to run") {
  ebb::test::check_same_bits<float, float>(
      ebb::sequential{}, ebb::sequential{},
      {.batches = 2, .steps = 70, .keys = 7, .values = 37, .weights = true, .snapshots = {3, 66}});
}

}  // namespace
