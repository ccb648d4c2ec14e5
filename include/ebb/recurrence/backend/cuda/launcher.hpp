// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/launcher.hpp
/// @brief  What plans of calls need of the host side: launches, uploads, scratch memory, tiles.
#pragma once

#include <concepts>
#include <span>

#include <ebb/core/numeric.hpp>
#include <ebb/recurrence/backend/cuda/context.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// Memory in which the blocks of one launch meet: flagged words, and the counter of their tickets.
///
/// It is not cleared between launches. What earlier launches left in the words carries a smaller
/// epoch in its flag, or is 0; and the ticket of a block is its fetch_add minus first_ticket,
/// modulo 2^32.
struct tile_buffer {
  word64* words = nullptr;  ///< 256-byte aligned
  word32* ticket = nullptr;
  word32 epoch = 0;  ///< in 1 .. 2^24 - 1: a flag has eight bits more
  word32 first_ticket = 0;
};

/// Numbers the launches that use one tile buffer.
class tile_numbering {
 public:
  static constexpr word32 last_epoch = (word32{1} << 24) - 1;

  explicit tile_numbering(word32 epoch = 0, word32 tickets = 0)
      : epoch_(epoch), tickets_(tickets) {}

  /// Goes on to the next launch; whether all words have to be 0 before it.
  bool next() {
    const bool starts = epoch_ == 0 || epoch_ >= last_epoch;
    epoch_ = starts ? 1 : epoch_ + 1;
    return starts;
  }
  /// Notes that a launch of so many blocks draws one ticket each.
  void draw(index_t blocks) { tickets_ += static_cast<word32>(blocks); }

  tile_buffer number(word64* words, word32* ticket) const {
    return {words, ticket, epoch_, tickets_};
  }

 private:
  word32 epoch_, tickets_;
};

/// The host side of a call. Everything is enqueued in order; pointers are for kernels only, and
/// hold until the end of the call.
///
///   l.template launch<Kernel>(blocks, params)   runs a kernel; 0 <= blocks < 2^31
///   l.upload(span of const T)                   a copy of host values, read-only; T const*
///   l.template scratch<T>(count)                uninitialised memory, 256-byte aligned; T*
///   l.tiles(words)                              a tile_buffer of at least so many words for the
///                                               next launch, whose blocks draw one ticket each
///   l.processors()                              multiprocessors of the device, at least 1
template <class L>
concept kernel_launcher = requires(L& l, index_t count, std::span<const index_t> values) {
  { l.upload(values) } -> std::same_as<const index_t*>;
  { l.template scratch<float>(count) } -> std::same_as<float*>;
  { l.tiles(count) } -> std::same_as<tile_buffer>;
  { l.processors() } -> std::convertible_to<index_t>;
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
