// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ebb/approx/best_weights.hpp>
#include <ebb/approx/bounds.hpp>
#include <ebb/approx/minimax.hpp>

namespace approx = ebb::approx;
using ebb::index_t;

namespace {

approx::minimax_options of(approx::error_kind kind, double tolerance = 1e-9) {
  approx::minimax_options options;
  options.kind = kind;
  options.tolerance = tolerance;
  return options;
}

/// e(tau) of the sum as it is, in the precision of the lag.
template <class Real>
Real error_at(const approx::exponential_sum& sum, const approx::power_law& f, const Real& lag,
              approx::error_kind kind) {
  const Real value = f(lag), error = Real(value - sum(lag));
  return kind == approx::error_kind::relative ? Real(error / value) : error;
}

/// max |e| on a fine grid: an independent look at the result, from below.
template <class Real>
Real seen_error(const approx::exponential_sum& sum, const approx::power_law& f, double last,
                approx::error_kind kind, int steps) {
  using std::abs, std::exp, std::log;
  Real worst(0);
  for (int i = 0; i <= steps; ++i) {
    const Real lag = i == steps ? Real(last) : Real(exp(Real(log(Real(last)) * i / steps)));
    worst = std::max(worst, Real(abs(error_at(sum, f, lag, kind))));
  }
  return worst;
}

/// The rows of a data file by the names of their columns.
std::vector<std::map<std::string, std::string>> rows_of(const char* name) {
  std::ifstream file(std::string(EBB_TEST_DATA "/") + name);
  REQUIRE(file);
  const auto cells = [](const std::string& line) {
    std::vector<std::string> result;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) result.push_back(cell);
    return result;
  };
  std::string line;
  std::getline(file, line);
  const auto names = cells(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(file, line)) {
    const auto values = cells(line);
    REQUIRE(values.size() == names.size());
    rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) rows.back()[names[i]] = values[i];
  }
  return rows;
}

std::string four_digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3e", x);
  return text;
}

constexpr auto absolute = approx::error_kind::absolute, relative = approx::error_kind::relative;

}  // namespace

TEST_CASE("one term, relative error: in closed form") {
  // s / f = w exp(-r tau) tau^beta has one maximum, at beta / r, and its least values at the ends;
  // at the best r these are equal, at the best w as far below 1 as the maximum is above.
  for (const double beta : {0.25, 0.5, 1.0, 1.5})
    for (const double horizon : {3.0, 100.0, 1e5}) {
      CAPTURE(beta);
      CAPTURE(horizon);
      const double r = beta * std::log(horizon) / (horizon - 1);
      const double w = 2 / (std::exp(-r) + std::exp(-beta) * std::pow(beta / r, beta));
      const auto found = approx::minimax(approx::power_law(beta), 1, horizon, of(relative));
      REQUIRE(found.converged);
      CHECK(found.error_upper == doctest::Approx(1 - w * std::exp(-r)).epsilon(1e-9));
      CHECK(found.sum.rates[0] == doctest::Approx(r).epsilon(1e-7));
      CHECK(found.sum.weights[0] == doctest::Approx(w).epsilon(1e-7));
    }
}

TEST_CASE("published optima to every printed digit") {
  std::map<double, std::vector<approx::minimax_sum>> chains;
  int rows = 0;
  for (auto& row : rows_of("exponential-sum-optimum.csv")) {
    const double horizon = std::stod(row["range"]);
    const auto terms = static_cast<std::size_t>(std::stoi(row["terms"]));
    CAPTURE(horizon);
    CAPTURE(terms);
    auto& chain = chains[horizon];
    if (chain.size() < terms)
      chain = approx::minimax_chain(approx::power_law(1), static_cast<index_t>(terms), horizon,
                                    of(absolute, 1e-7));
    const auto& found = chain[terms - 1];
    REQUIRE(found.converged);
    CHECK(found.basis == approx::evidence::proved);
    const std::string published = four_digits(std::stod(row["error"]));
    CHECK(four_digits(found.error_lower) == published);
    CHECK(four_digits(found.error_upper) == published);
    ++rows;
  }
  CHECK(rows == 18);
}

TEST_CASE("an independent computation in 50 digits") {
  int rows = 0;
  for (auto& row : rows_of("minimax-optimum.csv")) {
    const approx::power_law f(std::stod(row["target"]));
    const double horizon = std::stod(row["T"]);
    const auto terms = static_cast<index_t>(std::stoi(row["N"]));
    CAPTURE(f.beta());
    CAPTURE(horizon);
    CAPTURE(terms);
    CAPTURE(row["error_kind"]);
    const auto found = approx::minimax(f, terms, horizon,
                                       of(row["error_kind"] == "abs" ? absolute : relative, 1e-8));
    REQUIRE(found.converged);
    CHECK(found.sum.channels() == terms);
    // Eleven digits are printed, of bounds that are themselves a little apart.
    CHECK(found.error_lower <= std::stod(row["error_upper"]) * (1 + 1e-10));
    CHECK(found.error_upper >= std::stod(row["error_lower"]) * (1 - 1e-10));
    CHECK(found.sum.rates.front() == doctest::Approx(std::stod(row["rate_min"])).epsilon(1e-5));
    CHECK(found.sum.rates.back() == doctest::Approx(std::stod(row["rate_max"])).epsilon(1e-5));
    CHECK(found.sum.weights_l1() == doctest::Approx(std::stod(row["weights_sum"])).epsilon(1e-5));
    ++rows;
  }
  CHECK(rows == 36);
}

TEST_CASE("what a result says of itself is so") {
  for (const auto kind : {absolute, relative})
    for (const double beta : {0.5, 1.0})
      for (const index_t terms : {2, 5, 9}) {
        CAPTURE(beta);
        CAPTURE(terms);
        const double horizon = 3000;
        const approx::power_law f(beta);
        const auto found = approx::minimax(f, terms, horizon, of(kind));
        REQUIRE(found.converged);
        CHECK_NOTHROW(found.sum.check("minimax_test"));
        CHECK(found.sum.spectrum().channels() == terms);
        CHECK(found.error_upper - found.error_lower <= 1e-9 * found.error_upper);
        // The sum reaches the upper bound, seen on a grid and in another arithmetic.
        const double seen =
            static_cast<double>(seen_error<long double>(found.sum, f, horizon, kind, 20000));
        CHECK(seen <= found.reached() * (1 + 1e-12));
        CHECK(seen >= found.error_lower * (1 - 1e-5));  // the grid misses the extrema by little
        // 2N + 1 errors of alternating sign: no sum of N terms does better than the least of them.
        const auto& t = found.reference;
        REQUIRE(t.size() == static_cast<std::size_t>(2 * terms + 1));
        CHECK(t.front() == 1);
        CHECK(t.back() <= horizon);
        for (std::size_t i = 0; i < t.size(); ++i) {
          if (i > 0) CHECK(t[i - 1] < t[i]);
          const double e =
              static_cast<double>(error_at(found.sum, f, static_cast<long double>(t[i]), kind));
          CHECK((i % 2 == 0 ? e : -e) >= found.error_lower * (1 - 1e-8) - found.rounding);
        }
        // Any rate or weight moved makes it worse, by more than the tolerance.
        for (std::size_t k = 0; k < 2 * found.sum.rates.size(); ++k)
          for (const double factor : {1 - 1e-2, 1 + 1e-2}) {
            approx::exponential_sum other = found.sum;
            (k % 2 == 0 ? other.rates : other.weights)[k / 2] *= factor;
            CHECK(static_cast<double>(seen_error<long double>(other, f, horizon, kind, 3000)) >
                  found.error_upper * (1 + 1e-4));
          }
      }
}

TEST_CASE("the best weights of the best rates reach the same error") {
  for (const auto kind : {absolute, relative})
    for (const index_t terms : {3, 8, 12}) {
      CAPTURE(terms);
      const approx::power_law f(0.5);
      const auto found = approx::minimax(f, terms, 1e4, of(kind));
      REQUIRE(found.converged);
      approx::approximation_options options;
      options.kind = kind;
      const auto weights = approx::best_weights(
          approx::exponential_basis<ebb::listed_spectrum>(found.sum.spectrum(), terms), f,
          approx::lag_set::continuous(1e4), options);
      CHECK(weights.certified(5e-5));
      CHECK(weights.error_upper >= found.error_lower);
      CHECK(weights.error_lower <= found.reached());
      CHECK(weights.error_upper == doctest::Approx(found.error_upper).epsilon(5e-5));
    }
}

TEST_CASE("absolute errors: the infinite horizon, reached by a finite one") {
  const approx::power_law f(1);
  const auto everywhere = approx::minimax_chain(f, 10, HUGE_VAL);
  const auto far = approx::minimax_chain(f, 10, 1e6);
  const auto near = approx::minimax_chain(f, 10, 1e3);
  for (std::size_t k = 0; k < 10; ++k) {
    CAPTURE(k);
    REQUIRE(everywhere[k].converged);
    REQUIRE(far[k].converged);
    REQUIRE(near[k].converged);
    // The error of sums without a horizon peaks a last time well before 1e6.
    CHECK(everywhere[k].reference.back() < 1e6);
    CHECK(far[k].error_upper == doctest::Approx(everywhere[k].error_upper).epsilon(2e-9));
    CHECK(near[k].error_lower <= far[k].error_upper);
    CHECK(near[k].reference.back() ==
          doctest::Approx(std::min(1e3, everywhere[k].reference.back())).epsilon(1e-4));
  }
  // N = 8 on [1, 1e6], as in minimax-optimum.csv.
  CHECK(everywhere[7].error_upper == doctest::Approx(5.39246759e-5).epsilon(1e-8));
}

TEST_CASE("a chain is what its members are alone") {
  const approx::power_law f(0.75);
  const auto chain = approx::minimax_chain(f, 12, 500, of(relative));
  REQUIRE(chain.size() == 12);
  for (const index_t terms : {1, 2, 7, 12}) {
    const auto alone = approx::minimax(f, terms, 500, of(relative));
    const auto& member = chain[static_cast<std::size_t>(terms - 1)];
    REQUIRE(member.converged);
    CHECK(alone.error_upper == member.error_upper);
    CHECK(alone.sum.rates == member.sum.rates);
  }
  for (std::size_t k = 1; k < chain.size(); ++k)
    CHECK(chain[k].error_upper < chain[k - 1].error_lower);
}

TEST_CASE("the law of the optimum, with the prefactors of bounds.hpp") {
  const std::pair<double, double> scales[] = {{0.25, 1.55}, {0.5, 2.6}, {0.75, 3.1}, {1, 3.2}};
  for (const auto& entry : scales)
    for (const double horizon : {1e2, 1e4, 1e6}) {
      const double beta = entry.first;
      const auto chain =
          approx::minimax_chain(approx::power_law(beta), 16, horizon, of(relative, 1e-5));
      int compared = 0;
      for (std::size_t n = 4; n <= chain.size(); ++n) {
        const double error = chain[n - 1].error_upper;
        REQUIRE(chain[n - 1].converged);
        if (error > 0.05) continue;
        CAPTURE(beta);
        CAPTURE(horizon);
        CAPTURE(n);
        const double law =
            approx::optimum_relative_error(static_cast<double>(n), horizon, beta, entry.second);
        CHECK(error < 1.2 * law);
        CHECK(error > 0.8 * law);
        ++compared;
      }
      CHECK(compared >= 8);
    }
}

TEST_CASE("errors below the rounding of double") {
  using Real = approx::multiprecision<50>;
  const approx::power_law f(1);
  const auto found = approx::minimax(f, 24, 100, of(absolute, 1e-6));
  REQUIRE(found.converged);
  CHECK(found.digits == 50);
  CHECK(found.error_upper < 2e-17);
  CHECK(found.rounding < 1e-15);
  const double seen = static_cast<double>(seen_error<Real>(found.sum, f, 100, absolute, 400));
  CHECK(seen <= found.reached());
  CHECK(seen > found.error_upper);  // what the sum has lost in double
}

TEST_CASE("more than 30 terms") {
  // On [1, inf) errors fall slowly, so that double and long double see them. The lower bound is
  // checked where the errors alternate, the upper one on a grid.
  const approx::power_law f(0.5);
  double before = approx::minimax(f, 30, HUGE_VAL, of(absolute, 1e-3)).error_lower;
  for (const index_t terms : {31, 45, 60}) {
    CAPTURE(terms);
    const auto found = approx::minimax(f, terms, HUGE_VAL, of(absolute, 1e-3));
    REQUIRE(found.converged);
    REQUIRE(found.sum.channels() == terms);
    CHECK(found.error_upper < before);
    CHECK(found.error_upper - found.error_lower <= 1e-3 * found.error_upper);
    before = found.error_lower;
    const auto& t = found.reference;
    REQUIRE(t.size() == static_cast<std::size_t>(2 * terms + 1));
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double e =
          static_cast<double>(error_at(found.sum, f, static_cast<long double>(t[i]), absolute));
      CHECK((i % 2 == 0 ? e : -e) >= found.error_lower * (1 - 1e-6) - found.rounding);
    }
    const double last = 10 * t.back();
    CHECK(static_cast<double>(seen_error<long double>(found.sum, f, last, absolute, 20000)) <=
          found.reached() * (1 + 1e-12));
  }
  // On [1, 2] they are far below long double: without more digits an empty result, at once.
  auto options = of(absolute, 1e-3);
  options.most_digits = 19;
  for (const index_t terms : {60, 128}) {
    const auto none = approx::minimax(f, terms, 2, options);
    CHECK(!none.converged);
    CHECK(none.sum.channels() == 0);
    CHECK(none.error_lower == 0);
    CHECK(none.error_upper == HUGE_VAL);
  }
}

TEST_CASE("what cannot be had says so") {
  const approx::power_law f(1);
  SUBCASE("too few digits") {
    auto options = of(absolute);
    options.most_digits = 16;
    const auto some = approx::minimax_chain(f, 18, 100, options);
    const auto all = approx::minimax_chain(f, 18, 100, of(absolute));
    CHECK(some[3].converged);
    CHECK(!some[11].converged);  // the bounds hold, but are apart
    CHECK(some[11].error_upper < 1e-8);
    CHECK(!some[17].converged);
    CHECK(some[17].sum.channels() == 0);
    CHECK(some[17].error_lower == 0);
    CHECK(some[17].error_upper == HUGE_VAL);
    CHECK(!approx::minimax(f, 18, 100, options).converged);
    for (std::size_t k = 0; k < 18; ++k) {
      CHECK(all[k].converged);
      CHECK(some[k].error_lower <= all[k].error_upper);
      CHECK(some[k].error_upper >= all[k].error_lower);
      CHECK(some[k].digits <= 16);
    }
  }
  SUBCASE("interrupted, at once and later") {
    for (const int after : {0, 1, 10, 60}) {
      auto options = of(absolute);
      int calls = 0;
      options.interrupted = [&] { return calls++ >= after; };
      const auto found = approx::minimax(f, 20, 100, options);
      CHECK(found.interrupted);
      CHECK(!found.converged);
      CHECK(calls < after + 100);
      calls = 0;
      const auto chain = approx::minimax_chain(f, 20, 100, options);
      CHECK(chain.back().interrupted);
      CHECK(!chain.back().converged);
    }
  }
}

TEST_CASE("domains") {
  const approx::power_law f(0.5);
  const auto refused = [&](index_t terms, double horizon, const approx::minimax_options& options) {
    CHECK_THROWS_AS((void)approx::minimax(f, terms, horizon, options), ebb::domain_error);
    CHECK_THROWS_AS((void)approx::minimax_chain(f, terms, horizon, options), ebb::domain_error);
  };
  refused(0, 10, {});
  refused(129, 10, {});
  refused(3, 1, {});
  refused(3, std::nan(""), {});
  refused(3, HUGE_VAL, of(relative));
  refused(3, 10, of(absolute, 1e-13));
  refused(3, 10, of(absolute, 0.5));
  refused(3, 10, of(absolute, std::nan("")));
  auto options = of(absolute);
  options.most_digits = 15;
  refused(3, 10, options);
}
