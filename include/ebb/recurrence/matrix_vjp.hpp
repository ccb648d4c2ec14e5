// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/matrix_vjp.hpp
/// @brief  The gradients of the recurrences with matrix states: their vector-Jacobian products.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <type_traits>

#include <ebb/recurrence/backend/matrix_vjp_walk.hpp>
#include <ebb/recurrence/backend/sequential.hpp>
#include <ebb/recurrence/matrix_call.hpp>
#include <ebb/recurrence/matrix_vjp_check.hpp>

namespace ebb::inline EBB_ABI {

/// What is known of the loss: its gradients with respect to what the recurrence has written. A
/// member left out is zero.
///
/// | member         | shape        | gradient with respect to                      |
/// |----------------|--------------|-----------------------------------------------|
/// | `outputs`      | (B, T, H, V) | the outputs o_t                               |
/// | `final_states` | (B, S, H K V)| the final states                              |
/// | `snapshots`    | (B, M, H K V)| the snapshots; rows of padding steps are idle |
template <class T, class State = default_state_t<T>>
struct matrix_cotangents {
  head_view<const T> outputs{};
  strided_view<const State> final_states{};
  strided_view<const State> snapshots{};
};

/// What is asked for. A member left out is not computed. All but `decay` are overwritten; rows of
/// padding are left alone.
///
/// | member           | shape           | gradient with respect to                              |
/// |------------------|-----------------|-------------------------------------------------------|
/// | `queries` ..     | as the array of | that array of the data. Of one that several heads     |
/// | `rates`          | this name       | read, the sum over these heads. Refused where the     |
/// |                  |                 | data has no such array                                |
/// | `skip`           | H or H V, as    | D, over all batch entries and steps                   |
/// |                  | the skip        |                                                       |
/// | `initial_states` | (B, S, H K V)   | the initial states                                    |
/// | `decay`          |                 | the decay's parameters: an object of its type         |
/// |                  |                 | `gradients`, memory of its own; added to what is there |
///
/// @tparam DecayGradients  the bound decay's `gradients`, or no_gradients
template <class T, class DecayGradients = no_gradients, class State = default_state_t<T>>
struct matrix_gradients {
  head_view<T> queries{}, keys{}, values{};
  head_view<T> weights{};
  head_view<T> removals{}, corrections{}, rates{};
  std::span<State> skip{};
  strided_view<State> initial_states{};
  DecayGradients* decay = nullptr;
};

namespace detail {
// Head by head of every sequence.
template <state_rule Rule, class Call, class Form>
void go_back(const Call& call, const Form& form) {
  const matrix_shape size = shape_of(call.data);
  const index_t rows = call.where.count() * size.heads, heads = std::max<index_t>(1, size.heads);
  const auto place = [&](index_t i) -> head_place {
    return {i / rows, i % rows / heads, i % heads};
  };
  shared_sums<Call> sums(call);
  // Some three times the work of the recurrence itself.
  form.run_in_order(
      size.batches * rows, 3 * size.work(call.where),
      [&] {
        return [walk = vjp_walk<Rule, Call>(call, sums), &place](index_t i) mutable {
          return walk(place(i));
        };
      },
      [&](index_t i, head_sums<typename Call::state_type>& part) { sums.add(place(i), part); });
}

template <class Decay, class Data, class T, class State, class DecayGradients, class Form>
void matrix_vjp(std::string_view name, const Decay& decay, const Data& data,
                const matrix_cotangents<T, State>& cotangents,
                const matrix_gradients<T, DecayGradients, State>& gradients,
                const sequences<State>& where, const Form& form) {
  static_assert(scan_scalar<T> && !is_complex<T>,
                "ebb: matrix states take data of float, double, bfloat16 or half");
  static_assert(is_state_for<State, T>());
  static_assert(holds_digits_of<State, T>, "ebb: the state must be at least as wide as the data");
  auto&& bound = as_decay<State>(decay);
  using Bound = std::remove_cvref_t<decltype(bound)>;
  static_assert(gain_of<Bound> == input_gain::one,
                "ebb: matrix states take no averages; give the gain as weights");
  using Call = matrix_vjp_call<Bound, Data, State, matrix_cotangents<T, State>,
                               matrix_gradients<T, DecayGradients, State>>;
  static_assert(
      !Call::has_decay_gradients || std::is_same_v<DecayGradients, typename Bound::gradients>,
      "ebb: the decay has another type of gradients");
  if constexpr (Call::has_decay_gradients && weighing_decay<Bound, State>)
    static_assert(
        requires(const Bound& weighing, const block_origin& origin, strided_view<const State> block,
                 DecayGradients& sums) { weighing.weigh_vjp(origin, block, sums); },
        "ebb: a decay that weighs needs weigh_vjp(where, cotangent, gradients) for its gradients");
  static_assert(
      requires {
        form.run_in_order(
            index_t{}, double{}, [] { return [](index_t i) { return i; }; },
            [](index_t, index_t&) {});
      },
      "ebb: the last argument is neither `sequential` nor `sequential_threads`");
  const Call call{bound, data, cotangents, gradients, where};
  check_matrix_vjp(name, call);
  if constexpr (has_corrections<Data>) {
    if (is_gated(data))
      go_back<state_rule::gated>(call, form);
    else
      go_back<state_rule::delta>(call, form);
  } else {
    go_back<state_rule::outer>(call, form);
  }
}
}  // namespace detail

/// The vector-Jacobian product of ebb::outer: from the gradients of a loss with respect to what it
/// has written to those with respect to what it has read. With G = dL/dS_t, dw the gradient of a
/// factor, head by head from the last step to the first,
///
///   G += scale q do^T             (and the cotangent of a snapshot, or of the final state)
///   dq = scale S_t do             dk = c G v         dv = c G^T k + D * do
///   dc = k^T G v                  dw_j = sum_i G_ji S_{t-1,ji}, summed over j for a decay a head
///   d log w = w dw                dD = sum_t do * v
///   G <- diag(w) G
///
/// A reset before step t stops the way back: nothing comes from its decay or from before. The
/// states are computed again from the inputs, not from the outputs; nothing is divided by a decay.
/// The decay's gradients are handed block by block to its own `vjp`, the steps of one head (or of
/// its K channels), later blocks first; those of what a weighing decay fills to `weigh_vjp(where,
/// cotangent, gradients)`. Where a decay is an array of factors, its gradients are those of
/// stored_factors. Unit rows are differentiated as the functions they are.
///
/// Units: those of the loss over those of each value.
///
/// @param decay       as in the call of ebb::outer
/// @param data        as there. The values as they were: outputs in their place are refused. Of
///                    the outputs only the shape counts
/// @param cotangents  what is known; a member left out is zero
/// @param gradients   what is asked for. `values` may be the cotangents' `outputs`,
///                    `initial_states` their `final_states`
/// @param where       as there, the initial states as they were. Final states and snapshots are
///                    neither read nor written, and may be left out
/// @param form        how: `sequential`, or `sequential_threads` for several threads, which
///                    recurrence/backend/sequential_threads.hpp brings
/// @throws shape_error when shapes disagree or memory is shared otherwise than allowed, or for a
///   gradient of an array that the data does not have; domain_error as ebb::outer. Nothing has been
///   written then. Values are not inspected.
///
/// Cost, in multiply-adds for a step of a head: 5 K V, 8 K V for the gated delta rule and 11 K V for
/// the general one, forward steps included, and some 10 (K + V) for each of the rows; decays for
/// each key 100 K more. Heads of sequences go through time in chunks of up to 16 steps (8 where each
/// key has a decay), which end at resets and at snapshots with cotangents.
/// Threads: of the form, over heads of sequences. What several of them add to (rows that heads share,
/// the decay's parameters, the skip) is added head by head in order, one at a time: the same bits
/// whatever the number of threads.
/// Memory: allocates for each thread a state for every chunk, T V numbers of the delta rules and the
/// rows of a chunk; for each head that is under way or waits for its turn, and once for the sums, T K
/// for each gradient of an array that heads share, and 2 T, or 2 T K, for the decay's.
/// Accuracy: docs/accuracy.md, section 8. NaN and infinity stay in their head and sequence, but a
/// lane of V shares its keys' gradients with the others.
template <class Decay, class T, class State, class DecayGradients, class Form = sequential>
void outer_vjp(const Decay& decay, const outer_data<T>& data,
               const matrix_cotangents<T, State>& cotangents,
               const matrix_gradients<T, DecayGradients, State>& gradients,
               const sequences<std::type_identity_t<State>>& where = {}, const Form& form = {}) {
  detail::matrix_vjp("outer_vjp", decay, data, cotangents, gradients, where, form);
}

/// The vector-Jacobian product of ebb::delta; as outer_vjp, with what a correction adds. The
/// general rule, with P = S_{t-1}, s = P^T z and g = G^T u:
///
///   du = G s     dz = P g     G <- diag(w) G + z g^T          of rates, u = -r * z:
///   dr = -z * du, dz -= r * du
///
/// and the gated one, with P' = diag(w) P, e = v - P'^T k, d = c G^T k:
///
///   dk = c G e - P' d     dc = k^T G e     G' = G - k d^T     dw_j = sum_i G'_ji P_ji
///   G <- diag(w) G'
template <class Decay, class T, class State, class DecayGradients, class Form = sequential>
void delta_vjp(const Decay& decay, const delta_data<T>& data,
               const matrix_cotangents<T, State>& cotangents,
               const matrix_gradients<T, DecayGradients, State>& gradients,
               const sequences<std::type_identity_t<State>>& where = {}, const Form& form = {}) {
  detail::matrix_vjp("delta_vjp", decay, data, cotangents, gradients, where, form);
}

}  // namespace ebb::inline EBB_ABI
