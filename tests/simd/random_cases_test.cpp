// SPDX-License-Identifier: Apache-2.0
// Arbitrary calls and adversarial data on the vector backend.
#include <doctest/doctest.h>

#include <ebb/recurrence/backend/simd.hpp>

#include "support/scan_adversarial.hpp"
#include "support/scan_case.hpp"

namespace {

using ebb::time_major;
using ebb::test::scan_config;

TEST_CASE_TEMPLATE(
    "simd, whatever is asked", Config,
    scan_config<ebb::simd<>, float, float, time_major, time_major, long double, true>,
    scan_config<ebb::simd<>, double, double, ebb::channel_major, time_major, long double, true>) {
  ebb::test::check_random_cases<Config>(1000, 44);
}

TEST_CASE_TEMPLATE("bounds hold on adversarial data", T, float, double) {
  ebb::test::check_adversarial<ebb::simd<>, T, time_major>();
}

}  // namespace
