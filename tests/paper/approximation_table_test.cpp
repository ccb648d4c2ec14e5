// SPDX-License-Identifier: Apache-2.0
// Every row of data/approximation.csv: an independent computation of the best errors.
#include <atomic>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <table1/measure.hpp>

namespace {

struct reference {
  std::string line;
  table1::basis_cell cell;
  double beta = 0, error = 0, weights_l1 = 0;
};

std::vector<reference> references() {
  std::ifstream file(EBB_TEST_DATA "/approximation.csv");
  std::vector<reference> result;
  std::string line;
  std::getline(file, line);  // the header
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
    REQUIRE(fields.size() == 11);
    reference r;
    r.line = line;
    r.beta = std::stod(fields[8]);
    r.error = std::stod(fields[9]);
    r.weights_l1 = std::stod(fields[10]);
    r.cell.spectrum = fields[0];
    r.cell.fast_end_extension = std::stod(fields[1]);
    r.cell.slow_end_extension = std::stod(fields[2]);
    r.cell.channels = std::stoi(fields[3]);
    r.cell.horizon = std::stod(fields[4]);
    if (!fields[5].empty()) {
      r.cell.position = std::stod(fields[5]);
      r.cell.lag_fraction = std::stod(fields[6]);
    }
    r.cell.integer_lags = fields[7] == "integer";
    result.push_back(std::move(r));
  }
  return result;
}

}  // namespace

TEST_CASE("every reference value, with bounds that meet") {
  const std::atomic<bool> stop{false};
  int rows = 0;
  for (const reference& r : references()) {
    CAPTURE(r.line);
    const table1::outcome found =
        table1::measure(r.cell, std::span<const double>(&r.beta, 1), stop).front();
    // Printed to 4 digits at least; rows with whole lags come from coarse grids of lags (1e-3).
    const double allowed = r.cell.integer_lags ? 1e-3 : 1e-4;
    CHECK(found.certified);
    CHECK(found.error_lower <= r.error * (1 + allowed));
    CHECK(found.error_upper >= r.error * (1 - allowed));
    CHECK(std::abs(found.error_upper / r.error - 1) <= allowed);
    // The size of the weights is printed to 3 digits, and moves more than the error does.
    CHECK(std::abs(found.weights_l1 / r.weights_l1 - 1) <= 0.02);
    ++rows;
  }
  CHECK(rows == 148);
}
