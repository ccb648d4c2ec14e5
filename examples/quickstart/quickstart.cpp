// SPDX-License-Identifier: Apache-2.0
// A memory of 64 channels with timescales of 1 to 4096 steps: a whole sequence, then step by step.
#include <cmath>
#include <cstdio>
#include <span>

#include <ebb/ebb.hpp>

int main() {  // NOLINT(bugprone-exception-escape): an exception is a failed example
  const ebb::index_t steps = 1000, channels = 64;
  ebb::array<float> b(steps, channels), h(steps, channels);  // inputs and states, T x N
  for (ebb::index_t k = 0; k < channels; ++k) b(9, k) = 1;   // an impulse at position 10

  // [quickstart]
  const auto memory =
      ebb::make_layer<float>(ebb::geometric_spectrum::timescales(1, 4096),
                             ebb::post_taper::relative(4096), channels, ebb::rows{});
  memory(b, h);  // a whole sequence

  auto state = memory.start();  // state and position: copy to save, assign to restore
  for (ebb::index_t t = 0; t < steps; ++t)
    memory.step(std::span<const float>(&b(t, 0), channels), state);  // one step of decoding
  // [quickstart]

  int failures = 0;
  for (ebb::index_t k = 0; k < channels; ++k)  // the same bits either way
    failures += state.values[static_cast<std::size_t>(k)] != h(steps - 1, k);

  // At position 1000 the slowest channel still holds what relative time says, about 10 / 1000; the
  // fastest has forgotten. The closed form agrees within five roundings a step and some for log a.
  for (ebb::index_t k = 0; k < channels; ++k) {
    const double closed = memory.decay().impulse_response(k, steps, 10);
    const double log_closed = memory.decay().log_impulse_response(k, steps, 10);
    const double bound = (5 * 990 - log_closed) * 0x1p-24 * closed + 1e-40;
    failures += !(std::abs(h(steps - 1, k) - closed) <= bound);
  }
  failures += !(std::abs(h(steps - 1, 0) - 0.01) < 0.001) || !(h(steps - 1, channels - 1) < 1e-40);

  std::printf("impulse at 10, position 1000: slowest %.5f, middle %.3g, fastest %.3g\n",
              static_cast<double>(h(steps - 1, 0)), static_cast<double>(h(steps - 1, 32)),
              static_cast<double>(h(steps - 1, channels - 1)));
  std::printf("%s\n", failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}
