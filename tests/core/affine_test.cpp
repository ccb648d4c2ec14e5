// SPDX-License-Identifier: Apache-2.0
// The scan's operator: the order of operands is the order of time.
#include <doctest/doctest.h>

#include <ebb/core/affine.hpp>

namespace {

using map = ebb::affine<double>;

static_assert(ebb::then(map{2, 1}, map{3, 1}) == map{6, 4});
static_assert(ebb::then(map{3, 1}, map{2, 1}) == map{6, 3});
static_assert(ebb::then(map{}, map{3, 5}) == map{3, 5});
static_assert(ebb::then(map{3, 5}, map{}) == map{3, 5});

TEST_CASE("three steps at once") {
  const map all = ebb::then(ebb::then(map{2, 1}, map{3, 1}), map{5, 1});
  CHECK(all(0) == 21);
  CHECK(all == ebb::then(map{2, 1}, ebb::then(map{3, 1}, map{5, 1})));
}

TEST_CASE("the composition is the application one after the other, exactly on integers") {
  for (int a = -3; a <= 3; ++a)
    for (int b = -3; b <= 3; ++b)
      for (int h = -2; h <= 2; ++h) {
        const ebb::affine<int> first{a, b}, second{b - 1, 2 * a};
        CHECK(ebb::then(first, second)(h) == second(first(h)));
      }
}

}  // namespace
