// SPDX-License-Identifier: Apache-2.0
#include "table1/overhead.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <functional>
#include <span>

#include <ebb/core/array.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/recurrence/scan.hpp>
#include <ebb/spectrum/geometric.hpp>
#if __has_include(<xsimd/xsimd.hpp>)
#include <ebb/recurrence/backend/simd.hpp>
#endif

namespace table1 {
namespace {

#if __has_include(<xsimd/xsimd.hpp>)
using backend = ebb::simd<>;
#else
using backend = ebb::rows;
#endif

// Seconds of processor time that each takes: they take turns, of which each lasts a millisecond.
std::vector<double> medians(const std::vector<std::function<void()>>& candidates) {
  constexpr int rounds = 11;
  const auto seconds = [](const std::function<void()>& run, int repeats) {
    const std::clock_t start = std::clock();
    for (int i = 0; i < repeats; ++i) run();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / repeats;
  };
  std::vector<int> repeats;
  for (const auto& run : candidates)
    repeats.push_back(
        std::clamp(static_cast<int>(1e-3 / std::max(seconds(run, 1), 1e-6)), 1, 1000));
  std::vector<std::vector<double>> times(candidates.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < candidates.size(); ++i)
      times[i].push_back(seconds(candidates[i], repeats[i]));
  std::vector<double> result;
  for (auto& of_one : times) {
    std::sort(of_one.begin(), of_one.end());
    result.push_back(of_one[rounds / 2]);
  }
  return result;
}

// h = a h + b by rows, as anybody would write it.
void plain_loop(std::span<const float> a, std::span<float> state, const ebb::array<float>& b,
                ebb::array<float>& h) {
  const std::size_t n = a.size();
  const float* x = b.data();
  float* y = h.data();
  for (ebb::index_t t = 0; t < b.steps(); ++t, x += n, y += n)
    for (std::size_t k = 0; k < n; ++k) y[k] = state[k] = a[k] * state[k] + x[k];
}

}  // namespace

std::vector<timing> time_scans() {
  std::vector<timing> found;
  for (const int channels : {64, 128, 768}) {
    const auto rates =
        ebb::rates_of<double>(ebb::geometric_spectrum::timescales(1, timed_steps), channels);
    const std::span<const double> bind(rates);
    const auto constant = ebb::constant_decay().bind(bind);
    const auto tapered = ebb::post_taper::relative(timed_steps).bind(bind);
    ebb::array<float> b(timed_steps, channels), h(timed_steps, channels);
    for (ebb::index_t i = 0; i < b.steps() * b.channels(); ++i)
      b.data()[i] = static_cast<float>(std::sin(0.1 * static_cast<double>(i % 9973)));
    std::vector<float> factors, state(rates.size());
    for (const double r : rates) factors.push_back(static_cast<float>(std::exp(-r)));
    const ebb::index_t starts[] = {1, 10000};
    const auto from = [&](const ebb::index_t& first) {
      return [&, where = ebb::sequences<float>{.first_positions = {&first, 1}}] {
        ebb::scan(tapered, b, h, where, backend{});
      };
    };
    const auto seconds =
        medians({[&] { ebb::scan(constant, b, h, backend{}); },
                 [&] { plain_loop(factors, state, b, h); }, from(starts[0]), from(starts[1])});
    for (std::size_t i = 0; i < 2; ++i)
      found.push_back({channels, static_cast<double>(starts[i]),
                       seconds[2 + i] / std::min(seconds[0], seconds[1])});
  }
  return found;
}

}  // namespace table1
