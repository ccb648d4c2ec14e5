// SPDX-License-Identifier: Apache-2.0
// dispatched [level]: is the level taken, does it compute the recurrence, and has it functions of
// its own?
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <ebb/core/dispatch.hpp>

#include "kernels.hpp"

namespace {

int failures = 0;

void check(bool condition, const char* what) {
  if (!condition) std::printf("FAILED: %s\n", what), ++failures;
}

// Two roundings a step (docs/accuracy.md, section 3).
void check_scan(const consumer::kernels& kernels) {
  const std::ptrdiff_t steps = 300, channels = 37;
  std::vector<float> a, b;
  for (int i = 0; i < steps * channels; ++i) {
    a.push_back(static_cast<float>(0.5 + 0.49 * std::sin(0.7 * i)));
    b.push_back(static_cast<float>(std::cos(1.3 * i)));
  }
  std::vector<float> h(a.size());
  kernels.scan(a.data(), b.data(), h.data(), steps, channels);
  bool agrees = true;
  for (std::ptrdiff_t k = 0; k < channels; ++k) {
    double state = 0, reach = 0;
    for (std::ptrdiff_t t = 0; t < steps; ++t) {
      const auto i = static_cast<std::size_t>(t * channels + k);
      state = double(a[i]) * state + double(b[i]);
      reach = double(a[i]) * reach + std::abs(double(b[i]));
      const double bound = std::expm1(2 * double(t + 1) * 0x1p-24 * 1.01) * reach;
      agrees = agrees && std::abs(double(h[i]) - state) <= bound;
    }
  }
  check(agrees, "the scan is within its bound");
  try {
    kernels.scan(nullptr, b.data(), h.data(), steps, channels);
    check(false, "a scan without factors throws");
  } catch (const std::invalid_argument& error) {
    check(std::strstr(error.what(), "strided_view") != nullptr, "an exception keeps its text");
  }
}

int run(const char* wanted) {
  const std::string_view here = ebb::name_of(ebb::processor_level());
  if (wanted != nullptr && here < wanted) {
    std::printf("skipped: this processor has no %s\n", wanted);
    return 0;
  }
  const consumer::kernels kernels = consumer::kernels_here();
  std::printf("level %s of a processor of level %s\n", kernels.level, here.data());
  check(wanted == nullptr || std::strcmp(kernels.level, wanted) == 0, "the level asked for");

  const std::string_view level = kernels.level;
  const char* const flags = level == "x86-64-v4"   ? "avx512"
                            : level == "x86-64-v3" ? "avx2"
                            : level == "x86-64-v2" ? "sse42"
                            : level == "x86-64"    ? "baseline"
                                                   : CONSUMER_FLAGS;
  check(std::strcmp(kernels.flags(), flags) == 0, "a level calls its own inline functions");
  check(std::strcmp(consumer::flags_of_object(), CONSUMER_FLAGS) == 0, "so does main.cpp");
  check(kernels.sum(1000) == 499500 && consumer::sum_of_vector(1000) == 499500, "sums");
  check_scan(kernels);
  if (failures == 0) std::printf("all is as it should be\n");
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : nullptr);
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}
