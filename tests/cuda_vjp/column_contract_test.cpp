// SPDX-License-Identifier: Apache-2.0
// Every gradient of a scan by the kernels of time-major data, on the emulator.
#include <doctest/doctest.h>

#include <complex>

#include "support/emulated_vjp.hpp"

namespace {

using ebb::channel_major;
using ebb::time_major;
using ebb::test::device_vjp_config;

using plain = device_vjp_config<float, float, time_major, time_major, time_major>;
using wide = device_vjp_config<float, double, channel_major, time_major, channel_major>;
using turning =
    device_vjp_config<std::complex<float>, std::complex<float>, time_major, time_major, time_major>;

TEST_CASE_TEMPLATE("every gradient is the definition's", Config, plain, wide, turning) {
  ebb::test::check_vjp_contract<Config>(70, 70);
}

}  // namespace
