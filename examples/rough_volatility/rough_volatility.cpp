// SPDX-License-Identifier: Apache-2.0
// Rough volatility by a few factors: a forecast from daily returns, and paths of rough Bergomi.
//
// Logarithms of variances move like a fractional Brownian motion with a small Hurst exponent H.
// Then the forecast of log v at a time d ahead (Gatheral, Jaisson and Rosenbaum, Volatility is
// rough, 2018) and the process in its Riemann-Liouville form (Bayer, Friz and Gatheral, Pricing
// under rough volatility, 2016) are sums over the whole past, in steps:
//
//   f_t = int_0^inf k(x) log v_{t-x} dx,   k(x) = cos(pi H)/pi (x/d)^-(H+1/2) / (x + d)
//   X_t = int_0^t g(x) dW_{t-x},           g(x) = sqrt(2H) x^(H-1/2)
//   V_t = exp(e X_t - e^2/2 t^2H)          rough Bergomi, e the volatility of volatility
//
// Both kernels are infinite at lag 0 and fade like powers. The step at hand is taken exactly; from
// lag 1 on k and g are sums of exponentials with positive weights and a relative error of at most
// delta: N factors, reverting to 0 at the speeds r_k and driven by the same increments, in place of
// t products at step t. Sums are then off by at most delta times the same sum of absolute values,
// which is checked, as is the error of X against its standard deviation.
//
//   build/release/examples/rough_volatility            prints the numbers
//   build/release/examples/rough_volatility results    also draws results/rough_volatility.svg,
//                                             with gnuplot (docs/pictures/rough_volatility.svg)
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <span>
#include <vector>

#include <ebb/approx/minimax.hpp>
#include <ebb/approx/sum_error.hpp>
#include <ebb/ebb.hpp>

#include "drawing/program.hpp"
#include "long_memory/exchange_rates.hpp"
#include "picture.hpp"

namespace {
using series = std::vector<double>;
using ebb::approx::exponential_sum;

constexpr double hurst = 0.1;
constexpr double ahead = 20;             // d, days
constexpr std::size_t horizon = 20'000;  // the longest lag, in steps

/// x^-a / (x + d), in whatever precision the approximation needs.
struct forecast_kernel {
  double a, d;

  template <ebb::real_scalar Real>
  Real operator()(const Real& x) const {
    using std::pow;
    return Real(pow(x, Real(-a)) / (x + d));
  }

  /// Value and derivatives with respect to log x, s = x / (x + d):  f, -(a+s) f,
  /// ((a+s)^2 - s(1-s)) f.
  template <ebb::real_scalar Real>
  ebb::approx::log_lag_jet<Real> jet(const Real& log_x) const {
    using std::exp;
    const Real x(exp(log_x)), f = (*this)(x), s(x / (x + d)), slope(a + s);
    return {f, Real(-slope * f), Real((slope * slope - s * (1 - s)) * f)};
  }

  // Bounds of log |f(z)| where Re z > 0, p <= |z| <= q: |z + d| lies in [hypot(p, d), q + d].
  double log_sup(double p, double) const { return -a * std::log(p) - std::log(std::hypot(p, d)); }
  double log_inf(double, double q) const { return -a * std::log(q) - std::log(q + d); }
};

/// w(i) for steps i = 1, 2, .. behind: a sum of exponentials with relative error at most delta.
struct tail {
  exponential_sum w;
  double delta;
};

/// The best sums of 1 .. 20 exponentials for a kernel on [1, horizon], each exponential then put
/// into the steps by  weight(r) exp(-r i).
template <class Kernel, class Weight>
std::vector<tail> tails_of(const Kernel& kernel, const Weight& weight) {
  ebb::approx::minimax_options options;
  options.kind = ebb::approx::error_kind::relative;
  options.tolerance = 1e-3;  // three digits of delta are enough
  std::vector<tail> tails;
  for (const auto& best : ebb::approx::minimax_chain(kernel, 20, double(horizon), options)) {
    const auto error = ebb::approx::sum_error(best.sum, kernel, 1, double(horizon),
                                              {options.kind, options.tolerance});
    const bool proved = error.basis == ebb::approx::evidence::proved;
    tails.push_back({best.sum, proved ? error.upper : HUGE_VAL});
    for (std::size_t k = 0; k < best.sum.rates.size(); ++k)
      tails.back().w.weights[k] *= weight(best.sum.rates[k]);
  }
  return tails;
}

// [factors]
/// sum_{i=1}^{n-1} w(i) v_{n-i}, n = 1, 2, .., by factors.
series past(const series& v, const exponential_sum& w) {
  const auto factors = ebb::make_layer<double>(w.spectrum(), ebb::constant_decay(), w.channels());
  series weights = w.weights;  // of the factors one step ago
  for (std::size_t k = 0; k < weights.size(); ++k) weights[k] *= std::exp(-w.rates[k]);
  const ebb::linear_readout<double> readout(1, weights);

  auto state = factors.start();
  series input(weights.size()), y(v.size());
  for (std::size_t n = 0; n < v.size(); ++n) {
    readout.apply(state.next_position, state.values, {}, std::span(&y[n], 1));
    std::fill(input.begin(), input.end(), v[n]);
    factors.step(input, state);
  }
  return y;
}
// [factors]

/// The same by its definition.
series summed(const series& v, const series& w) {
  series y(v.size());
  for (std::size_t n = 0; n < y.size(); ++n)
    for (std::size_t i = 1; i <= n; ++i) y[n] += w[i] * v[n - i];
  return y;
}

/// The largest |y - exact| / size, size the same sum of |v|; infinite where it is beyond `delta`
/// and roundings. At step n these are 6 n u in the factors (rows::error_bound), n u in the exact
/// sum, N u in the readout, 32 u in rates and weights.
double largest_error(const series& y, const series& exact, const series& size, double delta) {
  double largest = 0;
  for (std::size_t n = 0; n < y.size(); ++n) {
    const double error = std::abs(y[n] - exact[n]);
    const double roundings = static_cast<double>(7 * (n + 1) + 20 + 32) * 0x1p-53;
    if (!(error <= (delta + (1 + delta) * roundings) * size[n])) return HUGE_VAL;
    if (size[n] > 0) largest = std::max(largest, error / size[n]);
  }
  return largest;
}

series absolute(series x) {
  for (double& value : x) value = std::abs(value);
  return x;
}

/// Logarithms of the mean squared return of the last five days, over that of 10 % a year.
series log_variances(const series& rates) {
  series squares, x;
  for (std::size_t t = 1; t < rates.size(); ++t) {
    squares.push_back(std::pow(std::log(rates[t] / rates[t - 1]), 2));
    if (squares.size() < 5) continue;
    double sum = 0;
    for (std::size_t i = squares.size() - 5; i < squares.size(); ++i) sum += squares[i];
    x.push_back(std::log(sum / 5 / (0.01 / 252)));
  }
  return x;
}

/// Independent standard normal numbers (Box and Muller).
series normals(std::size_t count, ebb::uniform_stream& uniform) {
  series z;
  while (z.size() < count) {
    const double radius = std::sqrt(-2 * std::log(uniform.next()));
    const double angle = 2 * std::numbers::pi * uniform.next();
    z.push_back(radius * std::cos(angle));
    z.push_back(radius * std::sin(angle));
  }
  z.resize(count);
  return z;
}

template <class Work>
double seconds(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

bool positive(const series& x) { return *std::min_element(x.begin(), x.end()) > 0; }

/// Forecasts of x, and whether their errors are as certified: counts those that are not.
series forecasts(const series& x, int& failures) {
  const forecast_kernel k{hurst + 0.5, ahead};
  const double factor =
      std::cos(std::numbers::pi * hurst) / std::numbers::pi * std::pow(ahead, k.a);
  // A day counts k in its middle; the first, where k is infinite, the mean of x^-a.
  const auto k_tails = tails_of(k, [&](double r) { return factor * std::exp(-r / 2); });
  series k_cells{factor / (1 - k.a) / (0.5 + ahead)};
  for (std::size_t i = 1; i < x.size(); ++i)
    k_cells.push_back(factor * k(static_cast<double>(i) + 0.5));
  const series k_exact = summed(x, k_cells), k_size = summed(absolute(x), k_cells);

  std::printf("Forecasts of log v in %.0f days, dollars to the euro, 5017 days\n", ahead);
  std::puts("factors  certified  observed relative error");
  for (const std::size_t n : {4U, 8U, 12U, 16U, 20U}) {
    const tail& t = k_tails[n - 1];
    const double error = largest_error(past(x, t.w), k_exact, k_size, t.delta);
    std::printf("%7zu  %9.1e  %8.1e\n", n, t.delta, error);
    failures += !(t.delta < 1) || !(error < HUGE_VAL) || !positive(t.w.weights);
  }
  // As the past is finite, over the weights that there are.
  series forecast = past(x, k_tails.back().w);
  double total = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    total += k_cells[n];
    forecast[n] = (forecast[n] + k_cells[0] * x[n]) / total;
  }
  double of_forecast = 0, of_last = 0;
  const std::size_t days = static_cast<std::size_t>(ahead) + 2;  // the middle of five
  for (std::size_t n = 0; n + days < x.size(); ++n) {
    of_forecast += std::pow(x[n + days] - forecast[n], 2) / static_cast<double>(x.size() - days);
    of_last += std::pow(x[n + days] - x[n], 2) / static_cast<double>(x.size() - days);
  }
  std::printf("mean squared error of log v: forecast %.3f, last five days %.3f\n", of_forecast,
              of_last);
  return forecast;
}

constexpr double vol_of_vol = 1.9;  // e, for t = 1 after all steps

/// A path of V in `horizon` steps, and whether its errors are as certified.
series rough_bergomi(int& failures) {
  // The hybrid scheme (Bennedsen, Lunde and Pakkanen, 2017, one exact step): the integral over the
  // step at hand has variance 1, and covariance w(0) with the step's increment of W.
  const ebb::approx::power_law g(0.5 - hurst);
  // A step behind counts the mean of g over it.
  const double factor = std::sqrt(2 * hurst), power = hurst + 0.5;
  const auto g_tails = tails_of(g, [&](double r) { return factor * -std::expm1(-r) / r; });
  series g_cells{factor / power};
  for (double i = 1; i < double(horizon); ++i)  // (i+1)^power - i^power without cancellation
    g_cells.push_back(factor / power * std::pow(i, power) * std::expm1(power * std::log1p(1 / i)));
  ebb::uniform_stream uniform(20240229);
  const series dw = normals(horizon, uniform), other = normals(horizon, uniform);
  series g_exact, g_fast;
  const double slow = seconds([&] { g_exact = summed(dw, g_cells); });
  const double quick = seconds([&] { g_fast = past(dw, g_tails.back().w); });
  const series g_size = summed(absolute(dw), g_cells);

  std::printf("\nRiemann-Liouville process, H = %.1f, and rough Bergomi, %zu steps\n", hurst,
              horizon);
  std::puts("factors  certified  observed relative error  of a standard deviation  of V");
  for (const std::size_t n : {4U, 8U, 12U, 16U, 20U}) {
    const tail& t = g_tails[n - 1];
    const series y = past(dw, t.w);
    const double error = largest_error(y, g_exact, g_size, t.delta);
    double deviations = 0, of_v = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double e = std::abs(y[i] - g_exact[i]), steps = static_cast<double>(i + 1);
      deviations = std::max(deviations, e / std::pow(steps, hurst));
      of_v = std::max(of_v, std::expm1(vol_of_vol * e / std::pow(double(horizon), hurst)));
    }
    std::printf("%7zu  %9.1e  %23.1e  %23.1e  %7.1e\n", n, t.delta, error, deviations, of_v);
    // The error of X_n is normal with a standard deviation of at most delta n^H: beyond 4.9 of them
    // at any of 20000 steps in two of a hundred runs at most.
    failures += !(t.delta < 1) || !(error < HUGE_VAL) || !(deviations <= 4.9 * t.delta) ||
                !positive(t.w.weights);
  }
  std::printf("steps a second: exact sum %.1e, 20 factors %.1e\n", double(horizon) / slow,
              double(horizon) / quick);

  // The scheme's own error, with or without factors: a step's mean of g in place of g. It takes
  // from the variance t^2H of X at most ((g(i) - g(i+1))/2)^2 a step.
  double variance = 1, most = 0;
  for (std::size_t i = 1; i < horizon; ++i) {
    variance += g_cells[i] * g_cells[i];
    const double step = g(double(i)) - g(double(i + 1));
    most += 2 * hurst * step * step / 4;
  }
  const double true_variance = std::pow(double(horizon), 2 * hurst);
  std::printf("variance of the scheme at the end: %.5f of the process's (at least %.5f)\n",
              variance / true_variance, 1 - most / true_variance);
  failures += !(variance <= true_variance) || !(variance >= true_variance - most);

  series v(horizon);
  const double w = g_cells[0];
  for (std::size_t i = 0; i < horizon; ++i) {
    const double t = static_cast<double>(i + 1) / double(horizon);
    const double xt = (g_fast[i] + w * dw[i] + std::sqrt(1 - w * w) * other[i]) /
                      std::pow(double(horizon), hurst);
    v[i] = std::exp(vol_of_vol * xt - 0.5 * vol_of_vol * vol_of_vol * std::pow(t, 2 * hurst));
  }
  return v;
}

int run(const std::filesystem::path& folder) {
  const series x = log_variances(long_memory::exchange_rates(EBB_DOLLARS_PER_EURO));
  int failures = 0;
  const series forecast = forecasts(x, failures), v = rough_bergomi(failures);
  if (!folder.empty()) failures += !draw(folder, x, forecast, v);
  std::puts(failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return drawing::printing_program("rough_volatility", argc, argv, run);
}
