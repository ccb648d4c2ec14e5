// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(const ebb::array<double>& b, const ebb::array<float>& h, ebb::array<float>& db,
          const ebb::step_tree<float>& tree) {
  ebb::scan_tree_vjp(h, b, h, b, ebb::tree_gradients<float>{db.view()}, tree);
}
