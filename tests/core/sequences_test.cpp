// SPDX-License-Identifier: Apache-2.0
// What a description of sequences says, and which ones are refused.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/core/sequences.hpp>

namespace {

using ebb::extents;
using ebb::index_t;

TEST_CASE("the default is one sequence from position 1") {
  const ebb::sequences<float> one;
  CHECK(one.count() == 1);
  CHECK(one.begin(0) == 0);
  CHECK(one.end(0, 9) == 9);
  CHECK(one.first_position(0, 0) == 1);
  CHECK_NOTHROW(one.check("test", extents{3, 9, 2}));
}

TEST_CASE("packed sequences, empty ones included") {
  const std::vector<index_t> offsets{1, 1, 4}, positions{5, 6, 7, 8};
  const ebb::sequences<float> packed{.offsets = offsets, .first_positions = positions};
  CHECK(packed.count() == 2);
  CHECK(packed.begin(1) == 1);
  CHECK(packed.end(0, 9) == 1);
  CHECK(packed.end(1, 9) == 4);
  CHECK(packed.first_position(1, 0) == 7);
  CHECK_NOTHROW(packed.check("test", extents{2, 4, 2}));
  CHECK_THROWS_AS(packed.check("test", extents{2, 3, 2}), ebb::shape_error);
  CHECK_THROWS_AS(packed.check("test", extents{1, 4, 2}), ebb::shape_error);
}

TEST_CASE("impossible descriptions are refused with a sentence") {
  const extents size{1, 4, 2};
  const auto refused = [&](std::vector<index_t> offsets, std::vector<index_t> positions) {
    try {
      ebb::sequences<float>{.offsets = offsets, .first_positions = positions}.check("here", size);
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused({0, 3, 2, 4}, {}) == "here: need ascending offsets, got 3, 2");
  CHECK(refused({-1, 4}, {}).find("here: need offsets in 0 .. steps") == 0);
  CHECK(refused({0, 5}, {}).find("here: need offsets in 0 .. steps") == 0);
  CHECK(refused({}, {0}).find("here: need first positions in 1") == 0);
  CHECK(refused({}, {1, 1}).find("here: need one first position per sequence") == 0);
  CHECK(refused({}, {(index_t{1} << 62) + 1}).find("here: need first pos") == 0);
  CHECK(refused({}, {index_t{1} << 62}).empty());
  CHECK(refused({0, 2, 4}, {1, 1}).empty());

  ebb::array<float> states(2, 2);
  const ebb::sequences<float> one{.initial_states = states.view()};
  CHECK_THROWS_AS(one.check("here", size), ebb::shape_error);
  const ebb::sequences<float> into{.final_states = states.view()};
  CHECK_THROWS_AS(into.check("here", size), ebb::shape_error);
  const std::vector<index_t> offsets{0, 1, 4};
  const ebb::sequences<float> two{
      .offsets = offsets, .initial_states = states.view(), .final_states = states.view()};
  CHECK_NOTHROW(two.check("here", size));
}

TEST_CASE("the extents of empty data may have any product") {
  const index_t huge = index_t{1} << 62;
  // (2^62 + 1) * 4 would be 4 in 64 bits.
  const std::vector<index_t> offsets{0, 0, 0, 0, 0}, four{1, 1, 1, 1};
  const ebb::sequences<float> positions{.offsets = offsets, .first_positions = four};
  CHECK_THROWS_WITH_AS(positions.check("here", extents{huge + 1, 0, 0}),
                       "here: need one first position per sequence (got, batches, sequences of "
                       "each), got 4, 4611686018427387905, 4",
                       ebb::shape_error);
  const std::vector<std::uint8_t> flags(4);
  const ebb::sequences<float> resets{.resets = flags};
  CHECK_THROWS_AS(resets.check("here", extents{huge + 1, 4, 0}), ebb::shape_error);
  CHECK_NOTHROW(resets.check("here", extents{2, 2, 0}));
  const ebb::sequences<float> none;
  CHECK_NOTHROW(none.check("here", extents{huge, huge, 0}));
  CHECK_NOTHROW(none.check("here", extents{huge, 0, huge}));
  CHECK_NOTHROW(positions.check("here", extents{1, huge, 0}));
}

}  // namespace
