// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

struct no_name {
  void fill(std::span<double>) const {}
};

auto call() { return ebb::make_layer<float>(no_name{}, ebb::constant_decay(), 4); }
