// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(const ebb::mamba2_arrays<float>& arrays, const ebb::array<float>& raw) {
  ebb::mamba2(ebb::selective_decay(raw).weighing(), arrays);
}
