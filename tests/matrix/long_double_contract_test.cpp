// SPDX-License-Identifier: Apache-2.0
// The contract of the forms for states of long double, which no vector holds. The oracle has no more
// digits, so that the bound is that of both together.
#include <doctest/doctest.h>

#include <ebb/recurrence/backend/sequential.hpp>

#include "support/matrix_contract.hpp"

namespace {

using form = ebb::sequential;

TEST_CASE("long double") {
  ebb::test::check_shapes<form, long double, long double>();
  ebb::test::check_options<form, long double, long double>(300);
  ebb::test::check_options<form, double, long double>(100);
}

}  // namespace
