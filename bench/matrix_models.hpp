// SPDX-License-Identifier: Apache-2.0
/// @file   bench/matrix_models.hpp
/// @brief  The models with matrix states: shapes, arrays filled with numbers, decays.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <ebb/core/head_view.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/decay/selective.hpp>
#include <ebb/recurrence/delta.hpp>
#include <ebb/recurrence/outer.hpp>
#include <ebb/spectrum/geometric.hpp>

#include "problem.hpp"

namespace bench {

/// The recurrence of a model: outer products, the gated delta rule, the delta rule with removals and
/// corrections of its own.
enum class matrix_rule { outer, gated, general };

/// Operations of vectors that a pack of the state needs for one step: the products with the decay
/// and with what is removed, the sums of what is written and read.
constexpr double operations_of(matrix_rule rule) {
  return rule == matrix_rule::outer ? 3 : rule == matrix_rule::gated ? 4 : 5;
}

/// Heads, those of queries and keys, K and V, and what the model does with them.
struct matrix_size {
  index_t heads, key_heads, keys, values;
  matrix_rule rule;
  ebb::decay_per decays;
  bool weighted, scaled;

  index_t state() const { return heads * keys * values; }
  index_t decay_channels() const { return decays == ebb::decay_per::key ? heads * keys : heads; }
  double scale() const { return scaled ? 1 / std::sqrt(static_cast<double>(keys)) : 1; }
};

/// The arrays of one sequence; keys, removals and with them corrections are of unit length.
class matrix_arrays {
 public:
  matrix_arrays(const matrix_size& wanted, index_t length)
      : size(wanted),
        steps(length),
        queries(shared_rows() * size.keys, 3),
        keys(shared_rows() * size.keys, 13),
        values(rows() * size.values, 23),
        weights(size.weighted ? rows() : 0, 33),
        removals(general() ? rows() * size.keys : 0, 43),
        corrections(general() ? rows() * size.keys : 0, 53),
        raw(steps * size.decay_channels(), 8),
        outputs(rows() * size.values, 28) {
    fill(queries, shared_rows() * size.keys, -1, 1);
    fill(keys, shared_rows() * size.keys, -1, 1);
    to_unit_rows(keys, shared_rows());
    fill(values, rows() * size.values, -1, 1);
    fill(raw, steps * size.decay_channels(), -3, 1);
    if (size.weighted) fill(weights, rows(), 0.05, 0.95);
    if (!general()) return;
    fill(removals, rows() * size.keys, -1, 1);
    to_unit_rows(removals, rows());
    fill(corrections, rows() * size.keys, 0.05, 0.95);
    for (index_t i = 0; i < rows() * size.keys; ++i) corrections.data()[i] *= -removals.data()[i];
  }
  matrix_arrays(const matrix_arrays&) = delete;
  matrix_arrays& operator=(const matrix_arrays&) = delete;

  /// Rows of a step and head, and of a step and head of keys.
  index_t rows() const { return steps * size.heads; }
  index_t shared_rows() const { return steps * size.key_heads; }
  bool general() const { return size.rule == matrix_rule::general; }
  ebb::strided_view<const float> raw_view() const {
    return {raw.data(), steps, size.decay_channels()};
  }

  /// As the recurrences take them.
  template <class Data>
  Data as() {
    const auto view = [&](lines<float>& from, index_t heads, index_t width) {
      return ebb::head_view<const float>(from.data(), {1, steps, heads, width});
    };
    Data data;
    data.queries = view(queries, size.key_heads, size.keys);
    data.keys = view(keys, size.key_heads, size.keys);
    data.values = view(values, size.heads, size.values);
    data.outputs = {outputs.data(), {1, steps, size.heads, size.values}};
    if (size.weighted) data.weights = view(weights, size.heads, 1);
    if constexpr (requires { data.removals; }) {
      if (general()) {
        data.removals = view(removals, size.heads, size.keys);
        data.corrections = view(corrections, size.heads, size.keys);
      }
    }
    data.scale = size.scale();
    data.decays = size.decays;
    return data;
  }

  /// Numbers evenly spread on [low, high), the same in every run.
  void fill(lines<float>& to, index_t count, double low, double high) {
    for (index_t i = 0; i < count; ++i)
      to.data()[i] =
          static_cast<float>(low + (high - low) * static_cast<double>(random_() >> 8) * 0x1p-24);
  }

  const matrix_size size;
  const index_t steps;
  lines<float> queries, keys, values, weights, removals, corrections, raw, outputs;

 private:
  void to_unit_rows(lines<float>& rows, index_t count) const {
    for (index_t r = 0; r < count; ++r) {
      const std::span row(rows.data() + r * size.keys, static_cast<std::size_t>(size.keys));
      double square = 0;
      for (const float x : row) square += static_cast<double>(x) * static_cast<double>(x);
      for (float& x : row) x = static_cast<float>(static_cast<double>(x) / std::sqrt(square));
    }
  }

  std::mt19937 random_{20240607};
};

// The decays of a model: `native` its own, `post` the same tapered; t_ref and lengths as in
// training on 2048 steps. Rates ascend, as a taper wants them.

inline constexpr double trained_on = 2048;

inline ebb::post_taper usual_taper() { return ebb::post_taper::absolute_by_gaps(trained_on); }

inline auto steps_of(const matrix_arrays& p) {
  return ebb::selective_decay(p.raw_view()).limited(1e-3, 1);
}
template <class Policy>
auto bound_to(const Policy& policy, const std::vector<double>& rates) {
  return policy.bind(std::span<const double>(rates));
}
/// H rates, each for all keys of its head where they have decays of their own.
inline std::vector<double> rates_by_head(const matrix_size& size, double low, double high) {
  std::vector<double> rates;
  const index_t each = size.decay_channels() / size.heads;
  for (const double rate :
       ebb::rates_of<double>(ebb::geometric_spectrum::rates(low, high), size.heads))
    rates.insert(rates.end(), static_cast<std::size_t>(each), rate);
  return rates;
}

/// Step sizes decide, one for each head.
struct mamba2_model {
  static constexpr const char* name = "mamba2";
  static constexpr matrix_size size{24,   1,    128, 64, matrix_rule::outer, ebb::decay_per::head,
                                    true, false};
  using data = ebb::outer_data<float>;
  static auto native(const matrix_arrays& p) {
    return bound_to(steps_of(p), rates_by_head(size, 1.0 / 16, 1));
  }
  static auto post(const matrix_arrays& p) {
    return bound_to(steps_of(p).tapered(usual_taper()), rates_by_head(size, 1.0 / 16, 1));
  }
};

/// Gates decide, one for each key: log w = -softplus(x) / 16.
struct gla_model {
  static constexpr const char* name = "gla";
  static constexpr matrix_size size{16,    16,  64, 64, matrix_rule::outer, ebb::decay_per::key,
                                    false, true};
  using data = ebb::outer_data<float>;
  static auto native(const matrix_arrays& p) {
    return bound_to(steps_of(p), rates_by_head(size, 1.0 / 16, 1.0 / 16));
  }
  static auto post(const matrix_arrays& p) {
    return bound_to(steps_of(p).tapered(usual_taper()), rates_by_head(size, 1.0 / 16, 1));
  }
};

/// w = 1 - 2^-5 .. 1 - 2^-20, a number for each head.
struct retnet_model {
  static constexpr const char* name = "retnet";
  static constexpr matrix_size size{16,    16,  64, 64, matrix_rule::outer, ebb::decay_per::head,
                                    false, true};
  using data = ebb::outer_data<float>;
  static std::vector<double> rates() {
    std::vector<double> result;
    for (int h = 20; h >= 5; --h) result.push_back(-std::log1p(-std::ldexp(1.0, -h)));
    return result;
  }
  static auto native(const matrix_arrays&) { return bound_to(ebb::constant_decay(), rates()); }
  static auto post(const matrix_arrays&) { return bound_to(usual_taper(), rates()); }
};

/// Step sizes decide, one for each head, and what is written corrects.
struct gated_deltanet_model {
  static constexpr const char* name = "gated_deltanet";
  static constexpr matrix_size size{16,   16,  64, 64, matrix_rule::gated, ebb::decay_per::head,
                                    true, true};
  using data = ebb::delta_data<float>;
  static auto native(const matrix_arrays& p) {
    return bound_to(steps_of(p), rates_by_head(size, 1.0 / 16, 1));
  }
  static auto post(const matrix_arrays& p) {
    return bound_to(steps_of(p).tapered(usual_taper()), rates_by_head(size, 1.0 / 16, 1));
  }
};

/// A gate for each key, log w >= -e^(-1/2), made by softplus with a limit.
struct rwkv7_model {
  static constexpr const char* name = "rwkv7";
  static constexpr matrix_size size{12,    12,   64, 64, matrix_rule::general, ebb::decay_per::key,
                                    false, false};
  using data = ebb::delta_data<float>;
  static auto native(const matrix_arrays& p) {
    const double rate = std::exp(-0.5);
    return bound_to(steps_of(p), rates_by_head(size, rate, rate));
  }
  static auto post(const matrix_arrays& p) {
    return bound_to(steps_of(p).tapered(usual_taper()),
                    rates_by_head(size, std::exp(-0.5) / 16, std::exp(-0.5)));
  }
};

}  // namespace bench
