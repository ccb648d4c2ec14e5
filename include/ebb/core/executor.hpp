// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/core/executor.hpp
/// @brief  Where independent calls run: a pool of threads, the calling thread, or your own.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <ebb/core/error.hpp>
#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {

namespace detail {
// A call with something captured, which no pointer to a function takes.
struct some_call {
  index_t* sum;
  void operator()(index_t i) const { *sum += i; }
};
}  // namespace detail

/// A way to run independent calls.
///
///   e.run(count, f)     calls f(i) once for each i in 0 .. count - 1, in any order and possibly at
///                       once, and returns when all have returned. The first exception is rethrown;
///                       calls that have not begun by then are left out.
///   e.concurrency()     how many calls may run at once, >= 1: how finely to cut the work;
///                       less counts as 1, more than 2^16 as that
///
/// f is any callable of an index_t, with what it has captured. The work of the calls happens before
/// the return of `run`. An engine with a pool of its own wraps it in a struct with these two
/// members.
template <class E>
concept executor = requires(E& e, const E& fixed, index_t count, const detail::some_call& call) {
  { e.run(count, call) } -> std::same_as<void>;
  { fixed.concurrency() } -> std::convertible_to<index_t>;
};

/// Runs everything on the calling thread, in order.
struct inline_executor {
  template <class F>
  void run(index_t count, const F& call) {
    for (index_t i = 0; i < count; ++i) call(i);
  }
  index_t concurrency() const { return 1; }
};

/// Threads that sleep until there is work. The caller of `run` takes part.
///
/// Any number of threads may call `run` at once. The first gets the workers; a call that finds them
/// taken, or that comes from within a call, runs on its own thread. Workers are started by the
/// first run that has use for them, and nothing allocates after that.
///
/// Cost: the time in which the system wakes a thread, some tens of us and more after a long sleep,
/// of which the caller spends a few itself: it works while the others wake up. So that runs that
/// follow each other need not wait for it, a worker that has finished looks for the next run for up
/// to `patience` before it sleeps, and the caller as long for the last worker. Both yield the
/// processor at every look, and nobody looks where threads outnumber processors: waiting that keeps
/// a processor from those who have work costs milliseconds (docs/benchmarks.md).
class thread_pool {
 public:
  /// How long a thread that waits stays awake.
  static constexpr std::chrono::microseconds patience{30};

  /// One thread for each processor that this process may use.
  thread_pool() : thread_pool(processors()) {}

  /// @param threads  how many work at once, the caller included, 1 <= threads <= 4096
  /// @throws domain_error outside this domain.
  explicit thread_pool(index_t threads)
      : threads_(threads), useful_(std::min(threads, processors()) - 1) {
    detail::require_domain(threads >= 1 && threads <= 4096, "thread_pool",
                           "need 1 <= threads <= 4096", threads);
  }

  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  /// Waits for nothing: no run may be under way.
  ~thread_pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      news_.fetch_add(1, std::memory_order_release);
    }
    work_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  index_t concurrency() const { return threads_; }

  /// @throws what a call throws; std::system_error where the first run cannot start a thread,
  ///   before any call.
  template <class F>
  void run(index_t count, const F& call) {
    job all{[](const void* f, index_t i) { (*static_cast<const F*>(f))(i); }, &call, count};
    if (count > 1 && threads_ > 1 && publish(all)) {
      all.take_part(mutex_);
      retire(all);
    } else {
      all.take_part(mutex_);
    }
    if (all.error) std::rethrow_exception(all.error);
  }

 private:
  // One run. It lives on the stack of the caller, who leaves when no worker is inside any more.
  struct job {
    void (*call)(const void*, index_t);
    const void* context;
    index_t count;
    std::atomic<index_t> next{0};
    std::atomic<index_t> inside{0};  // workers at it; changed under the pool's mutex
    std::exception_ptr error{};      // the first one; guarded by the mutex

    bool open() const { return next.load(std::memory_order_relaxed) < count; }

    void take_part(std::mutex& mutex) {
#if EBB_EXCEPTIONS
      try {
        call_all();
      } catch (...) {
        next.store(count, std::memory_order_relaxed);
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
#else
      (void)mutex;
      call_all();
#endif
    }

    void call_all() {
      for (;;) {
        const index_t i = next.fetch_add(1, std::memory_order_relaxed);
        if (i >= count) return;
        call(context, i);
      }
    }
  };

  static index_t processors() { return std::max<index_t>(1, std::thread::hardware_concurrency()); }

  // Looks for something to happen, for as long as patience lasts.
  template <class Happened>
  void look_for(const Happened& happened) const {
    if (useful_ < threads_ - 1) return;
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!happened() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }

  // False where the workers are taken.
  bool publish(job& all) {
    index_t wanted = 0;
    bool everyone = false;
    {
      const std::lock_guard lock(mutex_);
      if (current_) return false;
      if (workers_.empty()) start();
      current_ = &all;
      news_.fetch_add(1, std::memory_order_release);
      // Those who are awake look for work before they sleep.
      const auto workers = static_cast<index_t>(workers_.size());
      wanted = std::min(std::max<index_t>(1, useful_), all.count - 1) - (workers - asleep_);
      everyone = wanted >= asleep_;
    }
    if (everyone)
      work_.notify_all();
    else
      for (index_t i = 0; i < wanted; ++i) work_.notify_one();
    return true;
  }

  void retire(job& all) {
    const auto left = [&] { return all.inside.load(std::memory_order_acquire) == 0; };
    {
      const std::lock_guard lock(mutex_);
      current_ = nullptr;
      if (left()) return;
    }
    look_for(left);
    // Also where all have left: the last one may still be about to say so.
    std::unique_lock lock(mutex_);
    left_.wait(lock, left);
  }

  void start() {
    workers_.reserve(static_cast<std::size_t>(threads_ - 1));
    for (index_t i = 1; i < threads_; ++i) workers_.emplace_back([this] { serve(); });
  }

  void serve() {
    std::unique_lock lock(mutex_);
    const auto called = [this] { return stopping_ || (current_ && current_->open()); };
    for (;;) {
      if (!called()) {
        const std::uint64_t before = news_.load(std::memory_order_relaxed);
        lock.unlock();
        look_for([&] { return news_.load(std::memory_order_acquire) != before; });
        lock.lock();
        ++asleep_;
        work_.wait(lock, called);
        --asleep_;
      }
      if (stopping_) return;
      job& all = *current_;
      ++all.inside;
      lock.unlock();
      all.take_part(mutex_);
      lock.lock();
      if (--all.inside == 0) left_.notify_all();
    }
  }

  index_t threads_, useful_;  // useful_: workers that find a processor beside the caller
  std::mutex mutex_;
  std::condition_variable work_, left_;
  job* current_ = nullptr;
  bool stopping_ = false;
  index_t asleep_ = 0;                  // workers that need a call
  std::atomic<std::uint64_t> news_{0};  // how many runs there were
  std::vector<std::thread> workers_;
};

static_assert(executor<inline_executor> && executor<thread_pool>);

}  // namespace ebb::inline EBB_ABI
