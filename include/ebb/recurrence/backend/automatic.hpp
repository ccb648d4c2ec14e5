// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/automatic.hpp
/// @brief  One thread for small scans, several for large ones.
#pragma once

#include <string_view>
#include <utility>

#include <ebb/recurrence/backend/threads.hpp>

namespace ebb::inline EBB_ABI {

/// `Single` where the scan is small, `threads<Single>` where it is large; the same bits either way.
///
/// | work of a call                                              | runs on                     |
/// |-------------------------------------------------------------|-----------------------------|
/// | below `threshold`                                           | the calling thread          |
/// | from `threshold` on                                         | the pool, cut as by threads |
///
/// Work is the number of elements, steps of sequences x channels. Where the decay computes a
/// log-decay for each, whose exponential costs more than the rest of a step, an element counts
/// as `exponential_work` of them.
///
/// Why this threshold: with `rows` an element takes 0.2 to 1 ns (docs/benchmarks.md), with an
/// exponential of its own several, so that work of 2^18 takes 50 to 250 us. A sleeping thread needs
/// some tens of us to be at work; two threads then finish work of t us about half of those after
/// t / 2. For `simd` on data in the caches the threshold is low: 2^18 elements take it 30 us.
///
/// Cost: that of the backend taken; memory as threads. Accuracy: error_bound of `Single`.
///
/// Like threads, a default-constructed object makes a pool of its own, whose threads start with the
/// first large scan: keep the object.
///
/// @tparam Single    the backend on one thread, such as rows or simd<>
/// @tparam Executor  as of threads
template <class Single = rows, class Executor = thread_pool>
class automatic {
 public:
  static constexpr std::string_view name = "automatic";
  static constexpr determinism repeats = threads<Single, Executor>::repeats;

  static constexpr index_t threshold = index_t{1} << 18;
  static constexpr index_t exponential_work = 16;

  static constexpr double error_bound(index_t steps, const step_kind& kind = {}) {
    return threads<Single, Executor>::error_bound(steps, kind);
  }

  automatic() requires std::default_initializable<Executor>
  = default;

  /// With the executor and inner backend of this one.
  explicit automatic(threads<Single, Executor> parallel) : parallel_(std::move(parallel)) {}

  /// The work of a call on data of this size, in elements.
  template <class Decay, class State>
  static index_t work(const extents& size, const sequences<State>& where) {
    if (size.empty()) return 0;  // a product of its extents may overflow
    const index_t steps =
        where.offsets.empty() ? size.steps : where.offsets.back() - where.offsets.front();
    return size.batches * steps * size.channels *
           (detail::takes_exponentials<Decay> ? exponential_work : 1);
  }

  template <class Decay, scan_scalar T, class InAxis, class OutAxis, class State>
  void scan(const Decay& decay, const strided_view<const T, InAxis>& in,
            const strided_view<T, OutAxis>& out, const sequences<State>& where,
            const scan_options& options) const {
    if (work<Decay>(out.size(), where) < threshold)
      parallel_.inner().scan(decay, in, out, where, options);
    else
      parallel_.scan(decay, in, out, where, options);
  }

 private:
  threads<Single, Executor> parallel_;
};

}  // namespace ebb::inline EBB_ABI
