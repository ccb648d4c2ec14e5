// SPDX-License-Identifier: Apache-2.0
// Matrix states of one type of data, EBB_VALUE: checks, and with EBB_BENCH benchmarks of the same kernels.
#include <cstdio>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "families.hpp"
#include "matrix_check.hpp"
#include "timing.hpp"

#if !defined(EBB_VALUE)
#define EBB_VALUE float
#endif
#define EBB_TEXT_OF(x) #x
#define EBB_TEXT(x) EBB_TEXT_OF(x)

namespace ebb::test {

namespace {

const std::string name = "matrix states " EBB_TEXT(EBB_VALUE);

void check(report& results) {
  check_matrices<EBB_VALUE>(results, name, ebb::cuda{}, [](const auto& values) {
    using number = std::remove_cvref_t<decltype(values.data()[0])>;
    return device_array<number>(values);
  });
}

#if defined(EBB_BENCH)
void bench(table& results) {
  using rule = matrix_problem;
  for (const matrix_problem& is :
       std::initializer_list<matrix_problem>{{rule::outer, 8, 2048, 64, 1, 128, 64, false, false},
                                             {rule::outer, 1, 16384, 64, 1, 128, 64, false, false},
                                             {rule::gated, 8, 2048, 16, 16, 128, 128, false, false},
                                             {rule::rates, 8, 2048, 32, 32, 64, 64, true, false},
                                             {rule::outer, 128, 1, 64, 1, 128, 64, false, false}}) {
    const auto random = [&](index_t steps, index_t width, float low, float high) {
      device_array<float> values({is.batches, steps, width});
      const auto numbers = filled(is.batches * steps * width, 5, low, high);
      require_cuda(
          cudaMemcpyAsync(values.data(), numbers.data(),
                          sizeof(float) * static_cast<std::size_t>(is.batches * steps * width),
                          cudaMemcpyDeviceToDevice, nullptr),
          "cudaMemcpyAsync");
      require_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      return values;
    };
    const index_t t = is.steps, shared = is.key_heads * is.keys;
    const index_t state = is.heads * is.keys * is.values;
    matrix_arrays<device_array<float>, device_array<float>> on{
        random(t, shared, -1, 1),
        random(t, shared, -1, 1),
        random(t, is.heads * is.values, -1, 1),
        random(t, is.heads, 0, 0.02f),
        random(t, shared, -1, 1),
        random(t, shared, 0, 0.02f),
        random(t, is.heads * (is.by_key ? is.keys : 1), -0.2f, 0),
        random(1, is.heads, -1, 1),
        random(t, is.heads * is.values, 0, 0),
        random(1, state, 0, 0),
        random(1, state, 0, 0)};
    const double ms = milliseconds([&] { call_matrix<float>(is, on, ebb::cuda{}); });
    const double tokens = static_cast<double>(is.batches * t) / ms * 1e3;
    const double flops = static_cast<double>(is.batches * t) * static_cast<double>(state) *
                         (is.rule == rule::outer ? 4 : 8) / ms / 1e9;
    const char* const rules[] = {"outer", "gated delta", "delta", "delta, rates"};
    char rate[64];
    std::snprintf(rate, sizeof rate, "%10.4g tokens/s %6.2f TFLOP/s", tokens, flops);
    results.line(std::string(rules[is.rule]) + "  B " + std::to_string(is.batches) + " T " +
                     std::to_string(t) + " H " + std::to_string(is.heads) + " K " +
                     std::to_string(is.keys) + " V " + std::to_string(is.values),
                 ms, rate);
  }
}
#else
void (*const bench)(table& results) = nullptr;
#endif

const registered matrices({name, check, bench});

}  // namespace
}  // namespace ebb::test
