// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(ebb::array<float>& b, ebb::array<float>& h) {
  ebb::scan(ebb::constant_decay(), b, h);  // a policy, not tied to rates
}
