// SPDX-License-Identifier: Apache-2.0
#include "table1/run.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "table1/grid.hpp"

namespace table1 {

std::vector<basis_cell> missing(std::span<const basis_cell> cells, std::span<const double> betas,
                                const journal& finished) {
  std::map<std::string, bool> known;  // measurement key -> has rows
  for (const auto& cell : cells)
    if (!finished.find(cell, betas).empty()) known[measurement_key(cell)] = true;
  std::vector<basis_cell> left;
  for (const auto& cell : cells) {
    bool& seen = known[measurement_key(cell)];
    if (!seen) left.push_back(cell);
    seen = true;
  }
  return left;
}

void measure_all(std::span<const basis_cell> cells, std::span<const double> betas, int threads,
                 journal& finished, progress& report, std::atomic<bool>& stop) {
  std::vector<const basis_cell*> order;
  for (const auto& cell : cells) order.push_back(&cell);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return expected_cost(*a) > expected_cost(*b);
  });

  std::atomic<std::size_t> next{0};
  std::mutex guard;  // of the journal, the report and the failure
  std::exception_ptr failure;
  const auto work = [&] {
    for (;;) {
      const std::size_t at = next++;
      if (at >= order.size() || stop) return;
      const basis_cell& cell = *order[at];
      try {
        const auto outcomes = measure(cell, betas, stop);
        const std::lock_guard lock(guard);
        finished.add(cell, outcomes);
        report.add(expected_cost(cell));
      } catch (const cancelled&) {
        return;
      } catch (...) {
        const std::lock_guard lock(guard);
        if (!failure) failure = std::current_exception();
        stop = true;
        return;
      }
    }
  };
  std::vector<std::thread> pool;
  const auto count = std::min(static_cast<std::size_t>(threads), order.size());
  for (std::size_t k = 0; k < count; ++k) pool.emplace_back(work);
  for (auto& thread : pool) thread.join();
  report.finish();
  if (failure) std::rethrow_exception(failure);
}

std::vector<row> collect(std::span<const basis_cell> cells, std::span<const double> betas,
                         const journal& finished) {
  std::map<std::string, std::vector<outcome>> shared;
  for (const auto& cell : cells) {
    auto found = finished.find(cell, betas);
    if (!found.empty()) shared[measurement_key(cell)] = std::move(found);
  }
  std::vector<row> rows;
  for (const auto& cell : cells) {
    const auto at = shared.find(measurement_key(cell));
    if (at == shared.end()) throw std::logic_error("a cell was not measured");
    for (const auto& result : at->second) rows.push_back({cell, result});
  }
  return rows;
}

}  // namespace table1
