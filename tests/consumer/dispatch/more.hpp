// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace consumer {

// Defined in more.cpp, once for each level: the sources of a level see those of their own.
void scan(const float* a, const float* b, float* h, std::ptrdiff_t steps, std::ptrdiff_t channels);

}  // namespace consumer
