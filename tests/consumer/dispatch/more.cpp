// SPDX-License-Identifier: Apache-2.0
#include "more.hpp"

#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/scan.hpp>
#if __has_include(<xsimd/xsimd.hpp>)
#include <ebb/recurrence/backend/simd.hpp>
using backend = ebb::simd<>;
#else
using backend = ebb::rows;
#endif

void consumer::scan(const float* a, const float* b, float* h, std::ptrdiff_t steps,
                    std::ptrdiff_t channels) {
  using input = ebb::strided_view<const float, ebb::time_major>;
  ebb::scan(input(a, steps, channels), input(b, steps, channels),
            ebb::strided_view<float, ebb::time_major>(h, steps, channels), backend{});
}
