// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>

void call(ebb::array<int>& b, ebb::array<int>& h) { ebb::scan(b, b, h); }
