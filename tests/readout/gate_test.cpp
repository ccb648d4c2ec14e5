// SPDX-License-Identifier: Apache-2.0
// y = y z sigma(z), and its gradients.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <ebb/core/storage.hpp>
#include <ebb/readout/gate.hpp>

#include "support/exact.hpp"

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
  const head_view<float> repeated(y.data(), {1, 3, 1, 2}, {0, 0, 0});  // gated once for each step
  CHECK_THROWS_AS(ebb::silu_gate(head_view<const float>(z.data(), {1, 3, 1, 2}), repeated),
                  ebb::shape_error);
  CHECK(y == std::vector<float>(6, 1.0f));
}

using ebb::test::exact;

/// One gate: z, y, g, and what its gradients are in a wide type.
template <class T, class Wide>
struct gate_gradients {
  Wide dy, dz, size;

  gate_gradients(const T& z, const T& y, const T& g) {
    using std::exp, std::abs;
    using State = ebb::default_state_t<T>;
    const Wide x(static_cast<State>(z)), in(static_cast<State>(y)), out(static_cast<State>(g));
    const Wide rise = Wide(1) / Wide(1 + exp(Wide(-x))), fall = Wide(1) / Wide(1 + exp(x));
    dy = out * x * rise;
    dz = out * in * rise * Wide(1 + x * fall);
    size = abs(Wide(out * in)) * rise * Wide(1 + abs(x) * fall);
  }
};

TEST_CASE_TEMPLATE("gradients of the gate, of strided views", T, float, double, ebb::bfloat16) {
  using State = ebb::default_state_t<T>;
  std::vector<T> gate, in, cotangent;
  for (int i = 0; i < 24; ++i) {
    gate.push_back(static_cast<T>(float(i * i - 200) / 16));  // -12.5 .. 20.5
    in.push_back(static_cast<T>(float(i % 7 - 3) / 4));
    cotangent.push_back(static_cast<T>(float(i % 5 - 2) / 2));
  }
  const ebb::head_extents size{2, 2, 2, 3};
  const head_view<const T> z(gate.data(), size), y(in.data(), size), g(cotangent.data(), size);
  std::vector<T> inputs(40, static_cast<T>(3.0f)), gates(40, static_cast<T>(3.0f));
  const ebb::head_strides apart{20, 4, 8};
  const head_view<T> dy(inputs.data(), size, apart), dz(gates.data(), size, apart);
  ebb::silu_gate_vjp(z, y, g, dy, dz);
  const long double u = std::numeric_limits<State>::epsilon() / 2;
  const long double stored = sizeof(T) == 2 ? 0x1p-8L : 0;
  std::size_t written = 0;
  for (ebb::index_t b = 0; b < 2; ++b)
    for (ebb::index_t t = 0; t < 2; ++t)
      for (ebb::index_t h = 0; h < 2; ++h)
        for (ebb::index_t i = 0; i < 3; ++i, ++written) {
          const gate_gradients<T, long double> truth(z(b, t, h, i), y(b, t, h, i), g(b, t, h, i));
          const auto of = [&](const head_view<T>& view) {
            return static_cast<long double>(static_cast<State>(view(b, t, h, i)));
          };
          // And of long double's own roundings, in double.
          const long double more = 30 * std::numeric_limits<long double>::epsilon();
          CHECK(std::abs(of(dy) - truth.dy) <= (7 * u + more + stored) * std::abs(truth.dy));
          CHECK(std::abs(of(dz) - truth.dz) <=
                (14 * u + more) * truth.size + stored * std::abs(truth.dz));
        }
  for (const auto& memory : {inputs, gates}) {
    std::size_t kept = 0;
    for (const T& x : memory) kept += static_cast<State>(x) == State(3) ? 1 : 0;
    CHECK(kept == memory.size() - written);
  }
  // One at a time, and in the place of the cotangents.
  std::vector<T> again(24, static_cast<T>(0.0f)), place = cotangent;
  ebb::silu_gate_vjp(z, y, g, head_view<T>(), head_view<T>(again.data(), size));
  const head_view<T> same(place.data(), size);
  ebb::silu_gate_vjp(z, y, head_view<const T>(same), same, head_view<T>());
  for (ebb::index_t h = 0; h < 2; ++h)
    for (ebb::index_t i = 0; i < 3; ++i) {
      CHECK(static_cast<State>(same(1, 1, h, i)) == static_cast<State>(dy(1, 1, h, i)));
      CHECK(static_cast<State>(again[std::size_t(18 + 3 * h + i)]) ==
            static_cast<State>(dz(1, 1, h, i)));
    }
}

// (L(x + d) - L(x - d)) / (2 d) is off by d^2 |L'''| / 6; here |L'''| < 1, d^2 = 1e-30.
TEST_CASE("gradients of the gate are slopes of g y z sigma(z)") {
  const exact d("1e-15");
  for (const double z : {-30.0, -3.0, -1.2784645427610738, -0.5, 0.0, 1e-3, 1.0, 5.0, 40.0}) {
    const double y = 0.75, g = -0.5;
    const auto loss = [&](const exact& in, const exact& gate) {
      return exact(exact(g) * in * gate / exact(1 + exp(exact(-gate))));
    };
    const auto slope = [&](const exact& dy, const exact& dz) {
      return exact((loss(y + dy, z + dz) - loss(y - dy, z - dz)) / (2 * d));
    };
    double dy = 7, dz = 7;
    const ebb::head_extents one{1, 1, 1, 1};
    ebb::silu_gate_vjp(head_view<const double>(&z, one), head_view<const double>(&y, one),
                       head_view<const double>(&g, one), head_view<double>(&dy, one),
                       head_view<double>(&dz, one));
    const gate_gradients<double, exact> truth(z, y, g);
    const exact of_y = slope(d, 0), of_z = slope(0, d);
    const exact off("1e-28");
    CHECK(abs(exact(of_y - dy)) <= 7 * exact(0x1p-53) * abs(of_y) + off);
    CHECK(abs(exact(of_z - dz)) <= 14 * exact(0x1p-53) * truth.size + off);
  }
}

TEST_CASE_TEMPLATE("a gate at infinity has its limits", T, float, double) {
  const T inf = std::numeric_limits<T>::infinity();
  const ebb::head_extents size{1, 1, 1, 3};
  const std::vector<T> z{inf, -inf, std::numeric_limits<T>::quiet_NaN()}, y{T(2), T(2), T(2)},
      g{T(3), T(3), T(3)};
  std::vector<T> out = y, dy(3), dz(3);
  const head_view<const T> gate(z.data(), size);
  ebb::silu_gate(gate, head_view<T>(out.data(), size));
  ebb::silu_gate_vjp(gate, head_view<const T>(y.data(), size), head_view<const T>(g.data(), size),
                     head_view<T>(dy.data(), size), head_view<T>(dz.data(), size));
  CHECK(out[0] == inf);
  CHECK(out[1] == 0);
  CHECK(dy[0] == inf);
  CHECK(dy[1] == 0);
  CHECK(dz[0] == 6);
  CHECK(dz[1] == 0);
  for (const T& x : {out[2], dy[2], dz[2]}) CHECK(std::isnan(x));
}

TEST_CASE("gradients of a gate that do not fit are refused") {
  std::vector<float> y(6, 1.0f), z(6, 1.0f), g(6, 1.0f), dy(6, 5.0f), dz(6, 5.0f);
  const ebb::head_extents size{1, 3, 1, 2}, other{1, 2, 1, 2};
  const auto in = [&](std::vector<float>& of, const ebb::head_extents& shape) {
    return head_view<const float>(of.data(), shape);
  };
  const auto to = [&](std::vector<float>& of, const ebb::head_extents& shape) {
    return head_view<float>(of.data(), shape);
  };
  const auto refused = [&](const auto& gate, const auto& inputs, const auto& known,
                           const auto& d_inputs, const auto& d_gate) {
    CHECK_THROWS_AS(ebb::silu_gate_vjp<float>(gate, inputs, known, d_inputs, d_gate),
                    ebb::shape_error);
  };
  refused(in(z, size), in(y, other), in(g, size), to(dy, size), to(dz, size));
  refused(in(z, size), in(y, size), in(g, other), to(dy, size), to(dz, size));
  refused(in(z, size), in(y, size), in(g, size), to(dy, other), to(dz, size));
  refused(in(z, size), in(y, size), in(g, size), to(dy, size), to(dz, other));
  refused(in(z, size), in(y, size), in(g, size), to(z, size), to(dz, size));
  refused(in(z, size), in(y, size), in(g, size), to(dy, size), to(y, size));
  refused(in(z, size), in(y, size), in(g, size), to(dy, size), to(dy, size));
  refused(in(z, size), in(y, size), in(g, size), to(dy, size), to(g, size));
  const std::vector<float> before(6, 1.0f), after(6, 5.0f);
  CHECK(std::vector{y, z, g} == std::vector{before, before, before});
  CHECK(std::vector{dy, dz} == std::vector{after, after});
}

}  // namespace
