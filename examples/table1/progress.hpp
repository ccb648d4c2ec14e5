// SPDX-License-Identifier: Apache-2.0
/// @file   table1/progress.hpp
/// @brief  How far a run is, on standard error.
#pragma once

#include <chrono>
#include <cstddef>
#include <ostream>

namespace table1 {

/// One line that is rewritten on a terminal; a plain line for every tenth of the work elsewhere.
class progress {
 public:
  /// @param cells, cost  what lies ahead
  progress(std::ostream& out, bool terminal, std::size_t cells, double cost);

  /// One more cell is done.
  void add(double cost);

  /// Leaves the terminal's line.
  void finish();

 private:
  std::ostream& out_;
  bool terminal_;
  std::size_t cells_, done_cells_ = 0;
  double cost_, done_ = 0;
  int shown_tenths_ = 0;
  std::chrono::steady_clock::time_point start_, shown_;
};

}  // namespace table1
