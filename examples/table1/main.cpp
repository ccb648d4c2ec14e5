// SPDX-License-Identifier: Apache-2.0
/// @file   table1/main.cpp
/// @brief  table1: reproduces Table 1 of arXiv 2604.07658 numerically, with certified bounds.

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <iostream>

#include "command_line/usage.hpp"
#include "drawing/files.hpp"
#include "drawing/gnuplot.hpp"
#include "table1/claims.hpp"
#include "table1/grid.hpp"
#include "table1/observe.hpp"
#include "table1/options.hpp"
#include "table1/outputs.hpp"
#include "table1/plots.hpp"
#include "table1/run.hpp"

namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);
std::atomic<int> caught{0};

// The first signal asks for an orderly end, the second one ends the program.
extern "C" void ask_to_stop(int signal) {
  stop = true;
  caught = signal;
  std::signal(signal, SIG_DFL);
}

table1::journal open_journal(const table1::options& o) {
  try {
    std::filesystem::create_directories(o.out);
    return table1::journal(o.out / "journal.txt", table1::canonical(o));
  } catch (const std::filesystem::filesystem_error& problem) {
    throw table1::usage_error("--out: cannot write to " + o.out.string() + ": " +
                              problem.code().message());
  } catch (const drawing::file_error& problem) {
    throw table1::usage_error(std::string("--out: ") + problem.what());
  }
}

int run(const table1::options& o) {
  const auto cells = table1::grid(o);
  if (cells.empty())
    throw table1::usage_error(
        "nothing to measure: post_sum and two_ended need at least 2 channels, "
        "minimax at most 30, real lags and free weights");
  auto finished = open_journal(o);

  // A new run begins in a folder without results: older ones are not mixed with it.
  if (finished.rows() == 0) table1::remove_outputs(o.out);

  const auto left = table1::missing(cells, o.betas, finished);
  double cost = 0;
  for (const auto& cell : left) cost += table1::expected_cost(cell);
  std::cerr << "table1: " << left.size()
            << " measurements (each serves all betas, and rows that share it) "
            << "for " << cells.size() * o.betas.size() << " rows";
  if (finished.rows() > 0) std::cerr << ", " << finished.rows() << " rows taken from the journal";
  std::cerr << std::endl;

  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  table1::progress report(std::cerr, isatty(STDERR_FILENO) != 0, left.size(), cost);
  table1::measure_all(left, o.betas, o.threads, finished, report, stop);
  if (stop) {
    std::cerr << "table1: interrupted; " << finished.path().string() << " keeps " << finished.rows()
              << " finished rows, the same command continues there" << std::endl;
    return 128 + caught;
  }
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);

  const auto rows = table1::collect(cells, o.betas, finished);
  const auto seen = table1::observe(o);
  const auto claims = table1::judge(rows, seen);
  drawing::write_atomically(o.out / "errors.csv", table1::errors_csv(rows));
  drawing::write_atomically(o.out / "claims.csv", table1::claims_csv(claims));
  std::vector<std::string> pictures;
  std::string problem;
  if (o.plots) pictures = drawing::draw(table1::pictures(o, rows, seen), o.out, problem);
  drawing::write_atomically(o.out / "table1.md", table1::report(rows, seen, claims, o, pictures));

  std::cout << "Table 1, as printed and as measured\n\n"
            << table1::comparison(rows, seen) << "\nThe claims\n\n"
            << table1::ledger(claims) << '\n';
  for (const auto& c : claims) std::cout << c.id << ": " << c.command << '\n';
  std::cout << '\n';
  for (const auto& c : claims)
    if (!c.ruling) std::cout << "undecided here: " << c.id << " (" << c.detail << ")\n";
  std::size_t open = 0;
  for (const auto& r : rows) open += !r.result.certified;
  if (open > 0)
    std::cout << open << " of " << rows.size()
              << " rows have bounds that do not meet; no rule uses them\n";
  if (!problem.empty()) std::cout << problem << '\n';
  std::cout << "Written: " << (o.out / "table1.md").string() << ", errors.csv, claims.csv and "
            << pictures.size() << " pictures beside it\n"
            << std::flush;
  if (!std::cout) throw drawing::file_error("cannot write to standard output");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return command_line::status_of("table1", [&] { return run(table1::parse_options(argc, argv)); });
}
