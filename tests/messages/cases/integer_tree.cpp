// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(const ebb::array<float>& b, ebb::array<float>& h, const ebb::step_tree<int>& tree) {
  ebb::scan_tree(b, b, h, tree);
}
