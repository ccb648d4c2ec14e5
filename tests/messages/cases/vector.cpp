// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <ebb/ebb.hpp>

void call(const ebb::array<float>& a, std::vector<float>& b, std::vector<float>& h) {
  ebb::scan(a, b, h);
}
