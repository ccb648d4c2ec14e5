// SPDX-License-Identifier: Apache-2.0
// One contract for every spectrum, over every kind of real number.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <ebb/spectrum/geometric.hpp>
#include <ebb/spectrum/linear.hpp>
#include <ebb/spectrum/listed.hpp>
#include <ebb/spectrum/ordered.hpp>
#include <ebb/spectrum/random.hpp>
#include <ebb/spectrum/two_ended.hpp>

#include "support/exact.hpp"

namespace {

using ebb::test::exact;

// A user's own spectrum: a plain struct, no base class.
struct own_spectrum {
  static constexpr std::string_view name = "own";
  template <class Real>
  void fill(std::span<Real> rates) const {
    for (std::size_t k = 0; k < rates.size(); ++k) rates[k] = Real(double(k * k + 1));
  }
};
static_assert(ebb::spectrum_for<own_spectrum, float>);
static_assert(!ebb::spectrum_for<int, float>);

template <class Real, class Spectrum>
void check_contract(const Spectrum& spectrum, const std::vector<ebb::index_t>& sizes,
                    bool sum_first = false) {
  spectrum.fill(std::span<Real>());
  for (const ebb::index_t n : sizes) {
    INFO("N = " << n);
    const auto rates = ebb::rates_of<Real>(spectrum, n);
    REQUIRE(rates.size() == static_cast<std::size_t>(n));
    CHECK(rates == ebb::rates_of<Real>(spectrum, n));
    for (std::size_t k = 0; k < rates.size(); ++k) {
      INFO("k = " << k);
      CHECK((rates[k] > Real(0) || (k == 0 && sum_first)));
      CHECK(rates[k] <= std::numeric_limits<Real>::max());
      if (k > 0) CHECK(rates[k] >= rates[k - 1]);
    }
  }
  CHECK_THROWS_AS(ebb::rates_of<Real>(spectrum, -1), ebb::domain_error);
}

TEST_CASE_TEMPLATE("every spectrum keeps the contract", Real, float, double, long double, exact) {
  const std::vector<ebb::index_t> sizes{0, 1, 2, 3, 8, 16, 33, 128};
  check_contract<Real>(ebb::geometric_spectrum::timescales(1, 4096), sizes);
  check_contract<Real>(ebb::geometric_spectrum::rates(1e-9, 20), sizes);
  check_contract<Real>(ebb::geometric_spectrum::rates(0.25, 0.25), sizes);
  check_contract<Real>(ebb::geometric_spectrum::extended(1e6, 2, 1), sizes);
  check_contract<Real>(ebb::linear_k_over_N(), sizes);
  check_contract<Real>(ebb::linear_k_over_T(1e4), sizes);
  check_contract<Real>(ebb::linear_ends(1e4), sizes);
  check_contract<Real>(ebb::linear_ends(1), sizes);
  check_contract<Real>(ebb::linear_k(), sizes);
  for (const std::uint64_t seed : {0u, 1u, 2u, 77u}) {
    check_contract<Real>(ebb::random_log_uniform(1e-6, 1, seed), sizes);
    check_contract<Real>(ebb::random_log_uniform::extended(1e4, 2, 1, seed), sizes);
    check_contract<Real>(ebb::random_uniform(seed), sizes);
  }
  check_contract<Real>(ebb::listed_spectrum::rates({3, 1e-5, 1, 1}), {0, 4});
  check_contract<Real>(ebb::listed_spectrum::half_lives({1, 1e5, 20}), {0, 3});
  check_contract<Real>(ebb::listed_spectrum::poles({0.5, 0.999999, 1e-9}), {0, 3});
  check_contract<Real>(ebb::ordered_spectrum<>(-7, {2, -30, 0.5, -2}), {0, 5});
  check_contract<Real>(ebb::two_ended_spectrum(1e6), sizes, true);
  check_contract<Real>(ebb::two_ended_spectrum(1e6, {.fast_end = 3, .sum_channel = false}), sizes);
  check_contract<Real>(own_spectrum(), sizes);
}

// The rates a spectrum stands for, from the definition, in 50 digits.
using definition = std::function<exact(ebb::index_t k, ebb::index_t n)>;

template <class Real, class Spectrum>
double worst_roundoffs(const Spectrum& spectrum, const definition& rate) {
  double worst = 0;
  for (const ebb::index_t n : {1, 2, 3, 16, 64}) {
    const auto rates = ebb::rates_of<Real>(spectrum, n);
    for (ebb::index_t k = 0; k < n; ++k)
      worst = std::max(worst, ebb::test::roundoffs(rates[static_cast<std::size_t>(k)], rate(k, n)));
  }
  return worst;
}

definition geometric_on(const exact& low, const exact& high) {
  return [=](ebb::index_t k, ebb::index_t n) {
    if (n == 1) return exact(sqrt(low * high));
    return exact(low * pow(high / low, exact(k) / exact(n - 1)));
  };
}

template <class Real>
void check_accuracy(double ends_limit, double inner_limit) {
  const exact one = 1;
  CHECK(worst_roundoffs<Real>(ebb::geometric_spectrum::timescales(1, 4096),
                              geometric_on(one / 4096, one)) <= inner_limit);
  CHECK(worst_roundoffs<Real>(ebb::geometric_spectrum::timescales(3, 1e6),
                              geometric_on(one / 1000000, one / 3)) <= inner_limit);
  CHECK(worst_roundoffs<Real>(ebb::geometric_spectrum::rates(1e-9, 7.25),
                              geometric_on(exact(1e-9), exact(7.25))) <= inner_limit);
  CHECK(worst_roundoffs<Real>(ebb::geometric_spectrum::extended(1e6, 2, 1),
                              geometric_on(exp(exact(-1)) / 1000000, exp(exact(2)))) <=
        inner_limit);
  CHECK(worst_roundoffs<Real>(ebb::linear_k_over_N(), [](ebb::index_t k, ebb::index_t n) {
          return exact(k + 1) / exact(n);
        }) <= ends_limit);
  CHECK(worst_roundoffs<Real>(ebb::linear_k_over_T(12345), [](ebb::index_t k, ebb::index_t) {
          return exact(k + 1) / 12345;
        }) <= ends_limit);
  CHECK(worst_roundoffs<Real>(ebb::linear_ends(12345), [](ebb::index_t k, ebb::index_t n) {
          if (n == 1) return exact(1 / sqrt(exact(12345)));
          const exact slowest = exact(1) / 12345;
          return exact(slowest + exact(k) / exact(n - 1) * (1 - slowest));
        }) <= 2 * ends_limit);
  CHECK(worst_roundoffs<Real>(ebb::linear_k(),
                              [](ebb::index_t k, ebb::index_t) { return exact(k + 1); }) == 0);
}

TEST_CASE("rates are as accurate as documented") {
  // float and double go through a wider type: one ulp is two unit roundoffs at most.
  SUBCASE("float") { check_accuracy<float>(1.01, 2); }
  const bool wide = std::numeric_limits<long double>::digits > std::numeric_limits<double>::digits;
  const double log_ends = 21;  // max |log end| of the spectra above
  SUBCASE("double") {
    if (wide)
      check_accuracy<double>(1.01, 2);
    else
      check_accuracy<double>(2, 4 * log_ends + 4);
  }
  SUBCASE("long double") { check_accuracy<long double>(2, 4 * log_ends + 4); }
}

TEST_CASE("the ends of an extended spectrum are not rounded to double first") {
  const auto rates =
      ebb::rates_of<exact>(ebb::geometric_spectrum::extended(1e6, 2, 1), ebb::index_t{5});
  CHECK(abs(rates[0] * 1000000 * exp(exact(1)) - 1) < 1e-48);
  CHECK(abs(rates[4] * exp(exact(-2)) - 1) < 1e-48);
  CHECK(abs(ebb::rates_of<exact>(ebb::geometric_spectrum::timescales(3, 7), 2)[1] * 3 - 1) < 1e-48);
}

template <class Spectrum>
void check_random(const Spectrum& spectrum, double limit) {
  const ebb::index_t n = 64;
  const auto truth = ebb::rates_of<exact>(spectrum, n);
  const auto rates = ebb::rates_of<double>(spectrum, n);
  const auto short_rates = ebb::rates_of<float>(spectrum, n);
  for (std::size_t k = 0; k < truth.size(); ++k) {
    CHECK(ebb::test::roundoffs(rates[k], truth[k]) <= limit);
    CHECK(ebb::test::roundoffs(short_rates[k], truth[k]) <= 4);
  }
}

TEST_CASE("random rates are within 2 ulp of the exact ones") {
  const bool wide = std::numeric_limits<long double>::digits > std::numeric_limits<double>::digits;
  for (const std::uint64_t seed : {0u, 5u, 12345u}) {
    check_random(ebb::random_log_uniform(1e-6, 1, seed), wide ? 4 : 4 * 14 + 4);
    check_random(ebb::random_log_uniform::extended(1e6, 3, 2, seed), wide ? 4 : 4 * 17 + 4);
    check_random(ebb::random_uniform(seed), 0);
  }
}

TEST_CASE("each spectrum names itself") {
  CHECK(std::string(ebb::geometric_spectrum::name) == "geometric");
  CHECK(std::string(ebb::linear_k_over_N::name) == "linear_k_over_N");
  CHECK(std::string(ebb::linear_k_over_T::name) == "linear_k_over_T");
  CHECK(std::string(ebb::linear_ends::name) == "linear_ends");
  CHECK(std::string(ebb::linear_k::name) == "linear_k");
  CHECK(std::string(ebb::random_log_uniform::name) == "random_log_uniform");
  CHECK(std::string(ebb::random_uniform::name) == "random_uniform");
}

template <class Error, class Make>
void refuses(const char* text, Make make) {
  try {
    make();
    FAIL("nothing thrown; expected: " << text);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find(text) == 0);
  }
}

TEST_CASE("parameters outside their domain are refused with a sentence") {
  const double nan = std::nan(""), inf = HUGE_VAL;
  using ebb::domain_error;
  refuses<domain_error>("rate_range::timescales: need 0 < shortest <= longest < inf, got 0, 10",
                        [] { ebb::geometric_spectrum::timescales(0, 10); });
  refuses<domain_error>("rate_range::rates", [] { ebb::geometric_spectrum::rates(2, 1); });
  for (const double bad : {0.0, -1.0, nan, inf}) {
    refuses<domain_error>("rate_range::rates", [=] { ebb::geometric_spectrum::rates(bad, 1); });
    refuses<domain_error>("rate_range::timescales",
                          [=] { ebb::geometric_spectrum::timescales(1, bad); });
    refuses<domain_error>("rate_range::extended",
                          [=] { ebb::geometric_spectrum::extended(bad, 0, 0); });
    refuses<domain_error>("linear_k_over_T", [=] { ebb::linear_k_over_T{bad}; });
    refuses<domain_error>("linear_ends", [=] { ebb::linear_ends{bad}; });
    refuses<domain_error>("rate_range::rates", [=] { ebb::random_log_uniform(bad, 1, 0); });
    refuses<domain_error>("listed_spectrum::rates", [=] { ebb::listed_spectrum::rates({1, bad}); });
    refuses<domain_error>("listed_spectrum::half_lives",
                          [=] { ebb::listed_spectrum::half_lives({bad}); });
  }
  for (const double bad : {-1.0, 301.0, nan, inf}) {
    refuses<domain_error>("rate_range::extended: need 0 <= fast_end <= 300",
                          [=] { ebb::geometric_spectrum::extended(10, bad, 0); });
    refuses<domain_error>("rate_range::extended: need 0 <= slow_end <= 300",
                          [=] { ebb::geometric_spectrum::extended(10, 0, bad); });
  }
  for (const double bad : {0.0, 1.0, -0.5, 2.0, nan})
    refuses<domain_error>("listed_spectrum::poles", [=] { ebb::listed_spectrum::poles({bad}); });
  refuses<ebb::shape_error>("listed_spectrum::fill", [] {
    ebb::rates_of<double>(ebb::listed_spectrum::rates({1, 2}), 3);
  });
}

TEST_CASE("listed rates that float cannot hold are refused before anything is written") {
  for (const double bad : {1e-60, 1e60}) {
    std::vector<float> rates{-1, -1};
    refuses<ebb::domain_error>("listed_spectrum::fill: need rates that the type can hold", [&] {
      ebb::listed_spectrum::rates({0.5, bad}).fill(std::span<float>(rates));
    });
    CHECK(rates == std::vector<float>{-1, -1});
    CHECK(ebb::rates_of<double>(ebb::listed_spectrum::rates({0.5, bad}), 2).size() == 2);
  }
}

template <class Real, class Spectrum>
void refuses_rates(const std::string& name, const Spectrum& spectrum, std::size_t channels) {
  std::vector<Real> rates(channels, Real(-1));
  const std::string text = name + "::fill: need rates that the type can hold (slowest, fastest)";
  INFO(text);
  refuses<ebb::domain_error>(text.c_str(), [&] { spectrum.fill(std::span<Real>(rates)); });
  CHECK(rates == std::vector<Real>(channels, Real(-1)));
}

TEST_CASE("no spectrum writes 0 or infinity where the type ends") {
  using ebb::geometric_spectrum, ebb::random_log_uniform;
  for (const std::size_t n : {std::size_t{1}, std::size_t{4}}) {
    refuses_rates<float>("geometric_spectrum", geometric_spectrum::rates(1e-90, 1e-60), n);
    refuses_rates<float>("geometric_spectrum", geometric_spectrum::rates(1e60, 1e90), n);
    refuses_rates<double>("geometric_spectrum", geometric_spectrum::timescales(1e-320, 1e-310), n);
    refuses_rates<float>("linear_k_over_T", ebb::linear_k_over_T(1e60), n);
    refuses_rates<float>("linear_ends", ebb::linear_ends(n == 1 ? 1e100 : 1e60), n);
    refuses_rates<float>("random_log_uniform", random_log_uniform(1e-60, 1, 1), n);
    refuses_rates<float>("random_log_uniform", random_log_uniform(1, 1e60, 1), n);
  }
  // One end is enough, where it is used.
  refuses_rates<float>("geometric_spectrum", geometric_spectrum::rates(1e-60, 1), 2);
  refuses_rates<float>("geometric_spectrum", geometric_spectrum::rates(1, 1e60), 2);
  refuses_rates<double>("geometric_spectrum", geometric_spectrum::timescales(1e-310, 1), 3);
  check_contract<float>(geometric_spectrum::rates(1e-60, 1e60), {0, 1});
  check_contract<float>(ebb::linear_ends(1e60), {0, 1});
  // Up to the type's largest and down to its smallest number all is well.
  check_contract<float>(geometric_spectrum::rates(0x1p-149, 0x1.fffffep127), {2, 50});
  check_contract<double>(geometric_spectrum::rates(0x1p-1074, 0x1.fffffffffffffp1023), {2, 50});
  check_contract<double>(random_log_uniform(0x1p-1074, 0x1.fffffffffffffp1023, 1), {1, 50});
}

TEST_CASE("listed: rates, half-lives and poles say the same thing") {
  const auto by_rate = ebb::rates_of<double>(ebb::listed_spectrum::rates({2, 0.5, 1}), 3);
  CHECK(by_rate == std::vector<double>{0.5, 1, 2});
  const auto by_half = ebb::rates_of<double>(ebb::listed_spectrum::half_lives({4, 1}), 2);
  CHECK(ebb::test::roundoffs(by_half[0], log(exact(2)) / 4) <= 2);
  CHECK(ebb::test::roundoffs(by_half[1], log(exact(2))) <= 2);
  const double slow = 1 - 0x1p-40;
  const auto by_pole = ebb::rates_of<double>(ebb::listed_spectrum::poles({0.5, slow}), 2);
  CHECK(ebb::test::roundoffs(by_pole[0], -log(exact(slow))) <= 2);
  CHECK(ebb::test::roundoffs(by_pole[1], log(exact(2))) <= 2);
  CHECK(ebb::listed_spectrum::poles({0.5, slow}).channels() == 2);
}

TEST_CASE("a two-ended spectrum is a sum and geometric rates") {
  const ebb::two_ended_spectrum whole(4096, {.fast_end = 1.5, .slow_end = 0.25});
  const auto rates = ebb::rates_of<double>(whole, 9);
  CHECK(rates[0] == 0);
  const auto rest = ebb::rates_of<double>(ebb::geometric_spectrum::extended(4096, 1.5, 0.25), 8);
  CHECK(std::equal(rest.begin(), rest.end(), rates.begin() + 1));
  CHECK(ebb::rates_of<double>(ebb::two_ended_spectrum(
                                  4096, {.fast_end = 1.5, .slow_end = 0.25, .sum_channel = false}),
                              8) == rest);
  CHECK_THROWS_AS(ebb::two_ended_spectrum(1), ebb::domain_error);
  CHECK_THROWS_AS((ebb::two_ended_spectrum{std::numeric_limits<double>::infinity()}),
                  ebb::domain_error);
  for (const double horizon : {0.5, -1.0, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()}) {
    std::string message;
    try {
      (void)ebb::two_ended_spectrum(horizon);
    } catch (const ebb::domain_error& error) {
      message = error.what();
    }
    CHECK(message.rfind("two_ended_spectrum: need 1 < horizon < inf", 0) == 0);
  }
  for (const std::size_t channels : {2u, 3u}) {  // the middle rate alone, and both ends
    std::vector<float> filled(channels, -1);
    std::string message;
    try {
      ebb::two_ended_spectrum(1e200).fill(std::span<float>(filled));
    } catch (const ebb::domain_error& error) {
      message = error.what();
    }
    CHECK(message.rfind("two_ended_spectrum::fill: ", 0) == 0);
    CHECK(filled.front() == -1);
  }
  CHECK_THROWS_AS(ebb::two_ended_spectrum(10, {.fast_end = -1}), ebb::domain_error);
  CHECK_THROWS_AS(ebb::two_ended_spectrum(10, {.slow_end = 301}), ebb::domain_error);
  CHECK_THROWS_AS(ebb::two_ended_spectrum(10, {.offset = -1}), ebb::domain_error);
}

}  // namespace
