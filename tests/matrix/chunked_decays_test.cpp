// SPDX-License-Identifier: Apache-2.0
// The form in chunks where decays between the steps of a chunk are hard to form, at many lengths of
// chunks; and the lengths it takes.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <ebb/recurrence/backend/chunked.hpp>
#include <ebb/recurrence/backend/matrix_reference.hpp>

#include "support/matrix_contract.hpp"

namespace {

using ebb::index_t;

enum class pattern { strong, steep, never, slow, alternating, early };

// log a of step t, channel n.
float log_decay(pattern kind, index_t t, index_t n) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  switch (kind) {
    case pattern::strong:
      return -20;
    case pattern::steep:  // -300 over 64 steps
      return -4.6875F;
    case pattern::never:
      return (t + 3 * n) % 11 == 5 ? -infinity : -0.01F;
    case pattern::slow:
      return -1e-6F;
    case pattern::alternating:
      return (t + n) % 2 == 0 ? -20 : -1e-6F;
    default:  // a sum that would swallow all that comes after it
      return t % 32 == 0 ? -3e37F : -0.02F;
  }
}

struct worst {
  long double error = 0, largest = 0;
  void meet(long double got, long double right) {
    const long double e = std::abs(got - right);
    if (!(e <= error)) error = e;
    largest = std::max(largest, std::abs(right));
  }
  // Some K u, as no step makes a state grow: 168 u (docs/accuracy.md, long runs).
  void check() const {
    CHECK(largest > 0.01L);
    CHECK(error <= 1e-5L * largest);
  }
};

// A call against the bound, and against matrix_reference within 1e-5 of the largest output.
void check(const ebb::test::matrix_case& c, pattern kind, const ebb::chunked& form) {
  INFO(c << ", pattern " << static_cast<int>(kind) << ", chunks of " << form.steps());
  const auto prepared = [&] {
    ebb::test::matrix_problem<float, float> problem(c);
    const index_t channels = problem.decays.channels();
    for (index_t t = 0; t < c.steps; ++t)
      for (index_t n = 0; n < channels; ++n) {
        const float log = log_decay(kind, t, n);
        problem.decays(t, n) = c.logs ? log : std::exp(log);
      }
    ebb::test::draws random(c.seed);
    problem.weights.each([&](float& x) { x = static_cast<float>(random.uniform(0, 1)); });
    // One rate for all keys of a step.
    index_t n = 0;
    problem.rates.each(
        [&](float& x) { x = 0.1F + 0.8F * static_cast<float>(n++ / c.keys % 7) / 7; });
    return problem;
  };
  const auto problem = prepared(), right = prepared();
  problem.visit([&](const auto& decay, const auto& data) {
    const auto where = problem.where();
    const auto before = problem.outputs.copy();
    const ebb::test::matrix_truth truth = ebb::test::truth_of(decay, data, where);
    ebb::test::run_matrix(decay, data, where, form);
    ebb::test::check_results<ebb::chunked>(problem, truth, before);
  });
  right.visit([&](const auto& decay, const auto& data) {
    ebb::test::run_matrix(decay, data, right.where(), ebb::matrix_reference{});
  });
  worst outputs, states;
  for (index_t t = 0; t < c.steps; ++t)
    for (index_t h = 0; h < c.heads; ++h)
      for (index_t i = 0; i < c.values; ++i)
        outputs.meet(problem.outputs.view()(0, t, h, i), right.outputs.view()(0, t, h, i));
  for (index_t n = 0; n < c.heads * c.keys * c.values; ++n)
    states.meet(problem.finals.view()(0, 0, n), right.finals.view()(0, 0, n));
  outputs.check();
  states.check();
}

TEST_CASE("decays between the steps of a chunk") {
  for (const pattern kind : {pattern::strong, pattern::steep, pattern::never, pattern::slow,
                             pattern::alternating, pattern::early})
    for (const index_t length : {1, 2, 7, 16, 64, 256})
      ebb::test::each_kind<ebb::chunked>({.steps = 150,
                                          .heads = 2,
                                          .keys = 12,
                                          .values = 9,
                                          .weights = true,
                                          .unit_queries = 1e-6,
                                          .unit_keys = 1e-6,
                                          .unit_removals = 1e-6},
                                         [&](const ebb::test::matrix_case& c) {
                                           if (c.rule == ebb::test::matrix_rule::corrections)
                                             return;
                                           check(c, kind, ebb::chunked(length));
                                         });
}

TEST_CASE("lengths of chunks") {
  CHECK(ebb::chunked().steps() == 64);
  CHECK(ebb::chunked(1).steps() == 1);
  CHECK(ebb::chunked(256).steps() == 256);
  for (const index_t wrong : {index_t{0}, index_t{-1}, index_t{257}}) {
    try {
      ebb::chunked{wrong};
      FAIL("accepted");
    } catch (const ebb::domain_error& error) {
      CHECK(error.what() == "chunked: need chunks of 1 .. 256 steps, got " + std::to_string(wrong));
    }
  }
}

}  // namespace
