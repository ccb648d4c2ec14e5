// SPDX-License-Identifier: Apache-2.0
// Fractional derivatives and integrals of a sampled signal, each step at the same cost.
//
//   D^a u(t) = 1/Gamma(1-a) int_0^t (t-s)^-a u'(s) ds       Caputo, 0 < a < 1
//   I^a u(t) = 1/Gamma(a) int_0^t (t-s)^(a-1) u(s) ds       Riemann-Liouville
//
// (The Riemann-Liouville derivative is D^a u(t) + u(0) t^-a / Gamma(1-a).) Both convolve a signal v
// with t^-b: v = u', b = a, or v = u, b = 1-a. With v constant over each of the steps, of length h,
//
//   y_n = h^(1-b) sum_{i=0}^{n-1} w(i) v_{n-i},   w(i) = int_i^{i+1} x^-b dx / Gamma(1-b)
//
// which for slopes v_j = (u_j - u_{j-1})/h is the L1 scheme, and takes n products at step n. Here
// w(0), at the singularity, is kept, and on lags from 1 step on x^-b becomes sum_k c_k exp(-r_k x):
// N recurrences, N products at any step. Their relative error is at most delta at every lag and no
// c_k is negative, so that y is off by at most delta sum_i w(i) |v_{n-i}|. That is checked against
// the sum itself on 20 years of dollars to the euro, and both against closed forms for u = t^2.
//
//   build/release/examples/fractional            prints the numbers
//   build/release/examples/fractional results    also draws results/fractional.svg, with gnuplot
//                                                (docs/pictures/fractional.svg)
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <span>
#include <vector>

#include <ebb/approx/minimax.hpp>
#include <ebb/ebb.hpp>

#include "drawing/program.hpp"
#include "long_memory/exchange_rates.hpp"
#include "picture.hpp"

namespace {
using series = std::vector<double>;
using ebb::approx::minimax_sum;

constexpr double order = 0.4;            // a
constexpr std::size_t horizon = 20'000;  // the longest lag, in steps

/// The best sums of 1 .. 20 exponentials for x^-b on [1, horizon].
std::vector<minimax_sum> tails_of(double b) {
  ebb::approx::minimax_options options;
  options.kind = ebb::approx::error_kind::relative;
  options.tolerance = 1e-3;  // three digits of delta are enough
  return ebb::approx::minimax_chain(ebb::approx::power_law(b), 20, double(horizon), options);
}

/// w(0) .. w(horizon - 1)
series cells_of(double b) {
  series w(horizon, 1 / std::tgamma(2 - b));
  for (std::size_t i = 1; i < w.size(); ++i) {  // (i+1)^(1-b) - i^(1-b) without cancellation
    const auto x = static_cast<double>(i);
    w[i] *= std::pow(x, 1 - b) * std::expm1((1 - b) * std::log1p(1 / x));
  }
  return w;
}

// [recurrence]
/// The y_n for h = 1, one after the other as the v_n come in.
series convolved(const series& v, double b, const ebb::approx::exponential_sum& tail) {
  const auto memory =
      ebb::make_layer<double>(tail.spectrum(), ebb::constant_decay(), tail.channels());
  // Before step n the states are sum_j exp(-r (n-1-j)) v_j: v_j is to count int exp(-r x) dx over
  // n-j < x < n-j+1.
  series weights = tail.weights;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const double r = tail.rates[k];
    weights[k] *= std::exp(-r) * -std::expm1(-r) / r / std::tgamma(1 - b);
  }
  const ebb::linear_readout<double> readout(1, weights, {1 / std::tgamma(2 - b)});  // C h + w(0) v

  auto state = memory.start();
  series input(weights.size()), y(v.size());
  for (std::size_t n = 0; n < v.size(); ++n) {
    readout.apply(state.next_position, state.values, std::span(&v[n], 1), std::span(&y[n], 1));
    std::fill(input.begin(), input.end(), v[n]);
    memory.step(input, state);
  }
  return y;
}
// [recurrence]

/// The same by its definition.
series summed(const series& v, const series& w) {
  series y(v.size());
  for (std::size_t n = 0; n < y.size(); ++n)
    for (std::size_t i = 0; i <= n; ++i) y[n] += w[i] * v[n - i];
  return y;
}

/// The largest |y - exact| / size, size the same sum of |v|; infinite where it is beyond `delta`
/// and roundings. At step n these are 6 n u in the recurrences (rows::error_bound), n u in the
/// exact sum, N u in the readout, 16 u in rates and weights.
double largest_error(const series& y, const series& exact, const series& size, double delta) {
  double largest = 0;
  for (std::size_t n = 0; n < y.size(); ++n) {
    const double error = std::abs(y[n] - exact[n]);
    const double roundings = static_cast<double>(7 * (n + 1) + 20 + 16) * 0x1p-53;
    if (!(error <= (delta + (1 + delta) * roundings) * size[n])) return HUGE_VAL;
    if (size[n] > 0) largest = std::max(largest, error / size[n]);
  }
  return largest;
}

series slopes(const series& u, double h) {
  series v;
  for (std::size_t n = 1; n < u.size(); ++n) v.push_back((u[n] - u[n - 1]) / h);
  return v;
}

series means(const series& u) {
  series v;
  for (std::size_t n = 1; n < u.size(); ++n) v.push_back(0.5 * (u[n] + u[n - 1]));
  return v;
}

series times(double factor, series x) {
  for (double& value : x) value *= factor;
  return x;
}

series absolute(series x) {
  for (double& value : x) value = std::abs(value);
  return x;
}

/// Logarithms of rates, relative to the first.
series log_rates(const series& rates) {
  series u;
  for (const double rate : rates) u.push_back(std::log(rate) - std::log(rates[0]));
  return u;
}

template <class Work>
double seconds(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// For u = t^2 on 0 <= t <= 1 the largest distance from y = factor t^power, t = h, 2h, ..
double distance(const series& y, double factor, double power) {
  double largest = 0;
  for (std::size_t n = 0; n < y.size(); ++n) {
    const double t = static_cast<double>(n + 1) / static_cast<double>(y.size());
    largest = std::max(largest, std::abs(y[n] - factor * std::pow(t, power)));
  }
  return largest;
}

int run(const std::filesystem::path& folder) {
  const series u = log_rates(long_memory::exchange_rates(EBB_DOLLARS_PER_EURO));
  int failures = 0;

  struct {
    const char* name;
    double b;
    series v;
    std::vector<minimax_sum> tails = tails_of(b);
    series w = cells_of(b), exact = summed(v, w), size = summed(absolute(v), w);
  } tasks[] = {{"derivative", order, slopes(u, 1)}, {"integral", 1 - order, means(u)}};

  std::printf("order %.1f of log(dollars to the euro), 5021 days\n", order);
  std::puts("            channels  certified  observed relative error");
  for (const auto& task : tasks)
    for (const std::size_t channels : {4U, 8U, 12U, 16U, 20U}) {
      const minimax_sum& tail = task.tails[channels - 1];
      const double delta = tail.reached();
      const double error =
          largest_error(convolved(task.v, task.b, tail.sum), task.exact, task.size, delta);
      std::printf("%-10s  %8zu  %9.1e  %8.1e\n", task.name, channels, delta, error);
      failures += !tail.converged || tail.basis != ebb::approx::evidence::proved ||
                  !(error < HUGE_VAL) ||
                  !(*std::min_element(tail.sum.weights.begin(), tail.sum.weights.end()) > 0);
    }

  // D^a t^2 = 2 t^(2-a) / Gamma(3-a), I^a t^2 = 2 t^(2+a) / Gamma(3+a). The scheme's own error:
  // L1: Sun and Wu, Appl. Numer. Math. 56 (2006), with |u''| = 2. Integral: |u'| <= 2
  // times h^(1+a) / Gamma(a) int_0 x^-b (1/2 - x + floor x) dx, which is b / (2 (1-b) (2-b)) over
  // the first step and at most 1/8 over the others, and h^2/8 |u''| for u between the samples.
  const double a = order, b = 1 - order, h = 1 / static_cast<double>(horizon);
  const double l1_bound = 2 * std::pow(h, 2 - a) / std::tgamma(2 - a) *
                          ((1 - a) / 12 + std::pow(2, 2 - a) / (2 - a) - (1 + std::pow(2, -a)));
  const double mean_bound =
      2 * std::pow(h, 1 + a) / std::tgamma(a) * (b / (2 * (1 - b) * (2 - b)) + 0.125) +
      2 * h * h / 8 / std::tgamma(1 + a);
  series square(horizon + 1);
  for (std::size_t n = 0; n <= horizon; ++n)
    square[n] = static_cast<double>(n) * h * static_cast<double>(n) * h;

  std::printf("\norder %.1f of t^2, %zu steps: distance from the closed form\n", order, horizon);
  std::puts("            scheme's bound  exact sum  20 recurrences  steps a second (both)");
  for (auto& task : tasks) {
    const bool derivative = task.b == order;
    const double sign = derivative ? -1 : 1, unit = std::pow(h, 1 - task.b);
    task.v = derivative ? slopes(square, h) : means(square);  // none is negative
    const auto& tail = task.tails.back();
    series fast;
    const double slow_time = seconds([&] { task.exact = times(unit, summed(task.v, task.w)); });
    const double fast_time =
        seconds([&] { fast = times(unit, convolved(task.v, task.b, tail.sum)); });
    const double factor = 2 / std::tgamma(3 + sign * a), power = 2 + sign * a;
    const double scheme = derivative ? l1_bound : mean_bound;
    const double of_sum = distance(task.exact, factor, power),
                 of_fast = distance(fast, factor, power);
    const double steps = static_cast<double>(horizon);
    std::printf("%-10s  %14.1e  %9.1e  %14.1e  %7.1e  %7.1e\n", task.name, scheme, of_sum, of_fast,
                steps / slow_time, steps / fast_time);
    // y is largest at t = 1. Slopes of t^2 lose 2/h u.
    const double roundings = (8 * steps + 40) * 0x1p-53 * factor;
    failures += !(of_sum <= scheme + roundings) ||
                !(of_fast <= scheme + roundings + tail.reached() * (factor + scheme)) ||
                !(largest_error(fast, task.exact, task.exact, tail.reached()) < HUGE_VAL);
  }

  if (!folder.empty()) {
    const minimax_sum& tail = tasks[0].tails.back();
    failures += !draw(folder, u, convolved(slopes(u, 1), order, tail.sum), order, tail.sum,
                      tail.reached(), double(horizon));
  }
  std::puts(failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return drawing::printing_program("fractional", argc, argv, run); }
