// SPDX-License-Identifier: Apache-2.0
// libFuzzer over every semantics of scan. A find is a file of bytes: run the program with its name.
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <ebb/recurrence/backend/rows.hpp>

#include "support/scan_case.hpp"

namespace {

using ebb::channel_major;
using ebb::time_major;
template <class T, class State, class In, class Out, class Wide = long double>
using config = ebb::test::scan_config<ebb::rows, T, State, In, Out, Wide, true>;

std::string run(ebb::test::choices draw) {
  using ebb::test::run_scan_case;
  using complex = std::complex<float>;
  switch (draw.integer(0, 4)) {
    case 0:
      return run_scan_case<config<float, float, time_major, time_major>>(draw);
    case 1:
      return run_scan_case<config<double, double, channel_major, channel_major>>(draw);
    case 2:
      return run_scan_case<config<float, double, time_major, channel_major>>(draw);
    case 3:
      return run_scan_case<config<ebb::half, float, channel_major, time_major>>(draw);
    default:
      return run_scan_case<
          config<complex, complex, time_major, time_major, std::complex<long double>>>(draw);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  const std::string problem = run(ebb::test::choices({bytes, count}));
  if (!problem.empty()) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    std::abort();
  }
  return 0;
}
