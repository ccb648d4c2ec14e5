// SPDX-License-Identifier: Apache-2.0
// A Hawkes process whose events are forgotten by a power law, at O(N) an event.
//
//   intensity     l(t) = mu + sum_{t_i < t} phi(t - t_i),   phi(x) = n b/s (1 + x/s)^-(1+b)
//   log-likelihood L = sum_i log l(t_i) - int l(t) dt
//
// n < 1 is the branching ratio, b > 0 the exponent, s the time (shift) after which an event fades
// (Omori's law of aftershocks; trades and price moves cluster like that too). Each l(t_i) looks at
// all events before: O(number of events squared). With phi(x) = sum_k c_k exp(-r_k x) it takes N
// recurrences over the times between events, irregular as they are:
//
//   h_i = exp(-r (t_i - t_{i-1})) h_{i-1} + 1,   l(t_i) = mu + sum_k c_k (h_{i,k} - 1)
//
// No time itself enters an exponential (the trick with sums of exp(r t_i) overflows at r t = 710),
// and no weight is negative, or l could be. A relative error of phi of at most delta changes l and
// its integral by at most delta of their parts above mu: so the error of L is bounded, and checked
// against the sum over all pairs of events.
//
//   build/release/examples/hawkes            prints the numbers
//   build/release/examples/hawkes results    also draws results/hawkes.svg, with gnuplot
//                                            (docs/pictures/hawkes.svg)
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <ebb/approx/minimax.hpp>
#include <ebb/ebb.hpp>

#include "drawing/program.hpp"
#include "long_memory/exchange_rates.hpp"
#include "picture.hpp"

namespace {
using series = std::vector<double>;
using ebb::approx::exponential_sum;
using ebb::approx::minimax_sum;

/// What a model says about events at t_1 < .. < t_n in (0, T].
struct evaluation {
  series intensity;  // l(t_i), of what came before
  series residuals;  // int l(t) dt from t_{i-1} (or 0) to t_i; of the true model: unit exponentials
  double rest = 0;   // the same from t_n to T

  double log_likelihood() const {
    double sum = -rest;
    for (const double l : intensity) sum += std::log(l);
    for (const double r : residuals) sum -= r;
    return sum;
  }
};

struct power_law_hawkes {
  double mu, branching, shift, b;

  double phi(double x) const { return branching * b / shift * std::pow(1 + x / shift, -1 - b); }
  /// int_0^x phi
  double mass(double x) const { return branching * -std::expm1(-b * std::log1p(x / shift)); }

  /// By definition, O(n^2).
  evaluation evaluate(const series& times, double last) const {
    evaluation result;
    double before = 0;
    for (std::size_t i = 0; i <= times.size(); ++i) {
      const double t = i < times.size() ? times[i] : last;
      double intensity = mu, integral = mu * t;
      for (std::size_t j = 0; j < i; ++j) {
        intensity += phi(t - times[j]);
        integral += mass(t - times[j]);
      }
      if (i < times.size()) result.intensity.push_back(intensity);
      (i < times.size() ? result.residuals.emplace_back() : result.rest) = integral - before;
      before = integral;
    }
    return result;
  }

  /// phi by exponentials, from those of y^-(1+b) at y = 1 + x/s.
  exponential_sum kernel(const exponential_sum& of_power) const {
    exponential_sum result = of_power;
    for (std::size_t k = 0; k < result.rates.size(); ++k) {
      result.rates[k] /= shift;
      result.weights[k] *= branching * b / shift * std::exp(-of_power.rates[k]);
    }
    return result;
  }
};

class exponential_hawkes {
 public:
  /// @throws ebb::domain_error where an intensity could be negative.
  exponential_hawkes(double mu, exponential_sum kernel) : mu_(mu), kernel_(std::move(kernel)) {
    kernel_.check("hawkes");  // rates > 0, ascending
    for (const double w : kernel_.weights)
      if (!(w >= 0)) throw ebb::domain_error("hawkes: need weights >= 0, got " + std::to_string(w));
    if (!(mu > 0)) throw ebb::domain_error("hawkes: need mu > 0, got " + std::to_string(mu));
  }

  // [likelihood]
  /// @throws ebb::domain_error unless first <= t_1 <= .. <= last.
  evaluation evaluate(const series& times, double first, double last) const {
    const auto n = std::ssize(times), channels = kernel_.channels();
    ebb::array<double> dt(n + 1, 1), h(n + 1, channels);
    for (ebb::index_t i = 0; i <= n; ++i) {
      const double t = i < n ? times[std::size_t(i)] : last;
      dt(i, 0) = t - (i > 0 ? times[std::size_t(i - 1)] : first);
      if (!(dt(i, 0) >= 0)) throw ebb::domain_error("hawkes: need ascending times");
    }
    const series one(kernel_.rates.size(), 1.0);
    const ebb::strided_view<const double> ones(one.data(), {1, n + 1, channels}, {0, 0});
    ebb::scan(ebb::irregular_decay(dt).bind(std::span<const double>(kernel_.rates)), ones, h);

    evaluation result;
    for (ebb::index_t i = 0; i <= n; ++i) {
      double intensity = mu_, integral = mu_ * dt(i, 0);
      for (ebb::index_t k = 0; k < channels; ++k) {
        const double w = kernel_.weights[std::size_t(k)], r = kernel_.rates[std::size_t(k)];
        intensity += w * (h(i, k) - 1);
        if (i > 0) integral += w / r * h(i - 1, k) * -std::expm1(-r * dt(i, 0));
      }
      if (i < n) result.intensity.push_back(intensity);
      (i < n ? result.residuals.emplace_back() : result.rest) = integral;
    }
    return result;
  }
  // [likelihood]

  /// Events in (0, last] by thinning (Ogata 1981), on a clock of 2^20 ticks.
  series simulate(double last, std::uint64_t seed) const {
    ebb::uniform_stream uniform(seed);
    double wait = 0;
    const ebb::strided_view<const double> dt(&wait, 1, 1);
    const auto memory =
        ebb::make_layer<double>(kernel_.spectrum(), ebb::irregular_decay(dt), kernel_.channels());
    const ebb::linear_readout<double> readout(1, kernel_.weights);
    auto state = memory.start();
    const auto intensity = [&] {
      double excited = 0;
      readout.apply(state.next_position, state.values, {}, std::span(&excited, 1));
      return mu_ + excited;
    };
    const series nothing(state.values.size(), 0.0);
    series times;
    for (double t = 0;;) {
      const double bound = intensity();  // it falls until the next event
      wait = std::ceil(-std::log(uniform.next()) / bound * 0x1p20) * 0x1p-20;
      if ((t += wait) > last) return times;
      memory.step(nothing, state);
      if (uniform.next() * bound > intensity()) continue;
      times.push_back(t);
      for (double& h : state.values) h += 1;
    }
  }

 private:
  double mu_;
  exponential_sum kernel_;
};

/// Roundings of n events, relative to mu + phi(0) and what is summed: 6 u an event in the
/// recurrences (rows::error_bound), u in the sum over pairs, and some in weights and readout.
double roundings(std::size_t n) { return (7 * static_cast<double>(n) + 20 + 32) * 0x1p-53; }

/// The largest relative error of l - mu; infinite where that, or a residual, is not within delta
/// and roundings.
double largest_error(const power_law_hawkes& model, const evaluation& fast, const evaluation& exact,
                     double last, double delta) {
  const std::size_t n = exact.intensity.size();
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double l = exact.intensity[i], error = std::abs(fast.intensity[i] - l);
    const double moved = std::abs(fast.residuals[i] - exact.residuals[i]);
    if (!(error <= delta * (l - model.mu) + roundings(n) * (l + model.phi(0))) ||
        !(moved <=
          delta * exact.residuals[i] + roundings(n) * (model.mu * last + static_cast<double>(n))))
      return HUGE_VAL;
    if (i > 0) largest = std::max(largest, error / (l - model.mu));
  }
  return largest;
}

/// How much L may change: at an event by log(1 - delta (l - mu)/l), in the integral by delta of the
/// part above mu.
double likelihood_bound(const power_law_hawkes& model, const evaluation& exact, const series& times,
                        double last, double delta) {
  const auto n = static_cast<double>(times.size());
  double bound = 0, integral = model.mu * last;
  for (const double l : exact.intensity) bound -= std::log1p(-delta * (l - model.mu) / l);
  for (const double t : times) {
    bound += delta * model.mass(last - t);
    integral += model.mass(last - t);
  }
  return bound + roundings(times.size()) * (n * (1 + model.phi(0) / model.mu) + integral);
}

/// Kolmogorov's sqrt(n) D of residuals against the unit exponential distribution; of the true model
/// it is above 1.63 once in a hundred times.
double kolmogorov(series residuals) {
  std::sort(residuals.begin(), residuals.end());
  const auto n = static_cast<double>(residuals.size());
  double d = 0;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    const double p = -std::expm1(-residuals[i]), at = static_cast<double>(i) / n;
    d = std::max({d, p - at, at + 1 / n - p});
  }
  return std::sqrt(n) * d;
}

/// Days on which rates moved by more than `size`.
series days_of_moves(const series& rates, double size) {
  series days;
  for (std::size_t i = 1; i < rates.size(); ++i)
    if (std::abs(std::log(rates[i] / rates[i - 1])) > size) days.push_back(static_cast<double>(i));
  return days;
}

template <class Work>
double seconds(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Whether something is refused, with the sentence.
template <class Work>
bool refused(const Work& work) {
  try {
    work();
  } catch (const ebb::domain_error& error) {
    std::printf("refused: %s\n", error.what());
    return true;
  }
  return false;
}

std::vector<minimax_sum> sums_of(double b, double horizon) {
  ebb::approx::minimax_options options;
  options.kind = ebb::approx::error_kind::relative;
  options.tolerance = 1e-3;  // three digits of delta are enough
  return ebb::approx::minimax_chain(ebb::approx::power_law(1 + b), 20, horizon, options);
}

/// Errors of the log-likelihood and their bounds, by channels.
struct error_table {
  std::vector<std::pair<double, double>> errors, bounds;
};

/// Events of a simulation: counts in `failures` what is not as certified.
error_table simulated_events(int& failures) {
  error_table table;
  const power_law_hawkes model{0.3, 0.7, 0.1, 0.5};  // one event a unit of time on the average
  const double last = 4000;
  const auto sums = sums_of(model.b, 1 + last / model.shift);
  const auto of = [&](std::size_t channels) {
    return exponential_hawkes(model.mu, model.kernel(sums[channels - 1].sum));
  };
  const series times = of(20).simulate(last, 20240229);
  evaluation exact;
  const double slow = seconds([&] { exact = model.evaluate(times, last); });

  std::printf("%zu simulated events, exact log-likelihood %.6f\n", times.size(),
              exact.log_likelihood());
  std::puts("channels  certified  observed  error of log-likelihood  bound    Kolmogorov");
  for (const std::size_t channels : {4U, 8U, 12U, 16U, 20U}) {
    const minimax_sum& sum = sums[channels - 1];
    const evaluation fast = of(channels).evaluate(times, 0, last);
    const double observed = largest_error(model, fast, exact, last, sum.reached());
    const double error = std::abs(fast.log_likelihood() - exact.log_likelihood());
    const double bound = likelihood_bound(model, exact, times, last, sum.reached());
    std::printf("%8zu  %9.1e  %8.1e  %23.1e  %7.1e  %10.2f\n", channels, sum.reached(), observed,
                error, bound, kolmogorov(fast.residuals));
    failures += !sum.converged || sum.basis != ebb::approx::evidence::proved ||
                !(observed < HUGE_VAL) || !(error <= bound);
    table.errors.emplace_back(double(channels), error);
    table.bounds.emplace_back(double(channels), bound);
  }

  // The residuals of the model that was simulated are unit exponentials, those of a constant rate
  // are not; their mean is 1 within 2.58 standard deviations 99 times in a hundred.
  evaluation fast;
  const double quick = seconds([&] { fast = of(20).evaluate(times, 0, last); });
  const auto n = static_cast<double>(times.size());
  double mean = 0;
  series poisson;
  for (std::size_t i = 0; i < times.size(); ++i) {
    mean += fast.residuals[i] / n;
    poisson.push_back((times[i] - (i > 0 ? times[i - 1] : 0)) * n / last);
  }
  std::printf("residuals: mean %.4f, Kolmogorov %.2f; of a constant rate %.2f (1 %%: 1.63)\n", mean,
              kolmogorov(fast.residuals), kolmogorov(poisson));
  failures += !(std::abs(mean - 1) * std::sqrt(n) < 2.58) || !(kolmogorov(fast.residuals) < 1.63) ||
              !(kolmogorov(poisson) > 1.63);
  std::printf("events a second: all pairs %.1e, 20 exponentials %.1e\n", n / slow, n / quick);

  // Seconds since 1970 are as good as seconds since the opening: the same bits.
  series later = times;
  for (double& t : later) t += 1e9;
  const double same = of(20).evaluate(later, 1e9, 1e9 + last).log_likelihood();
  std::printf("times 1e9 later: log-likelihood %.6f\n", same);
  failures += same != fast.log_likelihood();

  const auto make = [](double mu, const exponential_sum& kernel) {
    return [=] { exponential_hawkes(mu, kernel); };
  };
  failures += !refused(make(0.3, {{0.1, 1}, {0.2, -0.1}})) ||
              !refused(make(0.3, {{-0.1, 1}, {0.2, 0.1}})) ||
              !refused(make(-0.3, {{0.1, 1}, {0.2, 0.1}})) || !refused([&] {
                of(4).evaluate({2, 1}, 0, 3);
              });
  return table;
}

/// Days of large moves, and the intensity on each.
evaluation euro_events(const series& moves, double days, int& failures) {
  // Days on which the euro moved by more than 1 %: the best branching ratio and s on a grid, mu
  // such that the mean rate is that of the data.
  const double rate = static_cast<double>(moves.size()) / days;
  const auto euro_sums = sums_of(0.5, 1 + days);  // for shifts >= 1 day
  power_law_hawkes best{};
  double most = -HUGE_VAL;
  for (const double shift : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0})
    for (double branching = 0.05; branching < 1; branching += 0.05) {
      const power_law_hawkes next{rate * (1 - branching), branching, shift, 0.5};
      const double l = exponential_hawkes(next.mu, next.kernel(euro_sums[15].sum))
                           .evaluate(moves, 0, days)
                           .log_likelihood();
      if (l > most) most = l, best = next;
    }
  const double constant_rate = static_cast<double>(moves.size()) * (std::log(rate) - 1);
  evaluation euro = best.evaluate(moves, days);
  const double bound = likelihood_bound(best, euro, moves, days, euro_sums[15].reached());
  std::printf("\n%zu days in %.0f on which the euro moved by more than 1 %%\n", moves.size(), days);
  std::printf("log-likelihood: constant rate %.2f, branching ratio %.2f and s = %.0f days %.2f\n",
              constant_rate, best.branching, best.shift, most);
  std::printf("16 exponentials are off by %.1e, bound %.1e\n",
              std::abs(most - euro.log_likelihood()), bound);
  failures += !(std::abs(most - euro.log_likelihood()) <= bound) || !(most > constant_rate);
  return euro;
}

int run(const std::filesystem::path& folder) {
  const series rates = long_memory::exchange_rates(EBB_DOLLARS_PER_EURO);
  const series moves = days_of_moves(rates, 0.01);
  const double days = static_cast<double>(rates.size() - 1);
  int failures = 0;
  const error_table table = simulated_events(failures);
  const evaluation euro = euro_events(moves, days, failures);
  if (!folder.empty()) failures += !draw(folder, moves, euro.intensity, table.errors, table.bounds);
  std::puts(failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return drawing::printing_program("hawkes", argc, argv, run); }
