// SPDX-License-Identifier: Apache-2.0
#include "table1/progress.hpp"

#include <cmath>
#include <cstdio>
#include <string>

namespace table1 {
namespace {

std::string clock_text(double seconds) {
  const auto whole = std::lround(seconds);
  char text[48];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  return text;
}

}  // namespace

progress::progress(std::ostream& out, bool terminal, std::size_t cells, double cost)
    : out_(out), terminal_(terminal), cells_(cells), cost_(cost) {
  start_ = shown_ = std::chrono::steady_clock::now();
}

void progress::add(double cost) {
  ++done_cells_;
  done_ += cost;
  const auto now = std::chrono::steady_clock::now();
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double part = cost_ > 0 ? done_ / cost_ : 1;
  const double left = part > 0 ? elapsed * (1 - part) / part : 0;
  const std::string text = std::to_string(done_cells_) + " of " + std::to_string(cells_) +
                           " measurements, " + std::to_string(static_cast<int>(100 * part)) +
                           " %, " + clock_text(left < 0 ? 0 : left) + " left";
  if (terminal_) {
    if (now - shown_ < std::chrono::milliseconds(200) && done_cells_ < cells_) return;
    shown_ = now;
    out_ << '\r' << text << "   " << std::flush;
  } else if (static_cast<int>(10 * part) > shown_tenths_) {
    shown_tenths_ = static_cast<int>(10 * part);
    out_ << text << std::endl;
  }
}

void progress::finish() {
  if (terminal_ && done_cells_ > 0) out_ << '\n' << std::flush;
}

}  // namespace table1
