// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/automatic.hpp
/// @brief  One thread for small calls, several for large ones: of scans and of matrix states.
#pragma once

#include <string_view>
#include <utility>

#include <ebb/recurrence/backend/key_lanes.hpp>
#include <ebb/recurrence/backend/sequential.hpp>
#include <ebb/recurrence/backend/state_pieces.hpp>
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
/// Where the threshold comes from: with eight sequences of 64 channels, calls one after the other,
/// two threads take 0.6 of the time of one at 2^19 elements, 60 us of work, and break even at 2^16.
/// When the pool's thread sleeps, 200 us after the last call, they break even at 2^19, and take 0.65
/// to 0.85 at 2^20; with an exponential for each element at 2^16, 90 us. The table is in
/// docs/benchmarks.md. The first steps of a taper cost more than exponentials, later ones as little
/// as the others; it is taken for the latter. Of one sequence of too few channels to cut, all work
/// is on one thread: over_time.hpp cuts that.
///
/// Cost: that of the backend taken; memory as threads. Accuracy: error_bound of `Single`.
///
/// It is also a form of the recurrences with matrix states (recurrence/matrix.hpp), where `Single`
/// has no say: `key_lanes` for outer products with V = 1, else `sequential`, cut as by
/// sequential_threads from 2^20 state elements times steps on.
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

  static constexpr index_t threshold = index_t{1} << 19;
  static constexpr index_t exponential_work = 8;

  static constexpr double error_bound(index_t steps, const step_kind& kind = {}) {
    return threads<Single, Executor>::error_bound(steps, kind);
  }

  /// Of matrix states: where nothing corrects that of key_lanes, the larger one.
  static constexpr double error_bound(index_t steps, index_t keys, bool corrected = true) {
    return corrected ? sequential::error_bound(steps, keys) : key_lanes::error_bound(steps, keys);
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

  /// A call on matrix states (recurrence/outer.hpp, delta.hpp).
  template <class Decay, class Data, class State>
  void run(const Decay& decay, const Data& data, const sequences<State>& where) const {
    detail::run_state_pieces(parallel_.shared_executor(), detail::shape_of(data), where,
                             detail::usual_state_work, [&](const detail::walk_piece& piece) {
                               if constexpr (!detail::has_corrections<Data>)
                                 if (data.outputs.width() == 1)
                                   return key_lanes::run_piece(decay, data, where, piece);
                               sequential::run_piece(decay, data, where, piece);
                             });
  }

 private:
  threads<Single, Executor> parallel_;
};

}  // namespace ebb::inline EBB_ABI
