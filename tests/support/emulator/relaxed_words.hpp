// SPDX-License-Identifier: Apache-2.0
/// @file   support/emulator/relaxed_words.hpp
/// @brief  Words by which blocks meet, as weak as relaxed accesses are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "support/emulator/ready_queue.hpp"
#include "support/emulator/shadow.hpp"

namespace ebb::test::emulator {

/// Every value a word has had in a launch. A relaxed load may give any of them that coherence
/// allows: none older than what its thread, or one that a barrier orders before it, has read from
/// or written to that word. So the stores of one thread to different words are seen in any order,
/// late by some and early by others; the latest value is seen at last.
class relaxed_words {
 public:
  using word64 = detail::gpu::word64;

  void forget() { histories_.clear(); }

  void store(word64* p, word64 value, const moment& now) {
    history& h = histories_[p];
    if (h.values.empty()) h.values.push_back(*p);
    h.values.push_back(value);
    *p = value;
    note(h, now, h.values.size() - 1);
  }

  word64 load(const word64* p, const moment& now, random_numbers& random) {
    const auto found = histories_.find(p);
    if (found == histories_.end()) return *p;
    history& h = found->second;
    const std::size_t newest = h.values.size() - 1;
    std::size_t oldest = 0;
    for (const sight& s : h.seen)
      if (ordered(s.when, now)) oldest = std::max(oldest, s.value);
    std::size_t which = newest;
    if (oldest < newest && random.flip()) which = oldest + random.below(newest - oldest + 1);
    note(h, now, which);
    return h.values[which];
  }

 private:
  struct sight {
    moment when;
    std::size_t value;
  };
  struct history {
    std::vector<word64> values;
    std::vector<sight> seen;
  };

  static void note(history& h, const moment& now, std::size_t value) {
    for (sight& s : h.seen)
      if (s.when == now) {
        s.value = std::max(s.value, value);
        return;
      }
    h.seen.push_back({now, value});
  }

  std::unordered_map<const word64*, history> histories_;
};

}  // namespace ebb::test::emulator
