// SPDX-License-Identifier: Apache-2.0
// What is refused says so in the name of the function that was called; nothing comes back as NaN.
#include <cmath>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <ebb/approx/bounds.hpp>
#include <ebb/approx/channels.hpp>
#include <ebb/approx/law.hpp>

using namespace ebb::approx;

namespace {

template <class F>
void refused_by(const char* name, const F& f) {
  std::string message;
  try {
    (void)f();
  } catch (const std::exception& error) {
    message = error.what();
  }
  CAPTURE(message);
  CHECK(message.rfind(std::string(name) + ": ", 0) == 0);
}

const double nan = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("laws") {
  const std::vector<double> x = {1, 2, 3}, y = {3, 2, 1}, same = {1, 1, 1}, huge = {1, 2, 1e200};
  const std::vector<int> groups = {0, 0, 0};
  const std::vector<double> bad = {1, 2, nan};
  for (const std::vector<double>* other : {&same, &huge, &bad}) {
    refused_by("fit_line", [&] { return fit_line(*other, y); });
    refused_by("fit_common_slope", [&] { return fit_common_slope(*other, y, groups); });
    refused_by("fit_exponential_law", [&] { return fit_exponential_law(*other, y); });
    if (other != &huge) refused_by("fit_power_law", [&] { return fit_power_law(*other, y); });
  }
  for (const double confidence : {0.0, 1.0, nan}) {
    refused_by("fit_line", [&] { return fit_line(x, y, confidence); });
    refused_by("fit_common_slope", [&] { return fit_common_slope(x, y, groups, confidence); });
    refused_by("fit_power_law", [&] { return fit_power_law(x, y, confidence); });
    refused_by("fit_exponential_law", [&] { return fit_exponential_law(x, y, confidence); });
  }
  refused_by("fit_power_law", [&] { return fit_power_law(x, std::vector<double>{1, 2}); });
}

TEST_CASE("bounds") {
  refused_by("optimum_absolute_error", [] { return optimum_absolute_error(1, 10, 0.5); });
  refused_by("optimum_absolute_error", [] { return optimum_absolute_error(4, 1, 0.5); });
  refused_by("optimum_absolute_error", [] { return optimum_absolute_error(4, 10, nan); });
  refused_by("random_gap", [] { return random_gap(4, nan); });
  refused_by("random_gap_median", [] { return random_gap_median(4, HUGE_VAL); });
  refused_by("random_error", [] { return random_error(4, {1, nan}); });
  refused_by("linear_error", [] { return linear_error(4, 1, nan); });
  refused_by("linear_error_long_context", [] {
    return linear_error_long_context(4, 10, {nan, 1});
  });
  refused_by("geometric_error", [] { return geometric_error(4, 10, {1, HUGE_VAL}); });
  refused_by("bare_geometric_error", [] { return bare_geometric_error(4, 10, nan); });
  // Powers that overflow on the way to 0: N^(beta - 1/2) e^(-pi^2 N / log 4T).
  CHECK(optimum_relative_error(1e200, 1e300, 3) == 0);
  CHECK(optimum_absolute_error(3, 1e300, 1e300) == 0);
}

TEST_CASE("channels") {
  const std::vector<double> rates = {1, 2}, bad = {1, nan};
  refused_by("numerical_rank", [&] { return numerical_rank(rates, nan, 1e-6); });
  refused_by("numerical_rank", [&] { return numerical_rank(rates, 0, 1e-6); });
  refused_by("numerical_rank", [&] { return numerical_rank(bad, 1, 1e-6); });
}

}  // namespace
