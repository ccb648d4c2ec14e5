// SPDX-License-Identifier: Apache-2.0
// What certificates spend their time on: exponentials in many digits, and whole problems.
#include <cmath>

#include <benchmark/benchmark.h>

#include <ebb/approx/basis.hpp>
#include <ebb/approx/best_weights.hpp>
#include <ebb/approx/minimax.hpp>
#include <ebb/approx/precision.hpp>
#include <ebb/core/decaying_exp.hpp>
#include <ebb/spectrum/geometric.hpp>

namespace {

template <int Digits>
void exp_ours(benchmark::State& state) {
  using Real = ebb::approx::multiprecision<Digits>;
  Real x(1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(ebb::decaying_exp(x));
    x = x > Real(50) ? Real(1) : Real(x * Real(1.1));
  }
}

template <int Digits>
void exp_boost(benchmark::State& state) {
  using Real = ebb::approx::multiprecision<Digits>;
  Real x(1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(Real(exp(Real(-x))));
    x = x > Real(50) ? Real(1) : Real(x * Real(1.1));
  }
}

// The best weights of N geometric channels, both ends extended, for tau^-1/2 on [1, 1e6].
void best_weights(benchmark::State& state) {
  const ebb::approx::exponential_basis basis(ebb::geometric_spectrum::extended(1e6, 2, 1),
                                             static_cast<ebb::index_t>(state.range(0)));
  const ebb::approx::power_law target(0.5);
  const auto lags = ebb::approx::lag_set::continuous(1e6);
  int digits = 0;
  for (auto _ : state) digits = ebb::approx::best_weights(basis, target, lags).digits;
  state.counters["digits"] = digits;
}

// The best sums of 1 to N exponentials for tau^-1/2 on [1, 1e6].
void minimax_chain(benchmark::State& state) {
  const ebb::approx::power_law target(0.5);
  int digits = 0;
  for (auto _ : state)
    digits = ebb::approx::minimax_chain(target, static_cast<ebb::index_t>(state.range(0)), 1e6)
                 .back()
                 .digits;
  state.counters["digits"] = digits;
}

BENCHMARK(exp_ours<50>)->Name("decaying_exp/digits:50");
BENCHMARK(exp_boost<50>)->Name("boost_exp/digits:50");
BENCHMARK(exp_ours<100>)->Name("decaying_exp/digits:100");
BENCHMARK(exp_boost<100>)->Name("boost_exp/digits:100");
BENCHMARK(exp_ours<200>)->Name("decaying_exp/digits:200");
BENCHMARK(exp_boost<200>)->Name("boost_exp/digits:200");
BENCHMARK(best_weights)->ArgName("N")->Arg(16)->Arg(32)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK(minimax_chain)->ArgName("N")->Arg(8)->Arg(16)->Arg(30)->Unit(benchmark::kMillisecond);

}  // namespace
