// SPDX-License-Identifier: Apache-2.0
// The gradients of a loss of a scan, checked against differences of the loss.
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include <ebb/ebb.hpp>

namespace {
constexpr ebb::index_t steps = 60, channels = 5;

// L = 1/2 sum of (h - target)^2, the target being 1 everywhere.
double loss(const std::vector<double>& rates, const ebb::array<double>& b) {
  ebb::array<double> h(b.size());
  ebb::scan(ebb::post_taper::relative(40).bind(std::span<const double>(rates)), b, h);
  double sum = 0;
  for (ebb::index_t t = 0; t < steps; ++t)
    for (ebb::index_t k = 0; k < channels; ++k) sum += (h(t, k) - 1) * (h(t, k) - 1) / 2;
  return sum;
}

// The slope of the loss along one number, from both sides. Third derivatives are below (2 T)^3
// times the loss, roundings 1e-13 of it: off by less than 1e-12 (2 T)^3 / 6 + 1e-7 < 1e-6 of it.
template <class Loss>
double slope(double& number, const Loss& value) {
  const double d = 1e-6, middle = number;
  number = middle + d;
  const double above = value();
  number = middle - d;
  const double below = value();
  number = middle;
  return (above - below) / (2 * d);
}
}  // namespace

int main() {  // NOLINT(bugprone-exception-escape): an exception is a failed example
  std::vector<double> rates{0.02, 0.05, 0.1, 0.3, 0.8};
  ebb::array<double> b(steps, channels), h(steps, channels);
  for (ebb::index_t t = 0; t < steps; ++t)
    for (ebb::index_t k = 0; k < channels; ++k) b(t, k) = std::sin(static_cast<double>(t + 7 * k));

  // [gradients]
  const auto decay = ebb::post_taper::relative(40).bind(std::span<const double>(rates));
  ebb::scan(decay, b, h);
  ebb::array<double> dh(h.size()), db(h.size());  // dL/dh at each step by itself: h - target
  for (ebb::index_t t = 0; t < steps; ++t)
    for (ebb::index_t k = 0; k < channels; ++k) dh(t, k) = h(t, k) - 1;

  std::vector<double> d_rates(channels);  // zeros: a decay's gradients are added to what is there
  decltype(decay)::gradients sums{.rates = d_rates};  // no .alpha: it is not computed
  ebb::scan_vjp(decay, b, h, ebb::scan_cotangents<double>{.outputs = dh.view()},
                ebb::scan_gradients<double, decltype(sums)>{.inputs = db.view(), .decay = &sums});
  // [gradients]

  const double allowed = 1e-6 * loss(rates, b);
  const auto value = [&] { return loss(rates, b); };
  int failures = 0;
  for (ebb::index_t k = 0; k < channels; ++k) {
    const auto c = static_cast<std::size_t>(k);
    failures += !(std::abs(d_rates[c] - slope(rates[c], value)) <= allowed);
    for (const ebb::index_t t : {ebb::index_t{0}, ebb::index_t{31}, steps - 1})
      failures += !(std::abs(db(t, k) - slope(b(t, k), value)) <= allowed);
  }
  std::printf("%s\n", failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}
