// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/loop_scan.hpp
/// @brief  A thread goes through a sequence of a channel: for many channels, or short sequences.
#pragma once

#include <ebb/recurrence/backend/cuda/scan_params.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// What a loop_scan is given. Threads in order: channels, sequences, batch entries.
template <class Params>
struct loop_params {
  Params scan;
  bool only_empty;  ///< only passes the states of empty sequences on
};

/// The scan without look-back, step by step: the bits of a sequence do not depend on what stands
/// beside it. `Ahead` steps are read before the first of them is used.
template <class Steps, int Ahead>
struct loop_scan {
  using params = loop_params<typename Steps::params>;
  static constexpr int threads = 128;
  template <class Context>
  struct shared_memory {};

  using State = typename Steps::state;
  using T = typename Steps::input;
  using output = typename Steps::output;

  EBB_NO_EXEC_CHECK template <class Context>
  static EBB_DEVICE void run(Context& c, shared_memory<Context>&, const params& given) {
    const auto& p = given.scan;
    const auto& where = p.where;
    const index_t number = c.block() * threads + c.thread();
    if (number >= p.batches * where.count * p.channels) return;
    const index_t k = number % p.channels, row = number / p.channels;
    const index_t s = row % where.count, b = row / where.count;
    const index_t begin = where.offsets == nullptr ? 0 : c.load_cached(where.offsets + s);
    const index_t end = where.offsets == nullptr ? p.steps : c.load_cached(where.offsets + s + 1);
    if (given.only_empty && begin < end) return;
    const index_t first =
        where.first_positions == nullptr ? 1 : c.load_cached(where.first_positions + row);

    State h = Steps::initial(c, where, b, s, k);
    const auto channel = p.gate.channel(c, k);
    index_t kept = 0;  // the snapshot that comes next, as the steps are walked
    if (where.snapshot_count > 0)
      kept = count_up_to(c, where.snapshot_steps, where.snapshot_count,
                         p.reverse ? end - 1 : begin - 1) -
             (p.reverse ? 1 : 0);
    for (index_t i = 0; i < end - begin; i += Ahead) {
      const int count = static_cast<int>(end - begin - i < Ahead ? end - begin - i : Ahead);
      // Step j is `t(j)`; positions ascend from the lowest of them.
      const auto t = [&](int j) { return p.reverse ? end - 1 - (i + j) : begin + i + j; };
      T x[Ahead]{};
      typename Steps::value values[Ahead]{};
      EBB_UNROLL for (int j = 0; j < Ahead; ++j) {
        if (j >= count) continue;
        if (Steps::reads(p)) x[j] = Steps::one(c, p.in, b, t(j), k);
        values[j] = Steps::gate_value(c, p.gate, b, t(j), k);
      }
      typename Steps::time_part times[Ahead]{};
      p.gate.times(c, first + (t(p.reverse ? Ahead - 1 : 0) - begin), times);
      EBB_UNROLL for (int j = 0; j < Ahead; ++j) {
        if (j >= count) continue;
        step_place here;
        here.reset =
            where.resets != nullptr && c.load_cached(where.resets + (b * p.steps + t(j))) != 0;
        auto w = p.gate.weight(c, channel, p.reverse ? times[Ahead - 1 - j] : times[j], values[j]);
        State in(0);
        cut_bits cuts;
        Steps::make(c, w, in, x[j]);
        Steps::note(here, 1, cuts);
        Steps::meet(c, p, here, b, t(j), k, w, in);
        const State y = Steps::advance(c, w, in, cuts.begins != 0, cuts.ends != 0, h);
        if (Steps::writes(p))
          c.store(p.out.at(b, t(j), k), packed<output, 1>{{Steps::stored(c, w, y)}});
        if (kept >= 0 && kept < where.snapshot_count &&
            c.load_cached(where.snapshot_steps + kept) == t(j)) {
          c.store(where.snapshots.at(b, kept, k), packed<State, 1>{{h}});
          kept += p.reverse ? -1 : 1;
        }
      }
    }
    if (where.final.data != nullptr) c.store(where.final.at(b, s, k), packed<State, 1>{{h}});
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
