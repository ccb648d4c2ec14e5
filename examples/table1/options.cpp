// SPDX-License-Identifier: Apache-2.0
#include "table1/options.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "command_line/parse.hpp"
#include "table1/row.hpp"

namespace table1 {
namespace {

constexpr double most_steps = 1e12;

// One numeric option that takes a list: its domain as a sentence and as a test.
struct number_list {
  const char* name;
  const char* rule;
  bool (*allowed)(double);
};

bool is_whole(double v) { return v == std::floor(v); }

constexpr number_list channels_list{"--channels", "whole numbers from 1 to 128",
                                    [](double v) { return is_whole(v) && v >= 1 && v <= 128; }};
constexpr number_list horizons_list{"--horizons", "numbers of steps from 2 to 1e12",
                                    [](double v) { return v >= 2 && v <= most_steps; }};
constexpr number_list betas_list{"--betas", "numbers above 0 and at most 10",
                                 [](double v) { return v > 0 && v <= 10; }};
constexpr number_list extension_list{"--extension", "numbers from 0 to 6",
                                     [](double v) { return v >= 0 && v <= 6; }};
constexpr number_list slow_list{"--slow-extension", "numbers from 0 to 20",
                                [](double v) { return v >= 0 && v <= 20; }};
constexpr number_list positions_list{
    "--positions", "whole numbers of steps from 2 to 1e12",
    [](double v) { return is_whole(v) && v >= 2 && v <= most_steps; }};
constexpr number_list fraction_list{"--lag-fraction", "numbers above 0 and at most 1",
                                    [](double v) { return v > 0 && v <= 1; }};
constexpr number_list bound_list{"--weights-bound", "one number above 0 and below 1e12",
                                 [](double v) { return v > 0 && v < 1e12; }};
constexpr number_list seeds_list{"--seeds", "one whole number from 1 to 10000",
                                 [](double v) { return is_whole(v) && v >= 1 && v <= 10000; }};
constexpr number_list threads_list{"--threads", "one whole number from 1 to 1024",
                                   [](double v) { return is_whole(v) && v >= 1 && v <= 1024; }};

// Sorted and without repetitions, so that equal requests are equal.
std::vector<double> numbers(const number_list& list, const std::string& text) {
  std::vector<double> values;
  for (const auto item : split(text)) {
    const auto value = parse_number(item);
    if (!value || !list.allowed(*value))
      throw usage_error(std::string(list.name) + ": need " + list.rule + ", got '" +
                        std::string(item) + "'");
    values.push_back(*value + 0.0);  // -0 becomes 0
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

double number(const number_list& list, const std::string& text) {
  const auto values = numbers(list, text);
  if (values.size() != 1)
    throw usage_error(std::string(list.name) + ": need " + list.rule + ", got '" + text + "'");
  return values.front();
}

std::vector<std::string> spectra(const std::string& text) {
  const auto items = split(text);
  const auto& known = known_spectra();
  for (const auto item : items)
    if (std::find(known.begin(), known.end(), item) == known.end()) {
      std::string all;
      for (const auto& name : known) all += ' ' + name;
      throw usage_error("--spectra: unknown spectrum '" + std::string(item) + "', known are" + all);
    }
  std::vector<std::string> chosen;
  for (const auto& name : known)
    if (std::find(items.begin(), items.end(), name) != items.end()) chosen.push_back(name);
  return chosen;
}

template <class Values>
std::string joined(const Values& values) {
  std::string text;
  for (const auto& value : values) {
    if (!text.empty()) text += ',';
    if constexpr (
        requires { text += value; } && !requires { value + 1.0; })
      text += value;
    else
      text += shortest(static_cast<double>(value));
  }
  return text;
}

}  // namespace

const std::vector<std::string>& known_spectra() {
  static const std::vector<std::string> names{
      "random_log_uniform", "random_uniform", "linear_ends", "linear_k", "linear_k_over_N",
      "linear_k_over_T",    "geometric",      "minimax",     "post",     "post_sum",
      "two_ended",          "static_T",       "static_t"};
  return names;
}

options parse_options(int argc, const char* const* argv) {
  CLI::App app{
      "Measures how well N decaying channels remember a power law tau^-beta, with certified lower "
      "and upper bounds, and compares the result with Table 1 of arXiv 2604.07658.\n"
      "Lists are separated by commas; numbers may be written like 1e6.",
      "table1"};
  std::string spectra_text, channels = "8,16,24,32", horizons = "1e2,1e4,1e6", betas = "0.5,1",
                            positions = "1e2,1e3,1e4,1e6", extension, slow, fraction, bound,
                            seeds = "5", out = "results";
  const auto machine = std::max(1u, std::thread::hardware_concurrency());
  std::string threads = std::to_string(std::min(machine, 1024u));
  bool full = false, relative = false, integer_lags = false, no_plots = false, overhead = false;

  std::string names;
  for (const auto& name : known_spectra()) names += (names.empty() ? "" : ",") + name;
  const auto add = [&app](const char* name, std::string& value, const std::string& unit,
                          const std::string& text) {
    return app.add_option(name, value, text)->type_name(unit);
  };
  add("--spectra", spectra_text, "NAMES", "which spectra, of: " + names + " (default: all)");
  auto* const channels_option =
      add("--channels", channels, "LIST",
          "N, number of channels, 1 to 128 (default 8,16,24,32, and 48,64 for some geometric rows; "
          "--full: 8,16,24,32,48,64)");
  add("--horizons", horizons, "STEPS", "T, the design length, 2 to 1e12 (default 1e2,1e4,1e6)");
  auto* const betas_option =
      add("--betas", betas, "LIST",
          "exponents of the target tau^-beta, above 0, at most 10 (default 0.5,1; --full: "
          "0.25,0.5,1)");
  auto* const extension_option =
      add("--extension", extension, "LIST",
          "A, fast end at rate e^A per step, 0 to 6 (geometric, random_log_uniform, post*, "
          "two_ended, static_*; default: 0 and 2, and some rows with 3)");
  auto* const slow_option = add("--slow-extension", slow, "LIST",
                                "B, slow end at rate e^-B/T per step, 0 to 20 (geometric, post*, "
                                "two_ended; default: 0, and some "
                                "rows with B above 0)");
  auto* const positions_option =
      add("--positions", positions, "STEPS",
          "t, absolute positions for post*, two_ended and static_*, whole numbers, 2 to 1e12, may "
          "exceed the "
          "horizon (default 1e2,1e3,1e4,1e6; --full: 1e2,3e2,1e3,3e3,1e4,1e5,1e6,1e7)");
  auto* const fraction_option =
      add("--lag-fraction", fraction, "LIST",
          "lags up to this part of the position, above 0, at most 1 (default 0.5, and some rows "
          "with 1)");
  auto* const seeds_option =
      add("--seeds", seeds, "COUNT",
          "random spectra: seeds 1 to COUNT (default 5; --full: 32, but 3 above N = 32)");
  auto* const bound_option = add("--weights-bound", bound, "C",
                                 "only weights with sum of |c| at most C, below 1e12, no unit "
                                 "(default: free, and some rows of "
                                 "linear_k_over_N with 100)");
  app.add_flag("--relative", relative, "relative error (default: absolute)");
  app.add_flag(
      "--integer-lags", integer_lags,
      "lags 1, 2, ... T (default: all real lags from 1 to T; post*, two_ended and static_* "
      "always have whole lags; no minimax rows)");
  add("--threads", threads, "COUNT", "worker threads, 1 to 1024 (default: what the machine has)");
  add("--out", out, "DIR", "where to write; made if missing (default results)");
  app.add_flag("--full", full, "the large grid, 9423 rows, minutes on two cores; resumable");
  app.add_flag(
      "--overhead", overhead,
      "also time the scan with tapered decays against constant ones: about a second, on an "
      "idle machine, and no two runs give the same figures");
  app.add_flag("--no-plots", no_plots, "write no pictures");
  app.footer(
      "Giving one of --extension, --slow-extension, --lag-fraction, --weights-bound replaces the "
      "special rows above by all combinations of what was given and 0, 0, 0.5, free.\n"
      "minimax, free rates, has rows up to N = 30.\n"
      "DIR/journal.txt holds the finished rows: after an interruption the same command continues "
      "there.\n"
      "Exit status: 0 done, 1 failed, 2 bad options or a journal of other options or in use, 130 "
      "or "
      "143 interrupted (by SIGINT or SIGTERM).");

  command_line::parse(app, argc, argv);

  if (full) {
    if (channels_option->count() == 0) channels = "8,16,24,32,48,64";
    if (betas_option->count() == 0) betas = "0.25,0.5,1";
    if (positions_option->count() == 0) positions = "1e2,3e2,1e3,3e3,1e4,1e5,1e6,1e7";
    if (seeds_option->count() == 0) seeds = "32";
  }

  options o;
  o.spectra =
      spectra_text.empty() && app.count("--spectra") == 0 ? known_spectra() : spectra(spectra_text);
  for (const double n : numbers(channels_list, channels)) o.channels.push_back(static_cast<int>(n));
  o.default_channels = channels_option->count() == 0;
  o.horizons = numbers(horizons_list, horizons);
  o.betas = numbers(betas_list, betas);
  o.positions = numbers(positions_list, positions);
  if (extension_option->count() > 0) o.extensions = numbers(extension_list, extension);
  if (slow_option->count() > 0) o.slow_extensions = numbers(slow_list, slow);
  if (fraction_option->count() > 0) o.lag_fractions = numbers(fraction_list, fraction);
  if (bound_option->count() > 0) o.weights_bound = number(bound_list, bound);
  o.seeds = static_cast<int>(number(seeds_list, seeds));
  o.seeds_above_32 = full && seeds_option->count() == 0 ? std::min(o.seeds, 3) : o.seeds;
  o.threads = static_cast<int>(number(threads_list, threads));
  o.relative = relative;
  o.integer_lags = integer_lags;
  o.full = full;
  o.plots = !no_plots;
  o.overhead = overhead;
  if (out.empty()) throw usage_error("--out: need a directory, got ''");
  o.out = out;
  for (const double fraction_value : o.lag_fractions.value_or(std::vector<double>{0.5}))
    if (fraction_value * o.positions.front() < 1)
      throw usage_error("--lag-fraction: need at least one lag, got " + shortest(fraction_value) +
                        " of position " + shortest(o.positions.front()));
  return o;
}

std::string canonical(const options& o) {
  // A valid command line. What --channels and --seeds are by default, no list of them says: some
  // rows have more channels, some fewer seeds.
  std::string text = "--spectra " + joined(o.spectra);
  if (!o.default_channels) text += " --channels " + joined(o.channels);
  text += " --horizons " + joined(o.horizons) + " --betas " + joined(o.betas) + " --positions " +
          joined(o.positions);
  if (o.seeds_above_32 == o.seeds) text += " --seeds " + std::to_string(o.seeds);
  if (o.extensions) text += " --extension " + joined(*o.extensions);
  if (o.slow_extensions) text += " --slow-extension " + joined(*o.slow_extensions);
  if (o.lag_fractions) text += " --lag-fraction " + joined(*o.lag_fractions);
  if (o.weights_bound) text += " --weights-bound " + shortest(*o.weights_bound);
  if (o.relative) text += " --relative";
  if (o.integer_lags) text += " --integer-lags";
  if (o.full) text += " --full";
  return text;
}

}  // namespace table1
