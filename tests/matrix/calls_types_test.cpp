// SPDX-License-Identifier: Apache-2.0
// The contract of the forms across calls: pieces, steps, positions; other types.
#include <doctest/doctest.h>

#include <ebb/core/storage.hpp>
#include <ebb/recurrence/backend/sequential.hpp>

#include "support/matrix_calls.hpp"

namespace {

TEST_CASE("pieces, steps and positions of other types") {
  ebb::test::check_pieces<ebb::sequential, double, double>();
  ebb::test::check_steps<ebb::sequential, ebb::bfloat16, float>();
  ebb::test::check_positions<ebb::sequential, float, double>();
}

}  // namespace
