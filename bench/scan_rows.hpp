// SPDX-License-Identifier: Apache-2.0
/// @file   bench/scan_rows.hpp
/// @brief  Rows of the scan: every backend, decay and shape for one type and layout.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <benchmark/benchmark.h>

#include <ebb/core/executor.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/decay/shifted.hpp>
#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/backend/automatic.hpp>
#include <ebb/recurrence/backend/over_time.hpp>
#include <ebb/recurrence/backend/rows.hpp>
#include <ebb/recurrence/backend/threads.hpp>
#include <ebb/recurrence/scan.hpp>
#include <ebb/recurrence/vjp.hpp>
#if defined(EBB_BENCH_SIMD)
#include <ebb/recurrence/backend/simd.hpp>
#endif

#include "agree.hpp"
#include "baselines.hpp"
#include "ceilings.hpp"
#include "measure.hpp"
#include "problem.hpp"
#include "rivals.hpp"

namespace bench {

/// The fastest backend on one thread.
#if defined(EBB_BENCH_SIMD)
using fastest = ebb::simd<>;
inline const std::string fastest_name = "simd";
#else
using fastest = ebb::rows;
inline const std::string fastest_name = "rows";
#endif

/// A tapered decay: the convention and the position of the first step.
struct taper {
  bool relative;
  index_t first;

  std::string name() const {
    return std::string(relative ? "post_relative_" : "post_absolute_") + std::to_string(first);
  }
  auto bind(const std::vector<double>& rates) const {
    const auto policy = relative ? ebb::post_taper::relative(4096) : ebb::post_taper::absolute();
    return policy.bind(std::span<const double>(rates));
  }
};
inline constexpr taper tapers[] = {{true, 1}, {true, 10000}, {false, 1}, {false, 10000}};

/// What all rows of one type and layout have in common; one object is one row at work.
template <class T, class Axis, class Backend>
class scan_row {
 public:
  using Real = ebb::real_of_t<T>;
  static constexpr bool on_one_thread =
      std::is_same_v<Backend, ebb::rows> || std::is_same_v<Backend, fastest>;

  scan_row(std::string name, const shape& size, const Backend& backend, timing which,
           index_t threads, bool stored)
      : name_(std::move(name)),
        backend_(backend),
        which_(which),
        pool_(threads),
        p_(size, stored, on_one_thread && backward_fits(size)) {}

  void stored(benchmark::State& state) {
    const auto decay = ebb::stored_factors(p_.factors);
    enter(decay, 1);
    enter_checked("plain", decay, 1, {plain_roundings},
                  [this] { plain_stored<T>(p_.factors, p_.in, p_.out); });
#if defined(EBB_BENCH_EIGEN)
    if (p_.size.channels >= 16)
      enter_checked("eigen", decay, 1, {plain_roundings},
                    [this] { eigen_stored<T>(p_.factors, p_.in, p_.out); });
#endif
    if (p_.size.channels == 1) {
      enter_checked("standard", decay, 1, {plain_roundings}, [this] {
        standard_scan<T>(p_.factors.data(), p_.in.data(), p_.out.data(), p_.count);
      });
#if defined(EBB_BENCH_TBB)
      enter_checked("tbb", decay, 1, {plain_roundings},
                    [this, scan = tbb_scan<T>(static_cast<int>(pool_.concurrency()))] {
                      scan(p_.factors.data(), p_.in.data(), p_.out.data(), p_.count);
                    });
#endif
    }
    enter_triads();
    report(state, "triad");
  }

  void constant(benchmark::State& state) {
    const auto rates = p_.constant_rates();
    const auto decay = bind_constant(rates);
    const std::vector<T> factors = factors_of(rates);
    enter(decay, 1);
    // exp in the wider type and rounded: 1; the filled log-decay has a rounding of its own.
    const roundings made{plain_roundings + 1, 1};
    enter_checked("plain", decay, 1, made, [&] { plain_constant<T>(factors, p_.in, p_.out); });
#if defined(EBB_BENCH_EIGEN)
    if (p_.size.channels >= 16)
      enter_checked("eigen", decay, 1, made, [&] { eigen_constant<T>(factors, p_.in, p_.out); });
#endif
    enter_scales();
    report(state, "scale");
  }

  void post(benchmark::State& state, const taper& kind) {
    const auto decay = kind.bind(p_.rates);
    const auto steady = bind_constant(p_.rates);
    const std::vector<T> factors = factors_of(p_.rates);
    naive_taper<Real> naive{narrow(p_.rates), narrow({decay.alpha().begin(), decay.alpha().end()}),
                            static_cast<Real>(kind.relative ? 4096 : 1)};
    enter(decay, kind.first);
    // The fastest scan with constant decays: ours, or the plain loop.
    race_.add("constant", [&] { ebb::scan(steady, p_.in, p_.out, backend_); });
    race_.add("constant_plain", [&] { plain_constant<T>(factors, p_.in, p_.out); });
    if (p_.count <= (1 << 22)) {
      enter_checked("naive", decay, kind.first, taper_roundings(plain_roundings, 2, reach_of(kind)),
                    [&] { naive.scan(kind.first, p_.in, p_.out); });
      if constexpr (on_one_thread && std::floating_point<T>) enter_rivals(decay, kind, naive);
    }
    enter_scales();
    report(state, "scale");
  }

 private:
  // A product and a sum; a complex product counts 3, and its sum.
  static constexpr double plain_roundings = ebb::is_complex<T> ? 6 : 2;
  using sequences = ebb::sequences<T>;

  static bool backward_fits(const shape& size) { return size.steps * size.channels <= (1 << 23); }

  template <class Rates>
  static auto bind_constant(const Rates& rates) {
    return ebb::constant_decay().bind(std::span<const typename Rates::value_type>(rates));
  }
  template <class Rates>
  static std::vector<T> factors_of(const Rates& rates) {
    std::vector<T> factors;
    for (const auto& rate : rates) factors.push_back(ebb::detail::scalar_as<T>(std::exp(-rate)));
    return factors;
  }
  static std::vector<Real> narrow(const std::vector<double>& values) {
    std::vector<Real> result;
    for (const double value : values) result.push_back(static_cast<Real>(value));
    return result;
  }

  template <class Decay, class Scan>
  void enter_checked(const std::string& who, const Decay& decay, index_t first,
                     const roundings& made, Scan scan) {
    std::fill_n(p_.out.data(), p_.count, T(std::numeric_limits<Real>::quiet_NaN()));
    scan();
    require_agreement(name_, who, decay, p_, first, made);
    race_.add(who, scan);
  }

  // The same taper with exponentials in vectors; with factors computed before and stored, of which
  // the scan alone is timed, by us or by the plain loop.
  template <class Decay>
  void enter_rivals(const Decay& decay, const taper& kind,
                    [[maybe_unused]] const naive_taper<T>& naive) {
#if defined(EBB_BENCH_SIMD)
    enter_rival<by_xsimd>("xsimd_exp", decay, kind, naive);
#endif
#if defined(EBB_BENCH_EIGEN)
    enter_rival<by_eigen>("eigen_exp", decay, kind, naive);
#endif
    computed_ = lines<T>(p_.count, 19);
    const strided_view<T, Axis> factors(computed_.data(), p_.size.steps, p_.size.channels);
    compute_factors(decay, kind.first, factors);
    const auto computed = ebb::stored_factors(factors);
    const double each = stated<Backend, T, Axis, decltype(computed)>().each;
    // And exp, within 2u.
    enter_checked("stored", decay, kind.first, {each + 2},
                  [this, computed] { ebb::scan(computed, p_.in, p_.out, backend_); });
    enter_checked("stored_plain", decay, kind.first, {plain_roundings + 2},
                  [this, factors] { plain_stored<T>(factors, p_.in, p_.out); });
  }
  template <class By, class Decay>
  void enter_rival(const std::string& who, const Decay& decay, const taper& kind,
                   const naive_taper<T>& naive) {
    if (std::is_same_v<Axis, ebb::time_major> && p_.size.channels != 1 &&
        p_.size.channels < By::template narrowest<T>)
      return;
    static const double exp_error = largest_exp_error<By, T>();
    if (!(exp_error <= By::exp_roundings)) disagree(name_, who, 0, 0, exp_error, By::exp_roundings);
    const auto made = taper_roundings(plain_roundings, By::exp_roundings, reach_of(kind));
    vector_taper<T, By, Backend> rival(naive.rates, naive.alpha, naive.reference);
    enter_checked(who, decay, kind.first, made, [this, first = kind.first, rival]() mutable {
      rival.scan(first, p_.in, p_.out);
    });
  }
  // Bounds |log(t / t_ref)|.
  double reach_of(const taper& kind) const {
    return std::log(static_cast<double>(kind.first + p_.size.steps)) + std::log(4096.0);
  }

  // Ours; the same on one thread where this row has several; the way back.
  template <class Decay>
  void enter(const Decay& decay, index_t first) {
    first_ = first;
    const sequences where{.first_positions = {&first_, 1}};
    enter_checked("ours", decay, first, stated<Backend, T, Axis, Decay>(), [this, &decay, where] {
      ebb::scan(decay, p_.in, p_.out, where, {}, backend_);
      written(p_.out.data());
    });
    if constexpr (!on_one_thread) {
      enter_checked("one", decay, first, stated<fastest, T, Axis, Decay>(), [this, &decay, where] {
        ebb::scan(decay, p_.in, p_.out, where, {}, fastest{});
        written(p_.out.data());
      });
      // What is to be had: each thread scans its share of the steps from state 0.
      race_.add("halves", [this, &decay] {
        const index_t parts = pool_.concurrency(), steps = p_.size.steps;
        pool_.run(parts, [&](index_t i) {
          const index_t begin = steps * i / parts, count = steps * (i + 1) / parts - begin;
          const index_t position = first_ + begin;
          const sequences part{.first_positions = {&position, 1}};
          ebb::scan(ebb::shifted_decay(decay, {0, begin, 0}), p_.in.steps_from(begin, count),
                    p_.out.steps_from(begin, count), part, {}, fastest{});
        });
        written(p_.out.data());
      });
    } else if (p_.spare.data()) {
      race_.add("backward", [this, &decay, where] {
        ebb::scan_vjp(decay, p_.out, p_.out, ebb::scan_cotangents<T, T, Axis>{.outputs = p_.in},
                      ebb::scan_gradients<T, ebb::no_gradients, T, Axis>{.inputs = p_.spare}, where,
                      {}, backend_);
        written(p_.spare.data());
      });
    }
  }

  void enter_triads() {
    const auto *x = reals(p_.in_memory.data()), *z = reals(p_.factor_memory.data());
    auto* y = reals(p_.out_memory.data());
    const index_t n = p_.count * reals_each<T>;
    const bool large = n * 3 * static_cast<index_t>(sizeof(Real)) > (1 << 24);
    race_.add("triad", [=] { triad(x, z, y, n); });
    if (large && stream_bytes > 0)
      race_.add("triad_past_caches", [=] { triad_past_caches(x, z, y, n); });
    if (pool_.concurrency() == 1) return;
    race_.add("triad_threads", [=, this] {
      in_parts(pool_, n, [=](index_t i, index_t count) { triad(x + i, z + i, y + i, count); });
    });
    if (large && stream_bytes > 0)
      race_.add("triad_past_caches_threads", [=, this] {
        in_parts(pool_, n,
                 [=](index_t i, index_t count) { triad_past_caches(x + i, z + i, y + i, count); });
      });
  }

  void enter_scales() {
    const auto* x = reals(p_.in_memory.data());
    auto* y = reals(p_.out_memory.data());
    const index_t n = p_.count * reals_each<T>;
    race_.add("scale", [=] { scale(x, y, n); });
    if (pool_.concurrency() == 1) return;
    race_.add("scale_threads", [=, this] {
      in_parts(pool_, n, [=](index_t i, index_t count) { scale(x + i, y + i, count); });
    });
  }

  void report(benchmark::State& state, const std::string& ceiling) {
    for (auto _ : state) {
      const results seconds = race_.hold(which_);
      state.SetIterationTime(seconds["ours"]);
      const auto count = [&](const char* name, const std::string& of, const std::string& over) {
        if (seconds.has(of) && seconds.has(over)) state.counters[name] = seconds.ratio(of, over);
      };
      state.counters["ns_per_element"] = 1e9 * seconds["ours"] / static_cast<double>(p_.count);
      // The better of one thread and several.
      const auto best = [&](const std::string& name) {
        return seconds.faster(name, name + "_threads");
      };
      count(("of_" + ceiling).c_str(), best(ceiling), "ours");
      if (seconds.has("triad_past_caches") &&
          seconds.ratio(best("triad_past_caches"), best("triad")) < 1)
        count("of_triad_past_caches", best("triad_past_caches"), "ours");
      count("over_rows", "plain", "ours");
      count("over_eigen", "eigen", "ours");
      count("over_inclusive_scan", "standard", "ours");
      count("over_tbb", "tbb", "ours");
      if (seconds.has("constant"))
        count("post_over_constant", "ours", seconds.faster("constant", "constant_plain"));
      count("naive_over_post", "naive", "ours");
      count("xsimd_exp_over_post", "xsimd_exp", "ours");
      count("eigen_exp_over_post", "eigen_exp", "ours");
      if (seconds.has("stored"))
        count("stored_over_post", seconds.faster("stored", "stored_plain"), "ours");
      count("backward_over_forward", "backward", "ours");
      count("threads_over_one", "ours", "one");
      count("halves_over_one", "halves", "one");
    }
  }

  std::string name_;
  Backend backend_;
  timing which_;
  ebb::thread_pool pool_;
  problem<T, Axis> p_;
  contest race_;
  index_t first_ = 1;
  lines<T> computed_;
};

/// Which rows a run without a filter has: one type and layout in full, of the others a sample.
struct usual {
  bool stored, constant, post;
};
template <class T, class Axis>
usual usual_rows(const std::string& backend, const shape& size, bool one_thread) {
  const bool main = std::is_same_v<T, float> && std::is_same_v<Axis, ebb::time_major>;
  const index_t t = size.steps, n = size.channels;
  const bool edge = t == 4096 || (t == 1000 && n == 4096);
  if (!one_thread) {
    const bool wide = (t == 4096 && n >= 128) || (t == 100000 && n == 128);
    const bool single = n == 1 && t >= 100000;
    const bool counts = main && (wide || single);
    if (backend.find(',') != std::string::npos) return {counts && (n <= 768), false, false};
    return {counts, false, main && t == 4096 && n >= 128};
  }
  if (backend == "rows" && backend != fastest_name)
    return {std::is_same_v<T, float> && t == 4096, main && t == 4096,
            main && t == 4096 && n == 128};
  if (main)
    return {edge || n == 1 || n == 128 || n == 16, edge,
            (edge && n >= 16) || (n == 128 && t <= 100000)};
  if (std::is_same_v<T, float>)
    return {edge || (n == 1 && t == 1000000), edge && n <= 768, t == 4096 && n == 128};
  return {t == 4096 && n <= 128, t == 4096 && n == 128, t == 4096 && n == 128};
}

/// The rows of one backend; `which` and `threads` say how it is timed.
template <class T, class Axis, class Make>
void offer_backend(const std::string& backend, timing which, index_t threads, const Make& make) {
  using Backend = decltype(make());
  using row = scan_row<T, Axis, Backend>;
  const std::string layout = std::is_same_v<Axis, ebb::time_major> ? "time_major" : "channel_major";
  for (const shape& size : all_shapes()) {
    const usual some = usual_rows<T, Axis>(backend, size, row::on_one_thread);
    const auto name = [&](const std::string& decay) {
      return row_name({"scan", backend, decay, type_name<T>(), layout}, size);
    };
    // The memory of a row is there only while it runs.
    const std::string stored = name("stored"), constant = name("constant");
    offer(stored, some.stored, [=](benchmark::State& state) {
      row(stored, size, make(), which, threads, true).stored(state);
    });
    offer(constant, some.constant, [=](benchmark::State& state) {
      row(constant, size, make(), which, threads, false).constant(state);
    });
    for (const taper& kind : tapers) {
      const std::string post = name(kind.name());
      offer(post, some.post, [=](benchmark::State& state) {
        row(post, size, make(), which, threads, false).post(state, kind);
      });
    }
  }
}

/// All rows of one type and layout.
template <class T, class Axis>
void offer_scans() {
  offer_backend<T, Axis>("rows", timing::thread_median, 1, [] { return ebb::rows{}; });
#if defined(EBB_BENCH_SIMD)
  offer_backend<T, Axis>("simd", timing::thread_median, 1, [] { return ebb::simd<>{}; });
#endif
  const index_t processors = ebb::thread_pool().concurrency();
  const std::string inside = "<" + fastest_name;
  const auto threads = [](index_t count) {
    return [count] { return ebb::threads<fastest>(count); };
  };
  offer_backend<T, Axis>("automatic" + inside + ">", timing::wall_least, processors,
                         [] { return ebb::automatic<fastest>(); });
  offer_backend<T, Axis>("threads" + inside + ">", timing::wall_least, processors,
                         threads(processors));
  offer_backend<T, Axis>("over_time" + inside + ">", timing::wall_least, processors,
                         [] { return ebb::over_time<fastest>(); });
  for (const index_t count : {2, 4, 8})
    offer_backend<T, Axis>("threads" + inside + "," + std::to_string(count) + ">",
                           count > processors ? timing::wall_median : timing::wall_least, count,
                           threads(count));
}

// One file for each, so that they compile side by side.
void offer_float_time_major();
void offer_float_channel_major();
void offer_double_time_major();
void offer_double_channel_major();
void offer_complex_time_major();
void offer_complex_channel_major();
void offer_steps();
void offer_ceilings();
void offer_crossovers();

}  // namespace bench
