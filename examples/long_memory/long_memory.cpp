// SPDX-License-Identifier: Apache-2.0
// A long-memory volatility filter: exponential averages in place of a sum over the whole past.
//
// Tomorrow's variance v is forecast from all squared returns x so far, with weights w that fade
// like a power of the lag tau, in days:
//
//   v_t = y_t / sum_{tau=1}^t w(tau),    y_t = sum_{tau=1}^t w(tau) x_{t+1-tau}
//
// That sum takes t products at step t. N exponential averages take N, and remember the same where
// sum_k c_k exp(-r_k tau) is w(tau). If it is so with a relative error of at most delta at every
// lag, y and v are off by at most delta y and delta v, as no term is negative. ebb::approx finds
// the best c and certifies delta; both are checked here on 20 years of dollars to the euro.
//
//   build/release/examples/long_memory            prints the numbers
//   build/release/examples/long_memory results    also draws results/long_memory.svg, with gnuplot
//                                                 (docs/pictures/long_memory.svg)
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <ebb/approx/best_weights.hpp>
#include <ebb/ebb.hpp>

#include "drawing/program.hpp"
#include "exchange_rates.hpp"
#include "picture.hpp"

namespace {
using series = std::vector<double>;

// [kernel]
/// w(tau) = (tau + shift)^-beta, in whatever precision the approximation needs.
struct shifted_power_law {
  double shift, beta;

  template <ebb::real_scalar Real>
  Real operator()(const Real& lag) const {
    using std::pow;
    return Real(pow(Real(lag + Real(shift)), Real(-beta)));
  }

  // Re z > 0 and p <= |z| <= q: p^2 + shift^2 <= |z + shift|^2 <= (q + shift)^2. With these two the
  // error is certified between the lags that were looked at, too.
  double log_sup(double p, double) const { return -beta * std::log(std::hypot(p, shift)); }
  double log_inf(double, double q) const { return -beta * std::log(q + shift); }
};
// [kernel]

// [filter]
constexpr shifted_power_law kernel{10, 1.5};
constexpr double horizon = 1e5;  // the longest lag; the slowest average is e times as slow
const auto spectrum = ebb::geometric_spectrum::extended(horizon, 0, 1);

ebb::approx::approximation weights_of(ebb::index_t channels) {
  ebb::approx::approximation_options options;
  options.kind = ebb::approx::error_kind::relative;
  options.tolerance = 1e-3;  // three digits of delta are enough
  return ebb::approx::best_weights(ebb::approx::exponential_basis(spectrum, channels), kernel,
                                   ebb::approx::lag_set::continuous(horizon), options);
}

/// An average weighs lag tau by (1 - a) a^(tau - 1), a = exp(-r). Times C = c / expm1(r) that is
/// c exp(-r tau).
series readout_of(series c) {
  const auto rates = ebb::rates_of<double>(spectrum, std::ssize(c));
  for (std::size_t k = 0; k < c.size(); ++k) c[k] /= std::expm1(rates[k]);
  return c;
}

/// y_1 .. y_T, one step after the other as the days come in.
series filtered(const series& x, const series& readout_weights) {
  const auto averages = ebb::make_layer<double>(spectrum, ebb::normalised(ebb::constant_decay()),
                                                std::ssize(readout_weights));
  const ebb::linear_readout<double> readout(1, readout_weights);
  auto state = averages.start();
  series input(readout_weights.size()), y(x.size());
  for (std::size_t t = 0; t < x.size(); ++t) {
    std::fill(input.begin(), input.end(), x[t]);  // the same for every average
    averages.step(input, state);
    readout.apply(state.next_position - 1, state.values, {}, std::span(&y[t], 1));
  }
  return y;
}
// [filter]

/// y at every `stride`-th step by its definition; w[0] is w(1).
series summed(const series& x, const series& w, std::size_t stride) {
  series y;
  for (std::size_t t = stride; t <= x.size(); t += stride) {
    double sum = 0;
    for (std::size_t lag = 1; lag <= t; ++lag) sum += w[lag - 1] * x[t - lag];
    y.push_back(sum);
  }
  return y;
}

/// The largest relative error of y; infinite where one is not within delta and roundings. At step t
/// these are, times the largest input and sum |C_k|: 5 t u in the averages (rows::error_bound), t u
/// in the exact sum, N u in the readout, 16 u in rates and weights.
double largest_error(const series& y, const series& exact, std::size_t stride, double delta,
                     const series& readout_weights, double largest_input) {
  double scale = 0, largest = 0;
  for (const double c : readout_weights) scale += std::abs(c) * largest_input;
  for (std::size_t i = 0, t = stride; i < exact.size(); ++i, t += stride) {
    const double error = std::abs(y[t - 1] - exact[i]);
    const auto roundings = static_cast<double>(6 * t + readout_weights.size() + 16);
    if (!(error <= delta * exact[i] + roundings * 0x1p-53 * scale)) return HUGE_VAL;
    largest = std::max(largest, error / exact[i]);
  }
  return largest;
}

/// Squared returns of rates.
series squared_returns(const series& rates) {
  series x;
  for (std::size_t i = 1; i < rates.size(); ++i)
    x.push_back(std::pow(std::log(rates[i] / rates[i - 1]), 2));
  return x;
}

template <class Work>
double seconds(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int run(const std::filesystem::path& folder) {
  const series x =
      squared_returns(long_memory::exchange_rates(EBB_LONG_MEMORY_FOLDER "/dollars_per_euro.txt"));
  const double largest_input = *std::max_element(x.begin(), x.end());
  series w;
  for (double lag = 1; lag <= horizon; ++lag) w.push_back(kernel(lag));

  int failures = 0;
  std::puts("averages  certified  observed relative error, over 5021 days");
  const series exact = summed(x, w, 1);
  ebb::approx::approximation best;
  series readout;
  for (const ebb::index_t channels : {8, 12, 16, 20, 24}) {
    best = weights_of(channels);
    readout = readout_of(best.weights);
    const double error =
        largest_error(filtered(x, readout), exact, 1, best.error_upper, readout, largest_input);
    std::printf("%8ld  %9.1e  %8.1e\n", static_cast<long>(channels), best.error_upper, error);
    failures += !best.certified(1e-3) || !(error < HUGE_VAL);
  }
  failures += !(best.error_upper < 1e-4);

  std::puts("\n   steps  exact sum  24 averages, steps a second");
  for (const std::size_t stride : {std::size_t{1}, std::size_t{50}}) {  // of the exact sum
    series again;  // the second time the same days over and over, up to the horizon
    for (std::size_t t = 0; t < (stride == 1 ? x.size() : w.size()); ++t)
      again.push_back(x[t % x.size()]);
    series y, sums;
    const double slow = seconds([&] { sums = summed(again, w, stride); });
    const double fast = seconds([&] { y = filtered(again, readout); });
    std::printf("%8zu  %9.1e  %11.1e\n", y.size(), static_cast<double>(sums.size()) / slow,
                static_cast<double>(y.size()) / fast);
    failures +=
        !(largest_error(y, sums, stride, best.error_upper, readout, largest_input) < HUGE_VAL);
  }

  if (!folder.empty()) {
    const auto error_at = [&](double lag) {
      const auto r = ebb::rates_of<double>(spectrum, std::ssize(best.weights));
      double sum = 0;
      for (std::size_t k = 0; k < r.size(); ++k) sum += best.weights[k] * std::exp(-r[k] * lag);
      return sum / kernel(lag) - 1;
    };
    failures += !draw(folder, x, w, filtered(x, readout), exact, error_at, best.error_upper);
  }
  std::puts(failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return drawing::printing_program("long_memory", argc, argv, run);
}
