// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulator/launcher.hpp
/// @brief  A kernel_launcher over the emulator, so that the planning of calls runs as on a GPU.
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ebb/recurrence/backend/cuda/launcher.hpp>

#include "support/emulator/launch.hpp"

namespace ebb::test::emulator {

/// Launches on the processor, one after the other; every launch has a seed of its own.
///
///   memory& m = l.begin_call();   forgets the scratch memory and the ranges of the call before
///   m.add(...)                    what the kernels of this call may touch
///   plan(l, ...)                  throws what a launch finds wrong
class launcher {
 public:
  /// @param processors  what plans are told; they choose their kernels by it
  /// @param numbering   of the tile buffer: near its end, to see epochs start anew
  explicit launcher(const config& how = {}, index_t processors = 4,
                    detail::gpu::tile_numbering numbering = detail::gpu::tile_numbering())
      : how_(how), processors_(processors), numbering_(numbering) {
    ticket_ = numbering_.number(nullptr, nullptr).first_ticket;
  }

  memory& begin_call() {
    global_ = {};
    return global_;
  }

  /// @throws std::runtime_error with the report of a launch that is not clean, std::logic_error
  ///   where blocks draw other tickets than one each.
  template <detail::gpu::kernel_body Kernel>
  void launch(index_t blocks, const typename Kernel::params& params) {
    ++how_.seed;
    ++launches_;
    latest_ = emulator::launch<Kernel>(blocks, params, global_, how_);
    if (!latest_.clean())
      throw std::runtime_error("emulator: a launch is not clean\n" + latest_.text());
    if (std::exchange(tiles_given_, false)) numbering_.draw(blocks);
    if (ticket_ != numbering_.number(nullptr, nullptr).first_ticket)
      throw std::logic_error("emulator: the blocks have not drawn one ticket each");
  }
  template <class T>
  const T* upload(std::span<const T> values) {
    return global_.copy(values, "upload");
  }
  template <class T>
  T* scratch(index_t count) {
    return global_.allocate<T>(count, "scratch");
  }
  detail::gpu::tile_buffer tiles(index_t words) {
    const auto needed = static_cast<std::size_t>(words) + alignment;
    if (words_.size() < needed) words_.resize(needed);
    if (numbering_.next()) words_.assign(words_.size(), 0);
    void* start = words_.data();
    std::size_t space = words_.size() * sizeof(word64);
    auto* const aligned =
        static_cast<word64*>(std::align(alignment * sizeof(word64), 0, start, space));
    global_.add(aligned, words, usage::words, "tiles");
    global_.add(&ticket_, 1, usage::words, "ticket");
    tiles_given_ = true;
    return numbering_.number(aligned, &ticket_);
  }
  index_t processors() const { return processors_; }

  /// Launches so far, and what the latest one found.
  index_t launches() const { return launches_; }
  const report& latest() const { return latest_; }

 private:
  static constexpr std::size_t alignment = 32;  // words: 256 bytes

  config how_;
  index_t processors_, launches_ = 0;
  detail::gpu::tile_numbering numbering_;
  memory global_;
  report latest_;
  std::vector<word64> words_;
  word32 ticket_ = 0;
  bool tiles_given_ = false;
};
static_assert(detail::gpu::kernel_launcher<launcher>);

}  // namespace ebb::test::emulator
