// SPDX-License-Identifier: Apache-2.0
#include "table1/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "drawing/files.hpp"

namespace table1 {
namespace {

// Raised when rows of older programs are no longer comparable.
constexpr const char* title = "table1 journal 1: ";

std::string key(const basis_cell& cell, double beta) {
  row r{cell, {}};
  r.result.beta = beta;
  return csv_line(r);
}

std::string line_of(const row& r) {
  return csv_line(r, 17) + (r.result.certified ? ",certified\n" : ",open\n");
}

std::optional<row> row_of(std::string_view line) {
  const auto comma = line.rfind(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto mark = line.substr(comma + 1);
  if (mark != "certified" && mark != "open") return std::nullopt;
  auto r = parse_row(line.substr(0, comma));
  if (r) r->result.certified = mark == "certified";
  return r;
}

// A foreign file may hold anything; a message is one line of text.
std::string printable(std::string line) {
  if (line.size() > 300) line = line.substr(0, 300) + "...";
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
  return line;
}

}  // namespace

journal::journal(const std::filesystem::path& path, const std::string& options) : path_(path) {
  const std::string header = title + options;
  lock();
  try {
    load(drawing::read_file(path_), header);
    if (ftruncate(lock_, static_cast<off_t>(sound_bytes_)) != 0)
      throw drawing::file_error("cannot write " + path_.string() + ": " +
                                std::generic_category().message(errno));
    file_.open(path_, std::ios::binary | std::ios::app);
    if (sound_bytes_ == 0) file_ << header << '\n' << std::flush;
    if (!file_) throw drawing::file_error("cannot write " + path_.string());
  } catch (...) {
    close(lock_);
    throw;
  }
}

journal::~journal() { close(lock_); }

void journal::lock() {
  const auto failed = [this](int problem) {
    return drawing::file_error("cannot write " + path_.string() + ": " +
                               std::generic_category().message(problem));
  };
  std::error_code ignored;
  if (std::filesystem::exists(path_, ignored) && !std::filesystem::is_regular_file(path_, ignored))
    throw drawing::file_error("cannot write " + path_.string() + ": it is not a file");
  lock_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) throw failed(errno);
  if (flock(lock_, LOCK_EX | LOCK_NB) == 0) return;
  const int problem = errno;
  close(lock_);
  if (problem == EWOULDBLOCK)
    throw journal_mismatch(path_.string() +
                           " is in use by another run; wait for it or give another --out");
  // A file system without locks: two runs at once are then the user's care.
  if (problem != ENOLCK && problem != EOPNOTSUPP && problem != ENOSYS) throw failed(problem);
  lock_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (lock_ < 0) throw failed(errno);
}

void journal::load(const std::string& content, const std::string& header) {
  std::size_t number = 0;
  for (std::size_t begin = 0;;) {
    const auto end = content.find('\n', begin);
    // Nothing, or torn: after the header, or the header itself.
    if (end == std::string::npos && (number > 0 || header.starts_with(content))) return;
    const std::string line = content.substr(begin, end - begin);
    ++number;
    if (number == 1) {
      if (line != header)
        throw journal_mismatch(path_.string() +
                               " belongs to a run with other options; give another --out, repeat "
                               "the old options, or delete it. It has: " +
                               printable(line));
    } else if (const auto r = row_of(line)) {
      rows_[key(r->cell, r->result.beta)] = r->result;
    } else if (content.find('\n', end + 1) != std::string::npos) {
      throw journal_mismatch(path_.string() + " is damaged at line " + std::to_string(number) +
                             "; delete it to start again");
    } else {
      return;
    }
    begin = end + 1;
    sound_bytes_ = begin;
  }
}

std::vector<outcome> journal::find(const basis_cell& cell, std::span<const double> betas) const {
  std::vector<outcome> found;
  for (const double beta : betas) {
    const auto at = rows_.find(key(cell, beta));
    if (at == rows_.end()) return {};
    found.push_back(at->second);
  }
  return found;
}

void journal::add(const basis_cell& cell, std::span<const outcome> outcomes) {
  std::string text;
  for (const outcome& result : outcomes) {
    const row r{cell, result};
    text += line_of(r);
    rows_[key(cell, result.beta)] = result;
  }
  file_ << text << std::flush;
  if (!file_) throw drawing::file_error("cannot write " + path_.string());
}

}  // namespace table1
