// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/chunked.hpp
/// @brief  The recurrences with matrix states in chunks of steps, as products of matrices.
#pragma once

#include <string_view>

#include <ebb/recurrence/backend/chunk_walk.hpp>
#include <ebb/recurrence/matrix.hpp>

namespace ebb::inline EBB_ABI {

/// The recurrences in chunks of C steps, as devices with matrix units evaluate them: within a chunk
/// everything is a product of matrices of n <= C steps, K keys and V lanes; only the state goes
/// from chunk to chunk. With Q, Z, K, U what the steps read, see, write and correct, decays
/// included (recurrence/backend/state_chunk.hpp), and X the values:
///
///   Y = Z S + tril(Z K^T, -1) X + tril(Z U^T, -1) Y     row by row, what the removals see
///   O = scale (Q S + tril(Q K^T) X + tril(Q U^T) Y) + D * X
///   S <- decay of S + K^T X + U^T Y
///
/// for outer products without U and Y; under the gated rule X becomes the errors c (X - Y), row by
/// row, and U is left out. The triangular systems (the WY or UT transform) are solved by forward
/// substitution, without an inverse.
///
/// Decays between two steps are products of the factors, or exponentials of sums of their
/// logarithms from the earlier step on: none is above 1 where the decays are not, nothing is
/// divided, and no factor is made of two cumulated ones. Decays for each key stand inside Q K^T: it
/// is made of sub-blocks of 16 steps, with keys decayed up to the start of the later one and
/// queries from there.
///
/// When to use it: as the definition of what a device with matrix units does, to compare with. On a
/// CPU `sequential` is faster: it needs few products between steps.
///
/// Chunks end at resets, snapshots and ends of sequences; where a call is cut decides the order of
/// operations, so pieces of a sequence agree within the bound, not to the bit.
///
/// Cost, in multiply-adds for a step of a head: outer products 2 K V + C (K + V)/2, gated delta
/// rule 3 K V + C (K + V), general 4 K V + 2 C (K + V). Decays of a head: C/2 exponentials and as
/// many multiplications for each product of rows; of keys: 1.1 K exponentials and 32 K
/// multiplications and additions for each product. Products of rows that heads share are formed for
/// each head.
/// Memory: allocates, once a call, K V + 3 C V + 4 C (K + C) + 40 K numbers of the state's type at
/// the most, C >= 16 here, and no more than the longest sequence.
/// Accuracy: error_bound below, derived in docs/accuracy.md; log-decays near 0 keep their digits.
/// Subnormals: gradual underflow as the processor is set.
/// Source: [Mamba2], [GLA], [DeltaChunks], [GatedDeltaNet] (docs/references.md).
class chunked {
 public:
  static constexpr std::string_view name = "chunked";
  static constexpr determinism repeats = determinism::any_thread_count;

  chunked() = default;
  /// @param steps  C, 1 <= C <= 256
  /// @throws domain_error otherwise.
  explicit constexpr chunked(index_t steps) : steps_(steps) {
    detail::require_domain(steps >= 1 && steps <= 256, name, "need chunks of 1 .. 256 steps",
                           steps);
  }

  /// C.
  constexpr index_t steps() const { return steps_; }

  /// Outer products: 6 a step (5 of the decay, and the sum), and 2 K + 13 once. A state that is
  /// corrected: 2 K + 17 a step. For any C.
  static constexpr double error_bound(index_t steps, index_t keys, bool corrected = true) {
    const double rows = 2 * static_cast<double>(keys);
    return (corrected ? rows + 17 : 6) * static_cast<double>(steps) + rows + 13;
  }

  template <class Decay, class Data, class State>
  void run(const Decay& decay, const Data& data, const sequences<State>& where) const {
    const auto go = [&]<detail::state_rule Rule>() {
      detail::chunk_walk<Rule, Decay, Data, State>(decay, data, where, steps_).run();
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

 private:
  index_t steps_ = 64;
};

}  // namespace ebb::inline EBB_ABI
