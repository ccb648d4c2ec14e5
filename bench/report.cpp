// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>

#if defined(EBB_BENCH_SIMD)
#include <xsimd/xsimd.hpp>
#endif
#if defined(EBB_BENCH_EIGEN)
#include <Eigen/Core>
#endif
#if defined(EBB_BENCH_TBB)
#include <tbb/version.h>
#endif

namespace bench {
namespace {

constexpr std::string_view begins = "<!-- table: begin -->\n";
constexpr std::string_view ends = "<!-- table: end -->\n";

// The order of the columns, and how many digits after the point.
constexpr struct {
  const char* name;
  int digits;
} known[] = {{"ns_per_element", 3},
             {"gigabytes_per_second", 1},
             {"of_triad", 2},
             {"of_triad_past_caches", 2},
             {"of_scale", 2},
             {"over_rows", 2},
             {"over_eigen", 2},
             {"over_inclusive_scan", 2},
             {"over_tbb", 2},
             {"post_over_constant", 2},
             {"naive_over_post", 2},
             {"xsimd_exp_over_post", 2},
             {"eigen_exp_over_post", 2},
             {"stored_over_post", 2},
             {"backward_over_forward", 2},
             {"threads_over_one", 2},
             {"halves_over_one", 2},
             {"after_pause", 2},
             {"ns_per_step", 0},
             {"of_issue_floor", 2},
             {"of_inplace_scale", 2},
             {"over_streaming", 2},
             {"post_over_native", 2}};

const double* find(const row_result& row, std::string_view name) {
  for (const auto& [counter, value] : row.counters)
    if (counter == name) return &value;
  return nullptr;
}

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts;
  std::stringstream text(name);
  for (std::string part; std::getline(text, part, '/');) parts.push_back(part);
  return parts;
}

// scan, post_relative_1 -> "scan, post".
std::string family_of(const std::string& name) {
  const auto parts = parts_of(name);
  if (parts.front() == "crossover") return "crossover";
  if (parts.front().rfind("triad", 0) == 0) return "ceilings";
  if (parts.front() != "scan" && parts.front() != "step") return "matrix states, " + parts.front();
  return parts.front() + ", " + parts.at(2).substr(0, parts.at(2).find('_'));
}

std::string machine() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

std::string caches(const benchmark::CPUInfo& cpu) {
  std::string text;
  for (const auto& cache : cpu.caches)
    text += ", L" + std::to_string(cache.level) +
            (cache.type == "Instruction" ? "i "
             : cache.type == "Data"      ? "d "
                                         : " ") +
            std::to_string(cache.size >> 10) + " KiB";
  return text;
}

std::string compiler() {
#if defined(__clang__)
  return std::string("clang ") + __clang_version__;
#elif defined(__GNUC__)
  return std::string("g++ ") + __VERSION__;
#else
  return "unknown";
#endif
}

std::string libraries() {
  std::string text;
#if defined(EBB_BENCH_SIMD)
  text += "xsimd " + std::to_string(XSIMD_VERSION_MAJOR) + '.' +
          std::to_string(XSIMD_VERSION_MINOR) + '.' + std::to_string(XSIMD_VERSION_PATCH) + " (" +
          xsimd::default_arch::name() + ')';
#else
  text += "no xsimd";
#endif
#if defined(EBB_BENCH_EIGEN)
  text += ", Eigen " + std::to_string(EIGEN_WORLD_VERSION) + '.' +
          std::to_string(EIGEN_MAJOR_VERSION) + '.' + std::to_string(EIGEN_MINOR_VERSION);
#else
  text += ", no Eigen";
#endif
#if defined(EBB_BENCH_TBB)
  text += ", TBB " + std::to_string(TBB_VERSION_MAJOR) + '.' + std::to_string(TBB_VERSION_MINOR);
#else
  text += ", no TBB";
#endif
  return text;
}

std::string today() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

}  // namespace

reporter::reporter() : console_(benchmark::ConsoleReporter::OO_None) {
  json_.SetOutputStream(&json_text_);
  json_.SetErrorStream(&json_text_);
}

bool reporter::ReportContext(const Context& context) {
  console_.SetOutputStream(&GetOutputStream());
  console_.SetErrorStream(&GetErrorStream());
  const bool shown = console_.ReportContext(context);
  return json_.ReportContext(context) && shown;
}

void reporter::ReportRuns(const std::vector<Run>& runs) {
  std::vector<Run> plain = runs;
  for (Run& run : plain) {
    // Every row runs once and times itself; the name need not say so.
    run.run_name.iterations.clear();
    run.run_name.time_type.clear();
    row_result row{run.benchmark_name(), {}};
    for (const auto& [name, counter] : run.counters) row.counters.emplace_back(name, counter.value);
    rows_.push_back(std::move(row));
  }
  console_.ReportRuns(plain);
  json_.ReportRuns(plain);
}

void reporter::Finalize() {
  console_.Finalize();
  json_.Finalize();
}

facts facts_of_this_run(const std::string& commit) {
  const auto& cpu = benchmark::CPUInfo::Get();
  std::string load = "not known";
  double averages[1];
  if (getloadavg(averages, 1) == 1) load = number(averages[0], 2);
  return {{"machine", machine() + ", " + std::to_string(std::thread::hardware_concurrency()) +
                          " processors" + caches(cpu)},
          {"load before the run", load},
          {"compiler", compiler()},
          {"flags", EBB_BENCH_FLAGS},
          {"libraries", libraries()},
          {"commit", commit},
          {"date", today()}};
}

std::string markdown(const facts& context, const std::vector<row_result>& rows) {
  std::ostringstream text;
  for (const auto& [name, value] : context) text << "* " << name << ": " << value << '\n';
  std::vector<std::string> families;
  for (const row_result& row : rows) {
    const std::string family = family_of(row.name);
    if (std::find(families.begin(), families.end(), family) == families.end())
      families.push_back(family);
  }
  for (const std::string& family : families) {
    std::vector<const row_result*> members;
    for (const row_result& row : rows)
      if (family_of(row.name) == family) members.push_back(&row);
    text << "\n### " << family << "\n\n| row |";
    std::string rule = "|---|";
    std::vector<std::pair<std::string, int>> shown;
    for (const auto& counter : known)
      if (std::any_of(members.begin(), members.end(),
                      [&](const row_result* row) { return find(*row, counter.name); })) {
        shown.emplace_back(counter.name, counter.digits);
        text << ' ' << counter.name << " |";
        rule += "---:|";
      }
    text << '\n' << rule << '\n';
    for (const row_result* row : members) {
      text << "| `" << row->name << "` |";
      for (const auto& [name, digits] : shown) {
        const double* const value = find(*row, name);
        text << ' ' << (value ? number(*value, digits) : "") << " |";
      }
      text << '\n';
    }
  }
  return text.str();
}

std::string columns(const std::vector<row_result>& rows) {
  std::ostringstream text;
  text << "kind\tbackend\tdecay\ttype\tlayout\tT\tN\tthreads";
  for (const auto& counter : known) text << '\t' << counter.name;
  text << '\n';
  for (const row_result& row : rows) {
    const auto parts = parts_of(row.name);
    if (parts.front() != "scan") continue;
    for (std::size_t i = 0; i < 5; ++i) text << parts.at(i) << '\t';
    text << parts.at(5).substr(2) << '\t' << parts.at(6).substr(2) << '\t';
    const auto comma = parts[1].find(',');
    text << (comma == std::string::npos ? 1 : std::atoi(parts[1].c_str() + comma + 1));
    for (const auto& counter : known) {
      const double* const value = find(row, counter.name);
      text << '\t' << (value ? number(*value, 6) : "NaN");
    }
    text << '\n';
  }
  return text.str();
}

std::string with_table(const std::string& text, const std::string& table) {
  const auto begin = text.find(begins), end = text.find(ends);
  if (begin == std::string::npos || end == std::string::npos || end < begin ||
      text.find(begins, begin + 1) != std::string::npos ||
      text.find(ends, end + 1) != std::string::npos)
    throw std::runtime_error("the file for the table must have the two lines\n" +
                             std::string(begins) + std::string(ends) +
                             "once each: the table goes between them");
  const auto after = begin + begins.size();
  return text.substr(0, after) + '\n' + table + '\n' + text.substr(end);
}

std::string new_document(const std::string& table) {
  return "# Benchmarks\n\n" + std::string(begins) + '\n' + table + '\n' + std::string(ends);
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) throw std::runtime_error("cannot read " + path.string());
  return content;
}

void write_file(const std::filesystem::path& path, const std::string& content) {
  auto temporary = path;
  temporary += ".tmp";
  std::error_code ignored, problem;
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    if (!file) {
      std::filesystem::remove(temporary, ignored);
      throw std::runtime_error("cannot write " + path.string());
    }
  }
  std::filesystem::rename(temporary, path, problem);
  if (!problem) return;
  std::filesystem::remove(temporary, ignored);
  throw std::runtime_error("cannot write " + path.string() + ": " + problem.message());
}

}  // namespace bench
