// SPDX-License-Identifier: Apache-2.0
// The scan contract for the kernel without look-back, on the emulator: pieces have the bits of the
// whole.
#include <doctest/doctest.h>

#include "support/emulated_scan.hpp"
#include "support/scan_boundary.hpp"

namespace {

using ebb::channel_major;
using ebb::time_major;
using backend = ebb::test::emulated_scan<ebb::test::small_tiles, true>;

// Row tiles of no use: every sequence is short.
template <class State>
struct loops_only : ebb::test::small_tiles<State> {
  static constexpr ebb::index_t row_shortest = 1 << 30;
};
using row_backend = ebb::test::emulated_scan<loops_only, true>;

template <class Backend, class T, class Out>
using config =
    ebb::test::scan_config<Backend, T, ebb::default_state_t<T>, time_major, Out, long double, true>;

TEST_CASE_TEMPLATE("loops keep the scan contract", Config, config<backend, float, time_major>,
                   config<row_backend, ebb::half, channel_major>) {
  ebb::test::check_small_scan_contract<Config>();
}

TEST_CASE("boundary cases") { ebb::test::check_short_boundary_cases<backend, float, time_major>(); }

TEST_CASE("which calls go by loops") {
  using ebb::detail::gpu::goes_by_loops;
  constexpr ebb::index_t processors = 132;
  CHECK(goes_by_loops(false, 1 << 20, 16, 40000, processors));
  CHECK(!goes_by_loops(false, 1 << 20, 16, 30000, processors));
  CHECK(goes_by_loops(false, 16, 16, 1, processors));
  CHECK(!goes_by_loops(true, 1 << 20, 128, 40000, processors));
  CHECK(goes_by_loops(true, 100, 128, 1, processors));
}

}  // namespace
