// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <Eigen/SVD>

#include <ebb/approx/fit.hpp>
#include <ebb/spectrum/random.hpp>

namespace approx = ebb::approx;
using approx::error_kind, approx::evidence, approx::exponential_sum, approx::fit_norm;

namespace {

/// sum_j w_j (1 + tau / t_j)^-b_j: mixtures of exponentials with Gamma densities.
struct gamma_mixture {
  struct part {
    double weight, scale, exponent;
  };
  std::vector<part> parts;

  template <ebb::real_scalar Real>
  Real operator()(const Real& lag) const {
    using ebb::detail::pow;
    Real sum(0);
    for (const part& p : parts)
      sum +=
          Real(Real(p.weight) * Real(pow(Real(Real(1) + lag / Real(p.scale)), Real(-p.exponent))));
    return sum;
  }
  // Re z > 0: |1 + z / t| lies between sqrt(1 + |z|^2 / t^2) and 1 + |z| / t.
  double log_sup(double p, double) const {
    double sum = 0;
    for (const part& m : parts)
      sum += std::abs(m.weight) * std::pow(std::hypot(1.0, p / m.scale), -m.exponent);
    return std::log(sum);
  }
  // Of one part; of several only a bound of the absolute error is asked here.
  double log_inf(double, double q) const {
    return std::log(parts[0].weight) - parts[0].exponent * std::log1p(q / parts[0].scale);
  }
};

/// tau^-b e^(-r tau)
struct tempered_power {
  double exponent, rate;
  template <ebb::real_scalar Real>
  Real operator()(const Real& lag) const {
    using ebb::detail::exp, ebb::detail::pow;
    return Real(Real(pow(lag, Real(-exponent))) * Real(exp(Real(Real(-rate) * lag))));
  }
  double log_sup(double p, double) const { return -exponent * std::log(p); }
  double log_inf(double, double q) const { return -exponent * std::log(q) - rate * q; }
};

/// A lower bound of the error of every sum of N exponentials, from the error of one of them: if it
/// alternates on 2N + 1 lags, then no sum has a smaller error than the smallest of these values.
/// For the difference of two such sums is a sum of 2N exponentials, with at most 2N - 1 zeros.
template <class Target>
double alternation_bound(const exponential_sum& sum, const Target& target, double first,
                         double last, bool relative) {
  std::vector<double> humps;
  const int points = 20000;
  for (int i = 0; i <= points; ++i) {
    const long double lag = first * std::pow(static_cast<long double>(last / first),
                                             static_cast<long double>(i) / points);
    const long double f = target(lag);
    const double e = static_cast<double>((f - sum(lag)) / (relative ? f : 1.0L));
    if (humps.empty() || (humps.back() > 0) != (e > 0))
      humps.push_back(e);
    else if (std::abs(e) > std::abs(humps.back()))
      humps.back() = e;
  }
  const auto wanted = static_cast<std::size_t>(2 * sum.channels() + 1);
  double best = 0;
  for (std::size_t start = 0; start + wanted <= humps.size(); ++start) {
    double smallest = HUGE_VAL;
    for (std::size_t j = 0; j < wanted; ++j)
      smallest = std::min(smallest, std::abs(humps[start + j]));
    best = std::max(best, smallest);
  }
  return best;
}

/// How much a change of size 1 at every lag may move rates and weights (relatively), to first
/// order: sqrt(m) over the smallest singular value of the derivatives.
double sensitivity(const exponential_sum& sum, const std::vector<double>& lags) {
  const auto m = static_cast<Eigen::Index>(lags.size());
  const auto n = static_cast<Eigen::Index>(sum.rates.size());
  Eigen::MatrixXd derivative(m, 2 * n);
  for (Eigen::Index i = 0; i < m; ++i)
    for (Eigen::Index k = 0; k < n; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const double x = sum.rates[at] * lags[static_cast<std::size_t>(i)];
      derivative(i, k) = sum.weights[at] * std::exp(-x);
      derivative(i, n + k) = sum.weights[at] * x * std::exp(-x);
    }
  return std::sqrt(static_cast<double>(m)) / derivative.jacobiSvd().singularValues()(2 * n - 1);
}

double difference(const exponential_sum& a, const exponential_sum& b) {
  if (a.rates.size() != b.rates.size()) return HUGE_VAL;
  double worst = 0;
  for (std::size_t k = 0; k < a.rates.size(); ++k)
    worst = std::max(
        {worst, std::abs(a.rates[k] / b.rates[k] - 1), std::abs(a.weights[k] / b.weights[k] - 1)});
  return worst;
}

std::vector<double> log_spaced(double first, double last, int count) {
  std::vector<double> lags;
  for (int i = 0; i < count; ++i)
    lags.push_back(first * std::exp(std::log(last / first) * i / (count - 1)));
  return lags;
}

}  // namespace

TEST_CASE("tau^-beta: close to the best sums with free rates") {
  // Best errors, computed apart from this library.
  struct row {
    double beta;
    error_kind kind;
    int channels;
    double last, best;
  };
  constexpr auto absolute = error_kind::absolute, relative = error_kind::relative;
  const row rows[] = {
      {0.5, absolute, 4, 1e2, 1.0914227869e-03},  {0.5, absolute, 4, 1e4, 6.6313330416e-03},
      {0.5, absolute, 4, 1e6, 6.8339030867e-03},  {0.5, absolute, 8, 1e2, 1.4847530444e-06},
      {0.5, absolute, 8, 1e4, 1.5547057256e-04},  {0.5, absolute, 8, 1e6, 4.9053722302e-04},
      {0.5, absolute, 16, 1e2, 2.7931782283e-12}, {0.5, absolute, 16, 1e4, 8.9189657936e-08},
      {0.5, absolute, 16, 1e6, 2.6578613451e-06}, {1, absolute, 4, 1e6, 1.7002574141e-03},
      {1, absolute, 8, 1e4, 5.2708756531e-05},    {0.5, relative, 4, 1e4, 6.2938533453e-02},
      {0.5, relative, 8, 1e2, 4.6384329937e-06},  {1, relative, 4, 1e6, 4.4473017140e-01},
      {1, relative, 8, 1e4, 5.3129999756e-03}};
  for (const row& r : rows) {
    CAPTURE(r.beta);
    CAPTURE(r.channels);
    CAPTURE(r.last);
    approx::fit_options options;
    options.kind = r.kind;
    const auto found = approx::fit(approx::power_law(r.beta), 1, r.last, r.channels, options);
    CHECK(found.error.basis == evidence::proved);
    CHECK(found.sum.channels() == r.channels);
    CHECK(found.error.upper <= 3 * r.best);
    CHECK(found.error.upper >= r.best);  // or one of the two certificates is wrong
    CHECK(found.error.upper - found.error.lower <= 1e-3 * found.error.upper);
    CHECK(found.weights_l1 == found.sum.weights_l1());
  }
}

TEST_CASE("other kernels: within three times a lower bound of the best error") {
  const auto check = [](const auto& kernel, double first, double last, int channels,
                        error_kind kind) {
    approx::fit_options options;
    options.kind = kind;
    const auto found = approx::fit(kernel, first, last, channels, options);
    CAPTURE(channels);
    CAPTURE(last);
    CHECK(found.error.basis == evidence::proved);
    const double bound =
        alternation_bound(found.sum, kernel, first, last, kind == error_kind::relative);
    CHECK(bound > 0);
    CHECK(found.error.upper <= 3 * bound);
    CHECK(found.error.lower >= bound * (1 - 1e-9));
  };
  constexpr auto absolute = error_kind::absolute, relative = error_kind::relative;
  for (const int channels : {1, 2, 4, 8}) {
    check(gamma_mixture{{{1, 1, 1.5}}}, 0.01, 1e4, channels, absolute);
    check(gamma_mixture{{{0.5, 1, 2}, {0.5, 100, 1}}}, 0.1, 1e3, channels, absolute);
    check(tempered_power{0.4, 0.01}, 0.1, 1e3, channels, absolute);
    check(approx::power_law(0.25), 1e-3, 10, channels, absolute);
  }
  check(gamma_mixture{{{1, 1, 1.5}}}, 0.01, 1e4, 6, relative);
  check(tempered_power{0.4, 0.01}, 0.1, 1e3, 6, relative);
  check(approx::power_law(1.5), 1e-6, 1, 8, relative);
}

TEST_CASE("known sums come back, and no more channels than there are") {
  const exponential_sum sums[] = {{{0.05}, {2}},
                                  {{0.01, 0.3, 5}, {1, 2, 3}},
                                  {{0.01, 0.3, 0.5}, {1, -2, 3}},
                                  {{0.5, 1, 2}, {1, -2.5, 3}},
                                  {{0.02, 0.05, 0.1, 1, 20}, {1, -2.5, 3, 1, -0.1}}};
  for (const exponential_sum& sum : sums) {
    const auto lags = log_spaced(0.05, 300, 200);
    for (const ebb::index_t asked : {sum.channels(), sum.channels() + 2}) {
      CAPTURE(sum.channels());
      CAPTURE(sum.weights.back());
      CAPTURE(asked);
      const auto found = approx::fit(sum, 0.05, 300, asked);
      REQUIRE(found.sum.channels() == sum.channels());
      CHECK(found.error.upper <= 16 * 0x1p-53 * found.weights_l1);
      const double bound = 2 * found.error.upper * sensitivity(sum, lags);
      CHECK(bound <= 1e-6);
      CHECK(difference(found.sum, sum) <= bound);
    }
  }
}

TEST_CASE("weights stay small where more channels gain nothing") {
  for (const int channels : {8, 10, 13}) {
    const auto found = approx::fit(approx::power_law(0.5), 1, 2, channels);
    CHECK(found.error.upper <= 1e-13);
    CHECK(found.weights_l1 <= 100);  // of which rounding makes 1e-14
  }
}

TEST_CASE("weights of nearly equal rates count with their rounding") {
  // Two rates 1e-15 apart could add the derivative tau e^-tau, with weights of 1e15.
  approx::detail::kernel_samples samples;
  for (int i = 0; i <= 50; ++i) {
    samples.lags.push_back(1 + i / 50.0);
    samples.values.push_back(std::pow(samples.lags.back(), -0.5));
    samples.scales.push_back(1);
  }
  const approx::detail::node_fit fit(samples, false);
  const auto one = fit.at({0}), two = fit.at({0, 1e-15L});
  CHECK(two.squares <= one.squares * 1.000001L);
}

TEST_CASE("weights >= 0 are levelled by reweighting") {
  // e^-t - e^-3t / 2 with rates 1 and 3: the second weight would be -1/2, so it is 0, and the first
  // is the best multiple of e^-t, found here by trying.
  approx::detail::kernel_samples samples;
  for (int i = 0; i <= 40; ++i) {
    const double lag = 0.2 + 0.1 * i;
    samples.lags.push_back(lag);
    samples.values.push_back(std::exp(-lag) - 0.5 * std::exp(-3 * lag));
    samples.scales.push_back(1);
  }
  double best = HUGE_VAL;
  for (double c = 0.5; c < 1; c += 1e-4) {
    double largest = 0;
    for (std::size_t i = 0; i < samples.lags.size(); ++i)
      largest = std::max(largest, std::abs(samples.values[i] - c * std::exp(-samples.lags[i])));
    best = std::min(best, largest);
  }
  const approx::detail::node_fit fit(samples, true);
  auto found = fit.at({0, std::log(3.0L)});
  CHECK(found.largest > 1.1L * best);  // least squares
  fit.level(found, 0);
  CHECK(found.weights(1) == 0);
  CHECK(found.largest <= 1.05L * best);  // 25 rounds of a linearly convergent iteration
}

TEST_CASE("a kernel that is 0 needs no channel") {
  const auto found = approx::fit([](double) { return 0.0; }, 1, 10, 3);
  CHECK(found.sum.channels() == 0);
  CHECK(found.error.lower == 0);
}

TEST_CASE("samples at any lags: sums come back, noise is averaged") {
  const exponential_sum sum{{0.03, 0.4, 6}, {1, 2, 3}};
  ebb::uniform_stream uniform(3);
  std::vector<double> lags, values;
  for (int i = 0; i < 150; ++i) lags.push_back(0.02 * std::exp(8.5 * uniform.next()));
  std::sort(lags.begin(), lags.end());
  for (const double lag : lags)
    values.push_back(static_cast<double>(sum(static_cast<long double>(lag))));
  const auto found = approx::fit(lags, values, 5);
  REQUIRE(found.sum.channels() == 3);
  CHECK(found.error.basis == evidence::sampled);
  CHECK(difference(found.sum, sum) <= 2 * found.error.upper * sensitivity(sum, lags));
  CHECK(found.error.upper <= 16 * 0x1p-53 * found.weights_l1);

  const double noise = 1e-5;
  auto noisy = values;
  for (double& v : noisy) v += noise * (2 * uniform.next() - 1);
  const auto squares = approx::fit(lags, noisy, 3);
  REQUIRE(squares.sum.channels() == 3);
  CHECK(difference(squares.sum, sum) <= noise * sensitivity(sum, lags));
  approx::fit_options options;
  options.norm = fit_norm::largest;
  const auto largest = approx::fit(lags, noisy, 3, options);
  CHECK(largest.error.upper <= squares.error.upper);
  CHECK(largest.error.upper <= noise);  // the sum itself is that good
  const auto sum_of_squares = [&](const exponential_sum& s) {
    double total = 0;
    for (std::size_t i = 0; i < lags.size(); ++i) total += std::pow(noisy[i] - s(lags[i]), 2);
    return total;
  };
  CHECK(sum_of_squares(squares.sum) <= sum_of_squares(largest.sum));
  CHECK(sum_of_squares(squares.sum) <= sum_of_squares(sum));
}

TEST_CASE("many samples: the same fit as on a part of them") {
  const approx::power_law f(0.5);
  std::vector<double> lags, values;
  for (int i = 1; i <= 5000; ++i) lags.push_back(i), values.push_back(f(static_cast<double>(i)));
  approx::fit_options options;
  options.norm = fit_norm::largest;
  const auto found = approx::fit(lags, values, 6, options);
  // No worse on whole lags than 3 times the best on all real ones (levelled fit of the kernel).
  const auto all = approx::fit(f, 1, 5000, 6);
  CHECK(found.error.upper <= 3 * all.error.upper);
}

TEST_CASE("weights that are not negative") {
  approx::fit_options options;
  options.non_negative = true;
  // A completely monotone kernel has them anyway.
  const auto power = approx::fit(approx::power_law(0.5), 1, 1e4, 8, options);
  for (const double c : power.sum.weights) CHECK(c > 0);
  CHECK(power.error.upper <= 3 * 1.5547057256e-04);  // the best, as above
  // A kernel with a dip does not: the best single exponential bounds what several must reach.
  const exponential_sum dip{{0.01, 0.3, 0.5}, {1, -2, 3}};
  const auto one = approx::fit(dip, 0.1, 100, 1);
  const auto several = approx::fit(dip, 0.1, 100, 4, options);
  CHECK(several.sum.channels() >= 1);
  for (const double c : several.sum.weights) CHECK(c > 0);
  CHECK(several.error.upper <= one.error.upper * 1.01);
  // Reweighting lowers the largest error of least squares, which is not levelled.
  approx::fit_options squares = options;
  squares.norm = fit_norm::least_squares;
  CHECK(several.error.upper < approx::fit(dip, 0.1, 100, 4, squares).error.lower);
  // In least squares: no direction that keeps weights >= 0 improves (Karush, Kuhn, Tucker).
  Eigen::MatrixXd a(4, 2);
  a << 1, 1, 1, 2, 1, 3, 1, 4;
  const Eigen::VectorXd b = Eigen::Vector4d(4, 3, 2, 1);
  const Eigen::VectorXd x = approx::non_negative_least_squares<double>(a, b);
  CHECK(x(0) == doctest::Approx(2.5).epsilon(1e-14));  // the slope -1 is not allowed: the mean
  CHECK(x(1) == 0);
}

TEST_CASE("noise: weights that cancel are seen, and bounded where that is asked") {
  ebb::uniform_stream uniform(1);
  std::vector<double> lags, values;
  for (int i = 1; i <= 20; ++i) lags.push_back(i), values.push_back(2 * uniform.next() - 1);
  const double mean = [&] {
    double sum = 0;
    for (const double v : values) sum += v * v;
    return sum / 20;
  }();
  for (const auto norm : {fit_norm::least_squares, fit_norm::largest}) {
    approx::fit_options options;
    options.norm = norm;
    const auto free = approx::fit(lags, values, 8, options);
    CHECK(free.weights_l1 > 1e6);  // values are 1 at most
    for (const double most : {1e4, 10.0, 1.0, 1e-3}) {
      CAPTURE(most);
      options.most_weights = most;
      const auto found = approx::fit(lags, values, 8, options);
      CHECK(found.weights_l1 <= most);
      CHECK(found.weights_l1 == found.sum.weights_l1());
      // All sums with weights up to `most` differ from 0 by that, and 0 has the samples as its error.
      CHECK(found.error.upper <= 1 + most);
      if (norm == fit_norm::least_squares) {
        double squares = 0;
        for (std::size_t i = 0; i < 20; ++i) squares += std::pow(values[i] - found.sum(lags[i]), 2);
        CHECK(squares <= 20 * mean * (1 + 1e-9));  // no worse than no sum
      }
    }
  }
  // A bound that is met anyway changes nothing.
  approx::fit_options wide;
  wide.most_weights = 100;
  const auto plain = approx::fit(approx::power_law(0.5), 1, 100, 4);
  CHECK(approx::fit(approx::power_law(0.5), 1, 100, 4, wide).sum.weights == plain.sum.weights);
  approx::fit_options none;
  none.most_weights = 0;
  CHECK_THROWS_AS((void)approx::fit(lags, values, 2, none), ebb::domain_error);
}

TEST_CASE("messages name fit, and what is wrong") {
  const auto says = [](const auto& call, const char* words) {
    std::string message;
    try {
      (void)call();
    } catch (const ebb::domain_error& error) {
      message = error.what();
    }
    CAPTURE(message);
    CHECK(message.rfind("fit: ", 0) == 0);
    CHECK(message.find(words) != std::string::npos);
  };
  approx::fit_options relative;
  relative.kind = error_kind::relative;
  const auto decaying = [](double t) { return std::exp(-t); };
  const auto found = approx::fit(decaying, 1, 200, 3, relative);
  CHECK(found.error.upper <= 1e-13);
  says([&] { return approx::fit(decaying, 1, 745, 3, relative); }, "2.3e-308");
  says([&] { return approx::fit(approx::power_law(0.5), 1e-310, 1, 2); }, "1e-300");
  says([&] { return approx::fit([](double) { return 1e301; }, 1, 2, 2); }, "1e300");
  using list = std::vector<double>;
  says([&] { return approx::fit(list{1e-310, 1, 2, 3}, list{1, 1, 1, 1}, 2); }, "1e-300");
  says([&] { return approx::fit(list{1, 2, 3, 4}, list{1e301, 1, 1, 1}, 2); }, "1e300");
  says(
      [&] {
        return approx::fit(list{1, 2, 3, 4}, list{1, 1, 1, 1e-310}, 2, relative);
      },
      "2.3e-308");
  // Powers over 200 orders of magnitude: few channels reach little, but the bounds hold.
  const auto wide = approx::fit(approx::power_law(0.5), 1e-100, 1e100, 4, relative);
  CHECK(wide.error.upper >= wide.error.lower);
  CHECK(wide.error.upper <= 1.001);  // no sum at all has 1
  // One outlier of any size: a result or a refusal, no crash.
  list lags, outlier;
  for (int i = 1; i <= 20; ++i) lags.push_back(i), outlier.push_back(i == 4 ? 1e300 : 1);
  CHECK(std::isfinite(approx::fit(lags, outlier, 3).error.upper));
  CHECK(approx::fit(lags, list(20, 0.0), 3).sum.channels() == 0);
}

TEST_CASE("time has no unit") {
  const double unit = 0x1p30;
  const auto base = approx::fit(approx::power_law(0.5), 1, 1e3, 5);
  const auto scaled = approx::fit(approx::power_law(0.5), unit, 1e3 * unit, 5);
  CHECK(scaled.error.upper * std::sqrt(unit) == doctest::Approx(base.error.upper).epsilon(0.01));
}

TEST_CASE("bad input") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const approx::power_law f(0.5);
  CHECK_THROWS_AS((void)approx::fit(f, 0, 1, 2), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit(f, 2, 1, 2), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit(f, 1, HUGE_VAL, 2), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit(f, 1, 2, 0), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit(f, 1, 2, 65), ebb::domain_error);
  approx::fit_options loose;
  loose.tolerance = 0;
  CHECK_THROWS_AS((void)approx::fit(f, 1, 2, 2, loose), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit([nan](double) { return nan; }, 1, 2, 2), ebb::domain_error);
  approx::fit_options relative;
  relative.kind = error_kind::relative;
  CHECK_THROWS_AS((void)approx::fit([](double) { return 0.0; }, 1, 2, 2, relative),
                  ebb::domain_error);
  using list = std::vector<double>;
  const list lags = {1, 2, 3, 4}, values = {4, 3, 2, 1};
  CHECK_THROWS_AS((void)approx::fit(lags, list{4, 3, 2}, 1), ebb::shape_error);
  CHECK_THROWS_AS((void)approx::fit(lags, values, 3), ebb::shape_error);
  CHECK_THROWS_AS((void)approx::fit(list{}, list{}, 1), ebb::shape_error);
  CHECK_THROWS_AS((void)approx::fit(list{1, 3, 2, 4}, values, 2), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit(list{1, 2, 2, 4}, values, 2), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit(list{0, 2, 3, 4}, values, 2), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit(list{-1, 2, 3, 4}, values, 2), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit(list{1, 2, 3, nan}, values, 2), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit(lags, list{4, nan, 2, 1}, 2), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit(lags, list{4, HUGE_VAL, 2, 1}, 2), ebb::domain_error);
  CHECK_THROWS_AS((void)approx::fit(lags, list{4, 0, 2, 1}, 2, relative), ebb::domain_error);
}
