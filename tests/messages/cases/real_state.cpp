// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include <ebb/ebb.hpp>

void call(const ebb::array<float>& a, ebb::array<std::complex<float>>& b,
          ebb::array<std::complex<float>>& h) {
  ebb::scan(a, b, h, ebb::sequences<float>{});
}
