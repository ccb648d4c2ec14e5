// SPDX-License-Identifier: Apache-2.0
#include <ebb/core/array.hpp>
#include <ebb/recurrence/backend/rows.hpp>
#include <ebb/recurrence/outer.hpp>

void call(ebb::array<float>& a, const ebb::outer_data<float>& data) {
  ebb::outer(a, data, ebb::rows{});  // a backend of scans
}
