// SPDX-License-Identifier: Apache-2.0
// An ordinary source; ebb_add_dispatched() compiles it once for each level.
#include "kernels.hpp"

#include <span>

#include <ebb/core/dispatch.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/recurrence/backend/simd.hpp>
#include <ebb/recurrence/scan.hpp>

// [kernels]
namespace {

void scan(const double* rates, const float* b, float* h, std::ptrdiff_t steps,
          std::ptrdiff_t channels) {
  const auto decay = ebb::constant_decay().bind(
      std::span<const double>(rates, static_cast<std::size_t>(channels)));
  ebb::scan(decay, ebb::strided_view<const float, ebb::time_major>(b, steps, channels),
            ebb::strided_view<float, ebb::time_major>(h, steps, channels), ebb::simd<>{});
}

}  // namespace

app::kernels app::kernels_here() { return {ebb::name_of(ebb::compiled_level).data(), &scan}; }
// [kernels]
