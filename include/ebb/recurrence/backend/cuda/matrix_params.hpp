// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/matrix_params.hpp
/// @brief  A call of a recurrence with matrix states, as its kernels receive it.
#pragma once

#include <cstdint>

#include <ebb/core/head_view.hpp>
#include <ebb/core/scalar.hpp>
#include <ebb/recurrence/backend/cuda/operand.hpp>
#include <ebb/recurrence/backend/cuda/place.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// What a step does to a state besides its decay.
enum class matrix_rule {
  outer,        ///< S += c k v^T
  gated,        ///< S += c k (v - S^T k)^T, of the decayed state
  corrections,  ///< S += u (z^T S) + c k v^T, z^T S of the state before it decays
  rates         ///< the same with u = -r * z
};

/// Data of shape (batch, step, head, width), the numbers of a head adjacent; a head here may serve
/// several of the state. Null: left out.
template <class T>
struct head_rows {
  T* data = nullptr;
  index_t batch = 0, step = 0, head = 0;  ///< distances in elements
  index_t group = 1;                      ///< heads of the state for each head here

  /// The row of step 0; rows of neighbouring steps are `step` apart.
  EBB_DEVICE T* first(index_t b, index_t h) const { return data + (b * batch + h / group * head); }
};

/// The rows of a view for a state of so many heads.
template <class T>
head_rows<T> rows_of(const head_view<T>& view, index_t heads) {
  if (view.empty()) return {};
  return {view.data(), view.stride().batch, view.stride().step, view.stride().head,
          heads / view.heads()};
}

/// The arguments of the kernels. All pointers are to memory of the device.
template <class T, class State, class Gate>
struct matrix_params {
  Gate gate{};
  matrix_rule rule = matrix_rule::outer;
  bool by_key = false;                       ///< whether each key has a decay of its own
  head_rows<const T> queries, keys, values;  ///< as in outer_data (recurrence/matrix.hpp)
  head_rows<const T> weights;
  head_rows<const T> removals, corrections;  ///< corrections: u, or the rates r
  head_rows<T> outputs;                      ///< may be the values
  const default_state_t<T>* skip = nullptr;
  index_t skip_head = 0, skip_lane = 0;  ///< distances of D for a head, and for a lane of V
  State scale = 1;
  State unit_query = -1, unit_key = -1, unit_removal = -1;  ///< epsilon; negative: as given

  device_sequences<State> where;
  operand<State> work;  ///< (B, S, H K V), where states are not in registers
  index_t steps = 0, heads = 0, key_width = 0, value_width = 0;
  index_t slices = 1;            ///< blocks that share the lanes of V of a head
  bool rows_aligned = false;     ///< rows of keys begin at, and consist of, whole packs
  bool states_aligned = false;   ///< so do rows of states
  bool outputs_aligned = false;  ///< and of outputs
};

/// Which sequence, head and slice of V is a block's.
struct matrix_place {
  index_t batch, sequence, head, slice;
  index_t begin, count;  ///< its steps
  index_t position;      ///< of the first

  EBB_NO_EXEC_CHECK template <class Context, class Params>
  EBB_DEVICE matrix_place(Context& c, const Params& p) {
    index_t rest = c.block();
    slice = rest % p.slices, rest /= p.slices;
    head = rest % p.heads, rest /= p.heads;
    sequence = rest % p.where.count, batch = rest / p.where.count;
    begin = 0, count = p.steps, position = 1;
    if (p.where.offsets != nullptr) {
      begin = c.load_cached(p.where.offsets + sequence);
      count = c.load_cached(p.where.offsets + sequence + 1) - begin;
    }
    if (p.where.first_positions != nullptr)
      position = c.load_cached(p.where.first_positions + (batch * p.where.count + sequence));
  }
};

/// What happens at a step besides its numbers. Bit 0: whether the state is erased before it. The
/// rest: 1 + the row of snapshots that keeps the state after it, or 0.
EBB_NO_EXEC_CHECK template <class Context, class Params>
EBB_DEVICE index_t mark_of(Context& c, const Params& p, bool reset, index_t t) {
  index_t kept = 0;
  if (p.where.snapshot_count > 0) {
    const index_t row = count_up_to(c, p.where.snapshot_steps, p.where.snapshot_count, t) - 1;
    if (row >= 0 && c.load_cached(p.where.snapshot_steps + row) == t) kept = row + 1;
  }
  return 2 * kept + (reset ? 1 : 0);
}

}  // namespace ebb::inline EBB_ABI::detail::gpu
