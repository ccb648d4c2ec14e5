// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include <ebb/ebb.hpp>

void call(ebb::array<float>& b, ebb::array<float>& h) {
  ebb::scan(b, b, h, ebb::sequences<std::complex<float>>{});
}
