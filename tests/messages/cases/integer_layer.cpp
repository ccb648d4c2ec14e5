// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

auto call() { return ebb::make_layer<int>(ebb::linear_k{}, ebb::constant_decay(), 4); }
