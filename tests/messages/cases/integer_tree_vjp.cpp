// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(const ebb::array<float>& b, const ebb::array<int>& h, ebb::array<int>& db,
          const ebb::step_tree<int>& tree) {
  ebb::scan_tree_vjp(b, b, h, b, ebb::tree_gradients<int>{db.view()}, tree);
}
