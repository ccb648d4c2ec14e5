// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(const ebb::array<double>& b, const ebb::array<double>& h) {
  ebb::scan_vjp(b, b, h, ebb::scan_cotangents<double, float>{},
                ebb::scan_gradients<double, ebb::no_gradients, float>{}, ebb::sequences<float>{});
}
