// SPDX-License-Identifier: Apache-2.0
// exp(-x) and 1 - exp(-x) within 3u, from the smallest arguments to where the first is 0.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <ebb/decay/weight.hpp>

#include "support/scan_oracle.hpp"

namespace {

using ebb::decay_form;
using ebb::index_t;

TEST_CASE_TEMPLATE("within three roundoffs, one by one and in loops", Real, float, double) {
  const auto u = std::numeric_limits<Real>::epsilon() / 2;
  const auto smallest = static_cast<long double>(std::numeric_limits<Real>::denorm_min());
  const double most = sizeof(Real) == 4 ? 104 : 746;
  ebb::test::draws random(11);
  std::vector<Real> logs;
  for (int i = 0; i < 100000; ++i) logs.push_back(static_cast<Real>(-random.uniform(0, most + 2)));
  for (int i = 0; i < 100000; ++i) logs.push_back(static_cast<Real>(-random.uniform(0, 2)));
  for (int i = 0; i < 20000; ++i)
    logs.push_back(static_cast<Real>(-std::exp(random.uniform(-80, 0))));
  std::vector<Real> weights(logs.size());
  ebb::weights_of<decay_form::log_factor>(logs.data(), weights.data(),
                                          static_cast<index_t>(logs.size()));
  double worst = 0;
  bool same = true, right_form = true;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const auto x = static_cast<long double>(logs[i]), w = static_cast<long double>(weights[i]);
    same = same && weights[i] == ebb::weight_of<decay_form::log_factor>(logs[i]);
    right_form =
        right_form && (weights[i] < 0) == (logs[i] >= Real(-0.69314718055994530942) && w != 1);
    const long double right = w < 0 ? std::expm1(x) : std::exp(x);
    worst = std::max(
        worst, static_cast<double>(std::abs(w - right) /
                                   (3 * static_cast<long double>(u) * std::abs(right) + smallest)));
  }
  CHECK(worst <= 1);
  CHECK(same);
  CHECK(right_form);
}

TEST_CASE_TEMPLATE("the ends", Real, float, double) {
  const auto weight = [](Real log) { return ebb::weight_of<decay_form::log_factor>(log); };
  const Real inf = std::numeric_limits<Real>::infinity();
  CHECK(weight(Real(0)) == 1);
  CHECK(weight(Real(-0.0)) == 1);
  CHECK(weight(-inf) == 0);
  CHECK(weight(std::numeric_limits<Real>::lowest()) == 0);
  CHECK(std::isnan(weight(std::numeric_limits<Real>::quiet_NaN())));
  // The smallest decays are their own 1 - a.
  CHECK(weight(-std::numeric_limits<Real>::denorm_min()) ==
        -std::numeric_limits<Real>::denorm_min());
  CHECK(weight(-std::numeric_limits<Real>::min()) == -std::numeric_limits<Real>::min());
}

}  // namespace
