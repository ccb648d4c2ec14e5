// SPDX-License-Identifier: Apache-2.0
#include <ebb/core/array.hpp>
#include <ebb/recurrence/delta.hpp>

void call(ebb::array<float>& a, const ebb::delta_data<int>& data) {
  ebb::delta(a, data, ebb::sequences<float>{});
}
