// SPDX-License-Identifier: Apache-2.0
// The contract of the forms across calls: pieces, steps, positions.
#include <doctest/doctest.h>

#include <ebb/recurrence/backend/matrix_reference.hpp>
#include <ebb/recurrence/backend/sequential.hpp>

#include "support/matrix_calls.hpp"

namespace {

TEST_CASE_TEMPLATE("pieces, steps and positions", Form, ebb::sequential, ebb::matrix_reference) {
  ebb::test::check_pieces<Form, float, float>();
  ebb::test::check_steps<Form, float, float>();
  ebb::test::check_positions<Form, float, float>();
}

}  // namespace
