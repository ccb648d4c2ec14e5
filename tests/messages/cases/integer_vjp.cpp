// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(const ebb::array<float>& b, const ebb::array<float>& h) {
  ebb::scan_vjp(b, b, h, ebb::scan_cotangents<float, int>{},
                ebb::scan_gradients<float, ebb::no_gradients, int>{}, ebb::sequences<int>{});
}
