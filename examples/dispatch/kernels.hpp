// SPDX-License-Identifier: Apache-2.0
// What is compiled once for each level, and how the rest of the program sees it: through types that
// are the same whatever the flags. Those of ebb are not; pointers and counts are.
#pragma once

#include <cstddef>

namespace app {

struct kernels {
  const char* level;
  // h[t] = exp(-rates[k]) h[t - 1] + b[t] for N channels; b and h are steps x channels, b may be h.
  void (*scan)(const double* rates, const float* b, float* h, std::ptrdiff_t steps,
               std::ptrdiff_t channels);
};

// The best version for this processor.
kernels kernels_here();

}  // namespace app
