// SPDX-License-Identifier: Apache-2.0
#include <ebb/core/array.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/recurrence/delta.hpp>

void call(ebb::array<float>& a, const ebb::delta_data<float>& data, std::span<float> state) {
  ebb::step(a, 1, data, state, ebb::constant_decay());
}
