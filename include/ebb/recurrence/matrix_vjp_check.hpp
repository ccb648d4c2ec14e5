// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/matrix_vjp_check.hpp
/// @brief  What the gradients of matrix states refuse before anything is written.
#pragma once

#include <string_view>
#include <type_traits>

#include <ebb/core/overlap.hpp>
#include <ebb/recurrence/matrix.hpp>
#include <ebb/recurrence/vjp.hpp>

namespace ebb::inline EBB_ABI::detail {

// f(gradient, array) for every array of heads that has a gradient.
template <class Data, class Gradients, class F>
void each_pair(const Data& data, const Gradients& asked, const F& f) {
  f(asked.queries, data.queries);
  f(asked.keys, data.keys);
  f(asked.values, data.values);
  f(asked.weights, data.weights);
  if constexpr (has_corrections<Data>) {
    f(asked.removals, data.removals);
    f(asked.corrections, data.corrections);
    f(asked.rates, data.rates);
  } else {
    const head_view<const typename Data::value_type> none{};
    f(asked.removals, none);
    f(asked.corrections, none);
    f(asked.rates, none);
  }
}

template <class T>
strided_view<T> as_row(std::span<T> list) {
  return {list.data(), 1, static_cast<index_t>(list.size())};
}

/// The shapes of what is known and of what is asked for.
template <class Call>
void check_matrix_vjp_shapes(std::string_view name, const Call& call) {
  const auto& data = call.data;
  const matrix_shape size = shape_of(data);
  const extents all = size.states();
  const extents states{size.batches, call.where.count(), all.channels};
  const extents kept{size.batches, static_cast<index_t>(call.where.snapshot_steps.size()),
                     all.channels};
  const auto& given = call.cotangents;
  require_shape(given.outputs.left_out() || given.outputs.size() == data.outputs.size(), name,
                "need output cotangents of the shape of the outputs", given.outputs.batches(),
                given.outputs.steps(), given.outputs.heads(), given.outputs.width());
  require_optional(given.final_states, states, name,
                   "need final-state cotangents of shape (batches, sequences, H K V)");
  require_optional(given.snapshots, kept, name,
                   "need snapshot cotangents of shape (batches, snapshot steps, H K V)");
  each_pair(data, call.gradients, [&](const auto& gradient, const auto& array) {
    require_shape(gradient.left_out() || gradient.size() == array.size(), name,
                  "need gradients of the shapes of the arrays that there are (batches, steps,"
                  " heads, width)",
                  gradient.batches(), gradient.steps(), gradient.heads(), gradient.width());
  });
  require_shape(call.gradients.skip.empty() || call.gradients.skip.size() == data.skip.size(), name,
                "need a skip gradient of the skip's length", call.gradients.skip.size(),
                data.skip.size());
  require_optional(call.gradients.initial_states, states, name,
                   "need initial-state gradients of shape (batches, sequences, H K V)");
}

/// Memory that a gradient may not share: everything that is read, and every other gradient.
template <class Call>
void check_matrix_vjp_memory(std::string_view name, const Call& call) {
  const auto& data = call.data;
  const auto& asked = call.gradients;
  const auto& given = call.cotangents;
  const auto& where = call.where;
  require_shape(!overlap(data.values, data.outputs), name,
                "need values as they were, apart from the outputs");
  require_shape(!overlap(where.initial_states, where.final_states), name,
                "need initial states as they were, apart from the final states");
  const auto skip = as_row(data.skip);
  const auto d_skip = as_row(asked.skip);

  // Of one gradient: apart from all that is read. (f of an array of heads, or of rows.)
  const auto apart_from_reads = [&](const auto& gradient, std::string_view rule) {
    const auto apart = [&](const auto& other) {
      require_shape(!overlap(other, gradient), name, rule);
    };
    each_input(data, apart);
    apart(data.outputs);
    if constexpr (requires { call.decay.view(); })
      require_shape(!overlap(gradient, call.decay.view()), name, rule);
  };
  const auto apart_from_rows = [&](const auto& gradient, std::string_view rule) {
    require_shape(alone(gradient, skip, where.initial_states, given.snapshots), name, rule);
  };
  constexpr std::string_view rule =
      "need gradients apart from everything that is read and from each other";
  int one = 0;
  each_pair(data, asked, [&](const auto& gradient, const auto&) {
    require_shape(elements_apart(gradient), name,
                  "need gradients whose elements do not share memory");
    apart_from_reads(gradient, rule);
    apart_from_rows(gradient, rule);
    require_shape(!overlap(gradient, given.final_states), name, rule);
    const bool in_place = !gradient.empty() && gradient.data() == asked.values.data() &&
                          gradient.data() == given.outputs.data();
    require_shape(
        in_place ? strides_agree(gradient, given.outputs) : !overlap(gradient, given.outputs), name,
        "need gradients apart from the output cotangents, or value gradients in"
        " their place");
    require_shape(alone(gradient, d_skip, asked.initial_states), name, rule);
    int two = 0;
    each_pair(data, asked, [&](const auto& other, const auto&) {
      require_shape(one == two++ || !overlap(gradient, other), name, rule);
    });
    ++one;
  });
  apart_from_reads(d_skip, rule);
  apart_from_rows(d_skip, rule);
  require_shape(
      !overlap(given.outputs, d_skip) && alone(d_skip, given.final_states, asked.initial_states),
      name, rule);
  const auto& initial = asked.initial_states;
  require_shape(elements_apart(initial), name, "need gradients whose elements do not share memory");
  apart_from_reads(initial, rule);
  apart_from_rows(initial, rule);
  require_shape(!overlap(given.outputs, initial), name, rule);
  require_shape(
      same_memory(initial, given.final_states) || !overlap(initial, given.final_states), name,
      "need initial-state gradients to be the final-state cotangents, or apart from them");
}

/// Everything that a call promises to refuse before anything is written.
template <class Call>
void check_matrix_vjp(std::string_view name, const Call& call) {
  check_shapes(name, call.data);
  const matrix_shape size = shape_of(call.data);
  const extents decays{size.batches, size.steps, size.decay_channels(call.data.decays)};
  if constexpr (requires { call.decay.check(decays); }) call.decay.check(decays);
  call.where.check_without_snapshots(name, size.states());
  check_matrix_vjp_shapes(name, call);
  check_matrix_vjp_memory(name, call);
  if constexpr (Call::has_decay_gradients) {
    if (call.gradients.decay == nullptr) return;
    auto& sums = *call.gradients.decay;
    if constexpr (requires { call.decay.check(decays, sums); }) call.decay.check(decays, sums);
    check_sums(name, call.decay, sums, as_row(call.data.skip), as_row(call.gradients.skip),
               call.where.initial_states, call.cotangents.final_states, call.cotangents.snapshots,
               call.gradients.initial_states);
    each_sum(sums, [&](const auto& sum) {
      const auto apart = [&](const auto& array) {
        require_shape(!overlap(array, sum), name,
                      "need the gradients of the decay apart from all other data");
      };
      each_input(call.data, apart);
      apart(call.data.outputs);
      apart(call.cotangents.outputs);
      each_pair(call.data, call.gradients,
                [&](const auto& gradient, const auto&) { apart(gradient); });
    });
  }
}

}  // namespace ebb::inline EBB_ABI::detail
