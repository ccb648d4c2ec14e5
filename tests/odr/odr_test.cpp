// SPDX-License-Identifier: Apache-2.0
// A program may mix objects compiled with different flags. Without the inline namespace the linker
// would keep one of the two functions for both objects, and which one is chance.
#include <doctest/doctest.h>

#include <limits>

#include "odr/objects/objects.hpp"

TEST_CASE("objects with other floating-point rules keep functions and types of their own") {
  const auto strict = ebb::test::strict_object();
  const auto fast = ebb::test::fast_object();
  CHECK((strict.softplus != fast.softplus));
  CHECK((*strict.domain_error != *fast.domain_error));
}

TEST_CASE("the strictly compiled object keeps infinities whatever it is linked with") {
  const auto softplus = ebb::test::strict_object().softplus;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(softplus(infinity) == infinity);
  CHECK(softplus(-infinity) == 0.0);
}
