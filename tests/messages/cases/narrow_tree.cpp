// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(const ebb::array<double>& b, ebb::array<double>& h, const ebb::step_tree<float>& tree) {
  ebb::scan_tree(b, b, h, tree);
}
