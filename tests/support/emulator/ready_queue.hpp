// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulator/ready_queue.hpp
/// @brief  Whose turn it is: seeded orders of the threads that can go on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace ebb::test::emulator {

/// In which order threads take turns.
///
/// uniform: any thread that can go on, with equal chances, at every switch point.
/// round_robin: one after the other.
/// priority: always the most urgent, by random priorities that fall at random change points and
/// when a thread waits; finds what needs few, well-placed switches (S. Burckhardt et al., A
/// randomized scheduler with probabilistic guarantees of finding bugs, ASPLOS 2010).
enum class order { uniform, round_robin, priority };

/// Random numbers that are the same with every library (splitmix64).
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In 0 .. n - 1; n >= 1.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
  bool flip() { return (next() & 1) != 0; }

 private:
  std::uint64_t state_;
};

/// The threads that can go on, save the one that does. Thread needs a member `priority`.
template <class Thread>
class ready_queue {
 public:
  ready_queue(order how, std::uint64_t seed) : how_(how), random_(seed) {}

  random_numbers& random() { return random_; }
  bool empty() const { return ready_.empty(); }

  /// A new thread.
  void enter(Thread& t) {
    t.priority = static_cast<std::int64_t>(random_.next() >> 2);
    push(t);
  }
  void push(Thread& t) {
    ready_.push_back(&t);
    if (how_ == order::priority) std::push_heap(ready_.begin(), ready_.end(), less_urgent);
  }
  /// The next to go on; the queue is not empty.
  Thread& pop() {
    if (how_ == order::round_robin) {
      Thread& first = *ready_.front();
      ready_.pop_front();
      return first;
    }
    if (how_ == order::priority)
      std::pop_heap(ready_.begin(), ready_.end(), less_urgent);
    else
      std::swap(ready_[random_.below(ready_.size())], ready_.back());
    Thread& last = *ready_.back();
    ready_.pop_back();
    return last;
  }

  /// The running thread is where others may go on: now and then its priority falls.
  void at_switch_point(Thread& t) {
    if (how_ == order::priority && random_.below(64) == 0) demote(t);
  }
  /// Below all others.
  void demote(Thread& t) { t.priority = --lowest_; }

 private:
  static bool less_urgent(const Thread* x, const Thread* y) { return x->priority < y->priority; }

  order how_;
  random_numbers random_;
  std::deque<Thread*> ready_;
  std::int64_t lowest_ = 0;
};

}  // namespace ebb::test::emulator
