// SPDX-License-Identifier: Apache-2.0
// The gradients of a loss of a gated delta rule, checked against differences of the loss.
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include <ebb/decay/constant.hpp>
#include <ebb/recurrence/delta.hpp>
#include <ebb/recurrence/matrix_vjp.hpp>

namespace {
constexpr ebb::index_t steps = 40, heads = 2, keys = 4, lanes = 3;

std::vector<double> waves(ebb::index_t count, double phase, double size) {
  std::vector<double> numbers;
  for (ebb::index_t n = 0; n < count; ++n)
    numbers.push_back(size * std::sin(phase + 1.7 * static_cast<double>(n)));
  return numbers;
}
}  // namespace

int main() {  // NOLINT(bugprone-exception-escape): an exception is a failed example
  std::vector<double> q = waves(steps * keys, 0, 1), k = waves(steps * keys, 1, 0.5),
                      v = waves(steps * heads * lanes, 2, 1), c(steps * heads, 0.5), o(v.size()),
                      d_o = waves(steps * heads * lanes, 3, 1);
  std::vector<double> dq(q.size()), dk(k.size()), dv(v.size()), dc(c.size());
  std::vector<double> rates{0.05, 0.4}, d_rates(heads);

  ebb::delta_data<double> data;
  data.queries = ebb::head_view<double>(q.data(), {1, steps, 1, keys});
  data.keys = ebb::head_view<double>(k.data(), {1, steps, 1, keys});
  data.values = ebb::head_view<double>(v.data(), {1, steps, heads, lanes});
  data.weights = ebb::head_view<double>(c.data(), {1, steps, heads, 1});
  data.outputs = {o.data(), {1, steps, heads, lanes}};
  const auto decay = ebb::constant_decay().bind(std::span<const double>(rates));
  // [gradients]
  ebb::delta(decay, data);
  ebb::matrix_cotangents<double> known{.outputs = {d_o.data(), {1, steps, heads, lanes}}};

  decltype(decay)::gradients sums{.rates = d_rates};  // added to, as above
  ebb::matrix_gradients<double, decltype(sums)> asked{
      .queries = {dq.data(), {1, steps, 1, keys}},  // one for all heads: the sum over them
      .keys = {dk.data(), {1, steps, 1, keys}},
      .values = {dv.data(), {1, steps, heads, lanes}},
      .weights = {dc.data(), {1, steps, heads, 1}},
      .decay = &sums};
  ebb::delta_vjp(decay, data, known, asked);
  // [gradients]

  const auto loss = [&] {
    const auto bound = ebb::constant_decay().bind(std::span<const double>(rates));
    ebb::delta(bound, data);
    double sum = 0;
    for (std::size_t n = 0; n < o.size(); ++n) sum += o[n] * d_o[n];
    return sum;
  };
  double size = 0;
  for (std::size_t n = 0; n < o.size(); ++n) size += std::abs(o[n] * d_o[n]);
  int failures = 0;
  // From both sides. A term of the loss changes with a rate r like e^(-m r): its third derivative
  // is below (3 / (e r))^3 < 2e4 of it, so that slopes are off by less than 2e4 d^2 / 6 of the sum;
  // roundings by 1e-13 / d of it.
  const auto check = [&](double& number, double gradient) {
    const double d = 1e-5, middle = number;
    number = middle + d;
    const double above = loss();
    number = middle - d;
    const double slope = (above - loss()) / (2 * d);
    number = middle;
    failures += !(std::abs(slope - gradient) <= 1e-6 * size);
  };
  check(rates[0], d_rates[0]), check(rates[1], d_rates[1]);
  check(q[37], dq[37]), check(k[50], dk[50]);
  check(v[91], dv[91]), check(c[33], dc[33]);
  std::printf("%s\n", failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}
