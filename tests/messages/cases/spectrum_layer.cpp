// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

auto call() { return ebb::make_layer<float>(ebb::linear_k{}, ebb::linear_k{}, 4); }
