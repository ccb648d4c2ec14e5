// SPDX-License-Identifier: Apache-2.0
// The contract of the form in chunks, for other types of data and states.
#include <doctest/doctest.h>

#include <ebb/core/storage.hpp>
#include <ebb/recurrence/backend/chunked.hpp>

#include "support/matrix_contract.hpp"

namespace {

using form = ebb::chunked;

TEST_CASE("double") {
  ebb::test::check_shapes<form, double, double>();
  ebb::test::check_lengths<form, double, double>(form(16));
  ebb::test::check_options<form, double, double>(300, form(5));
  ebb::test::check_adversarial<form, double>();
}
TEST_CASE("long double") {
  ebb::test::check_options<form, long double, long double>(100, form(5));
  ebb::test::check_lengths<form, double, long double>();
}
TEST_CASE("bfloat16 and half") {
  ebb::test::check_shapes<form, ebb::bfloat16, float>();
  ebb::test::check_options<form, ebb::half, float>(300, form(5));
}
TEST_CASE("float in double") { ebb::test::check_options<form, float, double>(300, form(5)); }

}  // namespace
