// SPDX-License-Identifier: Apache-2.0
// The contract of the forms for the oracle among them.
#include <doctest/doctest.h>

#include <ebb/core/storage.hpp>
#include <ebb/recurrence/backend/matrix_reference.hpp>

#include "support/matrix_contract.hpp"

namespace {

using form = ebb::matrix_reference;

TEST_CASE("reference") {
  ebb::test::check_shapes<form, double, double>();
  ebb::test::check_options<form, double, double>(300);
  ebb::test::check_options<form, float, float>(300);
  ebb::test::check_options<form, ebb::bfloat16, float>(100);
  ebb::test::check_weighing<form, double, double>();
  ebb::test::check_adversarial<form, double>();
}

}  // namespace
