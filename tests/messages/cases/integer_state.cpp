// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(ebb::array<float>& b, ebb::array<float>& h) {
  ebb::scan(b, b, h, ebb::sequences<int>{});  // a state of 0.9 would be 0
}
