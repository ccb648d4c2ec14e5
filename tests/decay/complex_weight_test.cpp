// SPDX-License-Identifier: Apache-2.0
// exp(x + iy) and exp(x + iy) - 1 within the bounds of docs/accuracy.md, one by one and in loops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include <ebb/decay/weight.hpp>

#include "support/scan_oracle.hpp"

namespace {

using ebb::decay_form;
using ebb::index_t;
using wide = std::complex<long double>;

template <class Real>
auto weight(Real x, Real y) {
  return ebb::weight_of<decay_form::log_factor>(std::complex<Real>(x, y));
}

/// exp(z) - 1 without cancellation next to z = 0.
wide minus_one(const wide& z) {
  const long double half = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half,
          std::exp(z.real()) * std::sin(z.imag())};
}

/// Decays of every size by phases of every size, those beyond `turned` among them.
template <class Real>
std::vector<std::complex<Real>> log_decays() {
  ebb::test::draws random(12);
  std::vector<std::complex<Real>> result;
  const auto add = [&](double x, double y) {
    result.emplace_back(static_cast<Real>(-x), static_cast<Real>(y));
  };
  const double most = sizeof(Real) == 4 ? 106 : 748;
  for (int i = 0; i < 50000; ++i) {
    add(random.uniform(0, most), random.uniform(-7, 7));
    add(random.uniform(0, 2), random.uniform(-12868, 12868));
    add(std::exp(random.uniform(-60, 0)), std::exp(random.uniform(-60, 0)));
    add(random.uniform(0, 1), random.uniform(-1, 1));
    if (i % 50 == 0) add(random.uniform(0, 1), random.uniform(-1e6, 1e6));
  }
  return result;
}

TEST_CASE_TEMPLATE("within the bounds, one by one and in loops", Real, float, double) {
  const auto u = static_cast<long double>(std::numeric_limits<Real>::epsilon()) / 2;
  const auto tiny = static_cast<long double>(std::numeric_limits<Real>::denorm_min());
  const auto logs = log_decays<Real>();
  std::vector<ebb::complex_weight<Real>> all(logs.size());
  ebb::weights_of<decay_form::log_factor>(logs.data(), all.data(),
                                          static_cast<index_t>(logs.size()));
  long double a_off = 0, minus_off = 0;
  bool same = true, right_part = true;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const auto& w = all[i];
    const auto alone = weight(logs[i].real(), logs[i].imag());
    same = same && w.value == alone.value && w.whole == alone.whole;
    const wide z(logs[i]), minus = minus_one(z);
    // Which of the two is decided by a number that is itself rounded.
    const long double size = std::abs(minus);
    if (std::abs(size - 0.5L) > 20 * u)
      right_part = right_part && w.whole == (size < 0.5L ? Real(1) : Real(0));
    const wide right = w.whole == 1 ? minus : std::exp(z);
    const auto off = [&](Real got, long double part) {
      // In roundings. exp(x) below the smallest normal number is within 1 subnormal, and its
      // product with a cosine or sine within one more.
      const long double error = std::abs(static_cast<long double>(got) - part) - 2 * tiny;
      return error <= 0 ? 0 : error / (u * std::abs(part));
    };
    long double& worst = w.whole == 1 ? minus_off : a_off;
    worst = std::max({worst, off(w.value.real(), right.real()), off(w.value.imag(), right.imag())});
  }
  CHECK(a_off <= 8);
  CHECK(minus_off <= 8.3);
  CHECK(same);
  CHECK(right_part);
}

TEST_CASE_TEMPLATE("loops of every length, in place", Real, float, double) {
  const auto logs = log_decays<Real>();
  for (const std::size_t count : std::vector<std::size_t>{1, 2, 63, 64, 65, 127, 128, 200}) {
    std::vector<ebb::complex_weight<Real>> some(count + 1);
    some[count].whole = 7;
    ebb::weights_of<decay_form::log_factor>(&logs[1000], some.data(), static_cast<index_t>(count));
    bool same = some[count].whole == 7;
    for (std::size_t i = 0; i < count; ++i) {
      const auto right = weight(logs[1000 + i].real(), logs[1000 + i].imag());
      same = same && some[i].value == right.value && some[i].whole == right.whole;
    }
    CHECK(same);
  }
}

TEST_CASE_TEMPLATE("real decays stay real, with the weights of real numbers", Real, float, double) {
  ebb::test::draws random(3);
  bool same = true;
  for (int i = 0; i < 20000; ++i) {
    const auto x = static_cast<Real>(-std::exp(random.uniform(-50, 6)));
    const auto w = weight(x, Real(0));
    const Real real = ebb::weight_of<decay_form::log_factor>(x);
    same = same && w.value.imag() == 0 && w.value.real() == real && w.whole == (real < 0 ? 1 : 0);
  }
  CHECK(same);
}

TEST_CASE_TEMPLATE("the ends", Real, float, double) {
  const Real inf = std::numeric_limits<Real>::infinity();
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  for (const Real y : {Real(0), Real(2), Real(1e7), inf, nan}) {
    CHECK(weight(-inf, y).value == std::complex<Real>(0));
    CHECK(weight(-inf, y).whole == 0);
  }
  const auto one = weight(Real(0), Real(0));
  CHECK(one.whole + one.value.real() == 1);
  CHECK(one.value.imag() == 0);
  CHECK(std::isnan(weight(nan, Real(1)).value.real()));
  CHECK(std::isnan(weight(nan, Real(1)).value.imag()));
  CHECK(std::isnan(weight(Real(-1), nan).value.real()));
  CHECK(std::isnan(weight(Real(-1), inf).value.real()));
  // The smallest decays and phases are their own a - 1.
  const Real tiny = std::numeric_limits<Real>::min();
  CHECK(weight(-tiny, tiny).value == std::complex<Real>(-tiny, tiny));
  CHECK(weight(-tiny, tiny).whole == 1);
}

}  // namespace
