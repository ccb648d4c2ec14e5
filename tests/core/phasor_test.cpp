// SPDX-License-Identifier: Apache-2.0
// Sines and cosines within the bounds of docs/accuracy.md, wherever the phase lies.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <ebb/core/phasor.hpp>

#include "support/scan_oracle.hpp"

namespace {

template <class Real>
std::vector<Real> phases() {
  std::vector<Real> result;
  ebb::test::draws random(7);
  const double most = ebb::detail::largest_phase;
  for (int i = 0; i < 100000; ++i) {
    result.push_back(static_cast<Real>(random.uniform(-most, most)));
    result.push_back(static_cast<Real>(random.uniform(-7, 7)));
    result.push_back(static_cast<Real>(std::exp(random.uniform(-700, 0))));
  }
  // The neighbours of quarter and eighth turns, where a reduction loses its digits or changes.
  for (int k = 0; k <= 2 * 8192; ++k) {
    const auto at = static_cast<Real>(k * (std::numbers::pi_v<long double> / 4));
    Real up = at, down = at;
    for (int i = 0; i < 3; ++i) {
      result.push_back(up);
      result.push_back(-down);
      up = std::nextafter(up, Real(1e9)), down = std::nextafter(down, Real(-1e9));
    }
  }
  result.push_back(static_cast<Real>(most));
  result.push_back(static_cast<Real>(-most));
  return result;
}

/// Sines in long double have enough digits also next to their zeros.
TEST_CASE_TEMPLATE("within four roundoffs, and cos - 1 within 7.3", Real, float, double) {
  const auto u = static_cast<long double>(std::numeric_limits<Real>::epsilon()) / 2;
  const auto tiny = static_cast<long double>(std::numeric_limits<Real>::denorm_min());
  long double sine = 0, cosine = 0, minus = 0;
  bool ahead_right = true;
  for (const Real y : phases<Real>()) {
    const auto p = ebb::detail::turned(y);
    const auto exact = static_cast<long double>(y);
    const auto off = [&](Real got, long double right) {
      return std::abs(static_cast<long double>(got) - right) / (u * std::abs(right) + tiny);
    };
    const long double half = std::sin(exact / 2), c = std::cos(exact);
    sine = std::max(sine, off(p.sine, std::sin(exact)));
    cosine = std::max(cosine, off(p.cosine, c));
    if (p.ahead != 0) minus = std::max(minus, off(p.cosine_minus_one, -2 * half * half));
    ahead_right = ahead_right && (p.ahead == 0 || p.ahead == 1);
    if (c > 0.7072) ahead_right = ahead_right && p.ahead == 1;
    if (c < 0.7071) ahead_right = ahead_right && p.ahead == 0;
  }
  CHECK(sine <= 4);
  CHECK(cosine <= 4);
  CHECK(minus <= 7.3);
  CHECK(ahead_right);
}

TEST_CASE_TEMPLATE("zero, tiny phases and NaN", Real, float, double) {
  const auto zero = ebb::detail::turned(Real(0));
  CHECK(zero.sine == 0);
  CHECK(zero.cosine == 1);
  CHECK(zero.cosine_minus_one == 0);
  const Real tiny = std::numeric_limits<Real>::denorm_min();
  CHECK(ebb::detail::turned(tiny).sine == tiny);
  CHECK(ebb::detail::turned(-tiny).sine == -tiny);
  const auto nan = ebb::detail::turned(std::numeric_limits<Real>::quiet_NaN());
  CHECK(std::isnan(nan.sine));
  CHECK(std::isnan(nan.cosine));
}

}  // namespace
