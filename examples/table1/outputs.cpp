// SPDX-License-Identifier: Apache-2.0
#include "table1/outputs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <system_error>

#include "table1/evidence.hpp"
#include "table1/grid.hpp"

namespace table1 {
namespace {

using table = std::vector<std::vector<std::string>>;  // the first line is the heading

std::string markdown(const table& lines) {
  std::vector<std::size_t> widths(lines.front().size(), 3);
  for (const auto& line : lines)
    for (std::size_t k = 0; k < line.size(); ++k) widths[k] = std::max(widths[k], line[k].size());
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += '|';
    for (std::size_t k = 0; k < lines[i].size(); ++k)
      text += ' ' + lines[i][k] + std::string(widths[k] - lines[i][k].size(), ' ') + " |";
    text += '\n';
    if (i > 0) continue;
    text += '|';
    for (const std::size_t width : widths) text += std::string(width + 2, '-') + '|';
    text += '\n';
  }
  return text;
}

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\n") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

// One line of the comparison: the rows of one spectrum with one shape.
struct family {
  std::string spectrum;
  shape s;
  auto key() const {
    return std::tuple(s.fast, s.slow, s.lag_fraction, s.weights_bound.value_or(0));
  }
};

std::vector<family> families_of(std::span<const row> rows) {
  std::vector<family> found;
  for (const row& r : rows) {
    const family f{r.cell.spectrum,
                   {r.cell.fast_end_extension, r.cell.slow_end_extension,
                    r.cell.lag_fraction.value_or(0), r.cell.weights_bound}};
    const auto same = [&f](const family& g) {
      return g.spectrum == f.spectrum && g.key() == f.key();
    };
    if (std::none_of(found.begin(), found.end(), same)) found.push_back(f);
  }
  return found;
}

std::string title(const family& f) {
  std::string text = f.spectrum;
  const auto add = [&text](const std::string& part) {
    text += (text.find(' ') == std::string::npos ? " (" : ", ") + part;
  };
  if (f.s.fast > 0) add("A=" + shortest(f.s.fast));
  if (f.s.slow > 0) add("B=" + shortest(f.s.slow));
  if (f.s.lag_fraction > 0) add("lags<=" + shortest(f.s.lag_fraction) + "t");
  if (f.s.weights_bound) add("|c|<=" + shortest(*f.s.weights_bound));
  return text.find(' ') == std::string::npos ? text : text + ')';
}

// What Table 1 of the paper prints for the paradigm, and the law that is fitted beside it.
struct printed {
  std::string gap, error;
  coordinate x;       // of the fitted law exp(-c x); none: a power of N
  std::string named;  // the law in words
};

printed printed_for(std::string_view spectrum) {
  const auto per_log = [](double n, double steps) { return n / std::log(steps); };
  if (is_random(spectrum))
    return {"O(N^-2)", "exp(-Om(N/log N))", [](double n, double) { return n / std::log(n); },
            " N/log N"};
  if (spectrum.starts_with("linear")) return {"Theta(1)", "Om(N^-beta)", {}, ""};
  if (spectrum == "minimax") return {"", "", per_log, " N/log T"};
  if (spectrum == "geometric") return {"O(1/N)", "O(exp(-cN/log T))", per_log, " N/log T"};
  if (is_tapered(spectrum)) return {"O(1/N)", "O(exp(-cN/log t))", per_log, " N/log t"};
  return {"", "", per_log, " N/log t"};  // static spectra beside PoST: not in the paper's table
}

std::string power_of_channels(const std::vector<row>& rows, double outcome::*gap) {
  std::map<std::pair<double, double>, int> groups;
  std::set<std::tuple<double, double, int, std::uint64_t>> seen;
  std::vector<double> xs, ys;
  std::vector<int> group;
  for (const row& r : rows) {
    const double value = r.result.*gap, t = r.cell.position.value_or(0);
    if (!(value > 0)) continue;
    if (!seen.insert({r.cell.horizon, t, r.cell.channels, r.cell.seed.value_or(0)}).second)
      continue;
    xs.push_back(std::log(r.cell.channels));
    ys.push_back(std::log(value));
    group.push_back(groups.emplace(std::pair(r.cell.horizon, t), static_cast<int>(groups.size()))
                        .first->second);
  }
  const std::set<double> channels(xs.begin(), xs.end());
  if (channels.size() < 2 || xs.size() <= groups.size()) return "-";
  return "N^" + significant(ebb::approx::fit_common_slope(xs, ys, group).slope, 3);
}

std::string power_of_draws(const std::string& spectrum, const observations& seen,
                           double gap_draw::*gap) {
  std::vector<double> xs, ys;
  for (const gap_draw& d : seen.gaps)
    if (d.spectrum == spectrum && d.*gap > 0)
      xs.push_back(std::log(d.channels)), ys.push_back(std::log(d.*gap));
  if (std::set<double>(xs.begin(), xs.end()).size() < 2) return "-";
  return "N^" + significant(ebb::approx::fit_line(xs, ys).slope, 3);
}

std::string range_of(const std::vector<row>& rows, double outcome::*field) {
  double least = HUGE_VAL, most = 0;
  for (const row& r : rows)
    least = std::min(least, r.result.*field), most = std::max(most, r.result.*field);
  return significant(least, 2) + " .. " + significant(most, 2);
}

std::string over_optimum(const std::vector<row>& rows, const optima& best) {
  double least = HUGE_VAL, most = 0;
  for (const row& r : rows)
    if (const auto ratio = best.ratio(r))
      least = std::min(least, *ratio), most = std::max(most, *ratio);
  return least == HUGE_VAL ? "-" : significant(least, 2) + " .. " + significant(most, 2);
}

// The fitted law, in the coordinate of the printed one, with its 95 % interval.
std::string fitted(const std::vector<row>& rows, const printed& law) {
  const auto all = error_curves(sound_rows(rows, [](const row&) { return true; }), pick::median);
  if (!law.x) {
    const auto power = fit_power(all);
    return power ? significant(std::exp(power->intercept), 2) + " N^(" + with_interval(*power) + ")"
                 : "too few rows";
  }
  const auto f = fit_fall(all, law.x);
  return f ? significant(std::exp(f->rate.intercept), 2) + " exp(-(" +
                 with_interval(f->c(), f->rate.slope_half_width) + ")" + law.named + ")"
           : "too few rows";
}

}  // namespace

std::string errors_csv(std::span<const row> rows) {
  const optima best(rows);
  std::string text(errors_header);
  text += ",ratio_to_optimum\n";
  for (const row& r : rows) {
    const auto ratio = best.ratio(r);
    text += csv_line(r) + ',' + (ratio ? significant(*ratio, 5) : std::string()) + '\n';
  }
  return text;
}

std::string claims_csv(std::span<const claim> claims) {
  std::string text = "claim,verdict,condition,value,detail\n";
  for (const claim& c : claims)
    if (c.ruling)
      text += c.id + ',' + std::string(name_of(*c.ruling)) + ',' + quoted(c.condition) + ',' +
              quoted(c.value) + ',' + quoted(c.detail + "; command: " + c.command) + '\n';
  return text;
}

std::string comparison(std::span<const row> rows, const observations& seen) {
  table lines{{"spectrum", "gap: printed", "of rates", "of log-rates", "error: printed",
               "fitted to all rows", "errors", "sum |c|", "over optimum"}};
  const optima best(rows);
  for (const family& f : families_of(rows)) {
    std::vector<row> own;
    double horizon = 0;
    for (const row& r : rows)
      if (r.cell.spectrum == f.spectrum) horizon = std::max(horizon, r.cell.horizon);
    // Tapered rows of all horizons but one repeat each other.
    const bool repeats = is_tapered(f.spectrum) || f.spectrum == "static_t";
    for (const row& r : rows) {
      const shape s{r.cell.fast_end_extension, r.cell.slow_end_extension,
                    r.cell.lag_fraction.value_or(0), r.cell.weights_bound};
      if (r.cell.spectrum == f.spectrum && family{f.spectrum, s}.key() == f.key() &&
          (!repeats || r.cell.horizon == horizon))
        own.push_back(r);
    }
    const printed law = printed_for(f.spectrum);
    // The errors' few seeds say little about gaps: the draws do, and they have no extension.
    const auto power = [&](double outcome::*gap, double gap_draw::*drawn) -> std::string {
      if (!is_random(f.spectrum)) return power_of_channels(own, gap);
      return f.s.fast == 0 ? power_of_draws(f.spectrum, seen, drawn) : "-";
    };
    lines.push_back({title(f), law.gap, power(&outcome::min_gap_rate, &gap_draw::min_gap_rate),
                     power(&outcome::min_gap_log_rate, &gap_draw::min_gap_log_rate), law.error,
                     fitted(own, law), range_of(own, &outcome::error_upper),
                     range_of(own, &outcome::weights_l1), over_optimum(own, best)});
  }
  return markdown(lines);
}

std::string ledger(std::span<const claim> claims) {
  table lines{{"claim", "verdict", "statement", "condition", "value"}};
  for (const claim& c : claims)
    lines.push_back({c.id, c.ruling ? std::string(name_of(*c.ruling)) : "undecided here",
                     c.statement, c.condition, c.value});
  return markdown(lines);
}

std::string report(std::span<const row> rows, const observations& seen,
                   std::span<const claim> claims, const options& o,
                   std::span<const std::string> pictures) {
  std::size_t open = 0;
  for (const row& r : rows) open += !r.result.certified;
  std::string text = "# Table 1, measured\n\nMade by `table1 " + canonical(o) +
                     "`: " + std::to_string(rows.size()) +
                     " rows in `errors.csv`, each with a lower and an "
                     "upper bound of the best error; the bounds of " +
                     std::to_string(open) +
                     " rows do not meet, and no rule uses those.\n\n"
                     "## As printed, and as measured\n\n" +
                     comparison(rows, seen) +
                     "\nGaps: the fitted power of N in the smallest gap. Errors: the printed law "
                     "fitted to all rows of a line (one level for each horizon or position and "
                     "beta), with its 95 % interval; then the ranges of the errors and of the "
                     "weights, and of the errors over those of the best sums with as many free "
                     "rates, where the run has these.\n\n## The ledger\n\n" +
                     ledger(claims) + '\n';
  for (const claim& c : claims) {
    text += "* **" + c.id + "** (" + c.statement + "): ";
    text += c.ruling ? std::string(name_of(*c.ruling)) : "not decidable from the rows of this run";
    if (!c.condition.empty()) text += ", if " + c.condition;
    text += ". " + c.detail + ". Shown by `" + c.command + "`.\n";
  }
  if (!pictures.empty()) text += "\n## Pictures\n";
  for (const auto& picture : pictures) text += "\n![" + picture + "](" + picture + ".svg)\n";
  return text;
}

void remove_outputs(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const char* const name : {"errors.csv", "claims.csv", "table1.md"})
    std::filesystem::remove(folder / name, ignored);
  for (const char* const name :
       {"collapse", "gaps", "paradigms", "positions", "taper", "timescales"})
    for (const char* const kind : {".gp", ".svg", ".png"})
      std::filesystem::remove(folder / (std::string(name) + kind), ignored);
}

}  // namespace table1
