// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/threads.hpp
/// @brief  Another backend on several threads, with the same bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ebb/core/executor.hpp>
#include <ebb/decay/shifted.hpp>
#include <ebb/recurrence/backend/rows.hpp>
#include <ebb/recurrence/concept.hpp>

namespace ebb::inline EBB_ABI {

namespace detail {

/// A scan cut into tasks: groups of whole sequences by ranges of channels. Tasks share no element
/// and every sequence and channel lies in exactly one. Where the channels of a step are adjacent,
/// the ranges begin on pairs of cache lines, so that threads do not write to the same ones.
class scan_partition {
 public:
  /// More threads than this cut no finer, so that counts of tasks stay far below 2^63.
  static constexpr index_t most_threads = index_t{1} << 16;

  /// @param out      the view that is written; its memory decides where cache lines begin
  /// @param threads  how many work at once, 1 <= threads <= most_threads
  /// @param minimum  least number of elements that make a task, >= 1
  /// @param wide_bytes  least width of a range of channels in memory, but for narrow ones
  /// @param narrow   whether ranges of channels may be narrow in memory
  template <class T, class Axis, class State>
  scan_partition(const strided_view<T, Axis>& out, const sequences<State>& where, index_t threads,
                 index_t minimum, index_t wide_bytes, bool narrow)
      : offsets_(where.offsets), sequences_(where.count()), channels_(out.channels()) {
    if (out.empty() || threads == 1) return;  // products of an empty view's extents may overflow
    rows_ = out.batches() * sequences_;
    steps_ = offsets_.empty() ? out.steps() : offsets_.back() - offsets_.front();
    const index_t all = out.batches() * steps_;
    if (all == 0) return;
    constexpr auto bytes = static_cast<index_t>(sizeof(T));
    index_t wide = 1;
    if constexpr (std::same_as<Axis, time_major>) {
      line_ = std::max<index_t>(1, line_bytes / bytes);
      wide = std::max<index_t>(1, wide_bytes / bytes);
      const auto address = reinterpret_cast<std::uintptr_t>(out.data());
      lead_ = static_cast<index_t>(address % line_bytes) / bytes;
    }
    // Some tasks a thread, so that one held up by something else does not hold up the call.
    const index_t count = std::clamp<index_t>(all * channels_ / minimum, 1, 4 * threads);
    // Channels are cut as often as the longest sequence makes necessary, which stays in one piece;
    // into narrow ranges only for the sake of threads that would have nothing to do.
    const index_t longest = longest_sequence(where, out.steps());
    const auto cuts = [&](index_t tasks, index_t width) {
      return std::min((longest * tasks + all - 1) / all, channels_ / width);
    };
    ranges_ = std::max<index_t>(1, cuts(count, wide));
    if (narrow) ranges_ = std::max(ranges_, cuts(std::min(count, threads), line_));
    // Rows are cut no finer than there are threads: half as wide takes up to 1.5 times as long.
    if (ranges_ > threads) ranges_ = line_ > 1 ? threads : ranges_ - ranges_ % threads;
    groups_ = std::min(rows_, (count + ranges_ - 1) / ranges_);
  }

  /// How many tasks there are; 1 stands for the whole scan.
  index_t tasks() const { return groups_ * ranges_; }

  /// Calls body(batch, first sequence, sequences, first channel, channels) for all parts of a task.
  template <class Body>
  void for_each_part(index_t task, const Body& body) const {
    const index_t group = task / ranges_, range = task % ranges_;
    const index_t channel = channel_boundary(range), end = channel_boundary(range + 1);
    index_t row = row_boundary(group);
    const index_t last = row_boundary(group + 1);
    while (row < last) {
      const index_t batch = row / sequences_, sequence = row % sequences_;
      const index_t count = std::min(sequences_ - sequence, last - row);
      body(batch, sequence, count, channel, end - channel);
      row += count;
    }
  }

 private:
  // Processors fetch lines of 64 bytes in pairs.
  static constexpr index_t line_bytes = 128;

  template <class State>
  static index_t longest_sequence(const sequences<State>& where, index_t steps) {
    index_t result = 0;
    for (index_t s = 0; s < where.count(); ++s)
      result = std::max(result, where.end(s, steps) - where.begin(s));
    return result;
  }

  // Sequences in the order of batch entries; a group gets those that begin in its share of steps.
  index_t row_boundary(index_t group) const {
    if (group == groups_) return rows_;
    const index_t batches = rows_ / sequences_;
    // group * all steps / groups, without the product of all three.
    const index_t all = batches * steps_;
    const index_t step = all / groups_ * group + all % groups_ * group / groups_;
    const index_t batch = step / steps_, within = step % steps_;
    if (offsets_.empty()) return batch + (within > 0 ? 1 : 0);
    const auto at = std::lower_bound(offsets_.begin(), offsets_.end(), offsets_.front() + within);
    return batch * sequences_ + (at - offsets_.begin());
  }

  index_t channel_boundary(index_t range) const {
    if (range == 0) return 0;
    if (range == ranges_) return channels_;
    const index_t lines = (channels_ + lead_ + line_ - 1) / line_;
    return lines * range / ranges_ * line_ - lead_;
  }

  std::span<const index_t> offsets_;
  index_t sequences_, channels_, rows_ = 0, steps_ = 0;
  index_t line_ = 1, lead_ = 0;  // in elements: of a pair of lines; from where one begins to out
  index_t ranges_ = 1, groups_ = 1;
};

/// Least bytes of a step in a range of channels. Narrow parts of rows defeat the prefetching of the
/// processor: at 768 channels two threads take 0.7 (constant) and 0.6 (tapered decays) of the time
/// of one in ranges of 1024 bytes; but stored factors, an array more to follow, 1.2 times that time
/// below 2048 bytes, and in ranges of 256 bytes all of them up to twice that time beyond the caches.
template <class Decay>
inline constexpr index_t range_bytes = Decay::kind == decay_kind::stored ? 2048 : 1024;

/// Whether a decay has an exponential for each element, which costs more than the rest of a step.
template <class Decay>
inline constexpr bool takes_exponentials =
    Decay::form == decay_form::log_factor&& Decay::kind != decay_kind::constant &&
    !in_log_time<Decay, float>;

/// Part of the sequences of a call, for one batch entry. Steps keep their numbers.
template <class State>
sequences<State> part_of(const sequences<State>& where, index_t steps, index_t batch,
                         index_t sequence, index_t count, index_t channel, index_t channels) {
  const auto from = [](auto span, index_t first, index_t size) {
    return span.empty()
               ? span
               : span.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(size));
  };
  sequences<State> part;
  part.offsets = from(where.offsets, sequence, count + 1);
  part.first_positions = from(where.first_positions, batch * where.count() + sequence, count);
  part.resets = from(where.resets, batch * steps, steps);
  const auto rows = [&](const auto& view, index_t first, index_t size) {
    return view.batch_entry(batch).steps_from(first, size).channels_from(channel, channels);
  };
  if (where.initial_states.data())
    part.initial_states = rows(where.initial_states, sequence, count);
  if (where.final_states.data()) part.final_states = rows(where.final_states, sequence, count);
  if (!where.snapshot_steps.empty()) {
    part.snapshot_steps = where.snapshot_steps;
    part.snapshots = rows(where.snapshots, 0, where.snapshots.steps());
  }
  return part;
}

}  // namespace detail

/// The scan of another backend, cut over batch entries, sequences and channels.
///
/// Every part is a scan by `Inner`, so all elements have the bits that `Inner` gives alone, however
/// many threads there are, provided that with `Inner` the bits of an element do not depend on what
/// other channels and sequences are in the call (they do not with rows and reference).
///
/// A sequence is not cut over time, so a single one can only be cut over channels. In time-major
/// order a range is at least 1024 bytes of each step, of stored decays 2048, or, where elements cost more than their
/// memory (decays with an exponential for each, data narrower than the state), 128 bytes. With
/// fewer channels than two such ranges a single sequence runs on one thread.
///
/// An executor that says less than 1 counts as 1, and one that says more than 2^16 as that.
///
/// Cost: `Inner`'s work divided among the threads, and about the time to wake a thread (see
/// thread_pool). A call too small for two tasks of `minimum_work` elements (4096 if left out) runs
/// on the calling thread. No allocation, except by the first call of a default pool.
/// Accuracy: error_bound of `Inner`.
///
/// A default-constructed object makes a pool of its own, so keep the object; copies share its pool,
/// and moves are copies.
/// Any number of threads may use one object at once.
///
/// @tparam Inner     a backend for shifted_decay<Decay>; its scan must be safe to call at once
/// @tparam Executor  where the parts run: thread_pool, inline_executor, or an engine's own
template <class Inner = rows, class Executor = thread_pool>
class threads {
  static_assert(
      executor<Executor>,
      "ebb::threads: Executor is not an executor: it needs run(count, f) for any callable "
      "f of an index_t, not only for pointers to functions, and concurrency()");

 public:
  static constexpr std::string_view name = "threads";
  static constexpr determinism repeats = Inner::repeats;

  /// Elements below which a task is not worth handing out: some microseconds of work.
  static constexpr index_t usual_minimum = 4096;

  static constexpr double error_bound(index_t steps, const step_kind& kind = {}) {
    if constexpr (requires { Inner::error_bound(steps, kind); })
      return Inner::error_bound(steps, kind);
    else
      return Inner::error_bound(steps);
  }

  /// An executor of its own.
  threads() requires std::default_initializable<Executor>
      : executor_(std::make_shared<Executor>()) {}

  /// A pool of its own with this many threads, the caller included. @throws as thread_pool.
  explicit threads(index_t count, Inner inner = {}, index_t minimum_work = usual_minimum) requires
      std::same_as<Executor, thread_pool>
      : threads(std::make_shared<Executor>(count), std::move(inner), minimum_work) {}

  /// A shared executor.
  /// @param minimum_work  >= 1, elements: a task has at least about so many
  /// @throws domain_error for no executor or a minimum below 1.
  explicit threads(std::shared_ptr<Executor> shared, Inner inner = {},
                   index_t minimum_work = usual_minimum)
      : executor_(std::move(shared)), inner_(std::move(inner)), minimum_work_(minimum_work) {
    detail::require_domain(executor_ != nullptr, "threads", "need an executor");
    detail::require_domain(minimum_work >= 1, "threads", "need a minimum_work >= 1", minimum_work);
  }

  /// The caller's executor, which must outlive this object and its copies. @throws as above.
  explicit threads(Executor& borrowed, Inner inner = {}, index_t minimum_work = usual_minimum)
      : threads(std::shared_ptr<Executor>(std::shared_ptr<void>(), &borrowed), std::move(inner),
                minimum_work) {}

  // A move copies: an object without an executor could do nothing.
  threads(const threads&) = default;
  threads& operator=(const threads&) = default;

  const Inner& inner() const { return inner_; }
  Executor& shared_executor() const { return *executor_; }
  index_t minimum_work() const { return minimum_work_; }
  /// How many calls the executor runs at once, 1 <= . <= 2^16.
  index_t at_once() const {
    return std::clamp<index_t>(static_cast<index_t>(executor_->concurrency()), 1,
                               detail::scan_partition::most_threads);
  }

  template <class Decay, scan_scalar T, class InAxis, class OutAxis, class State>
  void scan(const Decay& decay, const strided_view<const T, InAxis>& in,
            const strided_view<T, OutAxis>& out, const sequences<State>& where,
            const scan_options& options) const {
    // Narrow ranges pay where elements cost much more than their memory.
    constexpr bool costly = detail::takes_exponentials<Decay> || !std::same_as<T, State>;
    const detail::scan_partition parts(out, where, at_once(), minimum_work_,
                                       detail::range_bytes<Decay>, costly);
    if (parts.tasks() == 1) return inner_.scan(decay, in, out, where, options);
    executor_->run(parts.tasks(), [&](index_t task) {
      parts.for_each_part(task, [&](index_t b, index_t s, index_t count, index_t k, index_t n) {
        inner_.scan(shifted_decay<Decay>(decay, {b, 0, k}), in.batch_entry(b).channels_from(k, n),
                    out.batch_entry(b).channels_from(k, n),
                    detail::part_of(where, out.steps(), b, s, count, k, n), options);
      });
    });
  }

 private:
  std::shared_ptr<Executor> executor_;
  [[no_unique_address]] Inner inner_{};
  index_t minimum_work_ = usual_minimum;
};

}  // namespace ebb::inline EBB_ABI
