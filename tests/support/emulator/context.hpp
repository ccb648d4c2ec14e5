// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulator/context.hpp
/// @brief  The execution context of the emulator: what device_context is on a GPU.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ebb/core/numeric.hpp>
#include <ebb/recurrence/backend/cuda/context.hpp>

#include "support/emulator/machine.hpp"

namespace ebb::test::emulator {

using detail::gpu::packed;
using detail::gpu::word32;
using detail::gpu::word64;

/// See detail::gpu (context.hpp) for what each member means.
class emulated_context {
 public:
  emulated_context(thread_state& self, machine& all) : self_(self), machine_(all) {}

  /// N objects in shared memory, each shadowed; unwritten they read as bytes 0xff.
  template <class T, int N>
  class shared {
    static_assert(std::is_trivially_copyable_v<T>);

   public:
    T get(emulated_context& c, int i, place where = place::here()) {
      c.at_access();
      if (!c.inside(i, N, where)) return poison<T>();
      shadow_cell& cell = cells_[static_cast<std::size_t>(i)];
      if (!cell.written)
        c.add(fault::unwritten, where,
              text_of(c.self_.now) + " reads a shared cell that nobody has written: " + nth(i));
      c.add_race(cell.read(c.self_.now, where), i, where);
      T value = poison<T>();
      std::memcpy(static_cast<void*>(&value), &memory_[static_cast<std::size_t>(i) * sizeof(T)],
                  sizeof(T));
      return value;
    }
    void put(emulated_context& c, int i, const T& value, place where = place::here()) {
      c.at_access();
      c.machine_.progress();
      if (!c.inside(i, N, where)) return;
      c.add_race(cells_[static_cast<std::size_t>(i)].write(c.self_.now, where), i, where);
      std::memcpy(&memory_[static_cast<std::size_t>(i) * sizeof(T)], &value, sizeof(T));
    }

   private:
    std::vector<unsigned char> memory_ = std::vector<unsigned char>(N * sizeof(T), 0xff);
    std::vector<shadow_cell> cells_ = std::vector<shadow_cell>(N);
  };

  int thread() const { return self_.now.thread; }
  int lane() const { return self_.lane(); }
  int warp() const { return self_.now.warp(); }
  index_t block() const { return self_.block->number; }

  void sync_block(place where = place::here()) { machine_.meet_block(self_, where); }
  void sync_warp(place where = place::here()) {
    machine_.meet_warp(self_, meeting::barrier, where);
  }

  template <class T>
  T shuffle(const T& v, int from, place where = place::here()) {
    return exchange(v, from, where);
  }
  template <class T>
  T shuffle_up(const T& v, int d, place where = place::here()) {
    const bool valid = inside(d, warp_size, where);
    return exchange(v, valid && lane() >= d ? lane() - d : lane(), where);
  }
  template <class T>
  T shuffle_down(const T& v, int d, place where = place::here()) {
    const bool valid = inside(d, warp_size, where);
    return exchange(v, valid && lane() + d < warp_size ? lane() + d : lane(), where);
  }
  template <class T>
  T shuffle_xor(const T& v, int mask, place where = place::here()) {
    return exchange(v, lane() ^ mask, where);
  }
  word32 ballot(bool flag, place where = place::here()) {
    const auto& flags = machine_.exchange(self_, flag, meeting::ballot, where);
    word32 bits = 0;
    for (std::size_t i = 0; i < flags.size(); ++i) bits |= word32{flags[i][0]} << i;
    return bits;
  }

  word32 fetch_add(word32* p, word32 v, place where = place::here()) {
    machine_.may_switch(self_);
    machine_.progress();
    if (!machine_.global().may_use_words(p, sizeof *p, sizeof *p, visitor(where))) return 0;
    return std::exchange(*p, *p + v);
  }
  void pause(place where = place::here()) { machine_.pause(self_, where); }

  template <int W>
  void store_words(word64* p, const word64 (&values)[W], place where = place::here()) {
    machine_.progress();
    const bool valid =
        machine_.global().may_use_words(p, sizeof values, alignment_of_words(W), visitor(where));
    const bool backwards = machine_.random().flip();
    for (int i = 0; i < W; ++i) {
      machine_.may_switch(self_);
      const int k = backwards ? W - 1 - i : i;
      if (valid) machine_.global().words().store(p + k, values[k], self_.now);
    }
  }
  template <int W>
  void load_words(const word64* p, word64 (&values)[W], place where = place::here()) {
    machine_.waits(self_, where);
    const bool valid =
        machine_.global().may_use_words(p, sizeof values, alignment_of_words(W), visitor(where));
    const bool backwards = machine_.random().flip();
    for (int i = 0; i < W; ++i) {
      machine_.may_switch(self_);
      const int k = backwards ? W - 1 - i : i;
      values[k] =
          valid ? machine_.global().words().load(p + k, self_.now, machine_.random()) : ~word64{0};
    }
  }

  template <int N, class T>
  packed<T, N> load(const T* p, place where = place::here()) {
    at_access();
    machine_.progress();
    packed<T, N> x = poison<packed<T, N>>();
    if (machine_.global().may_read(p, sizeof x, sizeof x, visitor(where)))
      std::memcpy(static_cast<void*>(&x), p, sizeof x);
    return x;
  }
  template <int N, class T>
  void store(T* p, const packed<T, N>& x, place where = place::here()) {
    at_access();
    machine_.progress();
    if (machine_.global().may_write(p, sizeof x, sizeof x, visitor(where)))
      std::memcpy(static_cast<void*>(p), &x, sizeof x);
  }
  template <class T>
  T load_cached(const T* p, place where = place::here()) {
    at_access();
    machine_.progress();
    T x = poison<T>();
    if (machine_.global().may_read(p, sizeof x, alignof(T), visitor(where), true))
      std::memcpy(static_cast<void*>(&x), p, sizeof x);
    return x;
  }

  template <class Real>
  Real exp(Real x) const {
    return std::exp(x);
  }
  template <class Real>
  Real exp2(Real x) const {
    return std::exp2(x);
  }
  template <class Real>
  Real expm1(Real x) const {
    return std::expm1(x);
  }
  template <class Real>
  Real log2(Real x) const {
    return std::log2(x);
  }
  template <class Real>
  Real log1p(Real x) const {
    return std::log1p(x);
  }
  float multiply_add(float a, float b, float c) const { return std::fma(a, b, c); }
  double multiply_add(double a, double b, double c) const { return std::fma(a, b, c); }

 private:
  template <class T>
  static T poison() {
    std::array<unsigned char, sizeof(T)> bytes;
    bytes.fill(0xff);
    return std::bit_cast<T>(bytes);
  }
  static constexpr std::size_t alignment_of_words(int count) { return count % 2 == 0 ? 16 : 8; }
  static std::string nth(int i) { return "element " + std::to_string(i); }

  memory::visitor visitor(const place& where) { return {self_.now, where, &machine_.faults()}; }
  void at_access() {
    if (machine_.settings().switch_at_accesses) machine_.may_switch(self_);
  }
  void add(fault kind, const place& where, std::string text) {
    machine_.faults().add(kind, where, std::move(text));
  }
  void add_race(std::string race, int i, const place& where) {
    if (!race.empty())
      add(fault::race, where, std::move(race) + ", and nothing orders them: shared " + nth(i));
  }
  bool inside(int i, int count, const place& where) {
    if (i >= 0 && i < count) return true;
    add(fault::bounds, where,
        text_of(self_.now) + " uses " + std::to_string(i) + " of " + std::to_string(count));
    return false;
  }
  template <class T>
  T exchange(const T& v, int from, const place& where) {
    const bool valid = inside(from, warp_size, where);
    const auto& all = machine_.exchange(self_, v, meeting::shuffle, where);
    std::array<unsigned char, sizeof(T)> bytes;
    std::memcpy(bytes.data(), all[static_cast<std::size_t>(valid ? from : lane())].data(),
                sizeof(T));
    return std::bit_cast<T>(bytes);
  }

  thread_state& self_;
  machine& machine_;
};

}  // namespace ebb::test::emulator
