// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/matrix_vjp_check.hpp
/// @brief  What the gradients of matrix states refuse before anything is written.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include <ebb/core/overlap.hpp>
#include <ebb/recurrence/matrix.hpp>
#include <ebb/recurrence/vjp.hpp>

namespace ebb::inline EBB_ABI::detail {

// f(gradient, array, name) for every array of heads that may have a gradient.
template <class Data, class Gradients, class F>
void each_pair(const Data& data, const Gradients& asked, const F& f) {
  f(asked.queries, data.queries, "queries");
  f(asked.keys, data.keys, "keys");
  f(asked.values, data.values, "values");
  f(asked.weights, data.weights, "weights");
  if constexpr (has_corrections<Data>) {
    f(asked.removals, data.removals, "removals");
    f(asked.corrections, data.corrections, "corrections");
    f(asked.rates, data.rates, "rates");
  } else {
    const head_view<const typename Data::value_type> none{};
    f(asked.removals, none, "removals");
    f(asked.corrections, none, "corrections");
    f(asked.rates, none, "rates");
  }
}

template <class T>
strided_view<T> as_row(std::span<T> list) {
  return {list.data(), 1, static_cast<index_t>(list.size())};
}

template <class T, class U>
void check_gradient_shape(std::string_view name, const head_view<T>& gradient,
                          const head_view<U>& array, std::string_view what) {
  if (gradient.left_out() || gradient.size() == array.size()) return;
  if (array.left_out())
    require_shape(false, name,
                  std::string("need no gradient of ").append(what) + ": the data has none");
  std::string rule("need a gradient of ");
  rule.append(what) += " of their shape (batches, steps, heads, width; got, then wanted)";
  require_shape(false, name, rule, gradient.batches(), gradient.steps(), gradient.heads(),
                gradient.width(), array.batches(), array.steps(), array.heads(), array.width());
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
                "need output cotangents of the shape of the outputs (got, then B, T, H, V)",
                given.outputs.batches(), given.outputs.steps(), given.outputs.heads(),
                given.outputs.width(), size.batches, size.steps, size.heads, size.values);
  require_optional(given.final_states, states, name,
                   "need final-state cotangents of shape (batches, sequences, H K V)");
  require_optional(given.snapshots, kept, name,
                   "need snapshot cotangents of shape (batches, snapshot steps, H K V)");
  each_pair(data, call.gradients,
            [&](const auto& gradient, const auto& array, std::string_view what) {
              check_gradient_shape(name, gradient, array, what);
            });
  require_shape(call.gradients.skip.empty() || call.gradients.skip.size() == data.skip.size(), name,
                "need a skip gradient of the skip's length (got, wanted)",
                call.gradients.skip.size(), data.skip.size());
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

  // Of one gradient (an array of heads, or rows): apart from all that is read.
  const auto apart_from_reads = [&](const auto& gradient, std::string_view of) {
    each_input(data, [&](const auto& other, std::string_view what) {
      require_apart(!overlap(other, gradient), name, of, what);
    });
    require_apart(!overlap(data.outputs, gradient), name, of, "outputs");
    if constexpr (requires { call.decay.view(); })
      require_apart(!overlap(gradient, call.decay.view()), name, of, "the decay's data");
    require_apart(alone(gradient, skip), name, of, "the skip");
    require_apart(alone(gradient, where.initial_states), name, of, "initial states");
    require_apart(alone(gradient, given.snapshots), name, of, "snapshot cotangents");
  };
  constexpr std::string_view of_skip = "the skip's gradient",
                             of_states = "the initial states' gradient";
  int one = 0;
  each_pair(data, asked, [&](const auto& gradient, const auto&, std::string_view what) {
    if (gradient.empty()) return void(++one);
    const std::string of = std::string("the gradient of ").append(what);
    if (!elements_apart(gradient))
      require_shape(false, name, "need " + of + " whose elements do not share memory");
    apart_from_reads(gradient, of);
    require_apart(!overlap(gradient, given.final_states), name, of, "final-state cotangents");
    const bool in_place =
        gradient.data() == asked.values.data() && gradient.data() == given.outputs.data();
    require_apart(
        in_place ? strides_agree(gradient, given.outputs) : !overlap(gradient, given.outputs), name,
        of, "output cotangents (that of values may be in their place)");
    require_apart(alone(gradient, d_skip), name, of, of_skip);
    require_apart(alone(gradient, asked.initial_states), name, of, of_states);
    int two = 0;
    each_pair(data, asked, [&](const auto& other, const auto&, std::string_view other_what) {
      require_apart(one == two++ || !overlap(gradient, other), name, of,
                    std::string("that of ").append(other_what));
    });
    ++one;
  });
  apart_from_reads(d_skip, of_skip);
  require_apart(!overlap(given.outputs, d_skip), name, of_skip, "output cotangents");
  require_apart(alone(d_skip, given.final_states), name, of_skip, "final-state cotangents");
  const auto& initial = asked.initial_states;
  require_apart(alone(d_skip, initial), name, of_skip, of_states);
  require_shape(elements_apart(initial), name,
                "need the initial states' gradient whose elements do not share memory");
  apart_from_reads(initial, of_states);
  require_apart(!overlap(given.outputs, initial), name, of_states, "output cotangents");
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
      const auto apart = [&](const auto& array, std::string_view what) {
        require_apart(!overlap(array, sum), name, "the gradients of the decay", what);
      };
      each_input(call.data, apart);
      apart(call.data.outputs, "outputs");
      apart(call.cotangents.outputs, "output cotangents");
      each_pair(call.data, call.gradients,
                [&](const auto& gradient, const auto&, std::string_view what) {
                  apart(gradient, std::string("the gradient of ").append(what));
                });
    });
  }
}

}  // namespace ebb::inline EBB_ABI::detail
