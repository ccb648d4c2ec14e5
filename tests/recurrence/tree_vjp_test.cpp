// SPDX-License-Identifier: Apache-2.0
// Gradients of a tree: the sum over its steps of the gradients of the scans along their paths.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <vector>

#include <ebb/decay/average.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/stored.hpp>
#include <ebb/recurrence/tree_vjp.hpp>

#include "support/scan_contract.hpp"

namespace {

using ebb::index_t;
using ebb::time_major;

const std::vector<index_t> parents{-1, 0, 1, 1, 0, -1, 5, 3};
constexpr index_t steps = 8, channels = 3, batches = 2;

template <class T>
double distance(const T& a, const T& b) {
  return static_cast<double>(std::abs(a - b));
}

// The loss sum of conj(w_t) h_t depends on the path to t alone, so that its gradient is the sum of
// those of the scans along the paths with the cotangent w_t at their ends.
template <class State, ebb::input_gain Gain, class Decay, class Gradients>
void check_tree(const Decay& along_tree, const ebb::array<State>& stored, Gradients& decay_sums,
                const ebb::array<State>& gradient_memory) {
  const ebb::extents size{batches, steps, channels};
  const auto in = ebb::test::random_inputs<State, time_major>(size, 51);
  const auto dh = ebb::test::random_inputs<State, time_major>(size, 52);
  const auto initial = ebb::test::random_inputs<State, time_major>({batches, 1, channels}, 53);
  ebb::array<State> h(size), db(size), dh0(initial.size());
  const ebb::step_tree<State> tree{.parents = parents, .initial_states = initial.view()};
  ebb::scan_tree(along_tree, in, h, tree);
  const ebb::tree_gradients<State, Gradients> gradients{db.view(), dh0.view(), &decay_sums};
  ebb::scan_tree_vjp(along_tree, in, h, dh, gradients, tree);

  ebb::array<State> db_sum(size), dh0_sum(initial.size()), da_sum(size);
  for (index_t b = 0; b < batches; ++b)
    for (index_t t = 0; t < steps; ++t) {
      std::vector<index_t> path;
      for (index_t s = t; s >= 0; s = parents[static_cast<std::size_t>(s)])
        path.insert(path.begin(), s);
      const auto length = static_cast<index_t>(path.size());
      ebb::array<State> x(length, channels), a(length, channels), y(length, channels);
      ebb::array<State> cotangent(length, channels), dx(length, channels), da(length, channels);
      ebb::array<State> first(1, channels);
      for (index_t i = 0; i < length; ++i)
        for (index_t k = 0; k < channels; ++k) {
          x(i, k) = in(b, path[static_cast<std::size_t>(i)], k);
          a(i, k) = stored(b, path[static_cast<std::size_t>(i)], k);
        }
      for (index_t k = 0; k < channels; ++k) cotangent(length - 1, k) = dh(b, t, k);
      using Path =
          std::conditional_t<Gain == ebb::input_gain::one, decltype(ebb::stored_factors(a)),
                             ebb::test::averaging<decltype(ebb::stored_factors(a))>>;
      const auto factors = ebb::stored_factors(a);
      const ebb::sequences<State> where{.initial_states = initial.view().batch_entry(b)};
      if constexpr (Gain == ebb::input_gain::one) {
        ebb::scan(factors, x, y, where);
        typename Path::gradients da_view{da.view()};
        ebb::scan_vjp(
            factors, x, y, ebb::scan_cotangents<State>{.outputs = cotangent.view()},
            ebb::scan_gradients<State, typename Path::gradients>{dx.view(), first.view(), &da_view},
            where);
      } else {
        const Path average{factors};
        ebb::scan(average, x, y, where);
        ebb::scan_vjp(average, x, y, ebb::scan_cotangents<State>{.outputs = cotangent.view()},
                      ebb::scan_gradients<State>{dx.view(), first.view()}, where);
      }
      for (index_t i = 0; i < length; ++i)
        for (index_t k = 0; k < channels; ++k) {
          db_sum(b, path[static_cast<std::size_t>(i)], k) += dx(i, k);
          da_sum(b, path[static_cast<std::size_t>(i)], k) += da(i, k);
        }
      for (index_t k = 0; k < channels; ++k) dh0_sum(b, 0, k) += first(0, k);
    }
  // Paths of at most 5 steps, 8 of them, |a|, |b|, |dh| <= 1: sizes stay below 50, and each number
  // comes from at most 22 roundings a step and 8 sums on either side.
  const double bound = 50 * 2 * (5 * 22 + 8) * 0x1p-53;
  for (index_t b = 0; b < batches; ++b)
    for (index_t k = 0; k < channels; ++k) {
      for (index_t t = 0; t < steps; ++t) {
        CHECK(distance(db(b, t, k), db_sum(b, t, k)) <= bound);
        if (Gain == ebb::input_gain::one)
          CHECK(distance(gradient_memory(b, t, k), da_sum(b, t, k)) <= bound);
      }
      CHECK(distance(dh0(b, 0, k), dh0_sum(b, 0, k)) <= bound);
    }
}

TEST_CASE_TEMPLATE("the gradient of a tree is the sum over its paths", State, double,
                   std::complex<double>) {
  const ebb::extents size{batches, steps, channels};
  const auto a = ebb::test::random_factors<State, time_major>(size, 54);
  ebb::array<State> da(size);
  const auto factors = ebb::stored_factors(a);
  typename std::remove_const_t<decltype(factors)>::gradients sums{da.view()};
  check_tree<State, ebb::input_gain::one>(factors, a, sums, da);
  ebb::no_gradients nothing;
  const ebb::test::averaging<std::remove_const_t<decltype(factors)>> average{factors};
  check_tree<State, ebb::input_gain::one_minus_decay>(average, a, nothing, da);
}

TEST_CASE("by hand: two branches share a root") {
  // h0 = 4; a = .5, then .25 and 2 in parallel: dh = 1 everywhere.
  ebb::array<double> a(3, 1), b(3, 1), h(3, 1), dh(3, 1), db(3, 1), da(3, 1), h0(1, 1), dh0(1, 1);
  a(0, 0) = 0.5, a(1, 0) = 0.25, a(2, 0) = 2;
  for (index_t t = 0; t < 3; ++t) b(t, 0) = dh(t, 0) = 1;
  h0(0, 0) = 4;
  const std::vector<index_t> fork{-1, 0, 0};
  const ebb::step_tree<double> tree{.parents = fork, .initial_states = h0.view()};
  ebb::scan_tree(a, b, h, tree);
  using factors = decltype(ebb::stored_factors(a));
  factors::gradients sums{da.view()};
  ebb::scan_tree_vjp(a, b, h, dh,
                     ebb::tree_gradients<double, factors::gradients>{db.view(), dh0.view(), &sums},
                     tree);
  CHECK(db(0, 0) == 1 + 0.25 + 2);
  CHECK(db(1, 0) == 1);
  CHECK(da(0, 0) == 3.25 * 4);
  CHECK(da(1, 0) == 3);  // h after the root
  CHECK(dh0(0, 0) == 0.5 * 3.25);
  CHECK_THROWS_AS(ebb::scan_tree_vjp(a, b, h, dh, ebb::tree_gradients<double>{h.view()}, tree),
                  ebb::shape_error);
  CHECK_THROWS_AS(ebb::scan_tree_vjp(a, b, h, dh, ebb::tree_gradients<double>{}, tree),
                  ebb::shape_error);

  // The decay's gradients are added to: they may not lie in what is read or written besides.
  const auto refuses = [&](const char* text, const auto& decay, const auto& in, auto sums_at) {
    const auto before = db;
    const ebb::tree_gradients<double, decltype(sums_at)> asked{db.view(), dh0.view(), &sums_at};
    CHECK_THROWS_WITH_AS(ebb::scan_tree_vjp(decay, in, h, dh, asked, tree), doctest::Contains(text),
                         ebb::shape_error);
    CHECK(ebb::test::same_bits(before, db));
  };
  const char* apart = "scan_tree_vjp: need the gradients of the decay apart from all other data";
  for (auto* taken : {&a, &b, &h, &dh, &db})
    refuses(apart, ebb::stored_factors(a), b, factors::gradients{taken->view()});
  const std::vector<double> rates{1};
  const auto constant = ebb::constant_decay().bind(std::span<const double>(rates));
  using constant_sums = decltype(constant)::gradients;
  for (auto* taken : {&b, &h, &dh, &db, &h0, &dh0})
    refuses(apart, constant, b, constant_sums{std::span<double>(taken->data(), 1)});
  const auto average = ebb::normalised(constant);
  std::vector<double> d_rate(1);
  refuses("scan_tree_vjp: need in as it was, apart from the states, where the gain is 1 - a",
          average, h, constant_sums{d_rate});
  CHECK_NOTHROW(
      ebb::scan_tree_vjp(average, h, h, dh, ebb::tree_gradients<double>{db.view()}, tree));
}

}  // namespace
