// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <ebb/approx/precision.hpp>
#include <ebb/core/decaying_exp.hpp>

namespace {

/// Worst error over (64 + 2 x) u, x from 1e-5 to 1e5.
template <class Real, class Exact>
double worst_over_bound() {
  double worst = 0;
  for (int i = 0; i <= 300; ++i) {
    const Real x = Real(exp(Real(i - 150) / Real(13)));
    const Exact truth = exp(Exact(-Exact(x)));
    const Exact error = abs(Exact(Exact(ebb::decaying_exp(x)) - truth) / truth);
    const Exact bound = (64 + 2 * Exact(x)) * Exact(ebb::unit_roundoff<Real>);
    worst = std::max(worst, static_cast<double>(Exact(error / bound)));
  }
  return worst;
}

}  // namespace

TEST_CASE_TEMPLATE("e^-x in multiprecision keeps its bound", Real, ebb::approx::multiprecision<50>,
                   ebb::approx::multiprecision<100>, ebb::approx::multiprecision<200>) {
  CHECK(worst_over_bound<Real, ebb::approx::multiprecision<400>>() <= 1);
  CHECK(ebb::decaying_exp(Real(0)) == 1);
  CHECK(ebb::decaying_exp(Real(1e12)) == 0);
  const Real none = ebb::decaying_exp(Real(std::numeric_limits<double>::quiet_NaN()));
  CHECK(none != none);
}

TEST_CASE_TEMPLATE("built-in types use the standard library", Real, float, double, long double) {
  CHECK(ebb::decaying_exp(Real(2)) == std::exp(Real(-2)));
  CHECK(ebb::decaying_exp(std::numeric_limits<Real>::infinity()) == 0);
}
