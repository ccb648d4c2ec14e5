// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/chunk_params.hpp
/// @brief  Outer products in chunks of steps: what the kernels around the products are given.
#pragma once

#include <type_traits>

#include <ebb/recurrence/backend/cuda/matrix_params.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// Up to L steps of a sequence, in which nothing happens to the state but at its ends.
struct chunk_place {
  index_t batch, begin, count;
  index_t position;  ///< of its first step
  bool erased;       ///< the state is 0 before it
  index_t kept;      ///< 1 + the row of snapshots that keeps the state after it, or 0
};
/// The chunks of a sequence, in order; there may be none.
struct chunk_chain {
  index_t batch, sequence, first, count;
};

/// The type of the factors of products: 16-bit data as they are, else float.
template <class T>
using product_type = std::conditional_t<sizeof(T) == 2, T, float>;

/// Rows of G heads serve H; a head's rows of values stand side by side with those of its group.
/// Everything made here is filled up with zeros: L steps a chunk, widths of whole packs of 8.
template <class T, class Gate>
struct chunk_params {
  using element = product_type<T>;

  Gate gate{};
  head_rows<const T> queries, keys, values, weights;
  head_rows<T> outputs;
  const default_state_t<T>* skip = nullptr;
  index_t skip_head = 0, skip_lane = 0;
  float scale = 1, unit_query = -1, unit_key = -1;
  device_sequences<float> where;

  const chunk_place* chunks = nullptr;
  const chunk_chain* chains = nullptr;
  index_t chunk_count = 0, chain_count = 0, length = 0;  ///< length: L
  index_t heads = 0, groups = 0, each = 0;               ///< H, G, H / G
  index_t key_width = 0, value_width = 0, wide_keys = 0, wide_values = 0;

  // Made by the kernels and the products; n: the chunk, h, g: head and group, i, j: steps in it.
  double* logs = nullptr;          ///< [n][h][i]: sum of log a up to step i
  float* written = nullptr;        ///< [n][h][i]: weights of what is written
  element* query_rows = nullptr;   ///< [n][g][i][K]
  element* key_rows = nullptr;     ///< [n][g][i][K]
  element* value_rows = nullptr;   ///< [n][h][i][V]: as they are
  element* late_values = nullptr;  ///< [n][g][i][H/G V]: weighed, and decayed to the end
  float* overlaps = nullptr;       ///< [n][g][i][j]: q_i k_j
  element* masked = nullptr;       ///< [n][h][i][j]: the same decayed and weighed, j <= i
  float* added = nullptr;          ///< [n][g][K][H/G V]: what the chunk adds to the state
  element* states = nullptr;       ///< [n][g][K][H/G V]: the state before the chunk
  float* from_states = nullptr;    ///< [n][g][i][H/G V]: q_i times that
  float* from_steps = nullptr;     ///< [n][h][i][V]

  EBB_DEVICE index_t step_of(index_t n, index_t h) const { return (n * heads + h) * length; }
  /// Where lane v of head h lies in row `row` of its group, in rows of all of its values.
  EBB_DEVICE index_t beside(index_t n, index_t rows, index_t row, index_t h, index_t v) const {
    return ((n * groups + h / each) * rows + row) * (each * wide_values) + h % each * wide_values +
           v;
  }
};

/// exp(x) of a sum in double, as a float: 2 units in the last place and half of one.
EBB_NO_EXEC_CHECK template <class Context>
EBB_DEVICE float exp_of_sum(Context& c, double x) {
  const auto high = static_cast<float>(x);
  if (!(high > -110)) return high == high ? 0.0f : high;
  const float factor = c.exp(high);
  return c.multiply_add(factor, static_cast<float>(x - static_cast<double>(high)), factor);
}

/// What the kernels have in common: a thread for each of so many elements.
template <class Kernel>
struct chunk_elements {
  static constexpr int threads = 128;
  template <class Context>
  struct shared_memory {};

  EBB_NO_EXEC_CHECK template <class Context, class Params>
  static EBB_DEVICE void run(Context& c, shared_memory<Context>&, const Params& p) {
    const index_t number = c.block() * threads + c.thread();
    if (number < Kernel::count(p)) Kernel::make(c, p, number);
  }
  template <class Params>
  static index_t blocks(const Params& p) {
    return (Kernel::count(p) + threads - 1) / threads;
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
