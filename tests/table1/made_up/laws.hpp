// SPDX-License-Identifier: Apache-2.0
/// @file   table1/made_up/laws.hpp
/// @brief  Errors and gaps made up from laws, in the place of measurements.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "table1/grid.hpp"
#include "table1/options.hpp"
#include "table1/row.hpp"

namespace made_up {

/// What a world without surprises gives for a cell: the findings that docs/table1.md reports, as
/// plain laws.
table1::outcome usual(const table1::basis_cell& cell, double beta);

using change = std::function<void(const table1::basis_cell&, table1::outcome&)>;

/// The rows of the options' grid, each changed by `doctor`.
inline std::vector<table1::row> rows(const table1::options& o, const change& doctor = {}) {
  std::vector<table1::row> all;
  for (const auto& cell : table1::grid(o))
    for (const double beta : o.betas) {
      table1::row r{cell, usual(cell, beta)};
      if (doctor) doctor(cell, r.result);
      all.push_back(r);
    }
  return all;
}

/// The options of a command line.
inline table1::options options(const std::vector<std::string>& arguments = {}) {
  std::vector<const char*> argv{"table1"};
  for (const auto& argument : arguments) argv.push_back(argument.c_str());
  return table1::parse_options(static_cast<int>(argv.size()), argv.data());
}

inline void set_error(table1::outcome& result, double error) {
  result.error_lower = error * (1 - 1e-6), result.error_upper = error;
}

}  // namespace made_up
