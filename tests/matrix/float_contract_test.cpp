// SPDX-License-Identifier: Apache-2.0
// The contract of the forms for float data and states.
#include <doctest/doctest.h>

#include <ebb/recurrence/backend/sequential.hpp>

#include "support/matrix_contract.hpp"

namespace {

using form = ebb::sequential;

TEST_CASE("shapes") { ebb::test::check_shapes<form, float, float>(); }
TEST_CASE("large shapes") { ebb::test::check_large_shapes<form, float, float>(); }
TEST_CASE("inputs beyond the caches") { ebb::test::check_far_inputs<form, float, float>(); }
TEST_CASE("lengths") { ebb::test::check_lengths<form, float, float>(); }
TEST_CASE("options") { ebb::test::check_options<form, float, float>(1500); }
TEST_CASE("weighing decays") { ebb::test::check_weighing<form, float, float>(); }
TEST_CASE("adversarial") { ebb::test::check_adversarial<form, float>(); }

}  // namespace
