// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "drawing/files.hpp"
#include "made_up/laws.hpp"
#include "support/scratch.hpp"
#include "table1/outputs.hpp"

TEST_CASE("a row and its text") {
  table1::row r;
  r.cell.spectrum = "post";
  r.cell.fast_end_extension = 2;
  r.cell.channels = 16;
  r.cell.horizon = 1e6;
  r.cell.position = 1000;
  r.cell.lag_fraction = 0.5;
  r.cell.integer_lags = true;
  r.result.beta = 0.5;
  r.result.error_lower = 4.0194440001e-06;
  r.result.error_upper = 4.0194445e-06;
  r.result.weights_l1 = 231;
  r.result.min_gap_rate = std::numeric_limits<double>::quiet_NaN();
  r.result.min_gap_log_rate = 0.25;
  r.result.max_gap_log_rate = 0.25;
  r.result.digits = 19;
  r.result.seconds = 0.012345;
  CHECK(table1::csv_line(r) ==
        "post,2,0,16,1e+06,1000,0.5,integer,absolute,,0.5,,4.019444e-06,4.0194445e-06,231,,0.25,0."
        "25,19,0.0123");
}

TEST_CASE("every row of the grid survives its text") {
  for (const auto& r : made_up::rows(made_up::options({"--relative"}))) {
    const auto back = table1::parse_row(table1::csv_line(r, 17));
    REQUIRE(back);
    CHECK(back->cell == r.cell);
    CHECK(back->result.beta == r.result.beta);
    CHECK(back->result.error_upper == r.result.error_upper);
    CHECK(back->result.min_gap_rate == r.result.min_gap_rate);
  }
}

TEST_CASE("text that is no row") {
  const auto line = table1::csv_line(made_up::rows(made_up::options()).front(), 17);
  CHECK(table1::parse_row(line));
  CHECK_FALSE(table1::parse_row(""));
  CHECK_FALSE(table1::parse_row(table1::errors_header));
  CHECK_FALSE(table1::parse_row(line + ",1"));
  CHECK_FALSE(table1::parse_row(line.substr(0, line.rfind(','))));
}

TEST_CASE("the ratio to the optimum: equal N, beta and kind of error, on the same span of lags") {
  const auto made = [](const char* spectrum, int channels, double horizon, double error) {
    table1::row r;
    r.cell.spectrum = spectrum;
    r.cell.channels = channels;
    r.cell.horizon = horizon;
    r.result.beta = 0.5;
    r.result.certified = true;
    made_up::set_error(r.result, error);
    return r;
  };
  std::vector<table1::row> rows(8, made("geometric", 8, 100, 0.03));
  rows[0] = made("minimax", 8, 100, 0.02);
  rows[2].cell.channels = 16;
  rows[3].cell.horizon = 200;
  rows[4].cell.relative_error = true;
  rows[5].result.beta = 1;
  for (const std::size_t k : {6u, 7u}) {  // lags 1 .. 100 and 1 .. 50 at t = 100
    rows[k].cell.spectrum = "two_ended", rows[k].cell.horizon = 1e6, rows[k].cell.position = 100;
    rows[k].cell.lag_fraction = k == 6 ? 1 : 0.5;
  }
  const auto ratios = [](const std::vector<table1::row>& of) {
    std::vector<std::string> last;
    const std::string text = table1::errors_csv(of);
    for (const auto line : table1::split(text, '\n'))
      last.push_back(std::string(line.substr(std::min(line.size(), line.rfind(',') + 1))));
    return last;
  };
  CHECK(ratios(rows) ==
        std::vector<std::string>{"ratio_to_optimum", "1", "1.5", "", "", "", "", "1.5", "", ""});
  rows[0].result.certified = false;  // an optimum that is not known
  CHECK(ratios(rows)[2].empty());
}

TEST_CASE("claims.csv quotes what needs it") {
  table1::claim c{"id", "s", table1::verdict::holds_if, "a, b", "1", "say \"x\"", "table1 --a"};
  CHECK(table1::claims_csv(std::vector{c}) ==
        "claim,verdict,condition,value,detail\n"
        "id,holds_if,\"a, b\",1,\"say \"\"x\"\"; command: table1 --a\"\n");
}

TEST_CASE("files are whole or not there") {
  const scratch folder("files");
  const auto path = folder.path / "a.txt";
  drawing::write_atomically(path, "one");
  drawing::write_atomically(path, "two");
  CHECK(drawing::read_file(path) == "two");
  // The old file is replaced, not written into: a second name of it keeps the old content.
  std::filesystem::create_hard_link(path, folder.path / "old.txt");
  drawing::write_atomically(path, "three");
  CHECK(drawing::read_file(folder.path / "old.txt") == "two");
  CHECK_FALSE(std::filesystem::exists(folder.path / "a.txt.tmp"));
  CHECK_THROWS_AS(drawing::write_atomically(folder.path / "none" / "a.txt", "x"),
                  drawing::file_error);
  CHECK_THROWS_AS((void)drawing::read_file(folder.path / "none"), drawing::file_error);
  // A folder in the way: the content stays, no temporary is left.
  std::filesystem::create_directories(folder.path / "b.txt" / "inside");
  CHECK_THROWS_AS(drawing::write_atomically(folder.path / "b.txt", "x"), drawing::file_error);
  CHECK_FALSE(std::filesystem::exists(folder.path / "b.txt.tmp"));
}
