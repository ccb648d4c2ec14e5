// SPDX-License-Identifier: Apache-2.0
// The backend contract for `rows`: complex numbers and 16-bit storage by axis.
#include <doctest/doctest.h>

#include <complex>

#include <ebb/recurrence/backend/rows.hpp>

#include "support/scan_contract.hpp"

namespace {

using ebb::channel_major;
using ebb::time_major;
using complex_float = std::complex<float>;
using complex_double = std::complex<double>;

template <class T, class State, class In, class Out, class Wide = long double>
using config = ebb::test::scan_config<ebb::rows, T, State, In, Out, Wide, true>;
template <class T, class State, class In, class Out>
using complex_config = config<T, State, In, Out, std::complex<long double>>;

TEST_CASE_TEMPLATE("rows keeps the scan contract", Config,
                   complex_config<complex_float, complex_float, time_major, channel_major>,
                   complex_config<complex_double, complex_double, channel_major, time_major>,
                   complex_config<complex_float, complex_double, time_major, time_major>,
                   config<ebb::bfloat16, float, time_major, time_major>,
                   config<ebb::bfloat16, double, channel_major, time_major>,
                   config<ebb::half, float, channel_major, channel_major>) {
  ebb::test::check_scan_contract<Config>({0, 1, 2, 64, 65}, {1, 3, 16},
                                         {{1, 1500, 2}, {1, 3, 513}, {2, 300, 17}, {3, 64, 0}});
}

}  // namespace
