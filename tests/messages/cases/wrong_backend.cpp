// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(const ebb::array<float>& a, ebb::array<float>& b, ebb::array<float>& h) {
  ebb::scan(a, b, h, ebb::sequences<float>{}, ebb::constant_decay());
}
