// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/walk_memory.hpp
/// @brief  The memory of a walk over matrix states.
#pragma once

#include <cstddef>
#include <vector>

#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI::detail {

/// Memory of a walk: on the stack up to a size that any usual decoding step fits in, else allocated.
template <class Real>
class walk_memory {
 public:
  explicit walk_memory(index_t count) {
    if (count > here_count) away_.resize(static_cast<std::size_t>(count));
    next_ = count > here_count ? away_.data() : here_;
  }
  walk_memory(const walk_memory&) = delete;
  walk_memory& operator=(const walk_memory&) = delete;
  /// The next `count` numbers, uninitialised. @param count  a multiple of 16
  Real* take(index_t count) {
    Real* const result = next_;
    next_ += count;
    return result;
  }

 private:
  static constexpr index_t here_count = 3 * (index_t{1} << 15) / static_cast<index_t>(sizeof(Real));
  alignas(64) Real here_[static_cast<std::size_t>(here_count)];
  std::vector<Real> away_;
  Real* next_;
};

}  // namespace ebb::inline EBB_ABI::detail
