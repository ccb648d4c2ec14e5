// SPDX-License-Identifier: Apache-2.0
// The program as a user runs it, with made-up measurements.
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "drawing/files.hpp"
#include "support/scratch.hpp"
#include "table1/row.hpp"

namespace {

struct result {
  int status;
  std::string out, err;
};

// Runs the program in the folder; `environment` goes before the command.
result run(const scratch& folder, const std::string& arguments,
           const std::string& environment = "") {
  const std::string command = "cd '" + folder.path.string() + "' && " + environment + " '" +
                              TABLE1_MADE_UP + "' " + arguments + " > out.txt 2> err.txt";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, drawing::read_file(folder.path / "out.txt"),
          drawing::read_file(folder.path / "err.txt")};
}

std::string file(const scratch& folder, const std::string& name) {
  return drawing::read_file(folder.path / name);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

long lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

TEST_CASE("a default run") {
  const scratch folder("program_default");
  const result first = run(folder, "--no-plots");
  CHECK(first.status == 0);
  CHECK(contains(first.out, "Table 1"));
  const std::string errors = file(folder, "results/errors.csv");
  CHECK(errors.starts_with(
      "spectrum,fast_end_extension,slow_end_extension,channels,horizon,position,lag_fraction,lags,"
      "error_kind,weights_bound,beta,seed,error_lower,error_upper,weights_l1,min_gap_rate,"
      "min_gap_log_rate,max_gap_log_rate,digits,seconds,ratio_to_optimum\n"));
  const std::string claims = file(folder, "results/claims.csv");
  CHECK(claims.starts_with("claim,verdict,condition,value,detail\n"));
  CHECK(lines(claims) == 15);
  for (const char* const id :
       {"random_gap", "random_error", "linear_gap", "linear_error", "geometric_gap",
        "geometric_error", "geometric_minimax", "post_gap", "post_error", "effective_channels",
        "scale_free", "optimum_law", "two_ended_static", "two_ended_post"}) {
    CHECK(contains(claims, std::string("\n") + id + ','));
    CHECK(contains(first.out, std::string(id) + ": table1 --"));
  }
  CHECK(contains(file(folder, "results/table1.md"), "geometric_error"));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path / "results"))
    CHECK_FALSE(contains(entry.path().filename().string(), "tmp"));

  SUBCASE("the same again is quick, quiet about work, and the same") {
    const result second = run(folder, "--no-plots", "TABLE1_MADE_UP_FAIL=16");
    CHECK(second.status == 0);
    CHECK(contains(second.err, "table1: 0 measurements"));
    CHECK(file(folder, "results/errors.csv") == errors);
    CHECK(file(folder, "results/claims.csv") == claims);
    CHECK(second.out == first.out);
  }
  SUBCASE("other options with the same journal") {
    const result other = run(folder, "--no-plots --betas 1");
    CHECK(other.status == 2);
    CHECK(lines(other.err) == 1);
    CHECK(contains(other.err, "other options"));
    CHECK(file(folder, "results/errors.csv") == errors);
  }
  SUBCASE("the order of rows does not depend on the threads") {
    CHECK(run(folder, "--no-plots --threads 7 --out seven").status == 0);
    CHECK(file(folder, "seven/errors.csv") == errors);
  }
}

TEST_CASE("an interrupted run keeps its rows and is taken up again") {
  const scratch folder("program_interrupted");
  const std::string options = "--no-plots --spectra geometric --channels 8,16 --threads 1";
  // The largest cells come first, so those of 8 channels interrupt a run that has rows.
  const result stopped = run(folder, options, "TABLE1_MADE_UP_INTERRUPT=8");
  CHECK(stopped.status == 130);
  CHECK(contains(stopped.err, "interrupted"));
  CHECK_FALSE(std::filesystem::exists(folder.path / "results/errors.csv"));
  const long kept = lines(file(folder, "results/journal.txt")) - 1;
  CHECK(kept == 24);  // 4 shapes, 3 horizons, 2 betas
  CHECK(contains(stopped.err, "keeps 24 finished rows"));

  const result resumed = run(folder, options, "TABLE1_MADE_UP_FAIL=16");
  CHECK(resumed.status == 0);
  CHECK(contains(resumed.err, "24 rows taken from the journal"));
  CHECK(run(folder, options + " --out whole").status == 0);
  CHECK(file(folder, "results/errors.csv") == file(folder, "whole/errors.csv"));
}

TEST_CASE("best sums are kept and taken up again as other rows") {
  const scratch folder("program_minimax");
  const std::string options = "--no-plots --spectra minimax --channels 8,16,31 --threads 1";
  const result stopped = run(folder, options, "TABLE1_MADE_UP_INTERRUPT=8");
  CHECK(stopped.status == 130);
  CHECK(contains(stopped.err, "keeps 6 finished rows"));  // 3 horizons, 2 betas
  CHECK(run(folder, options, "TABLE1_MADE_UP_FAIL=16").status == 0);
  CHECK(lines(file(folder, "results/errors.csv")) == 13);
}

TEST_CASE("a measurement that fails ends the run with status 1") {
  const scratch folder("program_fails");
  const result r = run(folder, "--no-plots --channels 8,16", "TABLE1_MADE_UP_FAIL=16");
  CHECK(r.status == 1);
  CHECK(contains(r.err, "made up to fail"));
}

TEST_CASE("bad options: one line, status 2, nothing written") {
  const scratch folder("program_bad");
  for (const char* const bad :
       {"--channels 0", "--channels 129", "--horizons nan", "--betas -1", "--spectra none",
        "--threads 0", "--spectra minimax --channels 31", "--nothing", "--out err.txt",
        "--out /proc/none", "--out err.txt/below"}) {
    INFO(bad);
    const result r = run(folder, bad);
    CHECK(r.status == 2);
    CHECK(lines(r.err) == 1);
    CHECK(r.err.starts_with("table1: "));
    CHECK(r.out.empty());
    CHECK_FALSE(std::filesystem::exists(folder.path / "results"));
  }
  const result help = run(folder, "--help");
  CHECK(help.status == 0);
  CHECK(contains(help.out, "--lag-fraction"));
  CHECK(help.err.empty());
}

TEST_CASE("pictures, or a sentence") {
  const scratch folder("program_pictures");
  SUBCASE("without gnuplot") {
    const result r = run(folder, "--spectra geometric --channels 8,16", "PATH=/nowhere");
    CHECK(r.status == 0);
    CHECK(contains(r.out, "gnuplot was not found"));
    CHECK(std::filesystem::exists(folder.path / "results/collapse.gp"));
  }
  SUBCASE("with a gnuplot that fails") {
    drawing::write_atomically(folder.path / "gnuplot", "#!/bin/sh\nexit 3\n");
    std::filesystem::permissions(folder.path / "gnuplot", std::filesystem::perms::owner_all);
    const result r = run(folder, "--spectra geometric --channels 8,16", "PATH=\"$PWD:$PATH\"");
    CHECK(r.status == 0);
    CHECK(contains(r.out, "could not draw"));
    CHECK_FALSE(std::filesystem::exists(folder.path / "results/collapse.svg"));
  }
  SUBCASE("with a gnuplot that writes") {
    // It draws what the script would: the two files with the prefix it was given.
    drawing::write_atomically(folder.path / "gnuplot",
                              "#!/bin/sh\nn=${3%.gp}\necho svg > .drawing-$n.svg\n"
                              "echo png > .drawing-$n.png\n");
    std::filesystem::permissions(folder.path / "gnuplot", std::filesystem::perms::owner_all);
    const result r = run(folder, "", "PATH=\"$PWD:$PATH\"");
    CHECK(r.status == 0);
    for (const char* const name :
         {"collapse", "positions", "paradigms", "gaps", "timescales", "taper"}) {
      CHECK(std::filesystem::exists(folder.path / "results" / (std::string(name) + ".svg")));
      CHECK(std::filesystem::exists(folder.path / "results" / (std::string(name) + ".png")));
      CHECK(contains(file(folder, "results/table1.md"), std::string(name) + ".svg"));
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder.path / "results"))
      CHECK_FALSE(entry.path().filename().string().starts_with("."));
  }
}
