// SPDX-License-Identifier: Apache-2.0
/// @file   table1/journal.hpp
/// @brief  The finished rows of a run, kept on disk as they come.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "command_line/usage.hpp"
#include "table1/row.hpp"

namespace table1 {

/// The journal belongs to a run with other options, is in use, or is not one of ours.
class journal_mismatch : public command_line::usage_error {
 public:
  using usage_error::usage_error;
};

/// An append-only text file: a header with the options, then the outcomes of one cell per write.
///
/// A line that an interruption tore apart is dropped and measured again. The file is locked while
/// the object lives (advisory, as flock). Not thread-safe.
class journal {
 public:
  /// Opens the journal at `path`, or starts one.
  /// @param options  text that is equal for runs that may share rows
  /// @throws journal_mismatch when the file has another header, a damaged line before its last, or
  ///   is
  ///         open in another journal; drawing::file_error when it cannot be read or written.
  journal(const std::filesystem::path& path, const std::string& options);
  journal(const journal&) = delete;
  journal& operator=(const journal&) = delete;
  ~journal();

  /// The outcomes of a cell, one for each beta in the order given, or none if one is missing.
  std::vector<outcome> find(const basis_cell& cell, std::span<const double> betas) const;

  /// Adds the outcomes of a cell and flushes. @throws drawing::file_error
  void add(const basis_cell& cell, std::span<const outcome> outcomes);

  std::size_t rows() const { return rows_.size(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  void lock();
  void load(const std::string& content, const std::string& header);

  std::filesystem::path path_;
  int lock_ = -1;                        // file descriptor
  std::map<std::string, outcome> rows_;  // by cell and beta
  std::size_t sound_bytes_ = 0;          // length of the file without a torn last line
  std::ofstream file_;
};

}  // namespace table1
