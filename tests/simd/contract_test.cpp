// SPDX-License-Identifier: Apache-2.0
// The backend contract for `simd`: types of data and state by axis.
#include <doctest/doctest.h>

#include <complex>
#include <type_traits>

#include <ebb/recurrence/backend/simd.hpp>

#include "support/scan_boundary.hpp"
#include "support/scan_contract.hpp"

// Factors go by vectors of steps where those are adjacent.
template <>
inline constexpr bool ebb::test::bits_of_any_layout<ebb::simd<>> = false;

namespace {

using ebb::channel_major;
using ebb::time_major;

template <class T, class State, class In, class Out, bool Bitwise, class Wide = long double>
using config = ebb::test::scan_config<ebb::simd<>, T, State, In, Out, Wide, Bitwise>;

TEST_CASE_TEMPLATE("simd keeps the scan contract", Config,
                   config<float, float, time_major, time_major, true>,
                   config<double, double, time_major, time_major, true>,
                   config<double, double, channel_major, time_major, true>,
                   config<float, float, channel_major, channel_major, false>,
                   config<double, double, time_major, channel_major, false>,
                   config<ebb::half, float, time_major, time_major, true>,
                   config<std::complex<double>, std::complex<double>, time_major, time_major, true,
                          std::complex<long double>>,
                   config<std::complex<float>, std::complex<float>, time_major, time_major, true,
                          std::complex<long double>>) {
  ebb::test::check_scan_contract<Config>({0, 1, 2, 65}, {1, 3, 8, 16},
                                         {{1, 1000, 2}, {1, 3, 513}, {3, 64, 0}, {2, 300, 17}});
}

TEST_CASE_TEMPLATE("boundary cases", T, float, double) {
  ebb::test::check_boundary_cases<ebb::simd<>, T, time_major>();
}

TEST_CASE("a state wider than the data") { ebb::test::check_wide_state<ebb::simd<>>(); }

}  // namespace
