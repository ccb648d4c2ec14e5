// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "drawing/files.hpp"
#include "made_up/laws.hpp"
#include "support/scratch.hpp"
#include "table1/journal.hpp"
#include "table1/run.hpp"

using table1::journal;

namespace {

table1::basis_cell cell_of(int channels) {
  table1::basis_cell cell;
  cell.spectrum = "geometric";
  cell.channels = channels;
  cell.horizon = 1e4;
  cell.fast_end_extension = 0.1;
  return cell;
}

table1::outcome outcome_of(double beta) {
  table1::outcome r;
  r.beta = beta;
  r.error_lower = 1.0 / 3, r.error_upper = std::nextafter(1.0 / 3, 1.0);
  r.weights_l1 = 1e300;
  r.min_gap_rate = r.min_gap_log_rate = std::numeric_limits<double>::quiet_NaN();
  r.digits = 50;
  r.certified = true;
  return r;
}

void append(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

const std::vector<double> betas{0.5, 1};

}  // namespace

TEST_CASE("what was added is found again, to the last bit") {
  const scratch folder("journal_found");
  const auto path = folder.path / "journal.txt";
  {
    journal j(path, "--options");
    j.add(cell_of(8), std::vector{outcome_of(0.5), outcome_of(1)});
  }
  const journal j(path, "--options");
  CHECK(j.rows() == 2);
  const auto found = j.find(cell_of(8), betas);
  REQUIRE(found.size() == 2);
  CHECK(found[1].beta == 1);
  CHECK(found[0].error_lower == 1.0 / 3);
  CHECK(found[0].error_upper == std::nextafter(1.0 / 3, 1.0));
  CHECK(found[0].weights_l1 == 1e300);
  CHECK(std::isnan(found[0].min_gap_rate));
  CHECK(found[0].digits == 50);
  CHECK(found[0].certified);
  CHECK(j.find(cell_of(16), betas).empty());
  const std::vector<double> more{0.5, 1, 2};
  CHECK(j.find(cell_of(8), more).empty());
}

TEST_CASE("a torn last line is dropped, and the next line is whole") {
  const scratch folder("journal_torn");
  const auto path = folder.path / "journal.txt";
  {
    journal j(path, "--options");
    j.add(cell_of(8), std::vector{outcome_of(0.5)});
    j.add(cell_of(16), std::vector{outcome_of(0.5)});
  }
  const std::string whole = drawing::read_file(path);
  const std::vector<double> half{0.5};
  const auto second = whole.rfind("geometric");
  for (std::size_t length = second; length < whole.size(); ++length) {
    INFO("length = " << length);
    drawing::write_atomically(path, whole.substr(0, length));
    {
      journal j(path, "--options");
      CHECK(j.rows() == 1);
      CHECK(j.find(cell_of(16), half).empty());
      j.add(cell_of(24), std::vector{outcome_of(0.5)});
    }
    const journal again(path, "--options");
    CHECK(again.rows() == 2);
    CHECK(again.find(cell_of(24), half).size() == 1);
  }
}

TEST_CASE("refused: other options, another file, damage inside") {
  const scratch folder("journal_refused");
  const auto path = folder.path / "journal.txt";
  { journal j(path, "--options"); }
  CHECK_THROWS_AS(journal(path, "--other"), table1::journal_mismatch);
  CHECK_NOTHROW(journal(path, "--options"));

  append(path, "no row\nno row either\n");
  CHECK_THROWS_AS(journal(path, "--options"), table1::journal_mismatch);

  for (const char* const text : {"a letter", "a letter\nto somebody\n"}) {
    drawing::write_atomically(path, text);
    CHECK_THROWS_AS(journal(path, "--options"), table1::journal_mismatch);
    CHECK(drawing::read_file(path) == text);
  }
  drawing::write_atomically(path, "");
  CHECK_NOTHROW(journal(path, "--options"));
}

TEST_CASE("refused: a journal in use, a directory, bounds that cannot be") {
  const scratch folder("journal_in_use");
  const auto path = folder.path / "journal.txt";
  {
    journal j(path, "--options");
    j.add(cell_of(8), std::vector{outcome_of(0.5)});
    CHECK_THROWS_WITH_AS(journal(path, "--options"), doctest::Contains("is in use"),
                         table1::journal_mismatch);
  }
  CHECK(journal(path, "--options").rows() == 1);
  CHECK_THROWS_AS(journal(folder.path, "--options"), drawing::file_error);

  const std::string sound = drawing::read_file(path);
  const std::string lower = "0.33333333333333331", upper = "0.33333333333333337";
  REQUIRE(sound.find(lower + ',' + upper) != std::string::npos);
  for (const std::string& pair :
       {upper + ',' + lower, "nan," + upper, lower + ",", "-1," + upper}) {
    std::string damaged = sound;
    damaged.replace(sound.find(lower), lower.size() + 1 + upper.size(), pair);
    drawing::write_atomically(path, damaged + sound.substr(sound.find("geometric")));
    CHECK_THROWS_WITH_AS(journal(path, "--options"), doctest::Contains("damaged at line 2"),
                         table1::journal_mismatch);
  }
}

TEST_CASE("a torn header is written again, a foreign file is shown as plain text") {
  const scratch folder("journal_header");
  const auto path = folder.path / "journal.txt";
  { journal j(path, "--options"); }
  const std::string header = drawing::read_file(path);
  for (std::size_t length = 0; length < header.size(); ++length) {
    drawing::write_atomically(path, header.substr(0, length));
    CHECK_NOTHROW(journal(path, "--options"));
    CHECK(drawing::read_file(path) == header);
  }
  drawing::write_atomically(path, "a \x01 line\r\n");
  CHECK_THROWS_WITH_AS(journal(path, "--options"), doctest::Contains("It has: a ? line?"),
                       table1::journal_mismatch);
}

TEST_CASE("one tapered channel depends on the horizon") {
  const auto measured = [](const std::string& channels) {
    const auto o =
        made_up::options({"--spectra", "post,post_sum", "--channels", channels, "--horizons",
                          "1e2,1e6", "--positions", "100", "--extension", "0"});
    const auto cells = table1::grid(o);
    std::set<std::string> keys;
    for (const auto& cell : cells) keys.insert(table1::measurement_key(cell));
    return std::pair(cells.size(), keys.size());
  };
  CHECK(measured("1") == std::pair<std::size_t, std::size_t>(2, 2));  // post alone
  CHECK(measured("2") == std::pair<std::size_t, std::size_t>(4, 3));  // post_sum has one tapered
  CHECK(measured("3") == std::pair<std::size_t, std::size_t>(4, 2));
}

TEST_CASE("cells with the same functions are measured once") {
  const scratch folder("journal_shared");
  const auto o = made_up::options({"--spectra", "post,static_t,static_T", "--channels", "8",
                                   "--positions", "100", "--extension", "0"});
  const auto cells = table1::grid(o);
  CHECK(cells.size() == 9);  // three horizons
  journal j(folder.path / "journal.txt", "--options");
  const auto left = table1::missing(cells, o.betas, j);
  CHECK(left.size() == 5);  // only static_T depends on the horizon
  for (const auto& cell : left)
    j.add(cell, std::vector{made_up::usual(cell, 0.5), made_up::usual(cell, 1)});
  CHECK(table1::missing(cells, o.betas, j).empty());
  const auto rows = table1::collect(cells, o.betas, j);
  REQUIRE(rows.size() == 18);
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(rows[i].cell == cells[i / 2]);
  CHECK(rows[0].result.error_upper == rows[2].result.error_upper);
}
