// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include <ebb/ebb.hpp>

auto call() {
  return ebb::make_layer<std::complex<float>>(ebb::s4d_lin{}, ebb::post_taper::absolute(), 4);
}
