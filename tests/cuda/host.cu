// SPDX-License-Identifier: Apache-2.0
// The library's code for the processor in a source that nvcc compiles: every public header, and that
// matrix states, the part nvcc sees in a form of its own (core/pack.hpp), are what they should be.
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <ebb/ebb.hpp>
#include <ebb/recurrence/backend/automatic.hpp>
#include <ebb/recurrence/backend/chunked.hpp>
#include <ebb/recurrence/backend/cuda.hpp>
#include <ebb/recurrence/backend/over_time.hpp>
#include <ebb/recurrence/backend/sequential_threads.hpp>
#include <ebb/recurrence/backend/threads.hpp>

#include "families.hpp"
#include "matrix_check.hpp"

namespace ebb::test {
namespace {

/// Steps by softplus, another part that nvcc sees in a form of its own (core/pack_softplus.hpp).
void check_selective(report& results) {
  const index_t steps = 60, channels = 37;
  ebb::array<float> raw(steps, channels), b(steps, channels), h(steps, channels);
  numbers draw(1);
  fill(raw, [&] { return static_cast<float>(draw.uniform(-9, 3)); });
  fill(b, [&] { return static_cast<float>(draw.uniform(0, 1)); });
  std::vector<double> rates;
  for (index_t k = 0; k < channels; ++k) rates.push_back(0.01 + 0.1 * static_cast<double>(k));
  scan(selective_decay(raw).bind(std::span<const double>(rates)), b, h);
  // Beside the roundings of a step, those of log a, 20 u at the most, and x e^-x <= 1.
  const double bound = (rows::error_bound(steps) + 20.0 * steps) * 0x1p-24;
  int wrong = 0;
  for (index_t k = 0; k < channels; ++k) {
    double exact = 0;  // its own majorant: nothing is negative
    for (index_t t = 0; t < steps; ++t) {
      const double step = std::log1p(std::exp(static_cast<double>(raw(t, k))));
      exact = std::exp(-rates[static_cast<std::size_t>(k)] * step) * exact +
              static_cast<double>(b(t, k));
      wrong += !(std::abs(static_cast<double>(h(t, k)) - exact) <= bound * exact);
    }
  }
  results.check(wrong == 0, "selective decays: " + std::to_string(wrong) + " states");
}

void check(report& results) {
  check_selective(results);
  const auto there = [](const auto& values) { return values; };
  check_matrices<float>(results, "sequential, float", sequential{}, there);
  check_matrices<double>(results, "sequential, double", sequential{}, there);
}
const registered host({"host", check});

}  // namespace
}  // namespace ebb::test
