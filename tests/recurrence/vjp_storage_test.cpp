// SPDX-License-Identifier: Apache-2.0
// The gradients of scans of complex numbers and of 16-bit data.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>

#include "support/vjp_contract.hpp"

namespace {

using ebb::channel_major;
using ebb::time_major;
using ebb::test::vjp_config;

using complex_rows =
    vjp_config<std::complex<float>, std::complex<float>, channel_major, time_major, time_major>;
using complex_columns = vjp_config<std::complex<double>, std::complex<double>, time_major,
                                   channel_major, channel_major>;
using sixteen_bits = vjp_config<ebb::bfloat16, float, time_major, time_major, channel_major>;

TEST_CASE_TEMPLATE("every gradient is the definition's", Config, complex_rows, complex_columns,
                   sixteen_bits) {
  ebb::test::check_vjp_contract<Config>();
}

// The small case of vjp_test.cpp, whose numbers are exact in 8 digits; gradients of 16-bit decays
// are sums in float.
TEST_CASE("16-bit decays have float gradients") {
  using ebb::bfloat16;
  ebb::array<bfloat16> a(3, 1), b(3, 1), h(3, 1), dh(3, 1), db(3, 1);
  ebb::array<float> da(3, 1), start(1, 1);
  start(0, 0) = 4;
  for (ebb::index_t t = 0; t < 3; ++t) {
    a(t, 0) = bfloat16(std::ldexp(0.5, static_cast<int>(-t)));
    b(t, 0) = bfloat16(t + 1);
    dh(t, 0) = bfloat16(1);
  }
  const ebb::sequences<float> where{.initial_states = start.view()};
  ebb::scan(a, b, h, where);
  const auto decay = ebb::stored_factors(a);
  decltype(decay)::gradients sums{da.view()};
  ebb::scan_vjp(decay, b, h, ebb::scan_cotangents<bfloat16>{.outputs = dh.view()},
                ebb::scan_gradients<bfloat16, decltype(sums)>{.inputs = db.view(), .decay = &sums},
                where);
  CHECK(db(0, 0) == bfloat16(1.28125));
  CHECK(db(1, 0) == bfloat16(1.125));
  CHECK(da(0, 0) == 5.125f);
  CHECK(da(1, 0) == 3.375f);
  CHECK(da(2, 0) == 2.75f);
}

}  // namespace
