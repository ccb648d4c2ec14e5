// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(ebb::array<double>& b, ebb::array<double>& h) {
  ebb::scan(b, b, h, ebb::sequences<float>{});  // half of the digits would be lost on the way
}
