// SPDX-License-Identifier: Apache-2.0
// The backend contract for `rows`: types of data and state by axis.
#include <doctest/doctest.h>

#include <ebb/recurrence/backend/rows.hpp>

#include "support/scan_contract.hpp"

namespace {

using ebb::channel_major;
using ebb::time_major;

template <class T, class State, class In, class Out>
using config = ebb::test::scan_config<ebb::rows, T, State, In, Out, long double, true>;

TEST_CASE_TEMPLATE("rows keeps the scan contract", Config,
                   config<float, float, time_major, time_major>,
                   config<double, double, time_major, time_major>,
                   config<float, float, channel_major, channel_major>,
                   config<double, double, channel_major, channel_major>,
                   config<float, double, time_major, channel_major>,
                   config<double, double, channel_major, time_major>) {
  // Every length with few channels, every number of channels with few lengths, and the shapes at
  // the edges of tiles and blocks.
  const std::vector<ebb::index_t> lengths{0, 1, 2, 63, 64, 65, 127};
  const std::vector<ebb::index_t> channels{1, 3, 8, 16, 64, 80, 96, 128, 256};
  ebb::test::check_scan_contract<Config>(lengths, {3, 80},
                                         {{1, 1000, 1},
                                          {1, 1000, 16},
                                          {1, 5000, 1},
                                          {1, 3, 513},
                                          {2, 9, 1100},
                                          {3, 64, 0},
                                          {0, 5, 5},
                                          {3, 300, 17}});
  for (const ebb::index_t n : channels) ebb::test::check_error_bound<Config>({1, 65, n});
}

}  // namespace
