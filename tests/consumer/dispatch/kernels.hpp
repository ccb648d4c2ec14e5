// SPDX-License-Identifier: Apache-2.0
// What main.cpp and every level share.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace consumer {

struct kernels {
  const char* level;
  const char* (*flags)();
  float (*sum)(std::size_t count);
  void (*scan)(const float* a, const float* b, float* h, std::ptrdiff_t steps,
               std::ptrdiff_t channels);
};

kernels kernels_here();

// The trap: one name for differently compiled functions, of which a linker keeps one.
#if defined(__AVX512F__)
#define CONSUMER_FLAGS "avx512"
#elif defined(__AVX2__)
#define CONSUMER_FLAGS "avx2"
#elif defined(__SSE4_2__)
#define CONSUMER_FLAGS "sse42"
#else
#define CONSUMER_FLAGS "baseline"
#endif
[[gnu::noinline]] inline const char* flags_of_object() { return CONSUMER_FLAGS; }

// The same for what the standard library instantiates, and for static variables of functions.
[[gnu::noinline]] inline float sum_of_vector(std::size_t count) {
  static std::vector<float> numbers;
  numbers.clear();
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(i));
  return std::accumulate(numbers.begin(), numbers.end(), 0.0f);
}

}  // namespace consumer
