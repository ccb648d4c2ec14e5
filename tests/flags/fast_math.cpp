// SPDX-License-Identifier: Apache-2.0
// Under -ffast-math the scan is refused, unless EBB_ALLOW_FAST_MATH accepts what is lost. Finite
// data and decays well below 1 then still come out right to a few roundings.
#include <cmath>

#include <ebb/ebb.hpp>

int main() {
  ebb::array<float> b(50, 3), h(50, 3);
  for (ebb::index_t t = 0; t < 50; ++t)
    for (ebb::index_t k = 0; k < 3; ++k) b(t, k) = 1;
  const std::vector<double> rates(3, std::log(2.0));
  ebb::scan(ebb::constant_decay().bind(std::span<const double>(rates)), b, h);
  return std::abs(h(49, 1) - 2.0f) < 1e-5f ? 0 : 1;
}
