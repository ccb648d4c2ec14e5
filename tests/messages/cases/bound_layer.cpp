// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

auto call(std::span<const double> rates) {
  return ebb::make_layer<float>(ebb::linear_k{}, ebb::constant_decay().bind(rates), 4);
}
