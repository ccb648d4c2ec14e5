// SPDX-License-Identifier: Apache-2.0
// The fewest channels: they reach the tolerance, and one less does not.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <ebb/approx/design.hpp>

namespace {

using namespace ebb::approx;
using ebb::index_t;

// The largest error seen on a fine grid, straight from the rates and weights in double.
template <class Target>
double seen(const exponential_sum& sum, const Target& target, double horizon) {
  double worst = 0;
  for (int i = 0; i <= 4000; ++i) {
    const double lag = std::exp(std::log(horizon) * i / 4000);
    worst = std::max(worst, std::abs(target(lag) - sum(lag)));
  }
  return worst;
}

TEST_CASE("two-ended channels to order") {
  for (const double horizon : {30.0, 1e4}) {
    for (const double tolerance : {1e-2, 1e-5}) {
      INFO("T = " << horizon << ", tolerance " << tolerance);
      const power_law target(0.5);
      const memory_design made = design(target, horizon, tolerance);
      REQUIRE(made.channels > 0);
      CHECK(made.error_upper <= tolerance);
      CHECK(made.error_lower <= made.error_upper);
      CHECK(made.fewest);
      CHECK(made.fewer_lower > tolerance);
      CHECK(made.basis == evidence::proved);
      CHECK(made.sum.channels() == made.channels);
      const double error = seen(made.sum, target, horizon);
      CHECK(error <= made.error_upper * (1 + 1e-6));
      CHECK(error >= made.error_lower * 0.98);
      // One channel less, with ends of its own choice: what the proof says.
      for (const double fast : {0.0, 1.0, 2.0})
        for (const double slow : {0.0, 1.0})
          CHECK(
              best_weights(exponential_basis(ebb::geometric_spectrum::extended(horizon, fast, slow),
                                             made.channels - 1),
                           target, lag_set::continuous(horizon))
                  .error_upper >= made.fewer_lower * (1 - 1e-9));
    }
  }
}

TEST_CASE("free rates need the fewest channels") {
  const power_law target(1);
  const memory_design free = design(target, 1e4, 1e-6, {.family = memory_family::minimax});
  const memory_design two_ended = design(target, 1e4, 1e-6);
  CHECK(free.fewest);
  CHECK(free.channels < two_ended.channels);
  CHECK(seen(free.sum, target, 1e4) <= 1e-6);
  // Published: 1.582e-6 with 12 terms on [1, 1e4] (Hackbusch's tables, as in tests/data).
  CHECK(free.channels == 13);
  CHECK(std::abs(free.fewer_lower / 1.582e-6 - 1) < 4e-4);
}

TEST_CASE("channels of a taper to order") {
  const memory_design made =
      design(power_law(0.5), 500, 1e-3, {.family = memory_family::position_adaptive});
  REQUIRE(made.channels > 1);
  CHECK(made.fewest);
  CHECK(made.error_upper <= 1e-3);
  CHECK(made.rates.front() == 0);  // the sum
  CHECK(made.weights_l1 <= 1e4 * (1 + 1e-9));
  // Lags up to half the position are easier.
  CHECK(design(power_law(0.5), 500, 1e-3,
               {.family = memory_family::position_adaptive, .lag_fraction = 0.5})
            .channels <= made.channels);
  // Two are the least: a sum channel and one that forgets.
  const memory_design two =
      design(power_law(0.5), 2, 0.5, {.family = memory_family::position_adaptive});
  CHECK(two.channels == 2);
  CHECK(two.fewest);
  CHECK(design(power_law(0.5), 2, 0.5,
               {.family = memory_family::position_adaptive, .most_channels = 1})
            .channels == 0);
}

TEST_CASE("bounded weights, relative errors, few channels") {
  const memory_design capped = design(power_law(1), 1e3, 1e-3, {.most_weights = 4});
  REQUIRE(capped.channels > 0);
  CHECK(capped.weights_l1 <= 4 * (1 + 1e-9));
  CHECK(capped.error_upper <= 1e-3);
  const memory_design relative = design(power_law(0.5), 1e3, 1e-3, {.kind = error_kind::relative});
  for (const double lag : {1.0, 17.5, 999.0})
    CHECK(std::abs(relative.sum(lag) * std::sqrt(lag) - 1) <= 1e-3);
  const memory_design out_of_reach = design(power_law(0.5), 1e4, 1e-8, {.most_channels = 5});
  CHECK(out_of_reach.channels == 0);
  CHECK(out_of_reach.summary() == "not within the channels allowed");
  // An easy order: one channel.
  const memory_design one = design(power_law(0.5), 10, 0.9);
  CHECK(one.channels == 1);
  CHECK(one.fewest);
}

TEST_CASE("a kernel of one's own, in double") {
  const auto kernel = [](double tau) { return std::exp(-tau / 300) / (1 + tau); };
  const memory_design made = design(kernel, 2000, 1e-5);
  REQUIRE(made.channels > 0);
  CHECK(made.fewest);
  CHECK(made.basis == evidence::sampled);
  CHECK(seen(made.sum, kernel, 2000) <= 1e-5);
  CHECK_THROWS_AS((void)design(kernel, 2000, 1e-5, {.family = memory_family::minimax}),
                  ebb::domain_error);
}

TEST_CASE("where the first guess of the number of channels is far off") {
  const auto late = [](double tau) { return tau * std::exp(-tau / 20); };  // small at lag 1
  const auto soon = [](double tau) { return 1e3 * std::exp(-3 * tau); };
  const auto check = [](const memory_design& made, double error, double tolerance) {
    REQUIRE(made.channels > 1);
    CHECK(made.fewest);
    CHECK(made.fewer_lower > tolerance);
    CHECK(error <= tolerance);
  };
  const memory_design more = design(late, 300, 1e-3), less = design(soon, 300, 1e-3);
  check(more, seen(more.sum, late, 300), 1e-3);
  check(less, seen(less.sum, soon, 300), 1e-3);
  const auto below = [](double tau) { return -1 / tau; };
  const memory_design negative = design(below, 100, 1e-3, {.kind = error_kind::relative});
  CHECK(negative.fewest);
  CHECK(negative.error_upper <= 1e-3);
  const auto turning = [](double tau) { return std::exp(-tau / 50) * std::cos(tau / 5); };
  CHECK(design(turning, 1000, 1e-3, {.most_channels = 16}).channels == 0);
}

TEST_CASE("kernels that are 0, in the family, or small") {
  const memory_design none = design([](double) { return 0.0; }, 1e3, 1e-3);
  CHECK(none.channels == 1);
  CHECK(none.summary() == "1 channel, 0.0e0");
  // Rate 1 is the fastest of the pairs with A = 0.
  const auto member = [](double tau) { return std::exp(-tau); };
  for (const double horizon : {30.0, 200.0}) {
    const memory_design exact = design(member, horizon, 1e-3, {.kind = error_kind::relative});
    CHECK(exact.channels == 2);
    CHECK(exact.fewest);
    CHECK(exact.error_upper <= 1e-12);
    CHECK(exact.fast_end == 0);
    for (const double lag : {1.0, 0.7 * horizon, horizon})
      CHECK(std::abs(exact.sum(lag) / member(lag) - 1) <= 1e-11);
  }
  const auto kernel = [](double tau) { return 1 / tau; };
  const auto tiny = [](double tau) { return 1e-300 / tau; };
  const memory_design usual = design(kernel, 1e3, 1e-4), small = design(tiny, 1e3, 1e-304);
  CHECK(small.channels == usual.channels);
  CHECK(small.fewest);
  CHECK(small.error_upper == doctest::Approx(1e-300 * usual.error_upper).epsilon(1e-4));
}

TEST_CASE("values whose squares overflow promise nothing") {
  const memory_design made = design([](double tau) { return 1e300 / tau; }, 1e3, 1e296);
  CHECK(std::isfinite(made.weights_l1));
  CHECK(made.error_upper > 1e290);
}

TEST_CASE("one line about it") {
  memory_design made;
  made.channels = 24, made.error_upper = 3.04e-6;
  CHECK(made.summary() == "24 channels, 3.1e-6");
  made.error_upper = 9.95e-4;
  CHECK(made.summary() == "24 channels, 1.0e-3");
  made.channels = 1, made.error_upper = 0.5;
  CHECK(made.summary() == "1 channel, 5.0e-1");
  made.error_upper = 1;
  CHECK(made.summary() == "1 channel, 1.0e0");
}

TEST_CASE("wrong orders are refused, and work can be interrupted") {
  const power_law f(0.5);
  CHECK_THROWS_AS((void)design(f, 1, 1e-3), ebb::domain_error);
  CHECK_THROWS_AS((void)design(f, 1e13, 1e-3), ebb::domain_error);
  CHECK_THROWS_AS((void)design(f, 100, 0), ebb::domain_error);
  CHECK_THROWS_AS((void)design(f, 100, std::nan("")), ebb::domain_error);
  CHECK_THROWS_AS((void)design(f, 100, 1e-3, {.most_weights = 0}), ebb::domain_error);
  CHECK_THROWS_AS((void)design(f, 100, 1e-3, {.most_channels = 129}), ebb::domain_error);
  CHECK_THROWS_AS((void)design(f, 100, 1e-3, {.family = memory_family::minimax, .most_weights = 9}),
                  ebb::domain_error);
  CHECK_THROWS_AS((void)design(f, 100, 1e-3,
                               {.family = memory_family::position_adaptive, .first_position = 101}),
                  ebb::domain_error);
  CHECK_THROWS_AS(
      (void)design(f, 100, 1e-3, {.family = memory_family::position_adaptive, .lag_fraction = 0}),
      ebb::domain_error);
  const auto root = [](double tau) { return 1 / std::sqrt(tau - 1); };
  CHECK_THROWS_AS((void)design(root, 100, 1e-3), ebb::domain_error);
  CHECK_THROWS_AS((void)design([](double tau) { return 1 / tau; }, 100, 1e-14), ebb::domain_error);
  CHECK_THROWS_AS((void)design(f, 100, 9e-14), ebb::domain_error);
  const auto through = [](double tau) { return std::log(tau); };
  CHECK_THROWS_AS((void)design(through, 100, 1e-3, {.kind = error_kind::relative}),
                  ebb::domain_error);
  int asked = 0;
  const memory_design stopped = design(f, 1e4, 1e-6, {.interrupted = [&] { return ++asked > 3; }});
  CHECK(stopped.interrupted);
  CHECK(stopped.summary() == "interrupted");
}

}  // namespace
