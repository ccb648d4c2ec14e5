// SPDX-License-Identifier: Apache-2.0
// Eigen objects as views of themselves: both orders, blocks, maps; nothing is copied.
#include <doctest/doctest.h>

#include <vector>

#include <Eigen/Core>

#include <ebb/decay/constant.hpp>
#include <ebb/interop/eigen.hpp>
#include <ebb/recurrence/layer.hpp>
#include <ebb/spectrum/listed.hpp>

namespace {

using by_rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using by_columns = Eigen::MatrixXd;

static_assert(ebb::view_of<by_rows, double>);
static_assert(ebb::view_of<by_columns, const double>);
static_assert(ebb::view_of<const by_rows, const double>);
static_assert(!ebb::view_of<const by_rows, double>);
static_assert(!ebb::view_of<by_rows, float>);
static_assert(!ebb::view_of<Eigen::Map<const by_rows>, double>);
static_assert(ebb::view_of<Eigen::Map<const by_rows>, const double>);
static_assert(std::same_as<ebb::view_axis<by_rows>, ebb::time_major>);
static_assert(std::same_as<ebb::view_axis<by_columns>, ebb::channel_major>);

// A map or block as a temporary still points to the caller's data; a matrix would be gone.
static_assert(ebb::outlives_call<Eigen::Map<by_rows>>);
static_assert(ebb::outlives_call<Eigen::Block<by_columns>>);
static_assert(ebb::outlives_call<by_rows&>);
static_assert(!ebb::outlives_call<by_rows>);

TEST_CASE("a view is the matrix itself") {
  by_rows m = by_rows::Zero(4, 3);
  const auto view = ebb::as_view(m);
  CHECK(view.data() == m.data());
  view(2, 1) = 7;
  CHECK(m(2, 1) == 7);
  by_columns c = by_columns::Zero(4, 3);
  ebb::as_view(c)(2, 1) = 8;
  CHECK(c(2, 1) == 8);
  auto block = c.block(1, 1, 2, 2);
  ebb::as_view(block)(1, 0) = 9;
  CHECK(c(2, 1) == 9);
}

template <class Matrix>
void check_scan() {
  const auto memory =
      ebb::make_layer<double>(ebb::listed_spectrum::poles({0.25, 0.5}), ebb::constant_decay(), 2);
  Matrix b = Matrix::Ones(5, 2), h = Matrix::Constant(7, 4, -1);
  auto inside = h.block(1, 1, 5, 2);
  memory(b, inside);
  CHECK(h(1, 1) == 1);
  CHECK(h(5, 1) == doctest::Approx(1.9375));
  CHECK(h(5, 2) == doctest::Approx(1.33203125));
  CHECK((h.row(0).array() == -1).all());
  CHECK((h.row(6).array() == -1).all());
  CHECK((h.col(0).array() == -1).all());
  CHECK((h.col(3).array() == -1).all());

  // Factors, inputs and outputs straight from Eigen; maps of foreign memory; in place.
  const Matrix a = Matrix::Constant(5, 2, 0.5);
  ebb::scan(a, b, b);
  CHECK(b(4, 0) == 1.9375);
  std::vector<double> memory_of_map(10, 1.0);
  Eigen::Map<Matrix> map(memory_of_map.data(), 5, 2);
  ebb::scan(a, map, map);
  CHECK(map == b);
  CHECK(memory_of_map.back() == 1.9375);
}

TEST_CASE("both storage orders bind, as blocks and maps too") {
  check_scan<by_rows>();
  check_scan<by_columns>();
}

}  // namespace
