// SPDX-License-Identifier: Apache-2.0
#include <ebb/decay/constant.hpp>
#include <ebb/recurrence/outer.hpp>

void call(const ebb::outer_data<float>& data) {
  ebb::outer(ebb::constant_decay(), data);  // a policy, not tied to rates
}
