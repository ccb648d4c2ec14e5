// SPDX-License-Identifier: Apache-2.0
// The scan contract for the kernels of channel-major data, on the emulator.
#include <doctest/doctest.h>

#include <complex>

#include "support/emulated_scan.hpp"
#include "support/scan_boundary.hpp"

namespace {

using ebb::channel_major;
using ebb::time_major;
using backend = ebb::test::emulated_scan<ebb::test::small_tiles>;

template <class T, class State, class In, class Wide = long double>
using config = ebb::test::scan_config<backend, T, State, In, channel_major, Wide, false>;
using wide_complex = std::complex<long double>;

TEST_CASE_TEMPLATE(
    "tiles of a row keep the scan contract", Config, config<double, double, channel_major>,
    config<ebb::bfloat16, float, time_major>,
    config<std::complex<double>, std::complex<double>, channel_major, wide_complex>) {
  ebb::test::check_small_scan_contract<Config>();
  ebb::test::check_error_bound<Config>({1, 300, 2});
}

TEST_CASE("boundary cases") {
  ebb::test::check_short_boundary_cases<backend, double, channel_major>();
}

}  // namespace
