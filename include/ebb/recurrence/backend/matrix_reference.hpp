// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/recurrence/backend/matrix_reference.hpp
/// @brief  The recurrences with matrix states by their definition, in long double.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include <ebb/recurrence/matrix.hpp>

namespace ebb::inline EBB_ABI {

/// The oracle: one head after another, one step after another, the state in long double.
///
/// Cost: O(T H K V); allocates one state of K x V. Slow on purpose.
/// Accuracy: error_bound below. The state is rounded at the end of a call, so pieces agree within
/// the bound, not to the bit.
struct matrix_reference {
  static constexpr std::string_view name = "matrix_reference";
  static constexpr determinism repeats = determinism::any_thread_count;

  /// One rounding to the state's type, after 2 K + 13 of long double a step: K of the product with
  /// the state, K + 5 of two rows of unit length, the exponential 2, products and sums 6. For states
  /// of float and double.
  static constexpr double error_bound(index_t steps, index_t keys) {
    constexpr double finer = static_cast<double>(std::numeric_limits<long double>::epsilon()) /
                             static_cast<double>(std::numeric_limits<double>::epsilon());
    return 1 + finer * (13 + 2 * static_cast<double>(keys)) * static_cast<double>(steps + 1);
  }

  template <class Decay, class Data, class State>
  void run(const Decay& decay, const Data& data, const sequences<State>& where) const {
    const detail::matrix_shape size = detail::shape_of(data);
    for (index_t b = 0; b < size.batches; ++b)
      for (index_t s = 0; s < where.count(); ++s)
        for (index_t h = 0; h < size.heads; ++h) one_head(decay, data, where, {b, s, h});
  }

 private:
  using Wide = long double;
  struct place {
    index_t batch, sequence, head;
  };

  template <class Decay, class Data, class State>
  static void one_head(const Decay& decay, const Data& data, const sequences<State>& where,
                       const place& at) {
    const detail::matrix_shape size = detail::shape_of(data);
    const index_t K = size.keys, V = size.values, first = at.head * size.state();
    const index_t b = at.batch, s = at.sequence, h = at.head;
    std::vector<Wide> state(static_cast<std::size_t>(size.state()));
    const auto S = [&](index_t j, index_t i) -> Wide& {
      return state[static_cast<std::size_t>(j * V + i)];
    };
    const auto keep = [&](const strided_view<State>& states, index_t row) {
      for (index_t c = 0; c < size.state(); ++c)
        states(b, row, first + c) = static_cast<State>(state[static_cast<std::size_t>(c)]);
    };
    if (where.initial_states.data())
      for (index_t c = 0; c < size.state(); ++c)
        state[static_cast<std::size_t>(c)] = where.initial_states(b, s, first + c);

    std::vector<Wide> row(static_cast<std::size_t>(V));
    for (index_t t = where.begin(s); t < where.end(s, size.steps); ++t) {
      if (where.resets_at(b, t, size.steps)) state.assign(state.size(), 0);
      const auto row_of = [&](const auto& view, const std::optional<double>& epsilon = {}) {
        std::vector<Wide> numbers(static_cast<std::size_t>(K));
        Wide square = 0;
        for (index_t j = 0; j < K; ++j) {
          const Wide x = static_cast<Wide>(
              static_cast<State>(view(b, t, detail::shared_head(view, h, size.heads), j)));
          numbers[static_cast<std::size_t>(j)] = x;
          square += x * x;
        }
        if (epsilon)
          for (Wide& x : numbers) x /= std::sqrt(square + static_cast<Wide>(*epsilon));
        return numbers;
      };
      const std::vector<Wide> q = row_of(data.queries, data.unit_queries);
      const std::vector<Wide> k = row_of(data.keys, data.unit_keys);
      std::vector<Wide> z, u;
      if constexpr (detail::has_corrections<Data>)
        if (!detail::is_gated(data)) {
          z = row_of(data.removals, data.unit_removals);
          u = row_of(data.rates.left_out() ? data.corrections : data.rates);
          if (!data.rates.left_out())
            for (std::size_t j = 0; j < u.size(); ++j) u[j] = -u[j] * z[j];
        }
      Wide c = 1;
      if (!data.weights.left_out())
        c = static_cast<Wide>(static_cast<State>(data.weights(b, t, h, 0)));
      const index_t position = where.first_position(b, s) + (t - where.begin(s));
      if constexpr (weighing_decay<Decay, State>) {
        State filled{};
        decay.weigh({b, t, h, position}, strided_view<State>(&filled, 1, 1));
        c *= static_cast<Wide>(filled);
      }
      const auto factor = [&](index_t j) {
        State filled{};
        const index_t channel = data.decays == decay_per::head ? h : h * K + j;
        decay.fill({b, t, channel, position}, strided_view<State>(&filled, 1, 1));
        const auto wide = static_cast<Wide>(filled);
        return Decay::form == decay_form::factor ? wide : std::exp(wide);
      };
      // What S loses besides its decay: z^T S.
      for (index_t i = 0; i < V; ++i) {
        Wide& seen = row[static_cast<std::size_t>(i)] = 0;
        for (std::size_t j = 0; j < z.size(); ++j) seen += z[j] * S(static_cast<index_t>(j), i);
      }
      for (index_t j = 0; j < K; ++j) {
        const Wide w = factor(j);
        for (index_t i = 0; i < V; ++i) S(j, i) *= w;
      }
      for (index_t i = 0; i < V; ++i) {
        const Wide v = static_cast<Wide>(static_cast<State>(data.values(b, t, h, i)));
        Wide written = v, out = 0;
        if (detail::is_gated(data))
          for (index_t j = 0; j < K; ++j) written -= k[static_cast<std::size_t>(j)] * S(j, i);
        for (index_t j = 0; j < K; ++j) {
          const auto n = static_cast<std::size_t>(j);
          S(j, i) += c * k[n] * written;
          if (!u.empty()) S(j, i) += u[n] * row[static_cast<std::size_t>(i)];
          out += q[n] * S(j, i);
        }
        out *= static_cast<Wide>(data.scale);
        if (!data.skip.empty())
          out += static_cast<Wide>(static_cast<State>(detail::skip_at(data, h, i))) * v;
        data.outputs(b, t, h, i) = static_cast<typename Data::value_type>(static_cast<State>(out));
      }
      if (const index_t m = where.snapshot_of(t); m >= 0) keep(where.snapshots, m);
    }
    if (where.final_states.data()) keep(where.final_states, s);
  }
};

}  // namespace ebb::inline EBB_ABI
