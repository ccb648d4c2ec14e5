// SPDX-License-Identifier: Apache-2.0
// Small inputs that break scans, on every backend, type and axis.
#include <doctest/doctest.h>

#include <ebb/recurrence/backend/reference.hpp>
#include <ebb/recurrence/backend/rows.hpp>

#include "support/scan_boundary.hpp"

namespace {

template <class Backend, class T, class Axis>
struct config {
  using backend = Backend;
  using value = T;
  using axis = Axis;
};

TEST_CASE_TEMPLATE("boundary cases", Config, config<ebb::rows, float, ebb::time_major>,
                   config<ebb::rows, double, ebb::time_major>,
                   config<ebb::rows, float, ebb::channel_major>,
                   config<ebb::rows, double, ebb::channel_major>,
                   config<ebb::reference, float, ebb::time_major>,
                   config<ebb::reference, double, ebb::channel_major>) {
  ebb::test::check_boundary_cases<typename Config::backend, typename Config::value,
                                  typename Config::axis>();
}

TEST_CASE_TEMPLATE("a state wider than the data", Backend, ebb::rows, ebb::reference) {
  ebb::test::check_wide_state<Backend>();
}

}  // namespace
