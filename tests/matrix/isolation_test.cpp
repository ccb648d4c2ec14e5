// SPDX-License-Identifier: Apache-2.0
// What must not reach what: NaN and infinity in one lane, head, sequence or step.
#include <doctest/doctest.h>

#include <ebb/recurrence/backend/matrix_reference.hpp>
#include <ebb/recurrence/backend/sequential.hpp>

#include "support/matrix_calls.hpp"

namespace {

TEST_CASE_TEMPLATE("NaN and infinity", Form, ebb::sequential, ebb::matrix_reference) {
  ebb::test::check_isolation<Form, float>();
}

}  // namespace
