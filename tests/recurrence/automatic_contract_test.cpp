// SPDX-License-Identifier: Apache-2.0
// The backend contract for `automatic`, and which way it goes.
#include <doctest/doctest.h>

#include <complex>
#include <vector>

#include <ebb/recurrence/backend/automatic.hpp>
#include <ebb/recurrence/backend/reference.hpp>

#include "support/scan_boundary.hpp"
#include "support/scan_contract.hpp"

namespace {

using ebb::channel_major;
using ebb::extents;
using ebb::index_t;
using ebb::time_major;

template <class Single, class T, class State, class In, class Out, bool Bitwise,
          class Wide = long double>
using config = ebb::test::scan_config<ebb::automatic<Single>, T, State, In, Out, Wide, Bitwise>;

TEST_CASE_TEMPLATE("automatic keeps the scan contract", Config,
                   config<ebb::rows, float, float, time_major, time_major, true>,
                   config<ebb::rows, double, double, channel_major, channel_major, true>,
                   config<ebb::reference, std::complex<double>, std::complex<double>, time_major,
                          channel_major, false, std::complex<long double>>) {
  // 4 x 160 x 70 elements with an exponential each go to the pool, the others do not.
  ebb::test::check_scan_contract<Config>({0, 1, 2, 65}, {1, 3, 80},
                                         {{4, 160, 70}, {1, 300, 2}, {3, 64, 0}});
}

TEST_CASE("boundary cases") {
  ebb::test::check_boundary_cases<ebb::automatic<>, float, time_major>();
  ebb::test::check_wide_state<ebb::automatic<>>();
}

// Counts the runs that reach it.
struct counting {
  int runs = 0;

  template <class F>
  void run(index_t count, const F& call) {
    for (index_t i = 0; i < count; ++i) call(i);
    ++runs;
  }
  index_t concurrency() const { return 2; }
};

template <class Decay>
int runs(const Decay& decay, const extents& size, const std::vector<index_t>& offsets = {}) {
  counting executor;
  ebb::array<float> h(size);
  ebb::scan(decay, h, h, ebb::sequences<float>{.offsets = offsets}, {},
            ebb::automatic<ebb::rows, counting>(ebb::threads<ebb::rows, counting>(executor)));
  return executor.runs;
}

TEST_CASE("large scans go to the executor") {
  const std::vector<double> rates(64, 0.5);
  const auto constant = ebb::constant_decay().bind(std::span<const double>(rates));
  const auto taper = ebb::post_taper::absolute().bind(std::span<const double>(rates));
  // 2^19 elements, and fewer.
  CHECK(runs(constant, {2, 4096, 64}) == 1);
  CHECK(runs(constant, {2, 4095, 64}) == 0);
  CHECK(runs(constant, {64, 128, 64}) == 1);
  // A taper takes no exponentials either.
  CHECK(runs(taper, {2, 4096, 64}) == 1);
  CHECK(runs(taper, {2, 4095, 64}) == 0);
  // An exponential for each element: 2^16. Stored factors take none, stored logarithms do.
  const ebb::array<float> a(1024, 64), fewer(1023, 64), padded(1200, 64);
  CHECK(runs(ebb::stored_factors(a), {1, 1024, 64}) == 0);
  CHECK(runs(ebb::stored_logs(a), {1, 1024, 64}) == 1);
  CHECK(runs(ebb::stored_logs(fewer), {1, 1023, 64}) == 0);
  // Padding is no work.
  CHECK(runs(ebb::stored_logs(padded), {1, 1200, 64}, {100, 150, 1124}) == 1);
  CHECK(runs(ebb::stored_logs(padded), {1, 1200, 64}, {100, 150, 1123}) == 0);
}

}  // namespace
