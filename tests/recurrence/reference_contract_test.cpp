// SPDX-License-Identifier: Apache-2.0
// The backend contract for `reference`, held to 50 digits where its own are too few to judge it.
#include <doctest/doctest.h>

#include <ebb/recurrence/backend/reference.hpp>

#include "support/exact.hpp"
#include "support/scan_contract.hpp"

namespace {

using ebb::channel_major;
using ebb::time_major;

template <class T, class State, class In, class Out, class Wide>
using config = ebb::test::scan_config<ebb::reference, T, State, In, Out, Wide, false>;

TEST_CASE_TEMPLATE("reference keeps the scan contract", Config,
                   config<float, float, time_major, time_major, long double>,
                   config<double, double, channel_major, channel_major, ebb::test::exact>,
                   config<float, double, time_major, channel_major, long double>,
                   config<double, double, channel_major, time_major, ebb::test::exact>,
                   config<std::complex<float>, std::complex<float>, time_major, channel_major,
                          std::complex<long double>>,
                   config<ebb::half, float, channel_major, channel_major, long double>) {
  ebb::test::check_scan_contract<Config>({0, 1, 2, 64, 65}, {1, 3, 16},
                                         {{1, 1000, 1}, {3, 5, 80}, {3, 64, 0}, {0, 5, 5}});
}

}  // namespace
