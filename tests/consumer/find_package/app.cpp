// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <ebb/core/numeric.hpp>

int main() {
  const double x = ebb::inverse_softplus(2.0);
  std::printf("softplus(%g) = %g\n", x, ebb::softplus(x));
  return ebb::softplus(x) > 1.99 && ebb::softplus(x) < 2.01 ? 0 : 1;
}
