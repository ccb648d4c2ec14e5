// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulator/machine.hpp
/// @brief  Blocks of threads, taken in turn by a seeded scheduler; barriers and exchanges.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/emulator/fiber.hpp"
#include "support/emulator/memory.hpp"
#include "support/emulator/ready_queue.hpp"

namespace ebb::test::emulator {

/// How a launch is run. Everything follows from it: the same seed gives the same course.
struct config {
  std::uint64_t seed = 1;
  order how = order::uniform;
  int resident = 3;                 ///< blocks that run at once
  bool shuffle_blocks = true;       ///< start them in random order
  bool switch_at_accesses = false;  ///< also at every access to shared and global memory
  index_t patience = 500;           ///< idle steps a thread before waiting counts as endless
};

/// What the lanes of a warp do together.
enum class meeting : std::uint8_t { shuffle, ballot, barrier };

struct block_state;

/// One thread of a kernel.
struct thread_state {
  enum class state { ready, at_block_barrier, at_warp, done };
  block_state* block = nullptr;
  moment now;
  state at = state::ready;
  place waits_at;
  std::int64_t priority = 0;
  fiber stack;

  int lane() const { return now.thread % warp_size; }
};

/// What each lane brings.
using lane_values = std::array<std::array<unsigned char, 16>, warp_size>;

/// A warp that meets: its values lie in one of two places by turns, so that quick lanes may be one
/// meeting ahead.
struct warp_state {
  int arrived = 0;
  meeting what = meeting::barrier;
  place where;
  std::size_t round = 0;
  std::array<lane_values, 2> values{};
};

/// A resident block.
struct block_state {
  index_t number = 0;
  int arrived = 0, alive = 0;
  place barrier;
  std::vector<std::unique_ptr<thread_state>> threads;
  std::vector<warp_state> warps;
  std::shared_ptr<void> shared_memory;
};

/// A launch: its blocks, and whose turn it is.
class machine {
 public:
  using body = std::function<void(thread_state&)>;
  using make_shared_memory = std::function<std::shared_ptr<void>()>;

  machine(memory& global, const config& how)
      : global_(global), config_(how), queue_(how.how, how.seed) {}

  report run(index_t blocks, int threads, const make_shared_memory& shared, const body& kernel) {
    global_.begin_launch();
    std::vector<index_t> numbers(static_cast<std::size_t>(blocks));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<index_t>(i);
    if (config_.shuffle_blocks)
      for (std::size_t i = numbers.size(); i > 1; --i)
        std::swap(numbers[i - 1], numbers[random().below(i)]);
    std::size_t next = 0;
    while (!stopping_) {
      while (next < numbers.size() && static_cast<int>(resident_.size()) < config_.resident)
        start(numbers[next++], threads, shared(), kernel);
      if (resident_.empty()) break;
      // Who comes to a barrier that cannot open has been reported there.
      if (next_ == nullptr && queue_.empty()) throw std::logic_error("emulator: all threads wait");
      thread_state& t = next_ != nullptr ? *std::exchange(next_, nullptr) : queue_.pop();
      ++faults_.switches;
      t.stack.resume();
      if (t.at == thread_state::state::done && t.block->alive == 0) retire(*t.block);
    }
    unwind();
    return std::move(faults_);
  }

  random_numbers& random() { return queue_.random(); }
  memory& global() { return global_; }
  report& faults() { return faults_; }
  const config& settings() const { return config_; }

  /// A point where another thread may go on.
  void may_switch(thread_state& t) {
    queue_.at_switch_point(t);
    hand_over(t);
  }
  /// The same in a loop that waits: with priorities, everybody else first.
  void pause(thread_state& t, const place& where) {
    ++faults_.pauses;
    waits(t, where);
    queue_.demote(t);
    hand_over(t);
  }
  /// Something has happened that others may have waited for.
  void progress() { idle_ = 0; }
  /// Nothing has.
  void waits(const thread_state& t, const place& where) {
    if (++idle_ > config_.patience * alive_)
      stop(fault::endless, where,
           text_of(t.now) + " waits, and nobody does anything else: " + everybody());
  }

  void meet_block(thread_state& t, const place& where) {
    block_state& b = *t.block;
    const warp_state& w = warp_of(t);
    if (w.arrived > 0)
      stop(fault::divergence, where,
           text_of(t.now) + " comes to a barrier of the block while lanes of its warp wait at " +
               emulator::text_of(w.where));
    if (b.alive < static_cast<int>(b.threads.size()))
      stop(fault::divergence, where,
           text_of(t.now) + " comes to a barrier of a block that threads have left");
    if (b.arrived > 0 && !(b.barrier == where))
      stop(fault::divergence, where,
           text_of(t.now) + " comes to this barrier of the block while others are at that of " +
               emulator::text_of(b.barrier));
    b.barrier = where;
    waits(t, where);
    if (++b.arrived == b.alive) {
      b.arrived = 0;
      for (auto& other : b.threads) {
        ++other->now.block_barriers;
        if (other.get() != &t) release(*other);
      }
      may_switch(t);
    } else {
      park(t, thread_state::state::at_block_barrier, where);
    }
  }

  /// All lanes come; a barrier orders memory, the others do not.
  void meet_warp(thread_state& t, meeting what, const place& where) {
    block_state& b = *t.block;
    warp_state& w = warp_of(t);
    const auto lanes = b.threads.begin() + (t.now.thread - t.lane());
    for (auto lane = lanes; lane != lanes + warp_size; ++lane) {
      const auto at = (*lane)->at;
      if (at == thread_state::state::at_block_barrier || at == thread_state::state::done)
        stop(fault::divergence, where,
             text_of(t.now) + " comes to " + name_of(what) + " of a warp of which thread " +
                 std::to_string((*lane)->now.thread) +
                 (at == thread_state::state::done
                      ? std::string(" has returned")
                      : " waits for the block at " + emulator::text_of((*lane)->waits_at)));
    }
    if (w.arrived > 0 && (w.what != what || !(w.where == where)))
      stop(fault::divergence, where,
           text_of(t.now) + " comes to " + name_of(what) + " while lanes of its warp are at " +
               name_of(w.what) + " of " + emulator::text_of(w.where));
    w.what = what;
    w.where = where;
    waits(t, where);
    if (++w.arrived == warp_size) {
      w.arrived = 0;
      ++w.round;
      for (auto lane = lanes; lane != lanes + warp_size; ++lane) {
        if (what == meeting::barrier) ++(*lane)->now.warp_barriers;
        if (lane->get() != &t) release(**lane);
      }
      may_switch(t);
    } else {
      park(t, thread_state::state::at_warp, where);
    }
  }

  /// The bytes that every lane brings to one meeting, there until its next but one.
  template <class T>
  const lane_values& exchange(thread_state& t, const T& value, meeting what, const place& where) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16);
    warp_state& w = warp_of(t);
    auto& values = w.values[w.round % 2];
    std::memcpy(values[static_cast<std::size_t>(t.lane())].data(), &value, sizeof(T));
    meet_warp(t, what, where);
    return values;
  }

  /// Ends the launch; does not return to the kernel.
  [[noreturn]] void stop(fault kind, const place& where, std::string text) {
    faults_.add(kind, where, std::move(text));
    stopping_ = true;
    throw stopped{};
  }

 private:
  struct stopped {};  // unwinds a kernel whose launch has ended

  static std::string name_of(meeting what) {
    return what == meeting::shuffle  ? "a shuffle"
           : what == meeting::ballot ? "a ballot"
                                     : "a barrier";
  }
  static warp_state& warp_of(thread_state& t) {
    return t.block->warps[static_cast<std::size_t>(t.now.warp())];
  }

  void start(index_t number, int threads, std::shared_ptr<void> shared, const body& kernel) {
    std::unique_ptr<block_state> b;
    if (spare_.empty()) {
      b = std::make_unique<block_state>();
      for (int i = 0; i < threads; ++i) b->threads.push_back(std::make_unique<thread_state>());
    } else {
      b = std::move(spare_.back());
      spare_.pop_back();
    }
    b->number = number;
    b->arrived = 0;
    b->alive = threads;
    b->warps.assign(static_cast<std::size_t>(threads / warp_size), {});
    b->shared_memory = std::move(shared);
    alive_ += threads;
    for (int i = 0; i < threads; ++i) {
      thread_state& t = *b->threads[static_cast<std::size_t>(i)];
      t.block = b.get();
      t.now = {static_cast<std::int32_t>(number), i, 0, 0};
      t.at = thread_state::state::ready;
      t.stack.start([this, &t, &kernel] { live(t, kernel); });
      queue_.enter(t);
    }
    resident_.push_back(std::move(b));
  }
  void live(thread_state& t, const body& kernel) {
    try {
      if (!stopping_) {  // or it has never begun
        kernel(t);
        leave(t);
      }
    } catch (const stopped&) {
    } catch (const std::exception& e) {
      faults_.add(fault::exception, {}, text_of(t.now) + " threw: " + e.what());
      stopping_ = true;
    }
    t.at = thread_state::state::done;
    --t.block->alive;
    --alive_;
    progress();
  }
  // Nobody may wait for a thread that returns.
  void leave(thread_state& t) {
    const block_state& b = *t.block;
    const warp_state& w = warp_of(t);
    if (w.arrived > 0)
      stop(fault::divergence, w.where,
           text_of(t.now) + " returns while lanes of its warp wait at " + name_of(w.what));
    if (b.arrived > 0)
      stop(fault::divergence, b.barrier,
           text_of(t.now) + " returns while threads of its block wait at a barrier");
  }
  void retire(block_state& b) {
    const auto at = std::find_if(resident_.begin(), resident_.end(),
                                 [&](const auto& other) { return other.get() == &b; });
    spare_.push_back(std::move(*at));
    resident_.erase(at);
  }
  // Every kernel that was left in the middle ends: its frames hold memory.
  void unwind() {
    stopping_ = true;
    for (auto& b : resident_)
      for (auto& t : b->threads)
        if (!t->stack.idle()) t->stack.resume();
    resident_.clear();
  }

  void park(thread_state& t, thread_state::state at, const place& where) {
    t.at = at;
    t.waits_at = where;
    suspend(t);
  }
  void release(thread_state& t) {
    t.at = thread_state::state::ready;
    queue_.push(t);
  }
  void hand_over(thread_state& t) {
    queue_.push(t);
    thread_state& next = queue_.pop();
    if (&next == &t) return;
    next_ = &next;
    suspend(t);
  }
  void suspend(thread_state& t) {
    t.stack.suspend();
    if (stopping_) throw stopped{};
  }

  // Where the threads of the resident blocks are, some of them.
  std::string everybody() const {
    std::string all;
    std::size_t named = 0;
    for (const auto& b : resident_)
      for (const auto& t : b->threads) {
        if (t->at == thread_state::state::done || t->at == thread_state::state::ready) continue;
        if (++named > 4) return all + " ...";
        all += (all.empty() ? "" : ", ") + text_of(t->now) + " is at a barrier of " +
               emulator::text_of(t->waits_at);
      }
    return all.empty() ? "none is at a barrier" : all;
  }

  memory& global_;
  config config_;
  ready_queue<thread_state> queue_;
  report faults_;
  std::vector<std::unique_ptr<block_state>> resident_, spare_;
  thread_state* next_ = nullptr;
  index_t alive_ = 0, idle_ = 0;
  bool stopping_ = false;
};

}  // namespace ebb::test::emulator
