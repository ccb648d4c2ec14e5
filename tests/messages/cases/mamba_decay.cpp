// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(const ebb::mamba2_arrays<float>& arrays) {
  ebb::mamba2(ebb::retnet_decay(2), arrays);  // a decay without steps to weigh by
}
