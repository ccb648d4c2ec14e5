// SPDX-License-Identifier: Apache-2.0
// bench_scan: the rows that are asked for, measured and written down. docs/benchmarks.md
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "matrix_gradients.hpp"
#include "matrix_rows.hpp"
#include "report.hpp"
#include "scan_rows.hpp"

namespace bench {
namespace {

constexpr const char* usage =
    R"(usage: bench_scan [--filter REGEX] [--list] [--smoke]
                  [--json FILE] [--table FILE] [--columns FILE] [--commit TEXT]

  --filter REGEX   the rows whose names match, of all there are; without it, some minutes' worth
  --list           only says their names
  --smoke          tiny shapes, one round: do all candidates agree? Times mean nothing then
  --json FILE      Google Benchmark's JSON
  --table FILE     a markdown table, between the two marker lines of FILE if it exists
  --columns FILE   tab-separated, for bench/plots.gp
  --commit TEXT    what is measured

Files are written at the end, whole or not at all. Names and counters: docs/benchmarks.md.
)";

struct options {
  std::string filter, json, table, columns, commit = "unknown";
  bool list = false, smoke = false, help = false;
};

struct offers {
  std::optional<std::regex> filter;
  bool everything = false;
  std::vector<std::string> taken;
};
offers selection;
bool smoke = false;

options parse(int argc, char** argv) {
  options result;
  const std::vector<std::pair<std::string, std::string*>> texts{{"--filter", &result.filter},
                                                                {"--json", &result.json},
                                                                {"--table", &result.table},
                                                                {"--columns", &result.columns},
                                                                {"--commit", &result.commit}};
  const std::vector<std::pair<std::string, bool*>> flags{{"--list", &result.list},
                                                         {"--smoke", &result.smoke},
                                                         {"--help", &result.help},
                                                         {"-h", &result.help}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    bool known = false;
    for (const auto& [name, flag] : flags)
      if (word == name) *flag = known = true;
    for (const auto& [name, text] : texts) {
      if (word.rfind(name + "=", 0) == 0) {
        *text = word.substr(name.size() + 1);
      } else if (word == name) {
        if (++i == argc) throw std::runtime_error(name + " needs a value");
        *text = argv[i];
      } else {
        continue;
      }
      if (text->empty()) throw std::runtime_error(name + " needs a value");
      known = true;
    }
    if (!known) throw std::runtime_error("unknown option " + word + "; --help lists them");
  }
  return result;
}

void offer_all() {
  offer_ceilings();
  offer_float_time_major();
  offer_float_channel_major();
  offer_double_time_major();
  offer_double_channel_major();
  offer_complex_time_major();
  offer_complex_channel_major();
  offer_outer();
  offer_delta();
  offer_matrix_gradients();
  offer_steps();
  offer_crossovers();
}

// Before minutes go by: can the files be written where they are to be?
void require_places(const options& wanted) {
  for (const std::string* const file : {&wanted.json, &wanted.table, &wanted.columns}) {
    if (file->empty()) continue;
    const auto folder = std::filesystem::absolute(*file).parent_path();
    if (!std::filesystem::is_directory(folder))
      throw std::runtime_error(folder.string() + " is not a folder");
    if (std::filesystem::is_directory(*file)) throw std::runtime_error(*file + " is a folder");
  }
  if (!wanted.table.empty() && std::filesystem::exists(wanted.table))
    (void)with_table(read_file(wanted.table), "");
}

int run(const options& wanted, const char* program) {
  smoke = wanted.smoke;
  selection.everything = wanted.smoke && wanted.filter.empty();
  if (!wanted.filter.empty()) selection.filter.emplace(wanted.filter);
  if (wanted.smoke) usual_effort = {1, 0};
  require_places(wanted);
  offer_all();
  if (selection.taken.empty()) throw std::runtime_error("no row matches " + wanted.filter);
  if (wanted.list) {
    for (const std::string& name : selection.taken) std::puts(name.c_str());
    return 0;
  }
  std::string name = program;
  std::vector<char*> arguments{name.data(), nullptr};
  int count = 1;
  benchmark::Initialize(&count, arguments.data());
  facts context = facts_of_this_run(wanted.commit);
  if (wanted.smoke) context.emplace_back("smoke", "tiny shapes, one round: times mean nothing");
  for (const auto& [fact, value] : context)
    if (fact != "date") benchmark::AddCustomContext(fact, value);  // which is there
  reporter results;
  const std::size_t done = benchmark::RunSpecifiedBenchmarks(&results);
  benchmark::Shutdown();
  if (done != selection.taken.size()) throw std::runtime_error("not all rows were run");
  if (!wanted.json.empty()) write_file(wanted.json, results.json());
  if (!wanted.columns.empty()) write_file(wanted.columns, columns(results.rows()));
  if (!wanted.table.empty()) {
    const std::string table = markdown(context, results.rows());
    write_file(wanted.table, std::filesystem::exists(wanted.table)
                                 ? with_table(read_file(wanted.table), table)
                                 : new_document(table));
  }
  return 0;
}

}  // namespace

const std::vector<shape>& all_shapes() {
  static const std::vector<shape> shapes = [] {
    if (smoke)
      return std::vector<shape>{{1, 1}, {7, 1}, {1000, 1}, {300, 16}, {33, 64}, {1, 67}, {5, 768}};
    std::vector<shape> all;
    for (const index_t channels : {1, 16, 64, 128, 768, 4096})
      for (const index_t steps : {1000, 4096, 16384, 100000, 1000000, 10000000})
        if (steps * channels <= index_t{1} << 26) all.push_back({steps, channels});
    return all;
  }();
  return shapes;
}

std::string row_name(const std::vector<std::string>& parts, const shape& size) {
  std::string name;
  for (const std::string& part : parts)
    if (!part.empty()) name += part + '/';
  if (size.steps > 0) name += "T:" + std::to_string(size.steps) + '/';
  if (size.channels > 0) name += "N:" + std::to_string(size.channels) + '/';
  name.pop_back();
  return name;
}

void offer(const std::string& name, bool usual, std::function<void(benchmark::State&)> body) {
  const bool taken =
      selection.filter ? std::regex_search(name, *selection.filter) : usual || selection.everything;
  if (!taken) return;
  selection.taken.push_back(name);
  benchmark::RegisterBenchmark(name.c_str(),
                               [body = std::move(body)](benchmark::State& state) { body(state); })
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace bench

int main(int argc, char** argv) {
  try {
    const bench::options wanted = bench::parse(argc, argv);
    if (wanted.help) return std::puts(bench::usage), 0;
    return bench::run(wanted, argv[0]);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "bench_scan: %s\n", problem.what());
    return 1;
  }
}
