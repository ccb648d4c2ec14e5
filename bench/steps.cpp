// SPDX-License-Identifier: Apache-2.0
// Decoding: ebb::step, one row of N channels at a time.
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "scan_rows.hpp"

namespace bench {
namespace {

/// One row at work: the state stays where it is, the position goes on.
template <class T, class Backend>
class step_row {
  static constexpr index_t checked = 64;

 public:
  step_row(std::string name, index_t channels)
      : name_(std::move(name)),
        channels_(channels),
        p_({checked, channels}, false),
        memory_(channels, 57) {}

  void constant(benchmark::State& state) {
    const auto decay = bind_constant();
    enter(decay, 1);
    enter_plain();
    report(state);
  }

  void post(benchmark::State& state, const taper& kind) {
    const auto decay = kind.bind(p_.rates), other = decay;
    const auto steady = bind_constant();
    enter(decay, kind.first);
    race_.add("constant", [&] { ebb::step(steady, position_, row(0), h(), Backend{}); });
    std::vector<T> rates, alpha;
    for (const double r : decay.rates()) rates.push_back(static_cast<T>(r));
    for (const double a : decay.alpha()) alpha.push_back(static_cast<T>(a));
    race_.add("naive", [this, rates, alpha, reference = T(kind.relative ? 4096 : 1)] {
      const T log_time = std::log(static_cast<T>(position_++) / reference);
      for (index_t k = 0; k < channels_; ++k) {
        const auto c = static_cast<std::size_t>(k);
        memory_.data()[k] =
            std::exp(-rates[c] * std::exp(-alpha[c] * log_time)) * memory_.data()[k] + p_.in(0, k);
      }
      written(memory_.data());
    });
    enter_plain();
    report(state);
  }

 private:
  auto bind_constant() const {
    return ebb::constant_decay().bind(std::span<const double>(p_.rates));
  }
  std::span<const T> row(index_t t) {
    return {p_.in.pointer(0, t, 0), static_cast<std::size_t>(channels_)};
  }
  std::span<T> h() { return {memory_.data(), static_cast<std::size_t>(channels_)}; }

  // Some steps from 0 are compared with the recurrence; then every run is one more.
  template <class Decay>
  void enter(const Decay& decay, index_t first) {
    position_ = first;
    for (index_t t = 0; t < checked; ++t) {
      ebb::step(decay, position_++, row(t), h(), Backend{});
      for (index_t k = 0; k < channels_; ++k) p_.out(t, k) = memory_.data()[k];
    }
    require_agreement(name_, "ours", decay, p_, first,
                      stated<Backend, T, ebb::time_major, Decay>());
    race_.add("ours", [&] {
      ebb::step(decay, position_++, row(0), h(), Backend{});
      written(memory_.data());
    });
  }

  void enter_plain() {
    std::vector<T> factors;
    for (const double rate : p_.rates) factors.push_back(static_cast<T>(std::exp(-rate)));
    race_.add("plain", [this, factors] {
      T* const state = memory_.data();
      const T *const a = factors.data(), *const b = p_.in.data();
      for (index_t k = 0; k < channels_; ++k) state[k] = a[k] * state[k] + b[k];
      written(state);
    });
    race_.add("scale", [this] {
      T* const state = memory_.data();
      // So near to 1 that the state does not fade away over a measurement.
      for (index_t k = 0; k < channels_; ++k) state[k] *= T(1 - 1e-7);
      written(state);
    });
  }

  void report(benchmark::State& state) {
    for (auto _ : state) {
      const results seconds = race_.hold(timing::thread_median);
      state.SetIterationTime(seconds["ours"]);
      state.counters["ns_per_element"] = 1e9 * seconds["ours"] / static_cast<double>(channels_);
      state.counters["of_scale"] = seconds.ratio("scale", "ours");
      if (!seconds.has("naive")) {
        state.counters["over_rows"] = seconds.ratio("plain", "ours");
      } else {
        state.counters["post_over_constant"] =
            seconds.ratio("ours", seconds.faster("constant", "plain"));
        state.counters["naive_over_post"] = seconds.ratio("naive", "ours");
      }
    }
  }

  std::string name_;
  index_t channels_, position_ = 1;
  problem<T, ebb::time_major> p_;
  lines<T> memory_;
  contest race_;
};

template <class T, class Backend>
void offer_step(const std::string& backend) {
  for (const index_t n : {16, 64, 128, 768, 4096, 1 << 18}) {
    const auto name = [&](const std::string& decay) {
      return row_name({"step", backend, decay, type_name<T>()}, {0, n});
    };
    const bool usual = std::is_same_v<T, float> && (backend == fastest_name || n == 128);
    const std::string constant = name("constant");
    offer(constant, usual,
          [=](benchmark::State& state) { step_row<T, Backend>(constant, n).constant(state); });
    for (const taper& kind : tapers) {
      const std::string post = name(kind.name());
      offer(post, usual && kind.first > 1,
            [=](benchmark::State& state) { step_row<T, Backend>(post, n).post(state, kind); });
    }
  }
}

}  // namespace

void offer_steps() {
  offer_step<float, ebb::rows>("rows");
  offer_step<double, ebb::rows>("rows");
#if defined(EBB_BENCH_SIMD)
  offer_step<float, ebb::simd<>>("simd");
  offer_step<double, ebb::simd<>>("simd");
#endif
}

}  // namespace bench
