// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <ebb/approx/best_weights.hpp>
#include <ebb/approx/certificate.hpp>
#include <ebb/decay/post.hpp>
#include <ebb/spectrum/geometric.hpp>

namespace approx = ebb::approx;
using ebb::index_t;

TEST_CASE("bounds that cross by rounding meet, bounds that contradict each other certify nothing") {
  approx::approximation found;
  found.error_upper = 0.5, found.basis = approx::evidence::proved;
  found.raise_lower(0.5 * (1 + 1e-13));
  CHECK(found.error_lower == 0.5);
  CHECK(found.certified(1e-6));
  found.error_lower = 0;
  found.raise_lower(0.51);
  CHECK(found.error_lower == 0);
  CHECK_FALSE(found.certified(1e-6));
  found.raise_lower(-1);
  CHECK(found.error_lower == 0);
  found.raise_lower(0.4), found.raise_lower(0.3);
  CHECK(found.error_lower == 0.4);
}

TEST_CASE("alternation: the smallest of N + 1 alternating errors counts") {
  // (1 + 0.3 x) T_6 on one interval: seven alternating extrema of growing size.
  const index_t n = 20;
  approx::sample_plan plan;
  plan.pieces.push_back({{0, 2, 0, 1}, n});
  Eigen::MatrixXd values(n, 1);
  const auto f = [](double x) { return (1 + 0.3 * x) * std::cos(6 * std::acos(x)); };
  for (index_t i = 0; i < n; ++i) values(i, 0) = f(approx::chebyshev_node(i, n));
  const approx::sampled_functions error(plan, values);
  // Independently: the largest |f| between neighbouring zeros of T_6.
  std::vector<double> humps;
  for (int i = 0; i <= 6; ++i) {
    double largest = 0;
    for (int j = 0; j <= 20000; ++j) {
      const double theta = std::numbers::pi * std::clamp((i - 0.5 + j / 20000.0) / 6, 0.0, 1.0);
      largest = std::max(largest, std::abs(f(-std::cos(theta))));
    }
    humps.push_back(largest);
  }
  CHECK(approx::detail::alternation_bound(approx::detail::alternation(error, 6)) ==
        doctest::Approx(humps[0]).epsilon(1e-8));
  CHECK(approx::detail::alternation_bound(approx::detail::alternation(error, 5)) ==
        doctest::Approx(humps[1]).epsilon(1e-8));
  CHECK(approx::detail::alternation_bound(approx::detail::alternation(error, 7)) ==
        0);  // no eight alternating places
}

TEST_CASE("duality by hand") {
  using rows = std::vector<std::vector<double>>;
  // One constant function: the best constant for 0 and 1 errs by 1/2.
  CHECK(approx::detail::dual_bound(rows{{1, 0}, {1, 1}}, 10) == doctest::Approx(0.5));
  // 1, x at 0, 1, 2 for f = x^2: the level is 1/2.
  CHECK(approx::detail::dual_bound(rows{{1, 0, 0}, {1, 1, 1}, {1, 2, 4}}, 10) ==
        doctest::Approx(0.5));
  // f in the span: nothing left.
  CHECK(approx::detail::dual_bound(rows{{1, 0, 3}, {1, 1, 5}, {1, 2, 7}}, 0) < 1e-14);
  // Dependent rows leave no multiplier to speak of.
  CHECK(approx::detail::dual_bound(rows{{0, 0, 1}, {0, 1, 1}, {0, 2, 1}}, 10) == 0);
}

namespace {

/// Interpolates f - sum c_k phi_k on the basis' own intervals with few nodes; the largest
/// difference from the function itself on a fine grid, and the bound of it.
template <class Basis>
std::pair<double, double> interpolation_error(const Basis& basis, double first, double last,
                                              index_t nodes, const std::vector<double>& weights,
                                              approx::error_kind kind) {
  const approx::power_law f(0.5);
  const auto bound = basis.template bind<double>();
  const auto error_at = [&](double lag) {
    std::vector<double> row(weights.size());
    bound.fill(lag, std::span<double>(row));
    double sum = f(lag);
    for (std::size_t k = 0; k < row.size(); ++k) sum -= weights[k] * row[k];
    return kind == approx::error_kind::relative ? sum / f(lag) : sum;
  };
  approx::sample_plan plan;
  for (const approx::lag_interval& i : basis.intervals(first, last))
    plan.pieces.push_back({i, nodes});
  double l1 = 0, worst = 0;
  for (const double w : weights) l1 += std::abs(w);
  for (const auto& piece : plan.pieces) {
    Eigen::MatrixXd values(nodes, 1);
    for (index_t i = 0; i < nodes; ++i)
      values(i, 0) = error_at(piece.interval.lag_of(approx::chebyshev_node(i, nodes)));
    const Eigen::MatrixXd c = approx::chebyshev_coefficients(values);
    for (int i = 0; i <= 500; ++i) {
      const double x = -1 + i / 250.0;
      const std::span<const double> series(c.data(), static_cast<std::size_t>(nodes));
      worst = std::max(
          worst, std::abs(approx::chebyshev_value(series, x) - error_at(piece.interval.lag_of(x))));
    }
  }
  return {worst, approx::detail::interpolation_bound(plan, f, kind, l1).remainder};
}

}  // namespace

TEST_CASE("the remainder bounds what lies between the nodes") {
  const std::vector<double> weights = {3, -7, 11, -5, 2};
  for (const auto kind : {approx::error_kind::absolute, approx::error_kind::relative})
    for (const index_t nodes : {6, 12, 24, 40}) {
      CAPTURE(nodes);
      const approx::exponential_basis still(ebb::geometric_spectrum::timescales(1, 1000), 5);
      const auto [seen, bound] = interpolation_error(still, 1, 1000, nodes, weights, kind);
      CHECK(seen <= bound);
      if (nodes <= 12 && kind == approx::error_kind::absolute) CHECK(seen >= 1e-3 * bound);
      for (const double last : {500.0, 990.0}) {
        const approx::taper_basis moving(ebb::geometric_spectrum::timescales(1, 1000), 5, 1000,
                                         1000);
        const auto [seen_moving, bound_moving] =
            interpolation_error(moving, 40, last, nodes, weights, kind);
        CHECK(seen_moving <= bound_moving);
      }
    }
}

TEST_CASE("elimination solves, both ways up") {
  const std::vector<std::vector<double>> a = {{0, 2, 1}, {1, -1, 3}, {4, 0, -2}};
  const approx::detail::elimination<double> solver(a);
  const std::vector<double> x = {1, -2, 3};
  std::vector<double> ax(3), atx(3);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      ax[i] += a[i][j] * x[j];
      atx[j] += a[i][j] * x[i];
    }
  const std::vector<double> back = solver.solve(ax), up = solver.solve_transposed(atx);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(back[i] == doctest::Approx(x[i]).epsilon(1e-14));
    CHECK(up[i] == doctest::Approx(x[i]).epsilon(1e-14));
  }
  CHECK(approx::detail::elimination<double>({{1, 2}, {2, 4}}).smallest_pivot() == 0);
}

TEST_CASE("two lags decide, and the signs of all others drown in double") {
  // PoST on all lags up to t = 100: near t every channel is 0, so that the error is f(99) and
  // f(100) against one function, whatever N: the same E for 24 and 28 channels.
  const approx::power_law f(0.5);
  const auto lags = approx::lag_set::integer(100);
  const auto error = [&](index_t channels) {
    return approx::best_weights(
        approx::taper_basis(ebb::geometric_spectrum::timescales(1, 1e6), channels, 1e6, 100), f,
        lags);
  };
  const auto small = error(24), large = error(28);
  CHECK(small.certified(5e-5));
  CHECK(large.certified(5e-5));
  // Only the slowest channel, exp(-sum 1/s), reaches lags 99 and 100: phi = exp(-H_100 + 1) and
  // exp(-H_100); levelling 100^-1/2 and 99^-1/2 against it gives E by hand.
  double harmonic = 0;
  for (int s = 1; s <= 100; ++s) harmonic += 1.0 / s;
  const double phi_99 = std::exp(1 - harmonic), phi_100 = std::exp(-harmonic);
  const double f_99 = std::pow(99, -0.5), f_100 = std::pow(100, -0.5);
  const double by_hand = (f_100 * phi_99 - f_99 * phi_100) / (phi_99 + phi_100);
  CHECK(small.error_upper == doctest::Approx(by_hand).epsilon(5e-5));
  CHECK(large.error_upper == doctest::Approx(by_hand).epsilon(5e-5));
}

TEST_CASE("two lags decide exactly, and many channels are left to serve the others") {
  // Lags t - 1 and t see proportional functions. The exchange alone runs in circles.
  const approx::power_law f(0.5);
  const auto found = approx::best_weights(
      approx::taper_basis(ebb::geometric_spectrum::timescales(1, 1e6), 40, 1e6, 400), f,
      approx::lag_set::integer(400));
  const double by_hand =
      (std::pow(400, -0.5) - std::exp(-1) * std::pow(399, -0.5)) / (1 + std::exp(-1));
  CHECK(found.certified(5e-5));
  CHECK(found.error_upper == doctest::Approx(by_hand).epsilon(5e-5));
}

TEST_CASE("dependent functions: fewer lags than channels and still an error") {
  // At position 2 with timescales [1, T] every channel decays by exp(-1) over the first step, so
  // that on lags 1 and 2 all functions are multiples of (1, 1/e): levelling 1 and 2^-1/2 against
  // it.
  const double by_hand = (std::sqrt(0.5) - std::exp(-1)) / (1 + std::exp(-1));
  const auto spectrum = ebb::geometric_spectrum::timescales(1, 20);
  const auto found = approx::best_weights(approx::taper_basis(spectrum, 6, 20, 2),
                                          approx::power_law(0.5), approx::lag_set::integer(2));
  CHECK(found.error_upper == doctest::Approx(by_hand).epsilon(5e-5));
  CHECK(found.weights.size() == 6);
  // Numbers cannot tell dependent functions from nearly dependent ones: no lower bound.
  CHECK(found.error_lower == 0);
  CHECK_FALSE(found.certified(5e-5));
  // A channel that never forgets breaks the tie.
  const auto with_sum = approx::best_weights(approx::taper_basis(spectrum, 6, 20, 2, {0, true}),
                                             approx::power_law(0.5), approx::lag_set::integer(2));
  CHECK(with_sum.error_upper == 0);
}

TEST_CASE("nearly dependent functions give no lower bound that is false") {
  // At position 60 the rates e^6 .. 1/100 of 64 channels make functions of which 200 digits tell 52
  // apart; yet the first 60 meet any target on 60 lags, with weights of 1e633.
  const auto found = approx::best_weights(
      approx::taper_basis(ebb::geometric_spectrum::extended(100, 6, 0), 64, 100, 60),
      approx::power_law(0.5), approx::lag_set::integer(60));
  CHECK(found.error_lower == 0);
  CHECK(found.error_upper < 1e-9);
}

TEST_CASE("tapered functions are the impulse responses of decay/post.hpp") {
  const auto spectrum = ebb::geometric_spectrum::extended(500, 1, 0.5);
  const approx::taper_basis basis(spectrum, 4, 500, 200, {30, true});
  const auto rates = ebb::rates_of<double>(spectrum, 3);
  const auto decay =
      ebb::post_taper::relative(500).with_offset(30).bind(std::span<const double>(rates));
  const auto bound = basis.bind<double>();
  std::vector<double> row(4), run(4 * 200);
  bound.fill_run(1, std::span<double>(run));
  for (index_t lag = 1; lag <= 200; ++lag) {
    bound.fill(static_cast<double>(lag), std::span<double>(row));
    CHECK(row[0] == 1);
    for (index_t k = 0; k < 3; ++k) {
      const double expected = decay.impulse_response(k, 200, 200 - lag);
      const auto at = static_cast<std::size_t>(k + 1);
      CHECK(row[at] == doctest::Approx(expected).epsilon(1e-12));
      CHECK(run[static_cast<std::size_t>(4 * (lag - 1)) + at] ==
            doctest::Approx(expected).epsilon(1e-11));
    }
  }
  // By hand: the product of the decays of the last three steps.
  double product = 1;
  for (int s = 198; s <= 200; ++s) product *= std::exp(-rates[0] * 500.0 / (s + 30));
  bound.fill(3.0, std::span<double>(row));
  CHECK(row[1] == doctest::Approx(product).epsilon(1e-13));
}
