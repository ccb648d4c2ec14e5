// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/sequential.hpp
/// @brief  The default form of the recurrences with matrix states: a few steps at a time.
#pragma once

#include <string_view>

#include <ebb/recurrence/backend/state_walk.hpp>
#include <ebb/recurrence/matrix.hpp>

namespace ebb::inline EBB_ABI {

/// Matrix states in vector registers, with the compiler's own vector types.
///
/// Heads are walked one after the other, a panel of steps each time, so that a block of the state
/// stays in the nearest cache while the steps pass over it. A pass takes up to four steps at once:
/// it reads the state before the first of them, decays it over all of them and adds what they
/// write; what they tell each other goes by way of the products of their keys and queries. No
/// factor above those given is formed, and nothing is divided.
///
/// Where the steps of a call are cut (at the ends of panels, resets and snapshots) decides the
/// order of operations, so pieces of a sequence agree within the bound, not to the bit.
///
/// Cost: (2 + 1/n) T H K V multiply-adds for outer products, (3 + 1/n) for the gated delta rule, with
/// n = 4 steps at once (2 with 16 registers), n = 1 for what is left over; 5 for the general rule,
/// which takes one step at a time; and about n/2 more per key and step, and the decay's own. Stack:
/// 110 KB. Allocates a copy of the state where `final_states` are left out, and from 16 steps on
/// where its rows are wider than 256 bytes, no whole packs, or not aligned to 64 bytes; rows of a
/// panel for more than some 700 keys. A step of decoding does not allocate up to 1000 keys in float.
/// Accuracy: error_bound below, derived in docs/accuracy.md. Log-decays near 0 keep their digits
/// (S + (a - 1) S); an infinite element of a state may become NaN there.
/// Subnormals: gradual underflow as the processor is set, but for decays: of a head's decay over one
/// step or several what is below the smallest normal number counts as 0.
struct sequential {
  static constexpr std::string_view name = "sequential";
  static constexpr determinism repeats = determinism::any_thread_count;

  /// Outer products: 6 a step (5 of the decay, from its logarithm, and the sum), and 2 K + 10 once.
  /// A state that is corrected: 2 K + 17 a step, K of them from the products of removals with the
  /// state, K from rows of unit length; what is left out counts as well.
  static constexpr double error_bound(index_t steps, index_t keys, bool corrected = true) {
    const double rows = 2 * static_cast<double>(keys);
    return (corrected ? rows + 17 : 6) * static_cast<double>(steps) + rows + 10;
  }

  template <class Decay, class Data, class State>
  void run(const Decay& decay, const Data& data, const sequences<State>& where) const {
    const detail::matrix_shape size = detail::shape_of(data);
    for (index_t b = 0; b < size.batches; ++b)
      for (index_t s = 0; s < where.count(); ++s)
        run_piece(decay, data, where, {b, s, 0, size.heads, 0, size.values});
  }

  /// Independent pieces whose results are taken in order, for what is built upon a form such as
  /// gradients: work = begin() once, then take(i, work(i)) for each i in 0 .. count - 1.
  template <class Begin, class Take>
  void run_in_order(index_t count, double, const Begin& begin, const Take& take) const {
    auto work = begin();
    for (index_t i = 0; i < count; ++i) {
      auto result = work(i);
      take(i, result);
    }
  }

  /// The part of `run` for some heads and lanes of one sequence.
  template <class Decay, class Data, class State>
  static void run_piece(const Decay& decay, const Data& data, const sequences<State>& where,
                        const detail::walk_piece& piece) {
    const auto go = [&]<detail::state_rule Rule>() {
      detail::state_walk<Rule, Decay, Data, State>(decay, data, where, piece).run();
    };
    if constexpr (detail::has_corrections<Data>) {
      if (detail::is_gated(data))
        go.template operator()<detail::state_rule::gated>();
      else
        go.template operator()<detail::state_rule::delta>();
    } else {
      go.template operator()<detail::state_rule::outer>();
    }
  }
};

}  // namespace ebb::inline EBB_ABI
