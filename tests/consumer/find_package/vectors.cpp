// SPDX-License-Identifier: Apache-2.0
#include <ebb/ebb.hpp>
#include <ebb/recurrence/backend/simd.hpp>

int main() {
  ebb::array<float> a(4, 3), b(4, 3), h(4, 3);
  for (ebb::index_t t = 0; t < 4; ++t)
    for (ebb::index_t k = 0; k < 3; ++k) a(t, k) = 0.5f, b(t, k) = 1;
  ebb::scan(a, b, h, ebb::simd<>{});
  return h(3, 2) == 1.875f ? 0 : 1;
}
