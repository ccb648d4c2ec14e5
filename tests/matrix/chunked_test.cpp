// SPDX-License-Identifier: Apache-2.0
// The contract of the form in chunks, for float data and states.
#include <doctest/doctest.h>

#include <ebb/recurrence/backend/chunked.hpp>

#include "support/matrix_contract.hpp"

namespace {

using form = ebb::chunked;

TEST_CASE("shapes") {
  ebb::test::check_shapes<form, float, float>();
  ebb::test::check_shapes<form, float, float>(form(2));
}
TEST_CASE("large shapes") { ebb::test::check_large_shapes<form, float, float>(); }
TEST_CASE("lengths") {
  for (const ebb::index_t steps : {1, 2, 7, 16, 64, 256})
    ebb::test::check_lengths<form, float, float>(form(steps));
}
TEST_CASE("options") {
  ebb::test::check_options<form, float, float>(500);
  ebb::test::check_options<form, float, float>(500, form(3));
}
TEST_CASE("weighing decays") { ebb::test::check_weighing<form, float, float>(); }
TEST_CASE("adversarial") { ebb::test::check_adversarial<form, float>(); }

}  // namespace
