// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/sequential_threads.hpp
/// @brief  The sequential form on several threads: over sequences, heads and lanes of V.
#pragma once

#include <algorithm>
#include <concepts>
#include <memory>
#include <string_view>
#include <utility>

#include <ebb/core/executor.hpp>
#include <ebb/recurrence/backend/sequential.hpp>

namespace ebb::inline EBB_ABI {

/// `sequential` with its work cut by sequences and heads, and by blocks of lanes of V where there
/// are fewer heads than threads. Calls too small to pay for it run on the calling thread.
///
/// Work is the number of state elements times steps. Two threads are taken from 2^20 on by default,
/// so that waking one is a small part of it.
///
/// Cost: of `sequential`; what lanes of one head share (products of keys) is done for each piece.
/// Memory: of `sequential`, for each thread at work. Accuracy: error_bound of `sequential`; the same
/// bits, whatever the number of threads.
///
/// Copies share the executor. A default-constructed object makes a pool of its own, whose threads
/// start with the first large call: keep the object.
///
/// @tparam Executor  an executor (core/executor.hpp), such as one that wraps an engine's own pool
template <executor Executor = thread_pool>
class sequential_threads {
 public:
  static constexpr std::string_view name = "sequential_threads";
  static constexpr determinism repeats = determinism::any_thread_count;
  static constexpr double error_bound(index_t steps, index_t keys, bool corrected = true) {
    return sequential::error_bound(steps, keys, corrected);
  }

  sequential_threads() requires std::default_initializable<Executor>
      : executor_(std::make_shared<Executor>()) {}
  /// @param minimum_work  least work that takes a thread of its own, >= 1
  /// @throws domain_error unless it is.
  explicit sequential_threads(std::shared_ptr<Executor> executor,
                              index_t minimum_work = index_t{1} << 19)
      : executor_(std::move(executor)), minimum_work_(minimum_work) {
    detail::require_domain(minimum_work >= 1, "sequential_threads", "need minimum_work >= 1",
                           minimum_work);
  }

  template <class Decay, class Data, class State>
  void run(const Decay& decay, const Data& data, const sequences<State>& where) const {
    const detail::matrix_shape size = detail::shape_of(data);
    const index_t threads = std::clamp<index_t>(executor_->concurrency(), 1, index_t{1} << 16);
    const index_t pieces = pieces_for(size, where, threads);
    if (pieces <= 1) return sequential{}.run(decay, data, where);
    // Whole heads as long as there are enough of them, else blocks of lanes.
    constexpr index_t block = detail::running_state<State>::block_lanes;
    const index_t runs = size.batches * where.count();
    const index_t rows = runs * size.heads;
    const index_t cuts =
        rows >= pieces ? 1
                       : std::min((pieces + rows - 1) / rows, (size.values + block - 1) / block);
    const index_t blocks = ((size.values + block - 1) / block + cuts - 1) / cuts;
    // Neighbouring heads of one sequence go together, so that they share what they read.
    const index_t heads = cuts > 1 ? 1 : std::max<index_t>(1, rows / pieces);
    const index_t groups = (size.heads + heads - 1) / heads;
    executor_->run(runs * groups * cuts, [&](index_t task) {
      const index_t lane = task % cuts * blocks * block, row = task / cuts;
      const index_t head = row % groups * heads, sequence = row / groups;
      if (lane >= size.values) return;
      sequential::run_piece(
          decay, data, where,
          {sequence / where.count(), sequence % where.count(), head,
           std::min(heads, size.heads - head), lane, std::min(blocks * block, size.values - lane)});
    });
  }

  const Executor& executor() const { return *executor_; }

 private:
  template <class State>
  index_t pieces_for(const detail::matrix_shape& size, const sequences<State>& where,
                     index_t threads) const {
    if (threads == 1 || size.steps == 0 || size.state() == 0 || size.heads == 0) return 1;
    const index_t steps =
        where.offsets.empty() ? size.steps : where.offsets.back() - where.offsets.front();
    const double work = static_cast<double>(size.batches) * static_cast<double>(steps) *
                        static_cast<double>(size.heads * size.state());
    const double most = work / static_cast<double>(minimum_work_);
    // Some pieces a thread, so that one held up by something else does not hold up the call.
    return most < 2 ? 1 : static_cast<index_t>(std::min(most, 4.0 * static_cast<double>(threads)));
  }

  std::shared_ptr<Executor> executor_;
  index_t minimum_work_ = index_t{1} << 19;
};

}  // namespace ebb::inline EBB_ABI
