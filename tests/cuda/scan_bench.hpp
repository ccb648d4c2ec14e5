// SPDX-License-Identifier: Apache-2.0
/// @file   cuda/scan_bench.hpp
/// @brief  Scans of float on a GPU: how much of the bandwidth of a copy they reach.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/recurrence/scan.hpp>

#include "scan_check.hpp"
#include "timing.hpp"

namespace ebb::test {

inline index_t next_size(index_t count, index_t largest) {
  return count == largest ? largest + 1 : std::min(16 * count, largest);
}

struct bench_shape {
  index_t batches, channels;
};
/// One sequence and many, few channels and many.
inline std::vector<bench_shape> shapes(bool by_steps) {
  if (by_steps) return {{1, 128}, {1, 1024}, {16, 1024}, {8, 8192}};
  return {{1, 1}, {1, 64}, {16, 256}, {16, 8192}};
}

/// From what fits into the L2 cache to several GB, stored, constant and tapered decays.
/// @param label  in front of each line
template <class Axis, class Backend = ebb::cuda>
void bench_scans(table& results, const Backend& backend = {}, const std::string& label = "") {
  constexpr bool by_steps = std::is_same_v<Axis, time_major>;
  std::size_t free = 0, all = 0;
  require_cuda(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
  index_t largest = index_t{1} << 29;  // 2 GiB an array, and the words of tiles besides
  while (largest > (index_t{1} << 20) && static_cast<double>(largest) * 16 > 0.8 * double(free))
    largest /= 2;
  const auto a = filled(largest, 1, 0.9f, 1), b = filled(largest, 2, -1, 1);
  auto h = filled(largest, 3, 0, 0);
  for (index_t count = index_t{1} << 18; count <= largest; count = next_size(count, largest)) {
    const double copy = results.copy(b.data(), h.data(), count);
    for (const auto& [batches, channels] : shapes(by_steps)) {
      const extents size{batches, count / (batches * channels), channels};
      if (size.steps < 1) continue;
      const strided_view<const float, Axis> decays(a.data(), size), in(b.data(), size);
      const strided_view<float, Axis> out(h.data(), size);
      const auto rates = some_rates(channels);
      const auto row = [&](const char* name, double bytes, const auto& decay) {
        const double ms = milliseconds([&] { ebb::scan(decay, in, out, backend); });
        results.line(label + (by_steps ? " (B, T, N)  " : " (B, N, T)  ") + name + "  " +
                         std::to_string(size.batches) + " x " + std::to_string(size.steps) + " x " +
                         std::to_string(size.channels),
                     ms, bytes * static_cast<double>(count) / ms / 1e6, copy);
      };
      const std::span<const double> bind(rates);
      row("stored  ", 12, stored_factors(decays));
      row("constant", 8, constant_decay().bind(bind));
      row("post    ", 8, post_taper::relative(4096).bind(bind));
    }
  }
}

}  // namespace ebb::test
