// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include <ebb/ebb.hpp>

auto call(const ebb::array<float>& raw) {
  return ebb::make_layer<std::complex<float>>(ebb::s4d_lin{}, ebb::selective_decay(raw), 4);
}
