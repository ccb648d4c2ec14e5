// SPDX-License-Identifier: Apache-2.0
// Thousands of arbitrary calls against the definition: shapes, layouts, sequences, resets,
// snapshots.
#include <doctest/doctest.h>

#include <complex>

#include <ebb/recurrence/backend/reference.hpp>
#include <ebb/recurrence/backend/rows.hpp>
#include <ebb/recurrence/backend/threads.hpp>

#include "support/scan_case.hpp"

namespace {

using ebb::channel_major;
using ebb::time_major;
using ebb::test::scan_config;
using complex_float = std::complex<float>;
using wide = long double;
using complex_wide = std::complex<long double>;

TEST_CASE_TEMPLATE(
    "rows, whatever is asked", Config,
    scan_config<ebb::rows, float, float, time_major, time_major, wide, true>,
    scan_config<ebb::rows, double, double, channel_major, channel_major, wide, true>,
    scan_config<ebb::rows, float, double, channel_major, time_major, wide, true>,
    scan_config<ebb::rows, ebb::bfloat16, float, time_major, channel_major, wide, true>,
    scan_config<ebb::rows, complex_float, complex_float, time_major, time_major, complex_wide,
                true>) {
  ebb::test::check_random_cases<Config>(1500, 41);
}

TEST_CASE_TEMPLATE(
    "reference, whatever is asked", Config,
    scan_config<ebb::reference, float, double, time_major, channel_major, wide, false>) {
  ebb::test::check_random_cases<Config>(300, 42);
}

TEST_CASE_TEMPLATE(
    "threads, whatever is asked", Config,
    scan_config<ebb::threads<>, float, float, time_major, time_major, wide, true>,
    scan_config<ebb::threads<>, double, double, time_major, channel_major, wide, true>) {
  ebb::test::check_random_cases<Config>(200, 43);
}

}  // namespace
