// SPDX-License-Identifier: Apache-2.0
#include <ebb/recurrence/outer.hpp>

void call(const ebb::outer_data<float>& data) { ebb::outer(0.5f, data); }
