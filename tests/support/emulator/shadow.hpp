// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulator/shadow.hpp
/// @brief  Who has accessed a cell of memory, and whether that is ordered before an access now.
#pragma once

#include <cstdint>
#include <string>

#include <ebb/recurrence/backend/cuda/context.hpp>

#include "support/emulator/report.hpp"

namespace ebb::test::emulator {

using detail::gpu::warp_size;

/// A thread at a time: how many barriers of its block and of its warp it has passed.
struct moment {
  std::int32_t block = -1;
  std::int32_t thread = 0;
  std::int32_t block_barriers = 0;
  std::int32_t warp_barriers = 0;

  std::int32_t warp() const { return thread / warp_size; }
  friend bool operator==(const moment&, const moment&) = default;
};

/// Whether barriers order what happened at `then` before what happens at `now`. Those of different
/// blocks are never ordered: relaxed words order nothing.
inline bool ordered(const moment& then, const moment& now) {
  if (then.block != now.block) return false;
  if (then.thread == now.thread || then.block_barriers != now.block_barriers) return true;
  return then.warp() == now.warp() && then.warp_barriers != now.warp_barriers;
}

inline std::string text_of(const moment& who) {
  return "thread " + std::to_string(who.thread) + " of block " + std::to_string(who.block);
}

/// The last write of a cell, and as much of the reads since as decides whether a write races with
/// any of them.
class shadow_cell {
 public:
  bool written = false;
  bool cached = false;  ///< read as a constant in this launch

  bool written_in_this_launch() const { return writer_.block >= 0; }
  /// Forgets the order of accesses, not the contents: launches follow one another.
  void forget_order() {
    writer_ = {};
    readers_ = {};
    who_read_ = readers::none;
    cached = false;
  }

  /// Notes a read; what it races with, or an empty text.
  std::string read(const moment& now, const place& where) {
    std::string race;
    if (writer_.block >= 0 && !ordered(writer_, now))
      race = text_of(now) + " reads what " + text_of(writer_) + " wrote at " +
             emulator::text_of(writer_at_);
    who_read_ = readers_with(now);
    readers_ = now;
    readers_at_ = where;
    return race;
  }

  /// Notes a write; what it races with, or an empty text.
  std::string write(const moment& now, const place& where) {
    std::string race;
    if (writer_.block >= 0 && !ordered(writer_, now))
      race = text_of(now) + " overwrites what " + text_of(writer_) + " wrote at " +
             emulator::text_of(writer_at_);
    else if (races_with_readers(now))
      race = text_of(now) + " overwrites what " +
             (who_read_ == readers::one ? text_of(readers_) : several()) + " read at " +
             emulator::text_of(readers_at_);
    written = true;
    writer_ = now;
    writer_at_ = where;
    who_read_ = readers::none;
    return race;
  }

 private:
  // Who has read since the last write and is not ordered before everything to come: one thread,
  // several of a warp with as many barriers, of a block, or of several blocks.
  enum class readers : std::uint8_t { none, one, warp, block, blocks };

  readers readers_with(const moment& now) const {
    if (who_read_ == readers::none) return readers::one;
    if (who_read_ == readers::blocks || readers_.block != now.block) return readers::blocks;
    // Those before are ordered before all that this block does.
    if (readers_.block_barriers != now.block_barriers) return readers::one;
    if (who_read_ == readers::block || readers_.warp() != now.warp()) return readers::block;
    if (readers_.warp_barriers != now.warp_barriers) return readers::one;
    return readers_.thread == now.thread ? who_read_ : readers::warp;
  }
  bool races_with_readers(const moment& now) const {
    switch (who_read_) {
      case readers::none:
        return false;
      case readers::blocks:
        return true;
      case readers::one:
        return !ordered(readers_, now);
      case readers::warp:
        return readers_.thread == now.thread ? readers_.block_barriers == now.block_barriers &&
                                                   readers_.warp_barriers == now.warp_barriers
                                             : !ordered(readers_, now);
      case readers::block:
        return readers_.block != now.block || readers_.block_barriers == now.block_barriers;
    }
    return true;
  }
  std::string several() const {
    return who_read_ == readers::warp    ? "several lanes of a warp"
           : who_read_ == readers::block ? "several warps of the block"
                                         : "several blocks";
  }

  moment writer_, readers_;  // readers_: the latest of them
  place writer_at_, readers_at_;
  readers who_read_ = readers::none;
};

}  // namespace ebb::test::emulator
