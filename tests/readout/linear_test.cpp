// SPDX-License-Identifier: Apache-2.0
// y = C h + D x.
#include <doctest/doctest.h>

#include <vector>

#include <ebb/readout/linear.hpp>

namespace {

// A readout that depends on the position, as a user might write it.
struct growing_gain {
  template <class Real>
  void apply(ebb::index_t position, std::span<const Real> h, std::span<const Real>,
             std::span<Real> y) const {
    y[0] = Real(double(position)) * h[0];
  }
};
static_assert(ebb::readout_for<growing_gain, double>);
static_assert(!ebb::readout_for<int, double>);

TEST_CASE_TEMPLATE("a non-square, non-symmetric readout", Real, float, double) {
  const ebb::linear_readout<Real> readout(2, {1, 2, 3, 4, 5, 6}, {7, 8});
  CHECK(readout.outputs() == 2);
  CHECK(readout.channels() == 3);
  CHECK(readout.inputs() == 1);
  const std::vector<Real> h{1, 10, 100}, x{2};
  std::vector<Real> y(2);
  readout.apply(1, h, x, y);
  CHECK(y == std::vector<Real>{321 + 14, 654 + 16});
  const ebb::linear_readout<Real> no_skip(1, {1, 1, 1});
  y.resize(1);
  no_skip.apply(99, h, x, y);
  CHECK(y[0] == 111);
}

TEST_CASE("shapes that disagree are refused before anything is written") {
  const ebb::linear_readout<double> readout(2, {1, 2, 3, 4, 5, 6}, {7, 8});
  std::vector<double> three(3), two(2, -1), one(1);
  CHECK_THROWS_AS(readout.apply(1, two, one, two), ebb::shape_error);
  CHECK_THROWS_AS(readout.apply(1, three, three, two), ebb::shape_error);
  CHECK_THROWS_AS(readout.apply(1, three, one, three), ebb::shape_error);
  CHECK(two == std::vector<double>{-1, -1});
  CHECK_THROWS_AS(ebb::linear_readout<double>(2, {1, 2, 3}), ebb::shape_error);
  CHECK_THROWS_AS(ebb::linear_readout<double>(0, {1}), ebb::shape_error);
  CHECK_THROWS_AS(ebb::linear_readout<double>(-1, {}), ebb::shape_error);
  CHECK_NOTHROW(ebb::linear_readout<double>(0, {}));
}

}  // namespace
