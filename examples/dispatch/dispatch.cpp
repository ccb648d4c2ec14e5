// SPDX-License-Identifier: Apache-2.0
// One program for all x86-64 processors: it takes the scan that was compiled for the best level of
// this one. EBB_MAX_LEVEL=x86-64 ./dispatch takes another.
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "kernels.hpp"

int main() {  // NOLINT(bugprone-exception-escape): an exception is a failed example
  const std::ptrdiff_t steps = 4096, channels = 64;
  std::vector<double> rates;
  for (std::ptrdiff_t k = 0; k < channels; ++k)
    rates.push_back(std::exp2(static_cast<double>(k - channels) / 8));  // 1 to 256 steps
  std::vector<float> b(static_cast<std::size_t>(steps * channels)), h(b.size());
  for (std::size_t i = 0; i < b.size(); ++i)
    b[i] = static_cast<float>(std::sin(static_cast<double>(i)));

  // [dispatch]
  const app::kernels kernels = app::kernels_here();
  kernels.scan(rates.data(), b.data(), h.data(), steps, channels);
  // [dispatch]

  double best = INFINITY;
  for (int run = 0; run < 20; ++run) {
    const auto start = std::chrono::steady_clock::now();
    kernels.scan(rates.data(), b.data(), h.data(), steps, channels);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::fmin(best, time.count());
  }
  std::printf("%s: %.3f ns per element\n", kernels.level, best / static_cast<double>(b.size()));

  // Whatever the level: 6 roundings a step, and one of log a (docs/accuracy.md, section 3).
  int failures = 0;
  for (std::ptrdiff_t k = 0; k < channels; ++k) {
    const double rate = rates[static_cast<std::size_t>(k)], a = std::exp(-rate);
    const double each = (6 + rate) * 0x1p-24 * 1.01;
    double state = 0, reach = 0, error = 0;
    for (std::ptrdiff_t t = 0; t < steps; ++t) {
      const auto i = static_cast<std::size_t>(t * channels + k);
      state = a * state + static_cast<double>(b[i]);
      reach = a * reach + std::abs(static_cast<double>(b[i]));
      error = a * error * (1 + each) + each * reach;
      failures += !(std::abs(static_cast<double>(h[i]) - state) <= error);
    }
  }
  std::printf("%s\n", failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}
