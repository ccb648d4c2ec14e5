// SPDX-License-Identifier: Apache-2.0
#include "table1/optima.hpp"

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "table1/measure.hpp"

namespace table1 {
namespace {

struct chain {
  std::mutex guard;
  std::vector<ebb::approx::minimax_sum> sums;  // of 1, 2, .. terms
};

chain& chain_of(double horizon, double beta, bool relative) {
  static std::mutex guard;
  static std::map<std::tuple<double, double, bool>, chain> all;
  const std::lock_guard lock(guard);
  return all[{horizon, beta, relative}];  // stays where it is
}

}  // namespace

ebb::approx::minimax_sum optimum(int channels, double horizon, double beta, bool relative,
                                 const std::atomic<bool>& stop) {
  chain& kept = chain_of(horizon, beta, relative);
  const std::lock_guard lock(kept.guard);
  const auto n = static_cast<std::size_t>(channels);
  if (kept.sums.size() < n) {
    ebb::approx::minimax_options options;
    options.kind = relative ? ebb::approx::error_kind::relative : ebb::approx::error_kind::absolute;
    options.tolerance = 1e-6;
    options.interrupted = [&stop] { return stop.load(); };
    auto sums =
        ebb::approx::minimax_chain(ebb::approx::power_law(beta), channels, horizon, options);
    if (stop) throw cancelled();
    kept.sums = std::move(sums);
  }
  return kept.sums[n - 1];
}

}  // namespace table1
