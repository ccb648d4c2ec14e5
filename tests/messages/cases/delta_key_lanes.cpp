// SPDX-License-Identifier: Apache-2.0
#include <ebb/recurrence/backend/key_lanes.hpp>
#include <ebb/recurrence/delta.hpp>

void call(const ebb::strided_view<const float>& a, const ebb::delta_data<float>& data) {
  ebb::delta(a, data, ebb::key_lanes{});  // a form of outer products
}
