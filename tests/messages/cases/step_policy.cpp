// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(std::span<const float> b, std::span<float> state) {
  ebb::step(ebb::constant_decay(), 1, b, state);
}
