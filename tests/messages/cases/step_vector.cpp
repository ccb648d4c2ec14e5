// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(const std::vector<float>& b, std::vector<float>& state) {
  const std::vector<double> rates{1};
  ebb::step(ebb::constant_decay().bind(std::span<const double>(rates)), 1, b, state);
}
