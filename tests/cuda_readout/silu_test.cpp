// SPDX-License-Identifier: Apache-2.0
// The gate of a mixer as a kernel, against the gate on the processor.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <ebb/readout/gate.hpp>
#include <ebb/recurrence/backend/cuda/silu_kernel.hpp>

#include "support/emulator/launcher.hpp"
#include "support/scan_oracle.hpp"

namespace {

using ebb::head_extents;
using ebb::head_strides;
using ebb::head_view;
using ebb::index_t;

TEST_CASE_TEMPLATE("the kernel multiplies by z sigma(z), wherever rows lie", T, float, double,
                   ebb::bfloat16) {
  using State = ebb::default_state_t<T>;
  const head_extents size{2, 5, 3, 7};
  const head_strides strides{400, 50, 9}, other{150, 30, 8};
  ebb::test::draws random(3);
  std::vector<T> z(900), y(400, T(-77.0f));
  for (T& x : z) x = static_cast<T>(random.uniform(-100, 100));
  z[1] = static_cast<T>(std::numeric_limits<float>::infinity());
  z[2] = T(0.0f);
  z[3] = static_cast<T>(-std::numeric_limits<float>::infinity());
  const head_view<const T> gate(z.data(), size, strides);
  const head_view<T> outputs(y.data() + 3, size, other);
  for (index_t b = 0; b < 2; ++b)
    for (index_t t = 0; t < 5; ++t)
      for (index_t h = 0; h < 3; ++h)
        for (index_t i = 0; i < 7; ++i) outputs(b, t, h, i) = static_cast<T>(random.uniform(-2, 2));
  auto right = y;

  ebb::test::emulator::launcher launcher;
  auto& memory = launcher.begin_call();
  memory.add(z.data(), static_cast<index_t>(z.size()), ebb::test::emulator::usage::input, "gate");
  memory.add(y.data(), static_cast<index_t>(y.size()), ebb::test::emulator::usage::in_out, "y");
  ebb::detail::gpu::silu_kernel<T>::enqueue(launcher, gate, outputs);

  const head_view<T> expected(right.data() + 3, size, other);
  for (index_t b = 0; b < 2; ++b)
    for (index_t t = 0; t < 5; ++t)
      for (index_t h = 0; h < 3; ++h)
        for (index_t i = 0; i < 7; ++i) {
          const auto x = static_cast<long double>(static_cast<State>(gate(b, t, h, i)));
          const auto old = static_cast<long double>(static_cast<State>(expected(b, t, h, i)));
          const long double silu = x < 0 && std::isinf(x) ? 0 : x / (1 + std::exp(-x));
          const long double exact = old * silu;
          const auto found = static_cast<long double>(static_cast<State>(outputs(b, t, h, i)));
          expected(b, t, h, i) = outputs(b, t, h, i);
          if (std::isinf(x)) {
            CHECK(found == exact);
            continue;
          }
          const long double u = static_cast<long double>(std::numeric_limits<State>::epsilon()) / 2;
          const auto stored =
              static_cast<long double>(static_cast<State>(std::numeric_limits<T>::epsilon()));
          CHECK(std::abs(found - exact) <=
                (7 * u + (sizeof(T) < sizeof(State) ? stored / 2 * (1 + 7 * u) : 0)) *
                        std::abs(exact) +
                    1e-38L);
        }
  CHECK(std::equal(right.begin(), right.end(), y.begin()));  // and nothing else was written
}

TEST_CASE("an empty view is no launch") {
  ebb::test::emulator::launcher launcher;
  launcher.begin_call();
  ebb::detail::gpu::silu_kernel<float>::enqueue(launcher, head_view<const float>(),
                                                head_view<float>());
  CHECK(launcher.launches() == 0);
}

}  // namespace
