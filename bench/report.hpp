// SPDX-License-Identifier: Apache-2.0
/// @file   bench/report.hpp
/// @brief  What a run is written down as: JSON, a markdown table, columns for pictures.
#pragma once

#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

namespace bench {

/// One row: its name and the counters it has.
struct row_result {
  std::string name;
  std::vector<std::pair<std::string, double>> counters;
};

/// Shows rows on the console as they come, and keeps them.
class reporter : public benchmark::BenchmarkReporter {
 public:
  reporter();
  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

  const std::vector<row_result>& rows() const { return rows_; }
  /// Google Benchmark's own format, complete after the run.
  std::string json() const { return json_text_.str(); }

 private:
  benchmark::ConsoleReporter console_;
  benchmark::JSONReporter json_;
  std::ostringstream json_text_;
  std::vector<row_result> rows_;
};

/// What a run was made with, in order: "machine", "compiler", ...
using facts = std::vector<std::pair<std::string, std::string>>;
facts facts_of_this_run(const std::string& commit);

/// One table for each family of rows.
std::string markdown(const facts& context, const std::vector<row_result>& rows);

/// A line for each row, the parts of its name and all counters; NaN where there is none.
std::string columns(const std::vector<row_result>& rows);

/// The text with what stands between the two marker lines replaced.
/// @throws std::runtime_error where the markers are not there, once and in order.
std::string with_table(const std::string& text, const std::string& table);
/// The whole of a new file.
std::string new_document(const std::string& table);

std::string read_file(const std::filesystem::path& path);
/// Whole or not at all. @throws std::runtime_error with a sentence.
void write_file(const std::filesystem::path& path, const std::string& content);

}  // namespace bench
