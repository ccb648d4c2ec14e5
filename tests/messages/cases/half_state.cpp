// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(ebb::array<ebb::half>& b, ebb::array<ebb::half>& h) {
  ebb::scan(b, b, h, ebb::sequences<ebb::half>{});
}
