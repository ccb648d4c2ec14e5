// SPDX-License-Identifier: Apache-2.0
/// @file   bench/matrix_models.hpp
/// @brief  The models with matrix states: shapes, arrays filled with numbers, decays.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include <ebb/core/head_view.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/model/gated_deltanet.hpp>
#include <ebb/model/gla.hpp>
#include <ebb/model/mamba2.hpp>
#include <ebb/model/retnet.hpp>
#include <ebb/model/rwkv7.hpp>
#include <ebb/recurrence/backend/key_lanes.hpp>
#include <ebb/recurrence/backend/sequential.hpp>

#include "problem.hpp"

namespace bench {

/// The recurrence of a model: outer products, the gated delta rule, the delta rule with removals
/// and corrections of its own.
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
  ebb::head_view<const float> raw_rows() const {
    return {raw.data(), {1, steps, size.heads, size.decay_channels() / size.heads}};
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

// The decays of a model: `native` its own, `post` the same tapered, with the exponents and the
// spectrum of training on 2048 steps.

inline constexpr double trained_on = 2048;

inline ebb::post_taper usual_taper() { return ebb::post_taper::absolute_by_gaps(trained_on); }

/// Steps of 0.001 to 0.05, as the models have them at first.
inline ebb::raw_steps<float> usual_steps(const ebb::head_view<const float>& raw) {
  static constexpr float bias = -4;
  return {.raw = raw, .bias = {&bias, 1}};
}
inline ebb::raw_steps<float> usual_steps(const matrix_arrays& p) {
  return usual_steps(p.raw_rows());
}
/// A_log of rates 1 .. 16.
inline std::vector<double> usual_logs(const matrix_size& size) {
  std::vector<double> logs;
  for (index_t h = 0; h < size.heads; ++h)
    logs.push_back(std::log(1 + 15 * static_cast<double>(h) / static_cast<double>(size.heads - 1)));
  return logs;
}

/// Step sizes decide, one for each head, and weigh.
struct mamba2_model {
  static constexpr const char* name = "mamba2";
  static constexpr matrix_size size{24,   1,    128, 64, matrix_rule::outer, ebb::decay_per::head,
                                    true, false};
  using data = ebb::outer_data<float>;
  using one_thread = ebb::sequential;
  static auto native(const matrix_arrays& p) {
    return ebb::mamba2_decay(usual_logs(size), usual_steps(p));
  }
  static auto post(const matrix_arrays& p) {
    return ebb::mamba2_post_decay(ebb::mamba2_post_initial(trained_on), usual_taper(),
                                  usual_steps(p));
  }
};

/// A head for each channel of the input, V = 1, with one step size for its keys.
struct mamba1_model {
  static constexpr const char* name = "mamba1";
  static constexpr matrix_size size{1536, 1,    16, 1, matrix_rule::outer, ebb::decay_per::key,
                                    true, false};
  using data = ebb::outer_data<float>;
  using one_thread = ebb::key_lanes;
  static auto native(const matrix_arrays& p) {
    std::vector<double> logs;
    for (index_t c = 0; c < size.decay_channels(); ++c)
      logs.push_back(std::log(static_cast<double>(1 + c % size.keys)));
    return ebb::mamba1_decay(logs, steps_of(p));
  }
  static auto post(const matrix_arrays& p) {
    auto logs = ebb::rates_of<double>(ebb::mamba2_post_initial(trained_on), size.decay_channels());
    for (double& rate : logs) rate = std::log(rate);
    return ebb::mamba1_decay(logs, steps_of(p), usual_taper());
  }

 private:
  static ebb::raw_steps<float> steps_of(const matrix_arrays& p) {
    return usual_steps(ebb::head_view<const float>(p.raw.data(), {1, p.steps, size.heads, 1}));
  }
};

/// Gates decide, one for each key.
struct gla_model {
  static constexpr const char* name = "gla";
  static constexpr matrix_size size{16,    16,  64, 64, matrix_rule::outer, ebb::decay_per::key,
                                    false, true};
  using data = ebb::outer_data<float>;
  using one_thread = ebb::sequential;
  static auto native(const matrix_arrays& p) { return ebb::gla_decay(p.raw_rows()); }
  static auto post(const matrix_arrays& p) {
    return ebb::gla_post_decay(ebb::gla_post_initial(), usual_taper(), usual_steps(p));
  }
};

/// A number for each head; tapered, the same one, without the steps of the published model, which
/// is `gla` tapered.
struct retnet_model {
  static constexpr const char* name = "retnet";
  static constexpr matrix_size size{16,    16,  64, 64, matrix_rule::outer, ebb::decay_per::head,
                                    false, true};
  using data = ebb::outer_data<float>;
  using one_thread = ebb::sequential;
  static auto native(const matrix_arrays&) { return ebb::retnet_decay(size.heads); }
  static auto post(const matrix_arrays&) {
    const auto untapered = ebb::retnet_decay(size.heads);
    std::vector<double> rates(untapered.rates().begin(), untapered.rates().end());
    std::sort(rates.begin(), rates.end());
    return usual_taper().bind(std::span<const double>(rates));
  }
};

/// Step sizes decide, one for each head, and what is written corrects.
struct gated_deltanet_model {
  static constexpr const char* name = "gated_deltanet";
  static constexpr matrix_size size{16,   16,  64, 64, matrix_rule::gated, ebb::decay_per::head,
                                    true, true};
  using data = ebb::delta_data<float>;
  using one_thread = ebb::sequential;
  static auto native(const matrix_arrays& p) {
    return ebb::gated_deltanet_decay(usual_logs(size), usual_steps(p));
  }
  static auto post(const matrix_arrays& p) {
    return ebb::gated_deltanet_post_decay(ebb::gated_deltanet_post_initial(trained_on),
                                          usual_taper(), usual_steps(p));
  }
};

/// A gate for each key; removals and corrections.
struct rwkv7_model {
  static constexpr const char* name = "rwkv7";
  static constexpr matrix_size size{12,    12,   64, 64, matrix_rule::general, ebb::decay_per::key,
                                    false, false};
  using data = ebb::delta_data<float>;
  using one_thread = ebb::sequential;
  static auto native(const matrix_arrays& p) { return ebb::rwkv7_decay(p.raw_rows()); }
  static auto post(const matrix_arrays& p) {
    return ebb::rwkv7_post_decay(ebb::rwkv7_post_initial(trained_on, size.decay_channels()),
                                 usual_taper(), p.raw_rows());
  }
};

}  // namespace bench
