// SPDX-License-Identifier: Apache-2.0
// Scans, steps and calls of a layer do not allocate.
#include <doctest/doctest.h>

#include <vector>

#include <ebb/core/array.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/recurrence/backend/automatic.hpp>
#include <ebb/recurrence/backend/reference.hpp>
#include <ebb/recurrence/backend/threads.hpp>
#include <ebb/recurrence/layer.hpp>
#include <ebb/recurrence/vjp.hpp>
#include <ebb/spectrum/geometric.hpp>

#include "support/allocations.hpp"

namespace {

using ebb::test::allocations_in;

TEST_CASE_TEMPLATE("no allocation in calls", Backend, ebb::rows, ebb::reference) {
  const auto memory = ebb::make_layer<float>(ebb::geometric_spectrum::timescales(1, 100),
                                             ebb::post_taper::relative(100), 600, Backend{});
  ebb::array<float> b(20, 600), h(20, 600), a(20, 600);
  auto state = memory.start();
  const std::vector<float> row(600);
  CHECK(allocations_in([&] { memory(b, h); }) == 0);
  CHECK(allocations_in([&] { memory(b, h, state); }) == 0);
  CHECK(allocations_in([&] { memory.step(row, state); }) == 0);
  CHECK(allocations_in([&] { ebb::scan(a, b, h, Backend{}); }) == 0);
  CHECK(allocations_in([&] { ebb::scan(ebb::stored_logs(a), b, b, Backend{}); }) == 0);
}

TEST_CASE("no allocation in gradients") {
  const auto memory = ebb::make_layer<float>(ebb::geometric_spectrum::timescales(1, 100),
                                             ebb::post_taper::relative(100), 600);
  ebb::array<float> b(20, 600), h(20, 600), a(20, 600);
  std::vector<double> rates(600), alpha(600);
  ebb::post_taper::bound<double>::gradients sums{rates, alpha};
  const ebb::scan_cotangents<float> known{.outputs = b.view()};
  const ebb::scan_gradients<float, decltype(sums)> asked{.inputs = b.view(), .decay = &sums};
  CHECK(allocations_in([&] { ebb::scan_vjp(memory.decay(), h, h, known, asked); }) == 0);
  const auto logs = ebb::stored_logs(a);
  ebb::array<float> values(20, 600);
  decltype(logs)::gradients each{values.view()};
  const ebb::scan_gradients<float, decltype(each)> all{.inputs = b.view(), .decay = &each};
  CHECK(allocations_in([&] { ebb::scan_vjp(logs, h, h, known, all); }) == 0);
}

TEST_CASE_TEMPLATE("no allocation on threads that are there", Backend, ebb::threads<>,
                   ebb::automatic<>) {
  const Backend backend(ebb::threads<>(3, {}, 1));
  ebb::array<float> b(500, 600), h(500, 600), a(500, 600);
  const auto call = [&] {
    ebb::scan(a, b, h, backend);
    ebb::scan(ebb::stored_logs(a), b, b, backend);
  };
  CHECK(allocations_in(call) > 0);
  for (int i = 0; i < 20; ++i) CHECK(allocations_in(call) == 0);
}

}  // namespace
