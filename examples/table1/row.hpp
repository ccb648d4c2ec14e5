// SPDX-License-Identifier: Apache-2.0
/// @file   table1/row.hpp
/// @brief  One row of errors.csv, its text and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drawing/text.hpp"
#include "table1/measure.hpp"

namespace table1 {

struct row {
  basis_cell cell;
  outcome result;
};

/// The columns of csv_line. errors.csv has one more, ratio_to_optimum (evidence.hpp).
inline constexpr std::string_view errors_header =
    "spectrum,fast_end_extension,slow_end_extension,channels,horizon,position,lag_fraction,lags,"
    "error_kind,weights_bound,beta,seed,error_lower,error_upper,weights_l1,min_gap_rate,"
    "min_gap_log_rate,max_gap_log_rate,digits,seconds";

using drawing::shortest;
using drawing::significant;

/// The row as a line of errors.csv, without its end of line.
/// @param digits  significant digits of what was measured (the keys are always exact)
std::string csv_line(const row& r, int digits = 10);

/// Reads back what csv_line wrote; nothing when the text is not a whole row, or its bounds are not
/// 0 <= lower <= upper.
/// `certified` is not a column and stays false.
std::optional<row> parse_row(std::string_view line);

/// The fields of a comma-separated line without quotes.
std::vector<std::string_view> split(std::string_view line, char separator = ',');

/// A finite or infinite number that fills the whole text ("1e6"), or nothing.
std::optional<double> parse_number(std::string_view text);

}  // namespace table1
