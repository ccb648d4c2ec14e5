// SPDX-License-Identifier: Apache-2.0
// The contract of the forms for data that is narrower than the state.
#include <doctest/doctest.h>

#include <ebb/core/storage.hpp>
#include <ebb/recurrence/backend/sequential.hpp>

#include "support/matrix_contract.hpp"

namespace {

using form = ebb::sequential;

TEST_CASE("bfloat16 and half") {
  ebb::test::check_shapes<form, ebb::bfloat16, float>();
  ebb::test::check_options<form, ebb::bfloat16, float>(300);
  ebb::test::check_options<form, ebb::half, float>(300);
  ebb::test::check_large_shapes<form, ebb::half, float>();
}
TEST_CASE("float in double") {
  ebb::test::check_shapes<form, float, double>();
  ebb::test::check_options<form, float, double>(300);
  ebb::test::check_large_shapes<form, float, double>();
}

}  // namespace
