// SPDX-License-Identifier: Apache-2.0
// Outer products in chunks by cuBLAS, of one type of data, EBB_VALUE; with EBB_BENCH times.
#include <cstdio>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <ebb/recurrence/backend/cuda_chunked.hpp>

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

using value = EBB_VALUE;
const std::string name = "chunked " EBB_TEXT(EBB_VALUE);

struct handle {
  handle() { cublasCreate(&own); }
  ~handle() { cublasDestroy(own); }
  cublasHandle_t own = nullptr;
};

void check(report& results) {
  const handle cublas;
  const auto there = [](const auto& values) {
    return device_array<std::remove_cvref_t<decltype(values.data()[0])>>(values);
  };
  const auto check_all = [&](const std::string& what, const cuda_chunked& form, double roundings) {
    for (const matrix_problem& is :
         std::vector<matrix_problem>{{matrix_problem::outer, 2, 40, 3, 1, 16, 64, false, false},
                                     {matrix_problem::outer, 1, 300, 2, 2, 128, 128, false, true},
                                     {matrix_problem::outer, 3, 129, 8, 1, 128, 64, false, false},
                                     {matrix_problem::outer, 1, 70, 4, 2, 5, 3, false, true}})
      check_one_matrix<value>(results, what, is, form, there,
                              cuda_chunked::error_bound(is.steps, is.keys) + roundings);
  };
  // Four roundings of 16-bit data (rows of unit length), or of factors in TF32, as so many of
  // float.
  double more = 0;
  if constexpr (sizeof(value) == 2)
    more =
        4 * static_cast<double>(static_cast<float>(std::numeric_limits<value>::epsilon())) * 0x1p23;
  check_all(name, cuda_chunked(cublas.own), more);
  check_all(name + ", chunks of 16", cuda_chunked(cublas.own, cuda{}, 16), more);
  if constexpr (std::is_same_v<value, float>)
    check_all(name + ", TF32", cuda_chunked(cublas.own).with_tf32(), 8 * 0x1p13);
}

#if defined(EBB_BENCH)
void bench(table& results) {
  const handle cublas;
  for (const matrix_problem& is : std::vector<matrix_problem>{
           {matrix_problem::outer, 8, 2048, 64, 1, 128, 64, false, false},
           {matrix_problem::outer, 1, 16384, 64, 1, 128, 64, false, false}}) {
    using skips = device_array<default_state_t<value>>;
    auto on = random_matrices<value>(is, 1).template copied<device_array<value>, skips>(
        [](const auto& values) {
          return device_array<std::remove_cvref_t<decltype(values.data()[0])>>(values);
        });
    for (const index_t length : {64, 128}) {
      const double ms = milliseconds(
          [&] { call_matrix<value>(is, on, cuda_chunked(cublas.own, cuda{}, length)); });
      char rate[64];
      std::snprintf(rate, sizeof rate, "%10.4g tokens/s",
                    static_cast<double>(is.batches * is.steps) / ms * 1e3);
      results.line(name + "  L " + std::to_string(length) + " B " + std::to_string(is.batches) +
                       " T " + std::to_string(is.steps) + " H 64 K 128 V 64",
                   ms, rate);
    }
  }
}
#else
void (*const bench)(table& results) = nullptr;
#endif

const registered chunks({name, check, bench});

}  // namespace
}  // namespace ebb::test
