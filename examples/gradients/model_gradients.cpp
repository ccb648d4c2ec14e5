// SPDX-License-Identifier: Apache-2.0
// The gradients of a tapered Mamba-2, from its gated outputs to the learned parameters of its
// spectrum, checked against differences of the loss.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include <ebb/ebb.hpp>

namespace {
constexpr ebb::index_t steps = 20, heads = 3, states = 4, width = 2;
constexpr double horizon = 16;
constexpr ebb::head_extents inputs{1, steps, heads, width}, groups{1, steps, 1, states},
    by_head{1, steps, heads, 1};

std::vector<double> waves(const ebb::head_extents& shape, double phase) {
  const ebb::index_t count = shape.batches * shape.steps * shape.heads * shape.width;
  std::vector<double> numbers;
  for (ebb::index_t n = 0; n < count; ++n)
    numbers.push_back(std::sin(phase + 1.7 * static_cast<double>(n)));
  return numbers;
}
}  // namespace

int main() {  // NOLINT(bugprone-exception-escape): an exception is a failed example
  std::vector<double> x = waves(inputs, 0), B = waves(groups, 1), C = waves(groups, 2),
                      z = waves(inputs, 3), dt = waves(by_head, 4), D{0.5, -1, 2},
                      dt_bias{-1, -0.5, 0}, A_log_base{-1.5}, A_log_deltas{0.3, 0.9}, y(x.size()),
                      before_gate(x.size()), d_out = waves(inputs, 5);
  // What the gradients go to, under the names of what they belong to. Zeros: those of a decay are
  // added to what is there.
  std::vector<double> d_x(x.size()), d_B(B.size()), d_C(C.size()), d_z(z.size()), d_D(heads),
      d_dt(dt.size()), d_bias(heads), d_base(1), d_deltas(heads - 1);

  const auto taper = ebb::post_taper::absolute_by_gaps(horizon);
  const auto spectrum_now = [&] { return ebb::ordered_spectrum<>(A_log_base[0], A_log_deltas); };
  const auto decay_now = [&] {
    return ebb::mamba2_post_decay(
        spectrum_now(), taper,
        ebb::raw_steps<double>{.raw = {dt.data(), by_head}, .bias = dt_bias});
  };
  ebb::mamba2_arrays<double> layer;
  layer.x = {x.data(), inputs}, layer.y = {y.data(), inputs}, layer.z = {z.data(), inputs};
  layer.B = {B.data(), groups}, layer.C = {C.data(), groups}, layer.D = D;
  const auto loss = [&] {
    ebb::mamba2(decay_now(), layer);
    double sum = 0;
    for (std::size_t n = 0; n < y.size(); ++n) sum += y[n] * d_out[n];
    return sum;
  };

  const auto spectrum = spectrum_now();
  const auto decay = decay_now();
  // [gradients]
  // Forward, the gate by itself: the way back needs what it was given.
  ebb::mamba2_arrays<double> ungated = layer;
  ungated.z = {}, ungated.y = {before_gate.data(), inputs};
  ebb::mamba2(decay, ungated);
  y = before_gate;
  ebb::silu_gate(layer.z, layer.y);

  // Back: through the gate, the recurrence, the exponents of the taper, the ordered parameters.
  std::vector<double> d_y(y.size()), d_rates(heads), d_alpha(heads);
  ebb::silu_gate_vjp<double>(layer.z, ungated.y, {d_out.data(), inputs}, {d_y.data(), inputs},
                             {d_z.data(), inputs});
  decltype(decay)::gradients sums{
      .rates = d_rates, .raw = {d_dt.data(), {1, steps, heads}}, .bias = d_bias, .alpha = d_alpha};
  const ebb::matrix_cotangents<double> known{.outputs = {d_y.data(), inputs}};
  ebb::matrix_gradients<double, decltype(sums)> asked{.queries = {d_C.data(), groups},
                                                      .keys = {d_B.data(), groups},
                                                      .values = {d_x.data(), inputs},
                                                      .skip = d_D,
                                                      .decay = &sums};
  ebb::outer_vjp(decay, ungated.recurrence(), known, asked);
  taper.exponents_vjp(decay.rates(), d_alpha, d_rates);
  spectrum.vjp(d_rates, d_base[0], d_deltas);
  // [gradients]

  loss();
  double size = 0;
  for (std::size_t n = 0; n < y.size(); ++n) size += std::abs(y[n] * d_out[n]);
  // From both sides. Arrays that the loss is linear in have no error of truncation; through dt, z
  // and the spectrum third derivatives are below 1e3 of `size`: e^-u, u = r dt t^-alpha, and
  // u^n e^-u are at most 2, and log u moves by less than 1 + log(T) / log(r_2 / r_0) < 3 for each
  // unit of a parameter, so that slopes are off by less than 1e3 d^2 / 6; roundings by 1e-13 / d.
  const double d = 1e-5, allowed = 1e-7 * size;
  int failures = 0, compared = 0;
  double largest = 0;
  for (const auto& [numbers, gradients] : {std::pair{&x, &d_x},
                                           {&B, &d_B},
                                           {&C, &d_C},
                                           {&z, &d_z},
                                           {&D, &d_D},
                                           {&dt, &d_dt},
                                           {&dt_bias, &d_bias},
                                           {&A_log_base, &d_base},
                                           {&A_log_deltas, &d_deltas}})
    for (std::size_t n = 0; n < numbers->size(); ++n, ++compared) {
      const double middle = (*numbers)[n];
      (*numbers)[n] = middle + d;
      const double above = loss();
      (*numbers)[n] = middle - d;
      const double slope = (above - loss()) / (2 * d);
      (*numbers)[n] = middle;
      largest = std::max(largest, std::abs(slope - (*gradients)[n]));
      failures += !(std::abs(slope - (*gradients)[n]) <= allowed);
    }
  std::printf("%d gradients, largest difference %.1e of %.1e allowed: %s\n", compared, largest,
              allowed, failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}
