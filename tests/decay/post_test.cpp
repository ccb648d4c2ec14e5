// SPDX-License-Identifier: Apache-2.0
// The taper against its definition in 50 digits, and the properties it is chosen for.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/core/exponential.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/decay/two_ended.hpp>
#include <ebb/spectrum/geometric.hpp>
#include <ebb/spectrum/listed.hpp>
#include <ebb/spectrum/random.hpp>

#include "support/exact.hpp"

namespace {

using ebb::index_t;
using ebb::post_taper;
using ebb::test::exact;

template <class Real>
auto bound_to(const post_taper& taper, const std::vector<Real>& rates) {
  return taper.bind(std::span<const Real>(rates));
}

// The exponents from the formulas of the class comment.
std::vector<exact> linear(std::size_t n) {
  std::vector<exact> alpha(n, exact(1));
  for (std::size_t k = 0; k < n && n > 1; ++k) alpha[k] = exact(n - 1 - k) / exact(n - 1);
  return alpha;
}
std::vector<exact> to_fastest(const std::vector<double>& r) {
  std::vector<exact> alpha;
  for (const double rate : r)
    alpha.push_back(log(exact(r.back()) / rate) / log(exact(r.back()) / r.front()));
  return alpha;
}
std::vector<exact> geometric_at(const std::vector<double>& r, double horizon) {
  std::vector<exact> alpha = linear(r.size());
  const exact mean_gap = log(exact(r.back()) / r.front()) / (r.size() - 1);
  for (std::size_t k = 0; k < r.size(); ++k) {
    alpha[k] += (log(exact(r[k]) / r[0]) - k * mean_gap) / log(exact(horizon));
    if (alpha[k] < 0) alpha[k] = 0;
    if (alpha[k] > 1) alpha[k] = 1;
  }
  return alpha;
}

const index_t positions[] = {
    1, 2, 3, 63, 4096, 100003, 1 << 24, 1 << 30, index_t{1} << 40, (index_t{1} << 53) - 40};

template <class Real>
void check_accuracy(const post_taper& taper, const std::vector<double>& rates,
                    const std::vector<exact>& alpha, double reference, index_t offset,
                    double horizon) {
  using Param = ebb::detail::parameter_t<Real>;
  const auto n = static_cast<index_t>(rates.size());
  const auto decay = bound_to(taper, std::vector<Param>(rates.begin(), rates.end()));
  double worst = 0;
  for (const index_t position : positions) {
    ebb::array<Real> block(2, n);
    decay.fill({0, 0, 0, position}, block.view());
    for (index_t t = 0; t < 2; ++t)
      for (index_t k = 0; k < n; ++k) {
        const auto c = static_cast<std::size_t>(k);
        const exact time = exact(position + t + offset) / exact(reference);
        const exact truth = -exact(rates[c]) * exp(-alpha[c] * log(time));
        const double l = std::log(double(position + t + offset)) + std::log(reference);
        const double ends = std::log(rates.back() / rates.front()) / std::log(horizon);
        double limit = 4 + 5 * l + (horizon > 1 ? 16 * l * std::max(1.0, ends) : 0);
        if (sizeof(Real) < sizeof(Param))  // one rounding to the block's type
          limit = 1 + limit * double(std::numeric_limits<Param>::epsilon()) /
                          double(std::numeric_limits<Real>::epsilon());
        worst = std::max(worst, ebb::test::roundoffs(block(t, k), truth) / limit);
      }
  }
  CHECK(worst <= 1);
  CHECK(worst > 0);
}

TEST_CASE("logarithms of positions without branches") {
  double worst = 0;
  const auto check = [&](double x) {
    worst = std::max(worst, ebb::test::roundoffs(ebb::detail::log_of_whole(x), log(exact(x))));
  };
  CHECK(ebb::detail::log_of_whole(1) == 0);
  for (int i = 2; i < 4100; ++i) check(i);
  for (int i = 0; i < 3900; ++i) check(std::floor(std::exp(0.011 * i + 0.7)));  // to 8.5e18
  for (int k = 1; k < 64; ++k) {
    check(std::ldexp(1, k));
    check(std::ldexp(0x1.fffffffffffffp0, k > 51 ? k : 52));
    check(std::floor(std::ldexp(1.5, k)));
  }
  CHECK(worst <= 2);
  CHECK(worst > 0.5);
}

TEST_CASE("exponentials up to the largest double") {
  for (const double x : {-708.0, -1e-9, 0.3, 700.0, 709.0}) {
    CHECK(ebb::test::roundoffs(ebb::detail::tapered<double>(x), exp(exact(x))) <= 2.2);
  }
  CHECK(ebb::test::roundoffs(ebb::detail::tapered<double>(709.78), exp(exact(709.78))) <= 500);
}

TEST_CASE_TEMPLATE("log-decays are as accurate as documented", Real, float, double, long double) {
  const auto rates = ebb::rates_of<double>(ebb::geometric_spectrum::timescales(1, 4096), 9);
  const auto uneven = ebb::rates_of<double>(ebb::random_log_uniform(1.0 / 4096, 1, 7), 12);
  const std::vector<double> single{0.125};
  check_accuracy<Real>(post_taper::relative(4096), rates, linear(9), 4096, 0, 1);
  check_accuracy<Real>(post_taper::relative(100), uneven, linear(12), 100, 0, 1);
  check_accuracy<Real>(post_taper::relative(4096), single, linear(1), 4096, 0, 1);
  check_accuracy<Real>(post_taper::absolute(), rates, linear(9), 1, 0, 1);
  check_accuracy<Real>(post_taper::absolute().with_offset(30), rates, linear(9), 1, 30, 1);
  check_accuracy<Real>(post_taper::relative(1e6).with_offset(7), uneven, linear(12), 1e6, 7, 1);
  check_accuracy<Real>(post_taper::relative_by_gaps(4096), uneven, to_fastest(uneven), 4096, 0,
                       4096);
  check_accuracy<Real>(post_taper::absolute_by_gaps(4096), uneven, geometric_at(uneven, 4096), 1, 0,
                       4096);
}

TEST_CASE("relative: timescales at position t are geometric on [1, t]") {
  const double horizon = 4096;
  const index_t n = 9;
  const auto decay =
      bound_to(post_taper::relative(horizon),
               ebb::rates_of<double>(ebb::geometric_spectrum::timescales(1, horizon), n));
  for (const index_t t : {1, 2, 64, 4096, 1000000}) {
    ebb::array<double> block(1, n);
    decay.fill({0, 0, 0, t}, block.view());
    for (index_t k = 0; k < n; ++k)
      CHECK(-1 / block(0, k) ==
            doctest::Approx(std::pow(double(t), double(n - 1 - k) / double(n - 1))).epsilon(1e-12));
  }
}

TEST_CASE("absolute by gaps: geometric at the horizon whatever the gaps, unless clamped") {
  const double horizon = 1e4;
  const std::vector<double> rates{1 / horizon, 3e-4, 2e-3, 2e-2, 1};
  const auto decay = bound_to(post_taper::absolute_by_gaps(horizon), rates);
  for (const double alpha : decay.alpha()) CHECK_UNARY(alpha >= 0 && alpha <= 1);
  ebb::array<double> block(1, 5);
  decay.fill({0, 0, 0, 10000}, block.view());
  for (index_t k = 0; k < 5; ++k)  // timescales from 1 to T^2
    CHECK(-1 / block(0, k) ==
          doctest::Approx(std::pow(horizon, 2 * double(4 - k) / 4)).epsilon(1e-12));
}

TEST_CASE("relative by gaps: the order of channels never changes") {
  const auto rates =
      ebb::rates_of<double>(ebb::listed_spectrum::rates({1e-4, 1.1e-4, 2e-4, 0.5, 0.9, 1}), 6);
  const auto decay = bound_to(post_taper::relative_by_gaps(1e4), rates);
  for (const index_t t : positions) {
    ebb::array<double> block(1, 6);
    decay.fill({0, 0, 0, t}, block.view());
    for (index_t k = 1; k < 6; ++k) CHECK(-block(0, k) >= -block(0, k - 1) * (1 - 1e-12));
  }
}

TEST_CASE("equal gaps: both exponents are the linear ones") {
  const auto rates = ebb::rates_of<double>(ebb::geometric_spectrum::timescales(1, 512), 10);
  const auto straight = bound_to(post_taper::relative(512), rates);
  const auto relative = bound_to(post_taper::relative_by_gaps(512), rates);
  const auto absolute = bound_to(post_taper::absolute_by_gaps(512), rates);
  for (std::size_t k = 0; k < 10; ++k) {
    CHECK(relative.alpha()[k] == doctest::Approx(straight.alpha()[k]).epsilon(1e-14));
    CHECK(absolute.alpha()[k] == doctest::Approx(straight.alpha()[k]).epsilon(1e-14));
  }
  CHECK(bound_to(post_taper::relative(9), std::vector<double>{3}).alpha()[0] == 1);
  CHECK(bound_to(post_taper::relative_by_gaps(9), std::vector<double>{3}).alpha()[0] == 1);
  CHECK(bound_to(post_taper::absolute_by_gaps(9), std::vector<double>{3}).alpha()[0] == 1);
  CHECK(bound_to(post_taper::relative_by_gaps(9), std::vector<double>{3, 3}).alpha()[1] == 1);
}

template <class Param>
void check_impulse(const post_taper& taper, const std::vector<double>& rates, double reference,
                   index_t offset) {
  const auto decay = bound_to(taper, std::vector<Param>(rates.begin(), rates.end()));
  const auto alpha = linear(rates.size());
  const std::pair<index_t, index_t> pairs[] = {{1, 0},
                                               {1, 1},
                                               {2, 1},
                                               {40, 0},
                                               {40, 39},
                                               {900, 1},
                                               {900, 890},
                                               {2000, 0},
                                               {2000, 1999},
                                               {1 << 20, (1 << 20) - 50},
                                               {1000000, 999000},
                                               {(index_t{1} << 40), (index_t{1} << 40) - 300}};
  for (const auto& pair : pairs)
    for (std::size_t k = 0; k < rates.size(); ++k) {
      const index_t t = pair.first, j = pair.second;
      exact sum = 0;
      for (index_t s = j + 1; s <= t; ++s)
        sum += exp(-alpha[k] * log(exact(s + offset) / exact(reference)));
      const exact truth = -exact(rates[k]) * sum;
      const Param log_response = decay.log_impulse_response(static_cast<index_t>(k), t, j);
      const double l = std::log(double(t + offset + 1)), ref = std::log(reference);
      INFO("t = " << t << ", j = " << j << ", k = " << k);
      if (t == j)
        CHECK(log_response == Param(0));
      else
        CHECK(ebb::test::roundoffs(log_response, truth) <= 14 + 2 * l + 4 * ref);
    }
}

TEST_CASE_TEMPLATE("the impulse response agrees with the product of decays", Param, double,
                   long double) {
  const auto rates = ebb::rates_of<double>(ebb::geometric_spectrum::extended(4096, 1, 1), 5);
  check_impulse<Param>(post_taper::relative(4096), rates, 4096, 0);
  check_impulse<Param>(post_taper::absolute().with_offset(30), rates, 1, 30);
  check_impulse<Param>(post_taper::absolute(), {0.25}, 1, 0);
}

TEST_CASE("alpha = 1: a difference of harmonic numbers, and scale-free") {
  const auto decay = bound_to(post_taper::absolute(), std::vector<double>{1});
  exact harmonic = 0;
  for (int s = 8; s <= 50; ++s) harmonic += exact(1) / s;
  CHECK(ebb::test::roundoffs(decay.log_impulse_response(0, 50, 7), exact(-harmonic)) <= 20);
  // K(ct, cj) -> (j/t)^r: H_t - H_j = log(t/j) + 1/(2t) - 1/(2j) + O(j^-2).
  double distance = 1;
  for (const index_t c : {1, 10, 100, 1000, 100000}) {
    const double response = decay.impulse_response(0, 40 * c, 10 * c);
    const double next = std::abs(response - 0.25);
    CHECK(next <= 0.25 * (1.0 / (20.0 * double(c))));
    CHECK(next < distance);
    distance = next;
  }
}

TEST_CASE("alpha = 0: absolute time") {
  const auto decay = bound_to(post_taper::relative(100), std::vector<double>{0.01, 0.5});
  CHECK(decay.log_impulse_response(1, 1000, 993) == -3.5);
}

// Exponents in 50 digits, moved by 1e-20 of a rate either way: differences err by 1e-40.
template <class Exponents>
void check_exponents_vjp(const post_taper& taper, const std::vector<double>& rates,
                         const Exponents& exponents) {
  const std::size_t n = rates.size();
  std::vector<double> given(n), got(n, 0.25);
  for (std::size_t k = 0; k < n; ++k) given[k] = std::sin(1.0 + 3.0 * double(k));
  taper.exponents_vjp(rates, given, got);
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<exact> up(rates.begin(), rates.end()), down = up;
    const exact step = up[j] * exact("1e-20");
    up[j] += step, down[j] -= step;
    const auto above = exponents(up), below = exponents(down);
    exact truth = 0, size = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const exact term = exact(given[k]) * (above[k] - below[k]) / (2 * step);
      truth += term, size += abs(term);
    }
    INFO("rate " << j << " of " << n);
    CHECK(abs(exact(got[j]) - 0.25 - truth) <= (16 + double(n)) * 0x1p-53 * (size + exact(0.25)));
  }
}

TEST_CASE("exponents by gaps pass their gradients on to the rates") {
  const std::vector<double> rates{0.0004, 0.001, 0.0011, 0.08, 0.09, 1.5};
  const auto n = double(rates.size());
  check_exponents_vjp(post_taper::relative_by_gaps(100), rates, [](const auto& r) {
    std::vector<exact> alpha;
    for (const exact& rate : r)
      alpha.push_back(log(exact(r.back() / rate)) / log(exact(r.back() / r.front())));
    return alpha;
  });
  for (const double horizon : {9.0, 2048.0}) {  // clamped, and not
    int clamped = 0;
    check_exponents_vjp(post_taper::absolute_by_gaps(horizon), rates, [&](const auto& r) {
      std::vector<exact> alpha;
      for (std::size_t k = 0; k < r.size(); ++k) {
        const exact rank = exact(double(k)) / (n - 1);
        exact a =
            1 - rank +
            (log(exact(r[k] / r[0])) - rank * log(exact(r.back() / r[0]))) / log(exact(horizon));
        clamped += k > 0 && k + 1 < r.size() && (a < 0 || a > 1);
        alpha.push_back(a < 0 ? exact(0) : a > 1 ? exact(1) : a);
      }
      return alpha;
    });
    CHECK((clamped > 0) == (horizon < 10));
  }
  check_exponents_vjp(post_taper::absolute(), rates,
                      [](const auto& r) { return linear(r.size()); });
  std::vector<double> two(2), three(3);
  CHECK_THROWS_WITH_AS(
      post_taper::absolute_by_gaps(9).exponents_vjp(std::span<const double>(rates), three, two),
      doctest::Contains("post_taper::exponents_vjp: need N gradients"), ebb::shape_error);
}

TEST_CASE("parameters outside their domain are refused") {
  for (const double bad : {0.0, 1.0, -3.0, std::nan(""), HUGE_VAL}) {
    CHECK_THROWS_AS(post_taper::relative(bad), ebb::domain_error);
    CHECK_THROWS_AS(post_taper::relative_by_gaps(bad), ebb::domain_error);
    CHECK_THROWS_AS(post_taper::absolute_by_gaps(bad), ebb::domain_error);
  }
  CHECK_THROWS_AS(post_taper::absolute().with_offset(-1), ebb::domain_error);
  CHECK_THROWS_AS(post_taper::absolute().with_offset((index_t{1} << 53) + 1), ebb::domain_error);
  CHECK_NOTHROW(bound_to(post_taper::relative(9), std::vector<double>{0, 1}));
  CHECK_THROWS_AS(bound_to(post_taper::relative_by_gaps(9), std::vector<double>{0, 1}),
                  ebb::domain_error);
  CHECK_THROWS_AS(bound_to(post_taper::absolute(), std::vector<double>{2, 1}), ebb::domain_error);
  const auto decay = bound_to(post_taper::absolute(), std::vector<double>{1, 2});
  CHECK_THROWS_AS(decay.log_impulse_response(2, 3, 1), ebb::domain_error);
  CHECK_THROWS_AS(decay.log_impulse_response(-1, 3, 1), ebb::domain_error);
  CHECK_THROWS_AS(decay.log_impulse_response(0, 3, 4), ebb::domain_error);
  CHECK_THROWS_AS(decay.log_impulse_response(0, 3, -1), ebb::domain_error);
}

TEST_CASE("a two-ended taper: a sum, and rates e^(A (1 - alpha) - B alpha) (t + t_0)^-alpha") {
  const ebb::two_ended_spectrum spectrum(
      1000, {.fast_end = 2, .slow_end = 1, .sum_channel = true, .offset = 30});
  const index_t channels = 6;
  const std::vector<double> rates = ebb::rates_of<double>(spectrum, channels);
  const auto decay = ebb::two_ended_taper(spectrum).bind(std::span<const double>(rates));
  ebb::array<double> block(ebb::extents{1, 1, channels});
  for (const index_t t : {index_t{1}, index_t{70}, index_t{1000}, index_t{123456}}) {
    decay.fill({0, 0, 0, t}, block.view());
    CHECK(block(0, 0) == 0);
    for (index_t k = 1; k < channels; ++k) {
      const double alpha = double(channels - 1 - k) / double(channels - 2);
      const long double rate =
          std::exp(2.0L * (1 - alpha) - alpha) *
          std::pow(static_cast<long double>(t + 30), -static_cast<long double>(alpha));
      CHECK(std::abs(static_cast<long double>(-block(0, k)) / rate - 1) <
            100 * 0x1p-53L);  // (4 + 5 L) u, L < 19
    }
  }
  // One rate beside the sum, and sums alone.
  const std::vector<double> two{0, 0.25}, sums{0, 0};
  const auto taper = post_taper::relative(100);
  CHECK(taper.bind(std::span<const double>(two)).alpha()[1] == 1);
  CHECK(taper.bind(std::span<const double>(sums)).alpha()[0] == 1);
}

}  // namespace
