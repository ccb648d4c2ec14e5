// SPDX-License-Identifier: Apache-2.0
// Vectors of steps: what their products of factors could lose is what the scan by steps keeps.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <ebb/recurrence/backend/simd.hpp>

#include "support/scan_contract.hpp"

namespace {

using ebb::channel_major;
using ebb::direction;
using ebb::index_t;

/// One channel of the given factors and inputs, by vectors and by steps; the states within their
/// bound, infinities and NaN where the steps have them.
template <class T>
void check_channel(const std::vector<T>& factors, const std::vector<T>& inputs) {
  const auto steps = static_cast<index_t>(factors.size());
  const ebb::extents size{1, steps, 1};
  ebb::array<T, channel_major> a(size), b(size), got(size), by_steps(size);
  for (index_t t = 0; t < steps; ++t) {
    a(t, 0) = factors[static_cast<std::size_t>(t)];
    b(t, 0) = inputs[static_cast<std::size_t>(t)];
  }
  const auto decay = ebb::stored_factors(a);
  for (const direction order : {direction::forward, direction::reverse}) {
    ebb::scan(decay, b, got, {order}, ebb::simd<>{});
    ebb::scan(decay, b, by_steps, {order});
    const auto truth = ebb::test::truth_of<long double>(decay, std::as_const(b).view(),
                                                        ebb::sequences<T>{}, order);
    bool same_class = true;
    double worst = 0;
    for (index_t t = 0; t < steps; ++t) {
      if (!std::isfinite(by_steps(t, 0))) {
        same_class = same_class && ebb::test::same_number(got(t, 0), by_steps(t, 0));
        continue;
      }
      const double ratio = ebb::test::error_over_bound<ebb::simd<>, T>(
          got(t, 0), truth.h(0, t, 0), truth.majorant(0, t, 0), truth.slack(0, t, 0),
          truth.steps(0, t, 0), {ebb::decay_form::factor});
      worst = ratio <= worst ? worst : ratio;
    }
    CHECK(same_class);
    CHECK(worst <= 1);
  }
}

TEST_CASE_TEMPLATE("factors whose products leave the range", T, float, double) {
  ebb::test::draws random(7);
  const T tiny = std::numeric_limits<T>::min(), huge = std::numeric_limits<T>::max();
  const std::vector<std::vector<T>> kinds{
      {T(0.5), T(0.9), T(1), T(-0.7)},                     // all vectors whole
      {T(0.5), T(0), T(1), T(0.25)},                       // zeros
      {T(1e-3), T(1e-3), T(1e-2)},                         // a product that is no normal number
      {T(std::sqrt(tiny)), T(1), T(1 / std::sqrt(tiny))},  // too small, and back again
      {T(std::sqrt(huge)), T(1), T(1 / std::sqrt(huge))},  // too large, and back again
      {T(1.5), T(0.6)}};
  for (const auto& kind : kinds)
    for (const index_t steps : {1, 3, 16, 40, 203}) {
      std::vector<T> factors, inputs;
      for (index_t t = 0; t < steps; ++t) {
        factors.push_back(kind[static_cast<std::size_t>(t) % kind.size()]);
        inputs.push_back(static_cast<T>(random.uniform(-1, 1)));
      }
      check_channel(factors, inputs);
    }
}

TEST_CASE_TEMPLATE("products that only vectors form, and what they would cost", T, float, double) {
  const T tiny = std::numeric_limits<T>::min(), huge = std::numeric_limits<T>::max();
  const auto power = [&](double exponent) {
    return static_cast<T>(std::pow(double(tiny), exponent));
  };
  for (index_t at = 0; at < 20; ++at) {
    const auto first = static_cast<std::size_t>(at);
    // A large state comes down by factors whose product is no normal number.
    std::vector<T> factors(40, power(0.3)), inputs(40, T(0));
    inputs[first] = huge / 4;
    check_channel(factors, inputs);
    // Factors above 1, then below: the product of the latter loses digits.
    for (std::size_t i = 0; i < factors.size(); ++i)
      factors[i] = i % 4 < 2 ? power(-0.5) : power(0.52);
    inputs[first] = power(0.3);
    if (at % 4 == 3) check_channel(factors, inputs);  // elsewhere the scan by steps loses them too
    // Sums that stay in range by steps, but not over the later half of them.
    factors.assign(40, T(1)), inputs.assign(40, T(0));
    inputs[first] = -huge;
    inputs[first + 2] = inputs[first + 3] = huge;
    check_channel(factors, inputs);
  }
}

TEST_CASE_TEMPLATE("infinities and NaN where the steps have them", T, float, double) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for (const T bad : {inf, -inf, nan, std::numeric_limits<T>::max()})
    for (index_t at = 0; at < 40; at += 3) {
      std::vector<T> factors(60, T(0.75)), inputs(60, T(0.5));
      inputs[static_cast<std::size_t>(at)] = bad;
      check_channel(factors, inputs);
      factors[static_cast<std::size_t>(at + 5)] = T(0);  // 0 * inf is NaN, 0 * 1 is 0
      check_channel(factors, inputs);
      inputs[static_cast<std::size_t>(at)] = T(1);
      factors[static_cast<std::size_t>(at)] = bad;
      check_channel(factors, inputs);
    }
}

}  // namespace
