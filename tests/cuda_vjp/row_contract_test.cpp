// SPDX-License-Identifier: Apache-2.0
// Every gradient of a scan by the kernels of channel-major data, on the emulator.
#include <doctest/doctest.h>

#include <complex>

#include "support/emulated_vjp.hpp"

namespace {

using ebb::channel_major;
using ebb::time_major;
using ebb::test::device_vjp_config;

using plain = device_vjp_config<double, double, channel_major, channel_major, channel_major>;
using narrow = device_vjp_config<ebb::bfloat16, float, time_major, channel_major, time_major>;
using turning = device_vjp_config<std::complex<double>, std::complex<double>, channel_major,
                                  channel_major, channel_major>;

TEST_CASE_TEMPLATE("every gradient is the definition's", Config, plain, narrow, turning) {
  ebb::test::check_vjp_contract<Config>(300, 9);
}

}  // namespace
