// SPDX-License-Identifier: Apache-2.0
// Complex spectra: contract, values in 50 digits, their published definitions.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>
#include <vector>

#include <ebb/decay/constant.hpp>
#include <ebb/recurrence/layer.hpp>
#include <ebb/spectrum/complex.hpp>

#include "support/exact.hpp"

namespace {

using ebb::index_t;
using ebb::lru_ring;
using ebb::s4d_lin;
using ebb::test::exact;

constexpr double two_pi = 6.283185307179586;

template <class Real, class Spectrum>
void check_contract(const Spectrum& spectrum) {
  using complex = std::complex<Real>;
  static_assert(ebb::spectrum_for<Spectrum, complex>);
  static_assert(!ebb::spectrum_for<Spectrum, Real>);
  spectrum.fill(std::span<complex>());
  for (const index_t n : {0, 1, 2, 3, 16, 128}) {
    const auto rates = ebb::rates_of<complex>(spectrum, n);
    REQUIRE(rates.size() == static_cast<std::size_t>(n));
    CHECK(rates == ebb::rates_of<complex>(spectrum, n));
    for (std::size_t k = 0; k < rates.size(); ++k) {
      CHECK(rates[k].real() > 0);
      CHECK(rates[k].real() <= std::numeric_limits<Real>::max());
      CHECK(std::isfinite(rates[k].imag()));
      if (k > 0) CHECK(rates[k].real() >= rates[k - 1].real());
    }
    CHECK_NOTHROW(ebb::constant_decay().bind(std::span<const complex>(rates)));
  }
  CHECK_THROWS_AS(ebb::rates_of<complex>(spectrum, -1), ebb::domain_error);
}

TEST_CASE_TEMPLATE("complex spectra keep the contract", Real, float, double, long double) {
  check_contract<Real>(s4d_lin());
  check_contract<Real>(s4d_lin(0.001));
  for (const std::uint64_t seed : {0u, 1u, 77u}) {
    check_contract<Real>(lru_ring(0, 1, two_pi, seed));
    check_contract<Real>(lru_ring(0.9, 0.999, 0.314, seed));
    check_contract<Real>(lru_ring(0.5, 0.5, 0, seed));
    check_contract<Real>(lru_ring(1 - 0x1p-53, 1, two_pi, seed));
    check_contract<Real>(lru_ring(0, 1e-300, 1, seed));
  }
}

/// Unit roundoffs allowed: 2 (an ulp, rounded once from a wider type), or the derived number where
/// there is no wider type.
template <class Real>
double allowed(double derived) {
  const bool wider =
      std::numeric_limits<Real>::digits < 53 ||
      (std::numeric_limits<Real>::digits == 53 && std::numeric_limits<long double>::digits > 53);
  return wider ? 2 : derived;
}

TEST_CASE_TEMPLATE("S4D-Lin: log a = dt (-1/2 + i pi k)", Real, float, double, long double) {
  const exact pi = acos(exact(-1));
  for (const double step : {1.0, 0.001, 0.3}) {
    const auto rates = ebb::rates_of<std::complex<Real>>(s4d_lin(step), 64);
    CHECK(rates[0].imag() == 0);
    for (std::size_t k = 0; k < 64; ++k) {
      CHECK(ebb::test::roundoffs(rates[k].real(), exact(step) / 2) <= 1);
      if (k > 0) CHECK(ebb::test::roundoffs(rates[k].imag(), -pi * k * step) <= allowed<Real>(3));
    }
  }
}

/// The draws as [LRU] writes them, nu = -log(u (r_max^2 - r_min^2) + r_min^2) / 2, in 50 digits.
std::vector<std::pair<exact, exact>> published_ring(double low, double high, double max_phase,
                                                    std::uint64_t seed, index_t n) {
  ebb::uniform_stream uniform(seed);
  std::vector<std::pair<exact, exact>> rates;
  for (index_t k = 0; k < n; ++k) {
    const exact u = uniform.next(), v = uniform.next();
    const exact l = low, h = high;
    rates.emplace_back(-log(exact(u * (h * h - l * l) + l * l)) / 2, -v * max_phase);
  }
  std::sort(rates.begin(), rates.end());
  return rates;
}

TEST_CASE_TEMPLATE("LRU ring: modulus and phase as published", Real, float, double, long double) {
  const double rings[][3] = {{0, 1, two_pi},         {0.9, 0.999, 0.314},  {0.2, 1, 3},
                             {0.999999, 1, two_pi},  {0.3, 0.3, 1},        {0, 1e-200, 1},
                             {0.1, 0.10000001, 0.5}, {0.99, 0.9999999, 1}, {0.001, 0.7, 1}};
  for (const auto& ring : rings) {
    const double low = ring[0], high = ring[1], phase = ring[2];
    CAPTURE(low);
    CAPTURE(high);
    const auto rates = ebb::rates_of<std::complex<Real>>(lru_ring(low, high, phase, 5), 1024);
    const auto truth = published_ring(low, high, phase, 5, 1024);
    index_t other_phases = 0;
    for (std::size_t k = 0; k < rates.size(); ++k) {
      CHECK(ebb::test::roundoffs(rates[k].real(), truth[k].first) <= allowed<Real>(12));
      if (ebb::test::roundoffs(rates[k].imag(), truth[k].second) > allowed<Real>(1)) ++other_phases;
    }
    // Moduli that round to the same number are in another order; double keeps these apart.
    if (low < high && std::numeric_limits<Real>::digits > 24) CHECK(other_phases == 0);
  }
}

TEST_CASE_TEMPLATE("the ends of the ring", Real, double, long double) {
  const Real outermost = ebb::detail::ring_rate<Real>(0.5, 1, 1);  // as if u = 1 - 2^-54
  CHECK(ebb::test::roundoffs(outermost, -log1p(-exact(0x1p-54) * 3 / 4) / 2) <= 3);
  CHECK(ebb::test::roundoffs(ebb::detail::ring_rate<Real>(0.5, 0.75, 1), -log(exact(0.75))) <= 3);
  CHECK(ebb::test::roundoffs(ebb::detail::ring_rate<Real>(0, 1, 0x1p-53), 53 * log(exact(2)) / 2) <=
        3);
}

TEST_CASE("the ring fills its annulus by area and its phases evenly") {
  // Of 4096 draws, about binomial(4096, p) lie in a part of probability p: standard deviation at
  // most 32, so 160 is five of them. The seed is fixed.
  const double low = 0.4, high = 0.9, phase = 2;
  const auto rates = ebb::rates_of<std::complex<double>>(lru_ring(low, high, phase, 11), 4096);
  double inner = 0, early = 0, both = 0, low_modulus = 1, high_modulus = 0;
  for (const auto& r : rates) {
    const double modulus = std::exp(-r.real()), angle = -r.imag();
    const bool in = modulus * modulus < (low * low + high * high) / 2, first = angle < phase / 2;
    inner += in, early += first, both += in && first;
    low_modulus = std::min(low_modulus, modulus), high_modulus = std::max(high_modulus, modulus);
    CHECK(angle > 0);
    CHECK(angle <= phase);
  }
  CHECK(std::abs(inner - 2048) < 160);
  CHECK(std::abs(early - 2048) < 160);
  CHECK(std::abs(both - 1024) < 160);
  CHECK(low_modulus >= low - 1e-15);
  CHECK(high_modulus <= high + 1e-15);
  CHECK(ebb::rates_of<std::complex<double>>(lru_ring(low, high, phase, 12), 3) !=
        ebb::rates_of<std::complex<double>>(lru_ring(low, high, phase, 11), 3));
}

TEST_CASE("a layer of S4D-Lin answers an impulse with exp(-r t)") {
  using complex = std::complex<float>;
  const auto memory = ebb::make_layer<complex>(s4d_lin(0.01), ebb::constant_decay(), 8);
  auto state = memory.start();
  std::vector<complex> b(8, complex(1));
  memory.step(b, state);
  std::fill(b.begin(), b.end(), complex(0));
  for (int t = 1; t <= 100; ++t) memory.step(b, state);
  const auto rates = ebb::rates_of<std::complex<double>>(s4d_lin(0.01), 8);
  for (std::size_t k = 0; k < 8; ++k) {
    const auto truth = std::exp(-100.0 * rates[k]);
    // 16 roundings in each of 101 steps (docs/accuracy.md, section 3) and the rounding of log a to
    // float, |r| <= 0.22 of them in each: 1638 u |truth|.
    const double error = std::abs(std::complex<double>(state.values[k]) - truth);
    CHECK(error <= 1640 * 0x1p-24 * std::abs(truth));
    CHECK(error > 0);
  }
}

TEST_CASE("parameters outside their domain are refused") {
  for (const double step : {0.0, -1.0, HUGE_VAL, std::nan("")})
    CHECK_THROWS_AS(s4d_lin{step}, ebb::domain_error);
  std::vector<std::complex<float>> rates(4, std::complex<float>(-7));
  for (const double step : {1e-50, 1e50, 1e38})  // 3 pi 1e38 is too large for float
    CHECK_THROWS_AS(s4d_lin(step).fill(std::span(rates)), ebb::domain_error);
  CHECK(rates == std::vector<std::complex<float>>(4, std::complex<float>(-7)));
  const double nan = std::nan("");
  CHECK_THROWS_AS(lru_ring(-0.1, 1, 1, 0), ebb::domain_error);
  CHECK_THROWS_AS(lru_ring(0.5, 0.4, 1, 0), ebb::domain_error);
  CHECK_THROWS_AS(lru_ring(0.5, 1.1, 1, 0), ebb::domain_error);
  CHECK_THROWS_AS(lru_ring(1, 1, 1, 0), ebb::domain_error);
  CHECK_THROWS_AS(lru_ring(0, 0, 1, 0), ebb::domain_error);
  CHECK_THROWS_AS(lru_ring(nan, 1, 1, 0), ebb::domain_error);
  CHECK_THROWS_AS(lru_ring(0, nan, 1, 0), ebb::domain_error);
  CHECK_THROWS_AS(lru_ring(0, 1, 7, 0), ebb::domain_error);
  CHECK_THROWS_AS(lru_ring(0, 1, -1, 0), ebb::domain_error);
  CHECK_THROWS_AS(lru_ring(0, 1, nan, 0), ebb::domain_error);
}

}  // namespace
