// SPDX-License-Identifier: Apache-2.0
/// @file   bench/measure.hpp
/// @brief  Times taken side by side: candidates run in turn, A B C A B C ..., in one process.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <time.h>

namespace bench {

/// What a time is taken from, and which of the rounds counts.
///
/// thread_median: processor time of the calling thread, which others on the machine do not add to.
/// wall_least: where several threads work; whatever else runs only ever adds to it.
/// wall_median: where threads outnumber processors, and being held up is what is measured.
enum class timing { thread_median, wall_least, wall_median };

/// How long a measurement takes.
struct effort {
  std::size_t rounds = 11;  ///< in which every candidate has its turn
  double turn = 1e-3;       ///< seconds that a turn takes at least
};
inline effort usual_effort;  // NOLINT(misc-definitions-in-headers): main() sets it once

inline double now(timing which) {
  if (which != timing::thread_median)
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Seconds a run, by the names of the candidates.
class results {
 public:
  void set(const std::string& name, double seconds) { seconds_[name] = seconds; }
  bool has(const std::string& name) const { return seconds_.count(name) != 0; }
  double operator[](const std::string& name) const { return seconds_.at(name); }
  /// The time of the first over that of the second.
  double ratio(const std::string& of, const std::string& over) const {
    return seconds_.at(of) / seconds_.at(over);
  }
  /// The name of the faster one of two; the second may be missing.
  std::string faster(const std::string& one, const std::string& other) const {
    return has(other) && seconds_.at(other) < seconds_.at(one) ? other : one;
  }

 private:
  std::map<std::string, double> seconds_;
};

/// Candidates that do comparable work on the same memory.
class contest {
 public:
  void add(std::string name, std::function<void()> run) {
    candidates_.push_back({std::move(name), std::move(run)});
  }

  /// Times all of them. A candidate repeats itself until its turn is long enough; before such a
  /// turn it runs once untimed, so that it finds the caches as it leaves them.
  results hold(timing which, const effort& how = usual_effort) const {
    std::vector<int> repeats;
    for (const candidate& c : candidates_) repeats.push_back(repeats_of(c, which, how.turn));
    std::vector<std::vector<double>> times(candidates_.size());
    for (std::size_t round = 0; round < how.rounds; ++round)
      for (std::size_t i = 0; i < candidates_.size(); ++i) {
        if (repeats[i] > 1) candidates_[i].run();
        times[i].push_back(time(candidates_[i], which, repeats[i]));
      }
    results seconds;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      auto& t = times[i];
      std::sort(t.begin(), t.end());
      seconds.set(candidates_[i].name, which == timing::wall_least ? t.front() : t[t.size() / 2]);
    }
    return seconds;
  }

 private:
  struct candidate {
    std::string name;
    std::function<void()> run;
  };

  static double time(const candidate& c, timing which, int repeats) {
    const double start = now(which);
    for (int i = 0; i < repeats; ++i) c.run();
    return (now(which) - start) / repeats;
  }

  static int repeats_of(const candidate& c, timing which, double turn) {
    c.run();
    int repeats = 1;
    while (time(c, which, repeats) * repeats < turn && repeats < 1 << 24) repeats *= 2;
    return repeats;
  }

  std::vector<candidate> candidates_;
};

}  // namespace bench
