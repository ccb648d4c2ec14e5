// SPDX-License-Identifier: Apache-2.0
// The form that chooses: the contract, and what it chooses.
#include <doctest/doctest.h>

#include <memory>

#include <ebb/core/storage.hpp>
#include <ebb/recurrence/backend/automatic.hpp>
#include <ebb/recurrence/backend/key_lanes.hpp>
#include <ebb/recurrence/backend/sequential.hpp>

#include "support/backwards_executor.hpp"
#include "support/matrix_calls.hpp"
#include "support/matrix_contract.hpp"
#include "support/matrix_identities.hpp"

namespace {

using ebb::index_t;
using ebb::test::backwards;
using ebb::test::matrix_case;
using form = ebb::automatic<>;

TEST_CASE("contract") {
  const form one;
  ebb::test::check_shapes<form, float, float>(one);
  ebb::test::check_lengths<form, float, float>(one);
  ebb::test::check_options<form, float, float>(300, one);
  ebb::test::check_options<form, double, double>(100, one);
  ebb::test::check_options<form, ebb::bfloat16, float>(100, one);
  ebb::test::check_weighing<form, float, float>(one);
  ebb::test::check_packed<form, float, float>(one);
  ebb::test::check_pieces<form, float, float>(one);
  ebb::test::check_steps<form, float, float>(one);
  ebb::test::check_positions<form, float, float>(one);
  ebb::test::check_isolation<form, float>(one);
  ebb::test::check_forgetting<form, float>(one);
}

TEST_CASE("one thread below 2^20 elements times steps, several from there on") {
  for (const index_t values : {1, 16})
    for (const index_t steps : {64, 127, 128}) {
      const auto executor = std::make_shared<backwards>(4);
      const ebb::automatic<ebb::rows, backwards> taken{
          ebb::threads<ebb::rows, backwards>(executor)};
      const matrix_case c{
          .steps = steps, .heads = 512 / values, .keys = 16, .values = values, .key_heads = 1};
      if (values == 1)
        ebb::test::check_same_bits<float, float>(ebb::key_lanes{}, taken, c);
      else
        ebb::test::check_same_bits<float, float>(ebb::sequential{}, taken, c);
      CHECK((executor->calls > 0) == (steps == 128));
    }
}

}  // namespace
