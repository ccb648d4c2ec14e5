// SPDX-License-Identifier: Apache-2.0
/// @file   bench/matrix_rows.hpp
/// @brief  Rows of the recurrences with matrix states: prefill of T steps, and decoding.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include <ebb/core/executor.hpp>
#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/backend/automatic.hpp>
#include <ebb/recurrence/backend/chunked.hpp>
#include <ebb/recurrence/backend/key_lanes.hpp>
#include <ebb/recurrence/backend/sequential_threads.hpp>

#include "agree.hpp"
#include "matrix_models.hpp"
#include "matrix_streaming.hpp"
#include "measure.hpp"
#include "problem.hpp"

namespace bench {

/// Which decay a row is for: `stored`, the logarithms of the native ones, ready in an array.
enum class matrix_decay { stored, native, post };
inline const std::pair<matrix_decay, const char*> matrix_decays[] = {
    {matrix_decay::stored, "stored"},
    {matrix_decay::native, "native"},
    {matrix_decay::post, "post"}};

/// How a row is evaluated, on how many threads, and which rows there are: of decoding, of decays
/// that are ready.
template <class Form>
struct matrix_form {
  std::string name;
  Form form{};
  index_t threads = 1;
  bool decodes = true, ready = true;
};

/// One row at work; `layers` states in turn where single steps are decoded.
template <class Model, class Form>
class matrix_row {
 public:
  matrix_row(std::string name, index_t steps, index_t layers, matrix_form<Form> how)
      : name_(std::move(name)),
        how_(std::move(how)),
        layers_(layers),
        p_(Model::size, steps),
        data_(p_.template as<typename Model::data>()),
        states_(layers * size(), 48) {}

  void measure(benchmark::State& state, matrix_decay which) {
    const auto native = Model::native(p_);
    if constexpr (ebb::weighing_decay<decltype(native), float>) {
      // What the loop takes ready, and ours too where its decays are.
      native.weigh({0, 0, 0, first_position()},
                   ebb::strided_view<float>(p_.weights.data(), p_.steps, p_.size.heads));
      if (which != matrix_decay::stored) data_.weights = {};
    }
    if (which == matrix_decay::post) {
      race_.add("native", [this, native] { ours(native, how_.form); });
      return enter(Model::post(p_), state);
    }
    if (which == matrix_decay::native) return enter(native, state);
    const index_t channels = p_.size.decay_channels();
    lines<float> logs(p_.steps * channels, 18);
    const ebb::strided_view<float> view(logs.data(), p_.steps, channels);
    native.fill({0, 0, 0, first_position()}, view);
    enter(ebb::stored_logs(view), state);
  }

 private:
  bool decoding() const { return p_.steps == 1; }
  index_t first_position() const { return decoding() ? 1000 : 1; }
  index_t size() const { return p_.size.state(); }
  std::span<float> layer(index_t l) {
    return {states_.data() + l * size(), static_cast<std::size_t>(size())};
  }

  template <class Decay, class Way>
  void ours(const Decay& decay, const Way& form) {
    if (decoding()) {
      for (index_t l = 0; l < layers_; ++l)
        ebb::step(decay, first_position(), data_, layer(l), form);
    } else {
      ebb::sequences<float> where;
      where.final_states = ebb::strided_view<float>(states_.data(), 1, size());
      if constexpr (requires { data_.removals; })
        ebb::delta(decay, data_, where, form);
      else
        ebb::outer(decay, data_, where, form);
    }
    written(p_.outputs.data());
  }
  void stream(streaming_loop<float>& loop) {
    for (index_t l = 0; l < layers_; ++l) {
      if (!decoding()) std::fill_n(layer(l).data(), size(), 0.0F);
      loop.run(layer(l).data(), p_.outputs.data());
    }
  }

  template <class Decay>
  void enter(const Decay& decay, benchmark::State& state) {
    streaming_loop<float> loop(p_, factors_at<float>(decay, p_, first_position()));
    check(decay, loop);
    race_.add("ours", [&] { ours(decay, how_.form); });
    race_.add("streaming", [&] { stream(loop); });
    if (how_.threads > 1) race_.add("one", [&] { ours(decay, typename Model::one_thread{}); });
    if (decoding())
      race_.add("scale", [this] {
        float* const all = states_.data();
        // So near to 1 that the state does not fade away over a measurement.
        for (index_t i = 0; i < layers_ * size(); ++i) all[i] *= 1 - 0x1p-23F;
        written(all);
      });
    else
      race_.add("floor", [] { multiply_adds(floor_count); });
    report(state);
  }

  // Ours and the loop, outputs and states, against the loop in double, within 1e-5 of the largest
  // number. A float factor next to 1 is another decay: u more for every step of the loop.
  template <class Decay>
  void check(const Decay& decay, streaming_loop<float>& loop) {
    if (decoding()) p_.fill(states_, size(), -1, 1);
    const std::vector<float> before(layer(0).begin(), layer(0).end());
    // All layers alike, for the outputs that stay are those of the last one.
    const auto begin_again = [&] {
      for (index_t l = 0; l < layers_; ++l)
        std::copy(before.begin(), before.end(), layer(l).begin());
    };
    begin_again();
    std::vector<double> state(layer(0).size(), 0.0);
    if (decoding()) state.assign(before.begin(), before.end());
    std::vector<double> outputs(static_cast<std::size_t>(p_.steps * row()));
    streaming_loop<double>(p_, factors_at<double>(decay, p_, first_position()))
        .run(state.data(), outputs.data());
    const auto compare = [&](const char* who, double allowed) {
      require_close(name_, who, {p_.outputs.data(), outputs.size()}, outputs, row(), allowed);
      require_close(name_, who, layer(layers_ - 1), state, size(), allowed);
      begin_again();
    };
    ours(decay, how_.form);
    compare("ours", 1e-5);
    stream(loop);
    compare("streaming", 1e-5 + 0x1p-24 * static_cast<double>(p_.steps));
  }
  index_t row() const { return p_.size.heads * p_.size.values; }

  void report(benchmark::State& state) {
    const auto steps = static_cast<double>(p_.steps * layers_);
    const double packs = steps * static_cast<double>(size()) / ebb::detail::pack_of<float>::lanes;
    for (auto _ : state) {
      const results seconds =
          race_.hold(how_.threads > 1 ? timing::wall_least : timing::thread_median);
      state.SetIterationTime(seconds["ours"]);
      state.counters["ns_per_step"] = 1e9 * seconds["ours"] / steps;
      state.counters["over_streaming"] = seconds.ratio("streaming", "ours");
      if (seconds.has("floor"))
        state.counters["of_issue_floor"] = seconds.ratio("floor", "ours") * packs *
                                           operations_of(p_.size.rule) / floor_count /
                                           static_cast<double>(how_.threads);
      if (seconds.has("scale")) state.counters["of_inplace_scale"] = seconds.ratio("scale", "ours");
      if (seconds.has("native"))
        state.counters["post_over_native"] = seconds.ratio("ours", "native");
      if (seconds.has("one")) state.counters["threads_over_one"] = seconds.ratio("ours", "one");
    }
  }

  static constexpr index_t floor_count = 1000 * chains;

  std::string name_;
  matrix_form<Form> how_;
  index_t layers_;
  matrix_arrays p_;
  typename Model::data data_;
  lines<float> states_;
  contest race_;
};

/// So many layers that their states, gone through in turn, come from memory each time: twice as
/// much as the last cache holds. 0 where that is not known, or more than 2 GB or a quarter of the
/// memory.
inline index_t layers_from_memory(const matrix_size& size) {
  double cache = 0;
  for (const auto& level : benchmark::CPUInfo::Get().caches)
    cache = std::max(cache, static_cast<double>(level.size));
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  const double state = static_cast<double>(size.state()) * sizeof(float);
  const double layers = std::ceil(2 * cache / state);
  return layers * state <= std::min(0x1p31, memory / 4) ? static_cast<index_t>(layers) : 0;
}

/// All rows of one model in one form. Prefill of at most 2^24 decays, which the loop has ready.
template <class Model, class Form>
void offer_model(const matrix_form<Form>& how) {
  const bool smoke = usual_effort.turn == 0;
  const auto add = [&](matrix_decay which, const char* word, index_t steps, index_t layers) {
    std::string name = row_name({Model::name, word, how.name}, {steps, 0});
    if (layers > 1) name += "/from_memory";
    offer(name, true, [=](benchmark::State& state) {
      matrix_row<Model, Form>(name, steps, layers, how).measure(state, which);
    });
  };
  for (const auto& [which, word] : matrix_decays) {
    if (!how.ready && which == matrix_decay::stored) continue;
    for (const index_t steps :
         smoke ? std::vector<index_t>{7, 64} : std::vector<index_t>{64, 512, 2048})
      if (steps * Model::size.decay_channels() <= index_t{1} << 24) add(which, word, steps, 1);
    if (!how.decodes) continue;
    add(which, word, 1, 1);
    const index_t layers = smoke ? 3 : layers_from_memory(Model::size);
    if (layers > 1) add(which, word, 1, layers);
  }
}

/// In every form, on one thread and on all processors.
template <class Model>
void offer_forms() {
  using single = typename Model::one_thread;
  offer_model<Model>(matrix_form<single>{std::string(single::name)});
  static const auto pool = std::make_shared<ebb::thread_pool>();
  if (pool->concurrency() > 1) {
    const auto offer_threads = [&](const auto& form) {
      offer_model<Model>(
          matrix_form<std::decay_t<decltype(form)>>{"threads", form, pool->concurrency(), false});
    };
    if constexpr (std::is_same_v<single, ebb::key_lanes>)
      offer_threads(ebb::automatic<>(ebb::threads<>(pool)));
    else
      offer_threads(ebb::sequential_threads<>(pool));
  }
  if constexpr (std::is_same_v<single, ebb::sequential>)
    offer_model<Model>(matrix_form<ebb::chunked>{"chunked", {}, 1, false, false});
}

// One file for each, so that they compile side by side.
void offer_outer();
void offer_delta();

}  // namespace bench
