// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(const ebb::array<float>& h, const ebb::step_tree<double>& tree,
          ebb::layer_state<double>& state) {
  ebb::accept_path(h, tree, 1, state);  // the data, not the states
}
