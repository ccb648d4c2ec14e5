// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include <ebb/ebb.hpp>

void call(ebb::array<std::complex<float>>& a, ebb::array<float>& b, ebb::array<float>& h) {
  ebb::scan(a, b, h);
}
