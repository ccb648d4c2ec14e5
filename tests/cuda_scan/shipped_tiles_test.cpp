// SPDX-License-Identifier: Apache-2.0
// The kernels in the tiles of the library, exactly.
#include <doctest/doctest.h>

#include "cuda_scan/exact.hpp"

namespace {

using ebb::channel_major;
using ebb::time_major;

TEST_CASE("tiles as they are shipped") {
  using shipped = ebb::test::emulated_scan<ebb::test::shipped_tiles, false, 2>;
  ebb::test::check_exact<shipped, time_major>({1, 300, 132}, 1, 50);
  ebb::test::check_exact<shipped, time_major>({1, 131, 3}, 1, 51);
  ebb::test::check_exact<shipped, channel_major>({1, 4096 * 2 + 4, 2}, 1, 52);
  ebb::test::check_exact<shipped, channel_major>({1, 4097, 1}, 1, 53);
}

}  // namespace
