// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/cuda/chunk_plan.hpp
/// @brief  Outer products in chunks on a GPU from the host's side: kernels, products of matrices.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <ebb/recurrence/backend/cuda/chunk_rows.hpp>
#include <ebb/recurrence/backend/cuda/chunk_states.hpp>
#include <ebb/recurrence/backend/cuda/launcher.hpp>

namespace ebb::inline EBB_ABI::detail::gpu {

/// C = A B for each of so many matrices of E, sums in float; rows one behind the other, `next`
/// elements from matrix to matrix.
template <class E>
struct matrix_products {
  struct factor {
    const E* data;
    index_t row, next;
    bool transposed;  ///< the rows are columns
  };
  index_t rows, columns, inner, count;
  factor a, b;
  float* to;
  index_t to_row, to_next;
};

/// The bound of the form (recurrence/matrix.hpp), float data; docs/accuracy.md. With 16-bit data
/// two roundings to their type besides, two more where queries and keys are made of unit length.
constexpr double chunk_error_bound(index_t steps, index_t keys) {
  return 12 * static_cast<double>(steps) + 2 * static_cast<double>(keys) + 26;
}

/// One call, checked (recurrence/matrix.hpp), on a launcher and something that multiplies:
///
///   multiply(matrix_products<E>)   enqueued behind all launches so far; E float, bfloat16, half
template <class Launcher, class Multiply, class Decay, class Data, class State>
class chunk_plan {
  using T = typename Data::value_type;
  using E = product_type<T>;
  static_assert(std::is_same_v<State, float>, "ebb: chunks on tensor cores have states of float");

 public:
  /// @throws domain_error for what this form does not do: corrections, decays by key, decays that
  ///   are stored as factors; shape_error for 2^31 blocks or matrices, or more. Nothing has been
  ///   launched then.
  static void run(Launcher& launcher, Multiply& multiply, const Decay& decay, const Data& data,
                  const sequences<State>& where, index_t length) {
    require_domain(!has_corrections<Data>, name, "need outer products: no corrections");
    require_domain(data.decays == decay_per::head, name, "need one decay a head");
    require_domain(Decay::form == decay_form::log_factor, name,
                   "need decays that are logarithms, not factors");
    if constexpr (!has_corrections<Data> && Decay::form == decay_form::log_factor)
      run_outer(launcher, multiply, decay, data, where, length);
  }

 private:
  static constexpr const char* name = "ebb::cuda_chunked";

  static void run_outer(Launcher& launcher, Multiply& multiply, const Decay& decay,
                        const Data& data, const sequences<State>& where, index_t length) {
    const matrix_shape size = shape_of(data);
    if (size.batches == 0 || where.count() == 0 || size.heads == 0 || size.values == 0) return;
    with_matrix_gate<State>(launcher, decay, [&](const auto& gate) {
      using Gate = std::remove_cvref_t<decltype(gate)>;
      chunk_params<T, Gate> p{};
      p.gate = gate;
      p.length = length;
      set_data(p, data, size);
      p.where = sequences_of(launcher, where);
      const chunk_list list(where, size, length);
      p.chunk_count = static_cast<index_t>(list.chunks.size());
      p.chain_count = static_cast<index_t>(list.chains.size());
      require_size(p);
      p.chunks = launcher.upload(std::span<const chunk_place>(list.chunks));
      p.chains = launcher.upload(std::span<const chunk_chain>(list.chains));
      go(launcher, multiply, p);
    });
  }

  // Chunks end at resets, snapshots and ends of sequences.
  struct chunk_list {
    std::vector<chunk_place> chunks;
    std::vector<chunk_chain> chains;

    chunk_list(const sequences<State>& where, const matrix_shape& size, index_t length) {
      for (index_t b = 0; b < size.batches; ++b)
        for (index_t s = 0; s < where.count(); ++s) {
          const auto first = static_cast<index_t>(chunks.size());
          const index_t begin = where.begin(s), end = where.end(s, size.steps);
          for (index_t t = begin; t < end;) {
            chunk_place place{b, t, 0, where.first_position(b, s) + (t - begin), false, 0};
            place.erased = where.resets_at(b, t, size.steps);
            const index_t most = std::min(length, end - t);
            while (place.count < most && place.kept == 0) {
              if (place.count > 0 && where.resets_at(b, t, size.steps)) break;
              if (!where.snapshot_steps.empty()) place.kept = where.snapshot_of(t) + 1;
              ++place.count, ++t;
            }
            chunks.push_back(place);
          }
          chains.push_back({b, s, first, static_cast<index_t>(chunks.size()) - first});
        }
    }
  };

  template <class Params>
  static void set_data(Params& p, const Data& data, const matrix_shape& size) {
    const auto unit = [](const std::optional<double>& epsilon) {
      return epsilon ? static_cast<float>(*epsilon) : -1.0f;
    };
    p.queries = rows_of(data.queries, size.heads);
    p.keys = rows_of(data.keys, size.heads);
    p.values = rows_of(data.values, size.heads);
    p.weights = rows_of(data.weights, size.heads);
    p.outputs = rows_of(data.outputs, size.heads);
    p.unit_query = unit(data.unit_queries), p.unit_key = unit(data.unit_keys);
    if (!data.skip.empty()) {
      const bool by_head = static_cast<index_t>(data.skip.size()) == size.heads;
      p.skip = data.skip.data();
      p.skip_head = by_head ? 1 : size.values;
      p.skip_lane = by_head ? 0 : 1;
    }
    p.scale = static_cast<float>(data.scale);
    p.heads = size.heads;
    // Queries and keys that are shared alike are multiplied once.
    p.groups =
        size.keys > 0 && data.queries.heads() == data.keys.heads() ? data.keys.heads() : size.heads;
    p.each = p.heads / p.groups;
    const auto whole = [](index_t width) { return (width + 7) / 8 * 8; };
    p.key_width = size.keys, p.value_width = size.values;
    p.wide_keys = std::max<index_t>(8, whole(size.keys)), p.wide_values = whole(size.values);
  }

  template <class Gate>
  static void require_size(const chunk_params<T, Gate>& p) {
    constexpr index_t most = (index_t{1} << 31) - 1;
    const index_t blocks =
        std::max({chunk_logs<T, Gate>::blocks(p), chunk_rows<T, Gate, true>::blocks(p),
                  chunk_values<T, Gate>::blocks(p), chunk_mask<T, Gate>::blocks(p),
                  chunk_pass<T, Gate>::blocks(p), chunk_outputs<T, Gate>::blocks(p)});
    const index_t products = std::max(p.chunk_count * p.heads, p.each * p.wide_values);
    require_shape(blocks <= most && products <= most && p.wide_keys <= most, name,
                  "need fewer than 2^31 blocks, and products and columns of each (got)", blocks,
                  products);
  }

  template <class Gate>
  static void go(Launcher& launcher, Multiply& multiply, chunk_params<T, Gate>& p) {
    const index_t n = p.chunk_count, steps = n * p.length, beside = p.each * p.wide_values;
    const index_t groups = n * p.groups;
    p.logs = launcher.template scratch<double>(steps * p.heads);
    p.written = launcher.template scratch<float>(steps * p.heads);
    p.query_rows = launcher.template scratch<E>(steps * p.groups * p.wide_keys);
    p.key_rows = launcher.template scratch<E>(steps * p.groups * p.wide_keys);
    p.value_rows = launcher.template scratch<E>(steps * p.heads * p.wide_values);
    p.late_values = launcher.template scratch<E>(steps * p.heads * p.wide_values);
    p.overlaps = launcher.template scratch<float>(steps * p.groups * p.length);
    p.masked = launcher.template scratch<E>(steps * p.heads * p.length);
    p.added = launcher.template scratch<float>(groups * p.wide_keys * beside);
    p.states = launcher.template scratch<E>(groups * p.wide_keys * beside);
    p.from_states = launcher.template scratch<float>(steps * p.heads * p.wide_values);
    p.from_steps = launcher.template scratch<float>(steps * p.heads * p.wide_values);
    const auto product = [&](const matrix_products<E>& call) {
      if (call.count > 0) multiply(call);
    };
    const index_t rows = p.length * p.wide_keys, values = p.length * beside,
                  state = p.wide_keys * beside;

    launch<chunk_logs<T, Gate>>(launcher, p);
    launch<chunk_rows<T, Gate, true>>(launcher, p);
    launch<chunk_rows<T, Gate, false>>(launcher, p);
    launch<chunk_values<T, Gate>>(launcher, p);
    product({p.length,
             p.length,
             p.wide_keys,
             groups,
             {p.query_rows, p.wide_keys, rows, false},
             {p.key_rows, p.wide_keys, rows, true},
             p.overlaps,
             p.length,
             p.length * p.length});
    product({p.wide_keys,
             beside,
             p.length,
             groups,
             {p.key_rows, p.wide_keys, rows, true},
             {p.late_values, beside, values, false},
             p.added,
             beside,
             state});
    launch<chunk_mask<T, Gate>>(launcher, p);
    launch<chunk_pass<T, Gate>>(launcher, p);
    product({p.length,
             beside,
             p.wide_keys,
             groups,
             {p.query_rows, p.wide_keys, rows, false},
             {p.states, beside, state, false},
             p.from_states,
             beside,
             values});
    product({p.length,
             p.wide_values,
             p.length,
             n * p.heads,
             {p.masked, p.length, p.length * p.length, false},
             {p.value_rows, p.wide_values, p.length * p.wide_values, false},
             p.from_steps,
             p.wide_values,
             p.length * p.wide_values});
    launch<chunk_outputs<T, Gate>>(launcher, p);
  }
  template <class Kernel, class Gate>
  static void launch(Launcher& launcher, const chunk_params<T, Gate>& p) {
    launcher.template launch<Kernel>(Kernel::blocks(p), p);
  }
};

}  // namespace ebb::inline EBB_ABI::detail::gpu
