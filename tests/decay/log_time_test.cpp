// SPDX-License-Identifier: Apache-2.0
// Polynomials in log-time against the exponentials that they stand for.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include <ebb/decay/post.hpp>
#include <ebb/recurrence/backend/log_time_weights.hpp>
#include <ebb/spectrum/geometric.hpp>

#include "support/scan_oracle.hpp"

namespace {

using ebb::index_t;
using ebb::post_taper;
using ebb::detail::log_time_block;

using bound_taper = post_taper::bound<double>;

/// The weights of steps position .. position + count - 1, block by block.
template <class State>
std::vector<std::vector<State>> weights_of(const bound_taper& decay, index_t position,
                                           index_t count, index_t channels) {
  std::vector<std::vector<State>> result;
  ebb::detail::log_time_weights<State> flight;
  while (count > 0) {
    const log_time_block block = decay.log_time_block_at<State>(position);
    REQUIRE(block.first <= position);
    REQUIRE(position < block.end);
    const index_t part = std::min({count, block.end - position, flight.longest});
    flight.set_steps(block, position, part);
    flight.set_channels(decay, 0, channels);
    ebb::detail::with_log_time_degree<State>(block, [&]<int Degree>() {
      for (index_t i = 0; i < part; ++i) {
        result.emplace_back(static_cast<std::size_t>(channels));
        flight.template row<Degree>(i, result.back().data(), 1);
      }
    });
    position += part, count -= part;
  }
  return result;
}

/// Error of a weight over what decay/post.hpp states: 10 u of the log-decay (1 - a of the kept),
/// and (4 + 5 L) u of double.
template <class State>
double over_bound(State weight, const bound_taper& decay, std::size_t k, long double time,
                  long double log_reference) {
  const long double log_time = std::log(time) - log_reference;
  const long double x = static_cast<long double>(decay.rates()[k]) *
                        std::exp(-static_cast<long double>(decay.alpha()[k]) * log_time);
  const long double bound =
      5 * static_cast<long double>(std::numeric_limits<State>::epsilon()) +
      (4 + 5 * (std::abs(std::log(time)) + std::abs(log_reference))) * 0x1p-53L;
  const auto w = static_cast<long double>(weight);
  const auto smallest = static_cast<long double>(std::numeric_limits<State>::denorm_min());
  if (x == 0) return weight == State(1) ? 0 : 1e9;
  if (weight < 0) {  // 1 - a, relatively; no weight of this kind below a = 1/2
    CHECK(weight >= State(-0.5));
    // Each of up to 14 operations of the polynomial may underflow besides.
    const long double m = -std::expm1(-x);
    return static_cast<double>(std::abs(-w - m) / (bound * m + 14 * smallest));
  }
  // a, whose relative error is that of x times x.
  const long double a = std::exp(-x);
  if (weight == State(1))  // 1 - a is below half a unit of a
    return x <= static_cast<long double>(std::numeric_limits<State>::epsilon()) ? 0 : 1e9;
  // And a within 2 + 4 |log a| units in the last place, of which one is 2 u at most.
  const long double u = static_cast<long double>(std::numeric_limits<State>::epsilon()) / 2;
  const long double of_a =
      std::min(bound * std::max(x, 0.34L), (4 + 8 * x) * u + (bound - 10 * u) * x);
  return static_cast<double>(std::abs(w - a) / (of_a * a + 14 * smallest));
}

template <class State>
double worst_of(const post_taper& taper, const std::vector<double>& rates, long double reference,
                index_t offset, index_t first, index_t count) {
  const auto decay = taper.bind(std::span<const double>(rates));
  const auto weights = weights_of<State>(decay, first, count, static_cast<index_t>(rates.size()));
  double worst = 0;
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t k = 0; k < rates.size(); ++k)
      worst = std::max(
          worst, over_bound(weights[i][k], decay, k,
                            static_cast<long double>(first) + static_cast<long double>(offset) +
                                static_cast<long double>(i),
                            std::log(reference)));
  return worst;
}

TEST_CASE_TEMPLATE("weights lie within their bound at all positions", State, float, double) {
  const auto geometric = ebb::rates_of<double>(ebb::geometric_spectrum::timescales(1, 4096), 37);
  const auto extended = ebb::rates_of<double>(ebb::geometric_spectrum::extended(4096, 2, 1), 37);
  const std::vector<double> wild{0, 1e-300, 1e-12, 1e-5, 0.3, 0.69, 0.7, 1, 5, 80, 90, 700, 1e5};
  for (const index_t first : {index_t{1}, index_t{60}, index_t{1000}, index_t{8100}, index_t{65000},
                              index_t{1} << 40, (index_t{1} << 53) - 100, index_t{1} << 61}) {
    const index_t count = first < 2000 ? 1200 : 400;
    CAPTURE(first);
    CHECK(worst_of<State>(post_taper::relative(4096), geometric, 4096, 0, first, count) <= 1);
    CHECK(worst_of<State>(post_taper::absolute(), geometric, 1, 0, first, count) <= 1);
    CHECK(worst_of<State>(post_taper::relative_by_gaps(4096), extended, 4096, 0, first, count) <=
          1);
    CHECK(worst_of<State>(post_taper::relative(1e300).with_offset(77), wild, 1e300L, 77, first,
                          count) <= 1);
    CHECK(worst_of<State>(post_taper::absolute(), wild, 1, 0, first, count) <= 1);
  }
}

TEST_CASE_TEMPLATE("blocks lie side by side, wherever one asks", State, float, double) {
  // Smooth from 169 on, where the second channel has x = 3: in the midst of an octave.
  const std::vector<double> rates{0.01, 39, 100};
  for (const index_t offset : {index_t{0}, index_t{5}, index_t{1} << 50}) {
    const auto decay =
        post_taper::absolute().with_offset(offset).bind(std::span<const double>(rates));
    index_t position = 1;
    for (int i = 0; i < 300; ++i) {
      const log_time_block block = decay.log_time_block_at<State>(position);
      CHECK(block.first <= position);
      CHECK(block.end > position);
      for (const index_t inside : {block.first, (block.first + block.end) / 2, block.end - 1}) {
        if (inside < 1) continue;
        const log_time_block same = decay.log_time_block_at<State>(inside);
        CHECK(same.first == block.first);
        CHECK(same.centre == block.centre);
      }
      position = block.end;
    }
  }
}

TEST_CASE("strong decays between the slow and the fast: one step at a time until they are smooth") {
  // alpha = 1/2, rate 100: alpha (1 + x) / 2 <= 1 from x = 3 on, t = (100 / 3)^2 = 1111.1
  const auto decay = post_taper::absolute().bind(std::span<const double>({1e-3, 100.0, 200.0}));
  CHECK(decay.alpha()[1] == 0.5);
  CHECK(decay.log_time_block_at<float>(1111).level == -1);
  CHECK(decay.log_time_block_at<float>(1112).level > 0);
}

}  // namespace
