// SPDX-License-Identifier: Apache-2.0
// From how much work on two threads pay: sequences for each of them, calls one after the other and
// after pauses in which the pool's threads go to sleep.
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "scan_rows.hpp"

namespace bench {
namespace {

constexpr index_t sequences_at_once = 8;

// Wall times of one call each in turn, the median of many; `pause` seconds of other work before.
template <class One, class Other>
std::pair<double, double> medians(const One& one, const Other& other, double pause) {
  constexpr timing wall = timing::wall_median;
  const auto time = [&](const auto& run) {
    for (const double start = now(wall); now(wall) - start < pause;) {
    }
    const double start = now(wall);
    run();
    return now(wall) - start;
  };
  std::vector<double> times[2];
  const std::size_t rounds = usual_effort.turn > 0 ? 61 : 3;
  for (std::size_t i = 0; i < rounds; ++i) {
    // The one before the last finds the caches as it leaves them.
    for (int warm = 0; warm < 2; ++warm) time(one);
    times[0].push_back(time(one));
    for (int warm = 0; warm < 2; ++warm) time(other);
    times[1].push_back(time(other));
  }
  for (auto& t : times) std::sort(t.begin(), t.end());
  return {times[0][rounds / 2], times[1][rounds / 2]};
}

template <class Backend, class Decay>
void cross(benchmark::State& state, const Decay& decay, const ebb::extents& size, lines<float>& in,
           lines<float>& out) {
  const ebb::threads<Backend> parallel(ebb::thread_pool().concurrency());
  const ebb::strided_view<float> b(in.data(), size), h(out.data(), size);
  const auto one = [&] { ebb::scan(decay, b, h, Backend{}); };
  const auto all = [&] { ebb::scan(decay, b, h, parallel); };
  for (auto _ : state) {
    const auto [alone, together] = medians(one, all, 0);
    const auto [alone_after, together_after] =
        medians(one, all, usual_effort.turn > 0 ? 200e-6 : 0.0);
    state.SetIterationTime(together);
    state.counters["ns_per_element"] =
        1e9 * alone / static_cast<double>(size.batches * size.steps * size.channels);
    state.counters["threads_over_one"] = together / alone;
    state.counters["after_pause"] = together_after / alone_after;
  }
}

template <class Backend>
void offer_backend(const std::string& backend) {
  constexpr index_t channels = 64;
  for (index_t steps = 32; steps <= 2048; steps *= 2) {
    for (const std::string decay : {"stored", "logs", "constant", "post_relative_1"}) {
      const std::string name = row_name(
          {"crossover", "threads<" + backend + ">", decay, type_name<float>()}, {steps, channels});
      offer(name, backend == fastest_name, [=](benchmark::State& state) {
        const ebb::extents size{sequences_at_once, steps, channels};
        const index_t count = size.batches * size.steps * size.channels;
        lines<float> in(count, 0), decays(count, 19), out(count, 38);
        std::fill_n(in.data(), count, 0.3f);
        std::fill_n(decays.data(), count, decay == "logs" ? -0.03f : 0.97f);
        const ebb::strided_view<const float> values(decays.data(), size);
        const auto rates =
            ebb::rates_of<double>(ebb::geometric_spectrum::timescales(1, 4096), channels);
        if (decay == "stored")
          cross<Backend>(state, ebb::stored_factors(values), size, in, out);
        else if (decay == "logs")
          cross<Backend>(state, ebb::stored_logs(values), size, in, out);
        else if (decay == "constant")
          cross<Backend>(state, ebb::constant_decay().bind(std::span<const double>(rates)), size,
                         in, out);
        else
          cross<Backend>(state, tapers[0].bind(rates), size, in, out);
      });
    }
  }
}

}  // namespace

void offer_crossovers() {
  offer_backend<ebb::rows>("rows");
#if defined(EBB_BENCH_SIMD)
  offer_backend<ebb::simd<>>("simd");
#endif
}

}  // namespace bench
