// SPDX-License-Identifier: Apache-2.0
#include "table1/row.hpp"

#include <charconv>
#include <cmath>
#include <limits>

namespace table1 {

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  for (;;) {
    const auto at = line.find(separator);
    fields.push_back(line.substr(0, at));
    if (at == std::string_view::npos) return fields;
    line.remove_prefix(at + 1);
  }
}

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, status] = std::from_chars(text.data(), last, value);
  if (status != std::errc() || end != last) return std::nullopt;
  return value;
}

std::string csv_line(const row& r, int digits) {
  const auto& [cell, result] = r;
  const auto optional = [](const auto& value) {
    return value ? shortest(static_cast<double>(*value)) : std::string();
  };
  const auto measured = [digits](double value) {
    return std::isnan(value) ? std::string() : significant(value, digits);
  };
  std::string line;
  const auto add = [&line](const std::string& field) { line += field + ','; };
  add(cell.spectrum);
  add(shortest(cell.fast_end_extension));
  add(shortest(cell.slow_end_extension));
  add(std::to_string(cell.channels));
  add(shortest(cell.horizon));
  add(optional(cell.position));
  add(optional(cell.lag_fraction));
  add(cell.integer_lags ? "integer" : "continuous");
  add(cell.relative_error ? "relative" : "absolute");
  add(optional(cell.weights_bound));
  add(shortest(result.beta));
  add(cell.seed ? std::to_string(*cell.seed) : std::string());
  add(measured(result.error_lower));
  add(measured(result.error_upper));
  add(measured(result.weights_l1));
  add(measured(result.min_gap_rate));
  add(measured(result.min_gap_log_rate));
  add(measured(result.max_gap_log_rate));
  add(std::to_string(result.digits));
  return line + significant(result.seconds, 3);
}

std::optional<row> parse_row(std::string_view line) {
  const auto fields = split(line);
  if (fields.size() != split(errors_header).size()) return std::nullopt;
  row r;
  bool good = true;
  std::size_t at = 0;
  const auto text = [&] { return fields[at++]; };
  const auto number = [&] {
    const auto value = parse_number(text());
    good = good && value;
    return value.value_or(0);
  };
  const auto optional = [&]() -> std::optional<double> {
    if (!fields[at].empty()) return number();
    ++at;
    return std::nullopt;
  };
  const auto measured = [&] {
    return optional().value_or(std::numeric_limits<double>::quiet_NaN());
  };
  const auto one_of = [&](std::string_view yes, std::string_view no) {
    const auto field = text();
    good = good && (field == yes || field == no);
    return field == yes;
  };
  r.cell.spectrum = std::string(text());
  r.cell.fast_end_extension = number();
  r.cell.slow_end_extension = number();
  const double channels = number();
  good = good && channels >= 1 && channels <= 128 && channels == std::floor(channels);
  r.cell.channels = good ? static_cast<int>(channels) : 0;
  r.cell.horizon = number();
  r.cell.position = optional();
  r.cell.lag_fraction = optional();
  r.cell.integer_lags = one_of("integer", "continuous");
  r.cell.relative_error = one_of("relative", "absolute");
  r.cell.weights_bound = optional();
  r.result.beta = number();
  if (const auto seed = optional()) {
    good = good && *seed >= 1 && *seed <= 1e6 && *seed == std::floor(*seed);
    if (good) r.cell.seed = static_cast<std::uint64_t>(*seed);
  }
  r.result.error_lower = measured();
  r.result.error_upper = measured();
  r.result.weights_l1 = measured();
  r.result.min_gap_rate = measured();
  r.result.min_gap_log_rate = measured();
  r.result.max_gap_log_rate = measured();
  const double digits = number();
  good = good && digits >= 0 && digits <= 1e6;
  r.result.digits = good ? static_cast<int>(digits) : 0;
  r.result.seconds = number();
  // Not lower <= upper refuses NaN as well.
  good = good && r.result.error_lower >= 0 && r.result.error_lower <= r.result.error_upper;
  if (!good) return std::nullopt;
  return r;
}

}  // namespace table1
