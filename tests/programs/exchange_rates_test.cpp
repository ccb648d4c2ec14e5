// SPDX-License-Identifier: Apache-2.0
// The file that four programs read: rates > 0, one a line, or a sentence with the line.
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "long_memory/exchange_rates.hpp"
#include "support/scratch.hpp"

namespace {

std::vector<double> read(const std::string& text) {
  const ::scratch folder("exchange_rates");
  const std::string path = (folder.path / "rates.txt").string();
  std::ofstream(path) << text;
  return long_memory::exchange_rates(path);
}

TEST_CASE("rates, one a line, after lines of #") {
  CHECK(read("# days\n# of rates\n1.25\n0.5 \r\n3e-1\n") == std::vector<double>{1.25, 0.5, 0.3});
  CHECK(read("2").size() == 1);
  CHECK(read("").empty());
}

TEST_CASE("what is no rate is refused, with its line") {
  for (const char* wrong :
       {"0", "-1.5", "nan", "inf", "1e400", "", "one", "1.5 2", "# late", "1,5"})
    CHECK_THROWS_WITH_AS(read(std::string("# head\n1.5\n") + wrong + "\n2\n"),
                         doctest::Contains("line 3: need one finite rate > 0"), std::runtime_error);
  CHECK_THROWS_WITH_AS(long_memory::exchange_rates("/no/such/file"), "cannot read /no/such/file",
                       std::runtime_error);
}

}  // namespace
