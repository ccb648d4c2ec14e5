// SPDX-License-Identifier: Apache-2.0
// The sequential form on several threads: the contract, and the bits of one thread.
#include <doctest/doctest.h>

#include <ebb/recurrence/backend/sequential.hpp>
#include <ebb/recurrence/backend/sequential_threads.hpp>

#include <memory>
#include <stdexcept>
#include <vector>

#include "support/backwards_executor.hpp"
#include "support/matrix_calls.hpp"
#include "support/matrix_contract.hpp"

namespace {

using ebb::index_t;
using ebb::test::backwards;
using ebb::test::matrix_case;

template <class Executor>
ebb::sequential_threads<Executor> form_of(std::shared_ptr<Executor> executor) {
  return ebb::sequential_threads<Executor>(std::move(executor), 1);
}

TEST_CASE("contract") {
  const auto form = form_of(std::make_shared<ebb::thread_pool>(2));
  using Form = ebb::sequential_threads<>;
  ebb::test::check_shapes<Form, float, float>(form);
  ebb::test::check_lengths<Form, float, float>(form);
  ebb::test::check_options<Form, double, double>(100, form);
  ebb::test::check_packed<Form, float, float>(form);
}

TEST_CASE("the bits of one thread, however many there are") {
  const matrix_case cases[] = {
      {.batches = 2, .steps = 21, .heads = 5, .keys = 7, .values = 19, .key_heads = 1},
      {.steps = 40, .heads = 1, .keys = 9, .values = 200, .weights = true},
      {.batches = 3, .steps = 3, .heads = 2, .keys = 4, .values = 130, .offsets = {0, 1, 1, 3}},
      {.steps = 18, .heads = 3, .keys = 3, .values = 65, .finals = false},
      {.steps = 0, .heads = 3, .keys = 3, .values = 65}};
  for (const matrix_case& c : cases) {
    ebb::test::check_same_bits<float, float>(ebb::sequential{},
                                             form_of(std::make_shared<ebb::thread_pool>(2)), c);
    for (const index_t threads : {2, 3, 7, 64})
      ebb::test::check_same_bits<float, float>(ebb::sequential{},
                                               form_of(std::make_shared<backwards>(threads)), c);
  }
}

TEST_CASE("small calls stay on the calling thread") {
  const auto executor = std::make_shared<backwards>(4);
  const ebb::sequential_threads<backwards> form(executor, 1000);
  const auto run = [&](index_t steps) {
    const ebb::test::matrix_problem<float, float> problem(
        {.steps = steps, .heads = 4, .keys = 5, .values = 5});
    problem.visit([&](const auto& decay, const auto& data) {
      ebb::test::run_matrix(decay, data, problem.where(), form);
    });
    return executor->calls;
  };
  CHECK(run(19) == 0);  // 1900 < 2 * 1000
  CHECK(run(20) > 0);
}

TEST_CASE("errors") {
  CHECK_THROWS_AS(ebb::sequential_threads<>(std::make_shared<ebb::thread_pool>(1), 0),
                  ebb::domain_error);
  CHECK_THROWS_WITH_AS(ebb::sequential_threads<>(std::shared_ptr<ebb::thread_pool>()),
                       "sequential_threads: need an executor", ebb::domain_error);
  CHECK_THROWS_AS(ebb::sequential_threads<>(0), ebb::domain_error);
}

TEST_CASE("a borrowed executor, and what is left of a moved form") {
  const matrix_case c{.steps = 18, .heads = 3, .keys = 3, .values = 65};
  backwards executor(3);
  ebb::sequential_threads<backwards> form(executor, 1);
  ebb::test::check_same_bits<float, float>(ebb::sequential{}, form, c);
  CHECK(executor.calls > 0);
  const auto other = std::move(form);
  ebb::test::check_same_bits<float, float>(ebb::sequential{}, form, c);  // NOLINT(bugprone-use-*)
  ebb::test::check_same_bits<float, float>(ebb::sequential{}, ebb::sequential_threads<>(3, 1), c);
}

}  // namespace
