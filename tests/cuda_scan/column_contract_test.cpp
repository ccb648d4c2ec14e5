// SPDX-License-Identifier: Apache-2.0
// The scan contract for the kernels of time-major data, on the emulator.
#include <doctest/doctest.h>

#include <complex>

#include "support/emulated_scan.hpp"
#include "support/scan_boundary.hpp"

namespace {

using ebb::channel_major;
using ebb::time_major;
using backend = ebb::test::emulated_scan<ebb::test::small_tiles>;

template <class T, class State, class In, class Wide = long double>
using config = ebb::test::scan_config<backend, T, State, In, time_major, Wide, false>;
using wide_complex = std::complex<long double>;

TEST_CASE_TEMPLATE("tiles of channels keep the scan contract", Config,
                   config<float, float, time_major>, config<float, double, channel_major>,
                   config<std::complex<float>, std::complex<float>, time_major, wide_complex>) {
  ebb::test::check_small_scan_contract<Config>();
}

TEST_CASE("boundary cases") { ebb::test::check_short_boundary_cases<backend, float, time_major>(); }

}  // namespace
