// SPDX-License-Identifier: Apache-2.0
#include <ebb/core/array.hpp>
#include <ebb/recurrence/delta.hpp>

void call(ebb::array<double>& a, const ebb::delta_data<double>& data) {
  ebb::delta(a, data, ebb::sequences<float>{});  // half of the digits would be lost on the way
}
