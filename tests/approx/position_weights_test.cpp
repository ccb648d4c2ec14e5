// SPDX-License-Identifier: Apache-2.0
// One readout for all positions: what it promises is what the recurrence delivers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <ebb/approx/best_weights.hpp>
#include <ebb/approx/position_weights.hpp>
#include <ebb/core/array.hpp>
#include <ebb/decay/two_ended.hpp>
#include <ebb/recurrence/backend/rows.hpp>
#include <ebb/recurrence/layer.hpp>

namespace {

using ebb::index_t;
using ebb::approx::power_law;

ebb::post_taper::bound<double> taper_of(const ebb::two_ended_spectrum& spectrum, index_t channels) {
  const std::vector<double> rates = ebb::rates_of<double>(spectrum, channels);
  return ebb::two_ended_taper(spectrum).bind(std::span<const double>(rates));
}

TEST_CASE("the recurrence has the promised response at every position") {
  const index_t channels = 12, steps = 3000;
  const double beta = 0.5;
  const ebb::two_ended_spectrum spectrum(1000);
  const auto taper = taper_of(spectrum, channels);
  const auto fit =
      ebb::approx::fit_position_weights(taper, power_law(beta), {.last = steps, .degree = 3});
  CHECK(fit.error < 2e-3);
  const auto memory =
      ebb::make_layer<double>(spectrum, ebb::two_ended_taper(spectrum), channels, ebb::rows{});
  const auto readout = fit.readout<double>(taper, 1);  // responds to the step itself with 1

  ebb::array<double> b(ebb::extents{1, steps, channels}), h(ebb::extents{1, steps, channels});
  std::vector<double> x(static_cast<std::size_t>(steps));
  for (index_t t = 0; t < steps; ++t) {
    x[std::size_t(t)] = std::sin(double(t * t % 1009)) + (t == 5 ? 3 : 0);
    for (index_t k = 0; k < channels; ++k) b(t, k) = x[std::size_t(t)];
  }
  memory(b, h);
  double worst = 0, allowed = 0;
  for (index_t t = 1; t <= steps; ++t) {
    double y = 0, direct = x[std::size_t(t - 1)], size = 0;
    readout.apply(t, std::span<const double>(&h(t - 1, 0), std::size_t(channels)),
                  std::span<const double>(&x[std::size_t(t - 1)], 1), std::span<double>(&y, 1));
    for (index_t j = 1; j < t; ++j) {
      direct += std::pow(double(t - j), -beta) * x[std::size_t(j - 1)];
      size += std::abs(x[std::size_t(j - 1)]);
    }
    // What rounding adds is far below: N t u times the largest weights.
    const double bound = fit.error * size + 1e-11;
    CHECK(std::abs(y - direct) <= bound);
    worst = std::max(worst, std::abs(y - direct)), allowed = std::max(allowed, bound);
  }
  CHECK(worst > 0.01 * allowed);  // the bound is not so wide that it lets everything pass
}

TEST_CASE("no readout is better than the best weights of one position") {
  const index_t channels = 8;
  const ebb::two_ended_spectrum spectrum(1000);
  const auto fit = ebb::approx::fit_position_weights(taper_of(spectrum, channels), power_law(0.5),
                                                     {.last = 1000, .degree = 4});
  const auto rest = ebb::geometric_spectrum::extended(1000, 2, 1);
  int compared = 0;
  for (const auto& at : fit.errors) {
    if (at.position != 64 && at.position != 1000) continue;
    const ebb::approx::taper_basis basis(rest, channels, 1000, double(at.position),
                                         {.offset = 30, .sum_channel = true});
    const auto best = ebb::approx::best_weights(basis, power_law(0.5),
                                                ebb::approx::lag_set::integer(double(at.position)));
    INFO("t = " << at.position);
    CHECK(best.error_lower > 0);
    CHECK(at.error >= best.error_lower * (1 - 1e-9));
    CHECK(at.error <= 20 * best.error_upper);
    ++compared;
  }
  CHECK(compared >= 1);
}

TEST_CASE("a constant target and a sum: exactly") {
  const std::vector<double> sum{0};
  const auto taper = ebb::post_taper::relative(10).bind(std::span<const double>(sum));
  const auto constant = [](double) { return 3.0; };
  const auto fit =
      ebb::approx::fit_position_weights(taper, constant, {.last = 50, .degree = 0, .power = 0});
  CHECK(fit.error < 1e-9);
  CHECK(fit.coefficients.size() == 1);
  CHECK(std::abs(fit.weights_l1 - 3) < 1e-9);
}

TEST_CASE("wrong options are refused, and work can be interrupted") {
  const auto taper = taper_of(ebb::two_ended_spectrum(100), 4);
  const auto refuses = [&](const ebb::approx::position_weights_options& options) {
    CHECK_THROWS_AS((void)ebb::approx::fit_position_weights(
                        taper, [](double) { return 1.0; }, options),
                    ebb::domain_error);
  };
  refuses({.first = 0});
  refuses({.first = 9, .last = 9});
  refuses({.last = (index_t{1} << 40) + 1});
  refuses({.lag_fraction = 0});
  refuses({.lag_fraction = 1.5});
  refuses({.degree = -1});
  refuses({.degree = 25});
  refuses({.power = -0.5});
  refuses({.rounds = 0});
  refuses({.ridge = 0});
  int asked = 0;
  ebb::approx::position_weights_options options{.last = 100, .degree = 1};
  options.interrupted = [&] { return ++asked == 2; };
  const auto fit = ebb::approx::fit_position_weights(taper, power_law(1), options);
  CHECK(asked == 2);
  CHECK(fit.gain.power == 1);
  CHECK(std::isfinite(fit.error));
}

TEST_CASE("messages name fit_position_weights, and what is wrong") {
  const double nan = std::nan("");
  const std::vector<double> rates = {0.001, 0.01, 0.1, 1}, fast = {0.001, 100};
  const auto says = [](const std::vector<double>& of, const auto& target, double power,
                       const char* words) {
    const auto taper = ebb::post_taper::relative(1000).bind(std::span<const double>(of));
    std::string message;
    try {
      (void)ebb::approx::fit_position_weights(taper, target,
                                              {.last = 500, .degree = 2, .power = power});
    } catch (const ebb::domain_error& error) {
      message = error.what();
    }
    CAPTURE(message);
    CHECK(message.rfind("fit_position_weights: ", 0) == 0);
    CHECK(message.find(words) != std::string::npos);
  };
  for (const double bad : {nan, HUGE_VAL, -HUGE_VAL, 1e200}) {
    says(
        rates, [=](double) { return bad; }, 0.5, "target");
    says(
        rates, [=](double lag) { return lag > 5 ? bad : 1 / lag; }, 0.5, "target");
    // A lag that only the last look at the errors sees: lags to 64 one by one.
    says(
        rates, [=](double lag) { return lag == 61 ? bad : 1 / lag; }, 0.5, "target");
  }
  const auto inverse = [](double lag) { return 1 / lag; };
  says(rates, inverse, 1e3, "power");
  says(fast, inverse, 1e3, "power");
  says(rates, inverse, nan, "power");
  says(rates, power_law(1e3), 0, "power");
}

}  // namespace
