// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(const std::vector<float>& b, std::vector<float>& h, std::vector<int>& state) {
  const std::vector<double> rates{1};
  const auto decay = ebb::constant_decay().bind(std::span<const double>(rates));
  ebb::step(decay, 1, b, std::span<float>(h), std::span<int>(state));
}
