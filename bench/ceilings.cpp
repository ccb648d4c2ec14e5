// SPDX-License-Identifier: Apache-2.0
// What the memory allows, by footprint: the ceilings of all other rows.
#include <string>

#include "scan_rows.hpp"

namespace bench {
namespace {

// Bytes a second of the memory that the loop names; what a store reads first is not counted.
void triads(benchmark::State& state, index_t count, index_t threads, bool past_caches) {
  problem<float, ebb::time_major> p({count, 1});
  const float *const x = p.in_memory.data(), *const z = p.factor_memory.data();
  float* const y = p.out_memory.data();
  ebb::thread_pool pool(threads);
  contest race;
  race.add("triad", [&] {
    in_parts(pool, count, [=](index_t i, index_t n) {
      if (past_caches)
        triad_past_caches(x + i, z + i, y + i, n);
      else
        triad(x + i, z + i, y + i, n);
    });
  });
  for (auto _ : state) {
    const results seconds = race.hold(threads > 1 ? timing::wall_least : timing::thread_median);
    state.SetIterationTime(seconds["triad"]);
    state.counters["ns_per_element"] = 1e9 * seconds["triad"] / static_cast<double>(count);
    state.counters["gigabytes_per_second"] =
        3e-9 * sizeof(float) * static_cast<double>(count) / seconds["triad"];
  }
}

}  // namespace

void offer_ceilings() {
  const index_t processors = ebb::thread_pool().concurrency();
  for (const bool past_caches : {false, true}) {
    if (past_caches && stream_bytes == 0) continue;
    const std::string kind = past_caches ? "triad_past_caches" : "triad";
    for (const index_t threads : {index_t{1}, processors}) {
      if (threads == 1 || processors > 1)
        for (const index_t count : {index_t{1} << 10, index_t{1} << 14, index_t{1} << 17,
                                    index_t{1} << 20, index_t{1} << 24})
          offer(row_name({kind, threads == 1 ? "one_thread" : "threads", "", "float"}, {count, 0}),
                true, [=](benchmark::State& state) { triads(state, count, threads, past_caches); });
      if (processors == 1) break;
    }
  }
}

}  // namespace bench
