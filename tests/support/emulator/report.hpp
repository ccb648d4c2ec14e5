// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulator/report.hpp
/// @brief  What an emulated launch found wrong.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ebb/core/numeric.hpp>

namespace ebb::test::emulator {

/// Kinds of faults. The last three end the launch.
enum class fault {
  race,        ///< two accesses, one of them a write, and nothing orders them
  unwritten,   ///< a read of memory that nobody has written
  bounds,      ///< outside the memory, or a lane outside the warp
  alignment,   ///< a vector access at an address that is no multiple of its size
  usage,       ///< memory used otherwise than it is meant: an input written, a word read as data
  divergence,  ///< a barrier, shuffle or ballot that a part of the block or warp comes to
  endless,     ///< waiting in a loop for what does not come
  exception    ///< the kernel threw
};

inline std::string_view name_of(fault kind) {
  switch (kind) {
    case fault::race:
      return "race";
    case fault::unwritten:
      return "unwritten";
    case fault::bounds:
      return "bounds";
    case fault::alignment:
      return "alignment";
    case fault::usage:
      return "usage";
    case fault::divergence:
      return "divergence";
    case fault::endless:
      return "endless";
    case fault::exception:
      return "exception";
  }
  return "?";
}

/// A line of the source: where a kernel called its context.
struct place {
  const char* file = "";
  int line = 0;

  /// As the default of a parameter: the line that calls the function.
  static constexpr place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  friend bool operator==(const place& x, const place& y) {
    return x.line == y.line && (x.file == y.file || std::string_view(x.file) == y.file);
  }
};
inline std::string text_of(const place& where) {
  const std::string_view file = where.file;
  return std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(where.line);
}

/// A fault, in words, and how often its kind was found at its line.
struct finding {
  fault kind = fault::race;
  std::string text;
  place where;
  index_t times = 1;
};

/// What a launch found, and how much it did.
struct report {
  std::vector<finding> findings;
  index_t switches = 0;  ///< changes from one thread to another
  index_t pauses = 0;

  bool clean() const { return findings.empty(); }
  bool has(fault kind) const {
    return std::any_of(findings.begin(), findings.end(),
                       [kind](const finding& f) { return f.kind == kind; });
  }
  /// One line a finding.
  std::string text() const {
    std::string all;
    for (const finding& f : findings) {
      all.append(name_of(f.kind)).append(" at ").append(text_of(f.where)).append(": ");
      all.append(f.text);
      if (f.times > 1) all.append(" (and ").append(std::to_string(f.times - 1)).append(" more)");
      all.append("\n");
    }
    return all;
  }

  void add(fault kind, const place& where, std::string text) {
    for (finding& f : findings)
      if (f.kind == kind && f.where == where) {
        ++f.times;
        return;
      }
    findings.push_back({kind, std::move(text), where});
  }
};

}  // namespace ebb::test::emulator
