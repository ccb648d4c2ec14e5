// SPDX-License-Identifier: Apache-2.0
// Every gradient of a scan by the kernel without look-back, on the emulator.
#include <doctest/doctest.h>

#include "support/emulated_vjp.hpp"

namespace {

using ebb::time_major;
using ebb::test::device_vjp_config;

using plain = device_vjp_config<float, float, time_major, time_major, time_major, true>;
using narrow = device_vjp_config<ebb::half, float, time_major, time_major, time_major, true>;

TEST_CASE_TEMPLATE("every gradient is the definition's", Config, plain, narrow) {
  ebb::test::check_vjp_contract<Config>(70, 70);
}

}  // namespace
