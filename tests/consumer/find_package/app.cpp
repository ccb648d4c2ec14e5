// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <ebb/ebb.hpp>

int main() {
  const ebb::index_t steps = 100, channels = 8;
  ebb::array<float> b(steps, channels), h(steps, channels);
  for (ebb::index_t k = 0; k < channels; ++k) b(9, k) = 1;  // an impulse at position 10

  const auto memory =
      ebb::make_layer<float>(ebb::geometric_spectrum::timescales(1, 4096),
                             ebb::post_taper::relative(4096), channels, ebb::rows{});
  memory(b, h);

  const double slowest = h(steps - 1, 0);
  std::printf("ebb %s: the slowest channel keeps %.4f\n", ebb::version.data(), slowest);
  return std::abs(slowest - memory.decay().impulse_response(0, steps, 10)) < 1e-5 ? 0 : 1;
}
