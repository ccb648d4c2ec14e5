// SPDX-License-Identifier: Apache-2.0
// The backend contract for `over_time`: types of data and state by axis and inner backend.
#include <doctest/doctest.h>

#include <complex>

#include <ebb/recurrence/backend/over_time.hpp>
#include <ebb/recurrence/backend/reference.hpp>

#include "support/scan_boundary.hpp"
#include "support/scan_contract.hpp"

namespace {

using ebb::channel_major;
using ebb::time_major;

// The contract makes a backend for each call. These share one pool of four threads, and cut every
// call of 256 steps and more.
template <class Inner>
struct on_four_threads : ebb::over_time<Inner> {
  on_four_threads() : ebb::over_time<Inner>(ebb::threads<Inner>(pool(), {}, 1)) {}
  static std::shared_ptr<ebb::thread_pool> pool() {
    static const auto shared = std::make_shared<ebb::thread_pool>(4);
    return shared;
  }
};

template <class Inner, class T, class State, class In, class Out, class Wide = long double>
using config = ebb::test::scan_config<on_four_threads<Inner>, T, State, In, Out, Wide, false>;
template <class T, class State, class In, class Out>
using complex_config = config<ebb::rows, T, State, In, Out, std::complex<long double>>;

TEST_CASE_TEMPLATE(
    "over_time keeps the scan contract", Config,
    config<ebb::rows, float, float, time_major, time_major>,
    config<ebb::rows, double, double, channel_major, channel_major>,
    config<ebb::rows, float, double, time_major, channel_major>,
    config<ebb::reference, double, double, channel_major, time_major>,
    complex_config<std::complex<float>, std::complex<double>, time_major, time_major>,
    config<ebb::rows, ebb::bfloat16, float, channel_major, time_major>) {
  ebb::test::check_scan_contract<Config>({0, 1, 65, 300, 777}, {1, 3, 80},
                                         {{1, 3000, 2}, {1, 300, 1100}, {3, 64, 0}, {2, 900, 17}});
}

}  // namespace
