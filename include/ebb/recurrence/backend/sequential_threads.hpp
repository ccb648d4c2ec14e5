// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/sequential_threads.hpp
/// @brief  The sequential form on several threads: over sequences, heads and lanes of V.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include <ebb/core/executor.hpp>
#include <ebb/recurrence/backend/sequential.hpp>
#include <ebb/recurrence/backend/state_pieces.hpp>

namespace ebb::inline EBB_ABI {

namespace detail {
/// Results that come in any order, from any thread, and are taken in order.
template <class Result, class Take>
class in_order {
 public:
  explicit in_order(const Take& take) : take_(take) {}

  /// Takes it and those after it that are there, unless another thread is about to.
  void put(index_t i, Result&& result) {
    std::unique_lock lock(mutex_);
    waiting_.emplace(i, std::move(result));
    if (taking_) return;
    taking_ = true;
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_;
         first = waiting_.begin()) {
      auto now = waiting_.extract(first);
      lock.unlock();
      take_(now.key(), now.mapped());
      lock.lock();
      ++next_;
    }
    taking_ = false;
  }

 private:
  const Take& take_;
  std::mutex mutex_;
  std::map<index_t, Result> waiting_;
  index_t next_ = 0;
  bool taking_ = false;
};
}  // namespace detail

/// `sequential` with its work cut by sequences and heads, and by blocks of lanes of V where there
/// are fewer heads than threads. Calls too small to pay for it run on the calling thread.
///
/// Work is the number of state elements times steps. Two threads are taken from 2^20 on by default,
/// so that waking one is a small part of it.
///
/// Cost: of `sequential`; what lanes of one head share (products of keys) is done for each piece.
/// Memory: of `sequential`, for each thread at work. Accuracy: error_bound of `sequential`; the same
/// bits, whatever the number of threads.
///
/// Copies share the executor. A default-constructed object makes a pool of its own, whose threads
/// start with the first large call: keep the object.
///
/// @tparam Executor  an executor (core/executor.hpp), such as one that wraps an engine's own pool
template <executor Executor = thread_pool>
class sequential_threads {
 public:
  static constexpr std::string_view name = "sequential_threads";
  static constexpr determinism repeats = determinism::any_thread_count;
  static constexpr double error_bound(index_t steps, index_t keys, bool corrected = true) {
    return sequential::error_bound(steps, keys, corrected);
  }

  sequential_threads() requires std::default_initializable<Executor>
      : executor_(std::make_shared<Executor>()) {}
  /// A pool of its own with this many threads, the caller included. @throws as thread_pool.
  explicit sequential_threads(
      index_t count,
      index_t minimum_work = detail::usual_state_work) requires std::same_as<Executor, thread_pool>
      : sequential_threads(std::make_shared<Executor>(count), minimum_work) {}
  /// A shared executor.
  /// @param minimum_work  least work that takes a thread of its own, >= 1
  /// @throws domain_error for no executor or a minimum below 1.
  explicit sequential_threads(std::shared_ptr<Executor> executor,
                              index_t minimum_work = detail::usual_state_work)
      : executor_(std::move(executor)), minimum_work_(minimum_work) {
    detail::require_domain(executor_ != nullptr, "sequential_threads", "need an executor");
    detail::require_domain(minimum_work >= 1, "sequential_threads", "need minimum_work >= 1",
                           minimum_work);
  }
  /// The caller's executor, which must outlive this object and its copies. @throws as above.
  explicit sequential_threads(Executor& borrowed, index_t minimum_work = detail::usual_state_work)
      : sequential_threads(std::shared_ptr<Executor>(std::shared_ptr<void>(), &borrowed),
                           minimum_work) {}

  // A move copies: an object without an executor could do nothing.
  sequential_threads(const sequential_threads&) = default;
  sequential_threads& operator=(const sequential_threads&) = default;
  ~sequential_threads() = default;

  template <class Decay, class Data, class State>
  void run(const Decay& decay, const Data& data, const sequences<State>& where) const {
    detail::run_state_pieces(
        *executor_, detail::shape_of(data), where, minimum_work_,
        [&](const detail::walk_piece& piece) { sequential::run_piece(decay, data, where, piece); });
  }

  /// Independent pieces whose results are taken in order: take(i, work(i)) for each i in 0 .. count
  /// - 1, with a work = begin() for each thread. One result is taken at a time, by whichever thread
  /// is free; those that are early wait.
  /// @param work_of_all  elements times steps, or what takes as long
  template <class Begin, class Take>
  void run_in_order(index_t count, double work_of_all, const Begin& begin, const Take& take) const {
    const index_t threads =
        std::clamp<index_t>(static_cast<index_t>(executor_->concurrency()), 1, index_t{1} << 16);
    const double most = std::min(work_of_all / static_cast<double>(minimum_work_),
                                 static_cast<double>(std::min(threads, count)));
    if (most < 2) return sequential{}.run_in_order(count, work_of_all, begin, take);
    using Result = decltype(begin()(index_t{}));
    detail::in_order<Result, Take> results(take);
    std::atomic<index_t> next{0};
    executor_->run(static_cast<index_t>(most), [&](index_t) {
      index_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= count) return;
      auto work = begin();
      for (; i < count; i = next.fetch_add(1, std::memory_order_relaxed)) results.put(i, work(i));
    });
  }

  const Executor& executor() const { return *executor_; }

 private:
  std::shared_ptr<Executor> executor_;
  index_t minimum_work_ = detail::usual_state_work;
};

}  // namespace ebb::inline EBB_ABI
