// SPDX-License-Identifier: Apache-2.0
// The gradients of matrix states: examples worked by hand, values in place, special numbers.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/recurrence/delta.hpp>
#include <ebb/recurrence/outer.hpp>

#include "support/matrix_vjp_contract.hpp"

namespace {

using ebb::decay_per;
using ebb::index_t;
using ebb::test::matrix_rule;
using ebb::test::matrix_vjp_case;
namespace test = ebb::test;

/// Two steps of K = 2, V = 1 with S_0 = (4, 2), w = 1/2, L = o_1 + 2 o_2.
template <class T>
test::matrix_vjp_call<T, T> by_hand(const matrix_vjp_case& of) {
  auto in = test::arrays_of<double>(of, 0);
  in.queries.numbers = {1, 0, 1, 1};
  in.keys.numbers = {1, 2, 1, -1};
  in.values.numbers = {3, 1};
  in.weights.numbers = {2, 1};
  if (of.corrected()) in.removals.numbers = {1, 1, 1, 1}, in.corrections.numbers = {-1, 2, -1, 2};
  in.decays.numbers = {0.5, 0.5};
  in.initial.numbers = {4, 2};
  in.outputs.numbers = {1, 2};
  test::matrix_vjp_call<T, T> call(of, in);
  call.d_states.decays.numbers = {1, 1};  // added to
  call.run();
  return call;
}
matrix_vjp_case two_steps(matrix_rule rule) {
  matrix_vjp_case of{.rule = rule, .steps = 2, .heads = 1, .keys = 2, .values = 1, .scale = 1};
  of.query_heads = of.key_heads = of.removal_heads = of.correction_heads = 1;
  of.finals_known = false;
  return of;
}

TEST_CASE_TEMPLATE("examples worked by hand", T, float, double) {
  using values = std::vector<T>;
  const auto of = two_steps(matrix_rule::outer);  // S_1 = (8, 13), S_2 = (5, 5.5)
  const auto outer = by_hand<T>(of);
  CHECK(outer.d_data.queries.numbers == values{8, 13, 10, 11});
  CHECK(outer.d_data.keys.numbers == values{12, 6, 2, 2});
  CHECK(outer.d_data.values.numbers == values{8, 0});
  CHECK(outer.d_data.weights.numbers == values{12, 0});
  CHECK(outer.d_states.decays.numbers == values{1 + 10, 1 + 42});
  CHECK(outer.d_states.initial.numbers == values{1, T(0.5)});

  const auto gated_case = two_steps(matrix_rule::gated);  // S_1 = (0, -3), S_2 = (-0.5, -1)
  const auto gated = by_hand<T>(gated_case);
  CHECK(gated.d_data.queries.numbers == values{0, -3, -1, -2});
  CHECK(gated.d_data.keys.numbers == values{-20, -10, -1, -1});
  CHECK(gated.d_data.values.numbers == values{8, 0});
  CHECK(gated.d_data.weights.numbers == values{-4, 0});
  CHECK(gated.d_states.decays.numbers == values{1 - 54, 1 - 6});
  CHECK(gated.d_states.initial.numbers == values{-3, T(-7.5)});

  const auto general_case = two_steps(matrix_rule::corrections);  // S_1 = (2, 25)
  const auto general = by_hand<T>(general_case);                  // S_2 = (-25, 65.5)
  CHECK(general.d_data.queries.numbers == values{2, 25, -50, 131});
  CHECK(general.d_data.keys.numbers == values{24, 18, 2, 2});
  CHECK(general.d_data.values.numbers == values{20, 0});
  CHECK(general.d_data.weights.numbers == values{30, 0});
  CHECK(general.d_data.removals.numbers == values{8, 4, 4, 50});
  CHECK(general.d_data.corrections.numbers == values{24, 18, 54, 54});
  CHECK(general.d_states.decays.numbers == values{1 + 22, 1 + 54});
  CHECK(general.d_states.initial.numbers == values{4, T(3.5)});
}

/// What ebb::outer and ebb::delta write is linear in the values and the initial states together, so
/// that sum do * o + sum dS * S over all that is written is sum dv * v + sum dS_0 * S_0.
TEST_CASE("gradients belong to ebb::outer and ebb::delta") {
  for (const matrix_rule rule :
       {matrix_rule::outer, matrix_rule::gated, matrix_rule::corrections, matrix_rule::rates}) {
    matrix_vjp_case of{.rule = rule, .steps = 50, .heads = 2, .keys = 3, .values = 4, .skip = 8};
    of.kept = {3, 33}, of.unit_keys = 0.5, of.query_heads = 1, of.weighing = false;
    test::matrix_vjp_call<double, double> call(of, test::random_arrays<double, double>(of, 501));
    call.run();
    auto where = call.where();
    ebb::array<double> finals(1, of.states()), kept(2, of.states());
    where.final_states = finals.view(), where.snapshots = kept.view();
    const ebb::stored_decay<double, ebb::time_major, ebb::decay_form::factor> decay{
        call.states.decays.rows()};
    if (rule == matrix_rule::outer)
      ebb::outer(decay, call.call_data<ebb::outer_data<double>>(), where);
    else
      ebb::delta(decay, call.call_data<ebb::delta_data<double>>(), where);
    const auto sum = [](const auto& x, const auto* y) {
      double result = 0;
      for (std::size_t n = 0; n < x.numbers.size(); ++n) result += x.numbers[n] * y[n];
      return result;
    };
    const auto& in = call.data;
    const double forward = sum(in.outputs, call.out.numbers.data()) +
                           sum(call.states.finals, finals.data()) +
                           sum(call.states.snapshots, kept.data());
    const double back = sum(in.values, call.d_data.values.numbers.data()) +
                        sum(call.states.initial, call.d_states.initial.numbers.data());
    // Both sums have the same majorant; the forward call's roundings, and those of the sums.
    const auto truth = test::matrix_truth<long double>(of, call.numbers);
    double size = 0;
    for (std::size_t n = 0; n < in.values.numbers.size(); ++n)
      size += std::abs(in.values.numbers[n]) * static_cast<double>(truth.values.numbers[n].size);
    for (std::size_t n = 0; n < call.states.initial.numbers.size(); ++n)
      size += std::abs(call.states.initial.numbers[n]) *
              static_cast<double>(truth.initial.numbers[n].size);
    const double n =
        test::matrix_vjp_roundings(of) + ebb::sequential::error_bound(of.steps, of.keys) + 1000;
    CHECK(std::abs(forward - back) <= n * 0x1p-53 * size);
    CHECK(std::abs(forward) > 0.01);
  }
}

TEST_CASE("gradients in the place of cotangents") {
  for (const matrix_rule rule : {matrix_rule::outer, matrix_rule::gated, matrix_rule::rates}) {
    matrix_vjp_case of{.rule = rule, .steps = 40, .heads = 2, .keys = 3, .values = 4};
    test::matrix_vjp_call<float, float> call(of, test::random_arrays<float, float>(of, 502));
    call.run();
    auto same = call;
    ebb::matrix_gradients<float> to{.values = same.data.outputs.heads(),
                                    .initial_states = same.states.finals.rows()};
    const ebb::strided_view<const float> factors = same.states.decays.rows();
    if (rule == matrix_rule::outer)
      ebb::outer_vjp(factors, same.call_data<ebb::outer_data<float>>(), same.cotangents(), to,
                     same.where());
    else
      ebb::delta_vjp(factors, same.call_data<ebb::delta_data<float>>(), same.cotangents(), to,
                     same.where());
    CHECK(same.data.outputs.numbers == call.d_data.values.numbers);
    CHECK(same.states.finals.numbers == call.d_states.initial.numbers);
  }
}

// Where a decay is 0 a gradient is finite; where a reset stands, NaN and infinity stop too.
TEST_CASE_TEMPLATE("decays of 0, and what a reset erases", T, float, double) {
  const T infinite = std::numeric_limits<T>::infinity();
  for (const matrix_rule rule : {matrix_rule::outer, matrix_rule::gated, matrix_rule::corrections})
    for (const decay_per decays : {decay_per::head, decay_per::key})
      for (const bool logs : {false, true}) {
        matrix_vjp_case of{.rule = rule, .steps = 40, .heads = 1, .keys = 3, .values = 2};
        of.query_heads = of.key_heads = of.removal_heads = of.correction_heads = 1;
        of.decays = decays, of.logs = logs;
        auto in = test::random_arrays<T, T>(of, 503);
        for (double& x : in.decays.numbers) x = logs ? static_cast<double>(-infinite) : 0;
        test::matrix_vjp_call<T, T> zeros(of, in);
        zeros.run();
        zeros.compare(test::matrix_truth<long double>(of, zeros.numbers));
        zeros.d_states.each([](const char*, const auto& array) {
          for (const T& x : array.numbers) CHECK(std::isfinite(x));
        });

        of.resets.assign(40, 0), of.resets[35] = of.resets[20] = 1;
        auto clean = test::random_arrays<T, T>(of, 504), dirty = clean;
        for (index_t t = 20; t < 35; ++t) {
          dirty.values(0, t, 0, 1) = static_cast<double>(t % 2 ? infinite : std::nan(""));
          dirty.outputs(0, t, 0, 0) = static_cast<double>(infinite);
        }
        dirty.decays(0, 35, 0, 0) = dirty.decays(0, 20, 0, 0) = std::nan("");
        test::matrix_vjp_call<T, T> one(of, clean), two(of, dirty);
        one.run(), two.run();
        bool same = true;
        for (const index_t t : {0, 5, 19, 35, 36, 39})
          for (index_t j = 0; j < 3; ++j) {
            same = same && one.d_data.keys(0, t, 0, j) == two.d_data.keys(0, t, 0, j);
            same = same && one.d_data.queries(0, t, 0, j) == two.d_data.queries(0, t, 0, j);
          }
        CHECK(same);
        CHECK(one.d_states.initial.numbers == two.d_states.initial.numbers);
        CHECK(two.d_states.decays(0, 35, 0, 0) == 0);
      }
}

// In float a factor exp(-1e-5) is a rate of 1.0014e-5; its logarithm has all digits, on the way
// there and back. Cotangents and inputs of one sign, so that roundings do not drown it.
TEST_CASE("slow decays keep their timescale") {
  matrix_vjp_case of{.rule = matrix_rule::outer, .steps = 3000, .heads = 1, .keys = 1, .values = 1};
  of.query_heads = of.key_heads = 1, of.logs = true, of.weights = false, of.scale = 1;
  of.finals_known = false;
  auto in = test::random_arrays<float, float>(of, 505);
  for (auto* array : {&in.queries, &in.keys, &in.values, &in.outputs, &in.initial})
    for (double& x : array->numbers) x = std::abs(x);
  const auto rate = static_cast<double>(1e-5f);
  for (double& x : in.decays.numbers) x = -rate;
  test::matrix_vjp_call<float, float> call(of, in);
  call.run();
  const auto right = test::matrix_truth<long double>(of, in);
  for (double& x : in.decays.numbers)
    x = std::log(static_cast<double>(static_cast<float>(std::exp(-rate))));
  const auto wrong = test::matrix_truth<long double>(of, in);
  const auto check = [](float got, long double truth, long double other) {
    CHECK(std::abs(got - truth) < std::abs(other - truth) / 10);
  };
  check(call.d_states.initial.numbers[0], right.initial.numbers[0].value,
        wrong.initial.numbers[0].value);
  check(call.d_data.queries.numbers[2999], right.queries.numbers[2999].value,
        wrong.queries.numbers[2999].value);
}

}  // namespace
