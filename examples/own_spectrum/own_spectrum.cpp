// SPDX-License-Identifier: Apache-2.0
// A spectrum of one's own: log-rates at Chebyshev nodes, denser at both ends than a geometric one.
#include <cmath>
#include <cstdio>
#include <numbers>
#include <span>
#include <string_view>

#include <ebb/ebb.hpp>

// [spectrum]
/// log r_k = log(1/T) / 2 * (1 + x_k), x_k = cos((k + 1/2) pi / N): timescales inside [1, T].
struct chebyshev_spectrum {
  static constexpr std::string_view name = "chebyshev";
  double horizon;  // T > 1, steps

  template <ebb::real_scalar Real>
  void fill(std::span<Real> rates) const {  // ascending: the slowest channel first
    const Real most = std::log(Real(horizon)), n(static_cast<Real>(rates.size()));
    for (std::size_t k = 0; k < rates.size(); ++k) {
      const Real x = std::cos((static_cast<Real>(k) + Real(0.5)) * std::numbers::pi_v<Real> / n);
      rates[k] = std::exp(-most * (1 + x) / 2);
    }
  }
};
static_assert(ebb::spectrum_for<chebyshev_spectrum, double>);
// [spectrum]

int main() {  // NOLINT(bugprone-exception-escape): an exception is a failed example
  const ebb::index_t channels = 16, steps = 2000;
  const double horizon = 1000;

  // [layer]
  const auto memory = ebb::make_layer<double>(chebyshev_spectrum{horizon},
                                              ebb::post_taper::relative_by_gaps(horizon), channels);
  // [layer]
  ebb::array<double> b(steps, channels), h(steps, channels);
  for (ebb::index_t k = 0; k < channels; ++k) b(0, k) = 1;
  memory(b, h);

  int failures = 0;
  const auto rates = ebb::rates_of<double>(chebyshev_spectrum{horizon}, channels);
  for (std::size_t k = 0; k < rates.size(); ++k) {
    failures += !(rates[k] > 1 / horizon && rates[k] < 1);
    failures += k > 0 && !(rates[k] > rates[k - 1]);
    // The state after an impulse at position 1 is the closed form of the taper.
    const auto channel = static_cast<ebb::index_t>(k);
    const double closed = memory.decay().log_impulse_response(channel, steps, 1);
    failures += !(std::abs(std::log(h(steps - 1, channel)) - closed) < 1e-10 * (1 - closed)) &&
                closed > -700;
  }
  std::printf("timescales %.3g, %.3g, ... %.3g, %.3g steps\n", 1 / rates[0], 1 / rates[1],
              1 / rates[14], 1 / rates[15]);
  std::printf("%s\n", failures == 0 ? "ok" : "FAILED");
  return failures == 0 ? 0 : 1;
}
