// SPDX-License-Identifier: Apache-2.0
/// @file   bench/matrix_gradients.hpp
/// @brief  Rows of the gradients of the recurrences with matrix states.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ebb/core/executor.hpp>
#include <ebb/recurrence/backend/sequential_threads.hpp>
#include <ebb/recurrence/delta.hpp>
#include <ebb/recurrence/matrix_vjp.hpp>
#include <ebb/recurrence/outer.hpp>

#include "baselines.hpp"
#include "matrix_models.hpp"
#include "measure.hpp"
#include "problem.hpp"

namespace bench {

/// All gradients of one call from those of its outputs, beside the call itself.
template <class Model, class Decay>
class gradient_row {
 public:
  gradient_row(std::string name, const matrix_arrays& p, typename Model::data data,
               const Decay& decay)
      : name_(std::move(name)),
        p_(p),
        data_(data),
        decay_(decay),
        known_(p.rows() * size.values, 61),
        queries_(p.shared_rows() * size.keys, 62),
        keys_(p.shared_rows() * size.keys, 63),
        values_(p.rows() * size.values, 64),
        removals_(p.general() ? p.rows() * size.keys : 0, 65),
        corrections_(p.general() ? p.rows() * size.keys : 0, 66),
        parameters_(static_cast<std::size_t>(size.decay_channels())) {
    for (index_t i = 0; i < p.rows() * size.values; ++i)
      known_.data()[i] = static_cast<float>(std::sin(static_cast<double>(i)));
    if constexpr (ebb::weighing_decay<Decay, float>) data_.weights = {};
    if constexpr (requires { sums_.rates; }) sums_.rates = parameters_;
    if constexpr (requires { sums_.logits; }) sums_.logits = parameters_;
  }
  gradient_row(const gradient_row&) = delete;
  gradient_row& operator=(const gradient_row&) = delete;

  /// @param form  unless on one thread, compared with `sequential` by wall time
  template <class Form>
  void measure(benchmark::State& state, const Form& form, bool threads) {
    check(form);
    race_.add("ours", [&] { back(form); });
    if (threads)
      race_.add("one", [&] { back(ebb::sequential{}); });
    else
      race_.add("forward", [&] { forth(); });
    for (auto _ : state) {
      const results seconds = race_.hold(threads ? timing::wall_least : timing::thread_median);
      state.SetIterationTime(seconds["ours"]);
      state.counters["ns_per_step"] = 1e9 * seconds["ours"] / static_cast<double>(p_.steps);
      if (threads)
        state.counters["threads_over_one"] = seconds.ratio("ours", "one");
      else
        state.counters["backward_over_forward"] = seconds.ratio("ours", "forward");
    }
  }

 private:
  static constexpr matrix_size size = Model::size;
  using gradients = typename Decay::gradients;

  void forth() {
    if constexpr (requires { data_.removals; })
      ebb::delta(decay_, data_);
    else
      ebb::outer(decay_, data_);
    written(data_.outputs.data());
  }
  template <class Form>
  void back(const Form& form) {
    const auto view = [&](lines<float>& of, index_t heads, index_t width) {
      return ebb::head_view<float>(of.data(), {1, p_.steps, heads, width});
    };
    const ebb::matrix_cotangents<float> known{.outputs = view(known_, size.heads, size.values)};
    ebb::matrix_gradients<float, gradients> asked{
        .queries = view(queries_, size.key_heads, size.keys),
        .keys = view(keys_, size.key_heads, size.keys),
        .values = view(values_, size.heads, size.values),
        .decay = &sums_};
    if (p_.general()) {
      asked.removals = view(removals_, size.heads, size.keys);
      asked.corrections = view(corrections_, size.heads, size.keys);
    }
    if constexpr (requires { data_.removals; })
      ebb::delta_vjp(decay_, data_, known, asked, {}, form);
    else
      ebb::outer_vjp(decay_, data_, known, asked, {}, form);
    written(values_.data());
  }

  // The outputs are linear in the values: sum do * o = sum dv * v, within 1e-4 of the sum of sizes.
  template <class Form>
  void check(const Form& form) {
    forth();
    back(form);
    double difference = 0, all = 0;
    for (index_t i = 0; i < p_.rows() * size.values; ++i) {
      const auto at = [i](const lines<float>& of) { return static_cast<double>(of.data()[i]); };
      const double one = at(known_) * at(p_.outputs), other = at(values_) * at(p_.values);
      difference += one - other;
      all += std::abs(one) + std::abs(other);
    }
    if (std::abs(difference) <= 1e-4 * all) return;
    std::fprintf(stderr, "bench: %s: gradients are not those of the outputs (%.3g of %.3g)\n",
                 name_.c_str(), difference, all);
    std::exit(1);
  }

  std::string name_;
  const matrix_arrays& p_;
  typename Model::data data_;
  const Decay& decay_;
  lines<float> known_, queries_, keys_, values_, removals_, corrections_;
  std::vector<double> parameters_;
  gradients sums_{};
  contest race_;
};

/// The rows of one model: on one thread, and on all processors.
template <class Model>
void offer_gradients() {
  const index_t steps = usual_effort.turn == 0 ? 33 : 512;
  static const auto pool = std::make_shared<ebb::thread_pool>();
  for (const bool tapered : {false, true})
    for (const bool threads : {false, true}) {
      if (threads && pool->concurrency() < 2) continue;
      const std::string name = row_name(
          {Model::name, tapered ? "post" : "native", threads ? "vjp_threads" : "vjp"}, {steps, 0});
      offer(name, true, [=](benchmark::State& state) {
        matrix_arrays p(Model::size, steps);
        const auto row = [&](const auto& decay) {
          gradient_row<Model, std::remove_cvref_t<decltype(decay)>> it(
              name, p, p.template as<typename Model::data>(), decay);
          if (threads)
            it.measure(state, ebb::sequential_threads<>(pool), true);
          else
            it.measure(state, ebb::sequential{}, false);
        };
        if (tapered)
          row(Model::post(p));
        else
          row(Model::native(p));
      });
    }
}

// In a file of its own, so that it compiles beside the others.
void offer_matrix_gradients();

}  // namespace bench
