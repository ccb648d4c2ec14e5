// SPDX-License-Identifier: Apache-2.0
// y = y z sigma(z).
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <ebb/core/storage.hpp>
#include <ebb/readout/gate.hpp>

namespace {

using ebb::head_view;

TEST_CASE_TEMPLATE("the gate of strided views, in place", T, float, double, ebb::bfloat16) {
  using State = ebb::default_state_t<T>;
  std::vector<T> memory(40, static_cast<T>(3.0f)), gate;
  for (int i = 0; i < 24; ++i) gate.push_back(static_cast<T>(float(i - 12) / 2));
  // 2 batches of 2 steps of 2 heads of 3, heads outside of steps, with gaps.
  const head_view<T> y(memory.data(), {2, 2, 2, 3}, {20, 4, 8});
  const head_view<const T> z(gate.data(), {2, 2, 2, 3});
  ebb::silu_gate(z, y);
  const double u = double(std::numeric_limits<State>::epsilon()) / 2;
  const double stored = sizeof(T) == 2 ? 0x1p-8 : 0;
  std::size_t written = 0;
  for (ebb::index_t b = 0; b < 2; ++b)
    for (ebb::index_t t = 0; t < 2; ++t)
      for (ebb::index_t h = 0; h < 2; ++h)
        for (ebb::index_t i = 0; i < 3; ++i, ++written) {
          const long double x = static_cast<long double>(static_cast<State>(z(b, t, h, i)));
          const long double truth = 3 * x / (1 + std::exp(-x));
          const long double got = static_cast<long double>(static_cast<State>(y(b, t, h, i)));
          CHECK(double(std::abs(got - truth)) <= (7 * u + stored) * double(std::abs(truth)));
        }
  std::size_t kept = 0;
  for (const T& x : memory) kept += static_cast<State>(x) == State(3) ? 1 : 0;
  CHECK(kept == memory.size() - written);
}

TEST_CASE("shapes that differ and shared memory are refused") {
  std::vector<float> y(6, 1.0f), z(6, 1.0f);
  const head_view<float> out(y.data(), {1, 3, 1, 2});
  CHECK_THROWS_AS(ebb::silu_gate(head_view<const float>(z.data(), {1, 2, 1, 2}), out),
                  ebb::shape_error);
  CHECK_THROWS_AS(ebb::silu_gate(head_view<const float>(out), out), ebb::shape_error);
  CHECK(y == std::vector<float>(6, 1.0f));
}

}  // namespace
