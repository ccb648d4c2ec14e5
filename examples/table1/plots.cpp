// SPDX-License-Identifier: Apache-2.0
#include "table1/plots.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <ebb/approx/bounds.hpp>

#include "drawing/gnuplot.hpp"
#include "table1/evidence.hpp"
#include "table1/grid.hpp"

namespace table1 {
namespace {

using drawing::data_blocks;
using drawing::make_picture;
using drawing::picture;
using drawing::plot_command;
using drawing::series;

std::string label(double steps) {
  const double power = std::log10(steps);
  if (power == std::floor(power) && power >= 3)
    return "10^{" + std::to_string(static_cast<int>(power)) + '}';
  return shortest(steps);
}

// Points (x, median error) of the rows that pass, ascending in x.
series error_series(const std::string& title, std::span<const row> rows, const row_filter& passes,
                    const std::function<double(const row&)>& x) {
  std::map<double, std::vector<double>> values;
  for (const row& r : sound_rows(rows, passes)) values[x(r)].push_back(r.result.error_upper);
  series s{title, {}};
  for (auto& [at, errors] : values) {
    std::sort(errors.begin(), errors.end());
    s.points.emplace_back(at, errors[errors.size() / 2]);
  }
  return s;
}

void keep(std::vector<series>& all, series s) {
  if (!s.points.empty()) all.push_back(std::move(s));
}

row_filter shaped(const std::string& spectrum, double beta, double fast, double slow,
                  double part = 0.5) {
  return [=](const row& r) {
    return r.cell.spectrum == spectrum && r.result.beta == beta && !r.cell.weights_bound &&
           r.cell.fast_end_extension == fast && r.cell.slow_end_extension == slow &&
           r.cell.lag_fraction.value_or(part) == part;
  };
}

row_filter both(row_filter a, row_filter b) {
  return [a = std::move(a), b = std::move(b)](const row& r) { return a(r) && b(r); };
}

row_filter horizon_is(double horizon) {
  return [horizon](const row& r) { return r.cell.horizon == horizon; };
}

double channels_x(const row& r) { return r.cell.channels; }

// The choice among the options' values that the pictures show.
double shown_beta(const options& o) {
  return std::find(o.betas.begin(), o.betas.end(), 0.5) != o.betas.end() ? 0.5 : o.betas.front();
}
double middle_horizon(const options& o) { return o.horizons[o.horizons.size() / 2]; }
int shown_channels(const options& o) {
  return std::find(o.channels.begin(), o.channels.end(), 16) != o.channels.end()
             ? 16
             : o.channels[o.channels.size() / 2];
}

std::string error_axis(double beta) {
  return "  set ylabel 'largest error of the best weights, {/Symbol b} = " + shortest(beta) +
         "'\n  set logscale y\n  set format y '10^{%T}'\n";
}

// Ends of the shapes that rows of a spectrum have, as (A, B).
std::vector<std::pair<double, double>> ends_of(std::span<const row> rows,
                                               const std::string& spectrum) {
  std::vector<std::pair<double, double>> ends;
  for (const row& r : rows) {
    const std::pair end(r.cell.fast_end_extension, r.cell.slow_end_extension);
    if (r.cell.spectrum == spectrum && std::find(ends.begin(), ends.end(), end) == ends.end())
      ends.push_back(end);
  }
  std::sort(ends.begin(), ends.end());
  return ends;
}

std::string ends_label(std::pair<double, double> ends) {
  if (ends.first == 0 && ends.second == 0) return "";
  std::string text = ", A = " + shortest(ends.first);
  if (ends.second > 0) text += ", B = " + shortest(ends.second);
  return text;
}

constexpr int point_types[] = {5, 6, 9, 12, 7, 4, 8, 13};

picture collapse(const options& o, std::span<const row> rows) {
  const double beta = shown_beta(o);
  std::vector<series> all;
  for (const auto& ends : ends_of(rows, "geometric"))
    for (std::size_t i = 0; i < o.horizons.size(); ++i) {
      const double horizon = o.horizons[i];
      auto s = error_series(
          "geometric" + ends_label(ends) + ", T = " + label(horizon), rows,
          both(shaped("geometric", beta, ends.first, ends.second), horizon_is(horizon)),
          [](const row& r) { return r.cell.channels / std::log(r.cell.horizon); });
      // The line says which spectrum, the point which horizon.
      s.key = "geometric" + ends_label(ends);
      s.extra = "pt " + std::to_string(point_types[i % std::size(point_types)]);
      keep(all, s);
    }
  if (all.empty()) return {};
  return make_picture("collapse", data_blocks(all),
                      "  set title 'Geometric spectra: do errors collapse in N / log T?'\n"
                      "  set xlabel 'N / log T (channels for each factor e of the horizon)'\n" +
                          error_axis(beta) + plot_command(all));
}

picture positions(const options& o, std::span<const row> rows) {
  const double beta = shown_beta(o), horizon = o.horizons.back();
  const int channels = shown_channels(o);
  const row_filter here = [=](const row& r) {
    return r.cell.channels == channels && r.cell.horizon == horizon;
  };
  std::vector<series> all;
  for (const char* const spectrum : {"post", "static_t", "static_T", "post_sum", "two_ended"})
    for (const auto& ends : ends_of(rows, spectrum))
      for (const double part : {0.5, 1.0}) {
        const std::string lags = part == 1 ? ", all lags" : "";
        std::string name = spectrum;
        if (name == "post") name = "PoST";
        if (name == "post_sum") name = "PoST and a sum";
        if (name == "two_ended") name = "two-ended";
        if (name == "static_t") name = "static, made for t";
        if (name == "static_T") name = "static, made for T";
        keep(all, error_series(name + ends_label(ends) + lags, rows,
                               both(shaped(spectrum, beta, ends.first, ends.second, part), here),
                               [](const row& r) { return *r.cell.position; }));
      }
  if (all.empty()) return {};
  return make_picture("positions", data_blocks(all),
                      "  set title 'Error at position t: N = " + std::to_string(channels) +
                          ", T = " + label(horizon) +
                          ", lags up to t/2 unless marked'\n"
                          "  set xlabel 'position t (steps)'\n  set logscale x\n"
                          "  set format x '10^{%T}'\n" +
                          error_axis(beta) + plot_command(all),
                      520);
}

picture paradigms(const options& o, std::span<const row> rows) {
  const double beta = shown_beta(o), horizon = middle_horizon(o);
  std::vector<series> all;
  const auto add = [&](const std::string& title, const std::string& spectrum,
                       std::pair<double, double> ends) {
    keep(all,
         error_series(title + ends_label(ends), rows,
                      both(shaped(spectrum, beta, ends.first, ends.second), horizon_is(horizon)),
                      channels_x));
  };
  for (const auto& ends : ends_of(rows, "random_log_uniform"))
    add("random, log-uniform", "random_log_uniform", ends);
  add("random, uniform", "random_uniform", {});
  add("linear, k", "linear_k", {});
  add("linear, k/N", "linear_k_over_N", {});
  add("linear, k/T", "linear_k_over_T", {});
  add("linear, from 1/T to 1", "linear_ends", {});
  add("optimum, free rates", "minimax", {});
  for (const auto& ends : ends_of(rows, "geometric")) add("geometric", "geometric", ends);
  double position = 0;
  for (const double t : o.positions)
    if (t <= horizon) position = std::max(position, t);
  for (const auto& ends : ends_of(rows, "post"))
    if (ends.second == 0)
      keep(all,
           error_series("PoST at t = " + label(position) + ", lags to t/2" + ends_label(ends), rows,
                        both(both(shaped("post", beta, ends.first, 0), horizon_is(horizon)),
                             [=](const row& r) { return r.cell.position == position; }),
                        channels_x));
  if (all.empty()) return {};
  double least = 1, most_channels = 0;
  for (const auto& s : all) {
    for (const auto& point : s.points) least = std::min(least, point.second);
    most_channels = std::max(most_channels, s.points.back().first);
  }
  // The constants that the statements leave open are 1, the optimum's prefactor is empirical.
  const auto add_bound = [&](const std::string& title, const std::string& extra,
                             const std::function<double(double)>& bound) {
    series s{title, {}, "lines", "bound", extra};
    for (double n = std::max(2, o.channels.front()); n <= most_channels; n += 1)
      if (bound(n) >= least / 10) s.points.emplace_back(n, bound(n));
    keep(all, s);
  };
  namespace bounds = ebb::approx;
  add_bound("N^{-{/Symbol b}}", "lc rgb 'black' lw 2.5 dt 3",
            [=](double n) { return bounds::linear_error(n, beta); });
  add_bound("exp(-N / log N)", "lc rgb 'black' lw 2.5 dt 4",
            [](double n) { return bounds::random_error(n); });
  add_bound("exp(-N / log T)", "lc rgb 'black' lw 2.5 dt 2",
            [=](double n) { return bounds::geometric_error(n, horizon); });
  if (!o.relative)
    add_bound("the optimum\'s law", "lc rgb 'black' lw 2.5 dt 1",
              [=](double n) { return bounds::optimum_absolute_error(n, horizon, beta, 2.6); });
  return make_picture("paradigms", data_blocks(all),
                      "  set title 'Error against the number of channels, T = " + label(horizon) +
                          "'\n  set xlabel 'N (channels)'\n" + error_axis(beta) + plot_command(all),
                      560);
}

bool close(const series& a, const series& b) {
  return std::equal(a.points.begin(), a.points.end(), b.points.begin(), b.points.end(),
                    [](const auto& p, const auto& q) {
                      return p.first == q.first && std::abs(p.second / q.second - 1) < 1e-9;
                    });
}

picture gaps(const options& o, std::span<const row> rows, const observations& seen) {
  const double horizon = o.horizons.back();
  // Median of the smallest and the largest gap for each N.
  using values = std::map<std::pair<std::string, int>, std::vector<double>>;
  values smallest, largest;
  const auto note = [&](const std::string& name, int channels, double low, double high) {
    if (low > 0)
      smallest[{name, channels}].push_back(low), largest[{name, channels}].push_back(high);
  };
  for (const gap_draw& d : seen.gaps)
    note(d.spectrum == "random_uniform" ? "random, uniform" : "random, log-uniform", d.channels,
         d.min_gap_log_rate, d.max_gap_log_rate);
  std::vector<std::string> order{"random, log-uniform", "random, uniform"};
  const std::pair<const char*, const char*> names[] = {
      {"linear_k", "linear, k"},          {"linear_k_over_N", "linear, k/N"},
      {"linear_k_over_T", "linear, k/T"}, {"linear_ends", "linear, from 1/T to 1"},
      {"geometric", "geometric"},         {"post", "PoST at t = 10^4"}};
  double position = 0;
  for (const double t : o.positions)
    if (t <= 1e4) position = std::max(position, t);
  if (position == 0) position = o.positions.front();
  for (const auto& [spectrum, name] : names) {
    const std::string shown =
        std::string(spectrum) == "post" ? "PoST at t = " + label(position) : name;
    order.push_back(shown);
    for (const row& r : rows)
      if (r.cell.spectrum == spectrum && r.cell.horizon == horizon &&
          r.cell.fast_end_extension == 0 && r.cell.slow_end_extension == 0 &&
          (!r.cell.position || r.cell.position == position))
        note(shown, r.cell.channels, r.result.min_gap_log_rate, r.result.max_gap_log_rate);
  }
  const auto curves_of = [&](values& all) {
    std::vector<series> found;
    for (const auto& name : order) {
      series s{name, {}};
      for (auto& [where, numbers] : all)
        if (where.first == name) {
          std::sort(numbers.begin(), numbers.end());
          s.points.emplace_back(where.second, numbers[numbers.size() / 2]);
        }
      keep(found, s);
    }
    return found;
  };
  auto low = curves_of(smallest), high = curves_of(largest);
  if (low.empty()) return {};
  // Spectra that differ by a factor in all rates have the same curves: one curve, all names.
  for (std::size_t i = 0; i < low.size(); ++i)
    for (std::size_t j = low.size(); j-- > i + 1;)
      if (close(low[i], low[j]) && close(high[i], high[j])) {
        const auto comma = high[j].title.find(", ");
        high[i].title += " =" + high[j].title.substr(comma == std::string::npos ? 0 : comma + 1);
        low.erase(low.begin() + static_cast<long>(j));
        high.erase(high.begin() + static_cast<long>(j));
      }
  for (std::size_t i = 0; i < low.size(); ++i)
    low[i].key = high[i].key = high[i].title, low[i].title = "";  // one legend, at the second panel
  auto all = low;
  all.insert(all.end(), high.begin(), high.end());
  double least = HUGE_VAL, most = 0;
  for (const auto& s : all)
    for (const auto& point : s.points)
      least = std::min(least, point.first), most = std::max(most, point.first);
  return make_picture(
      "gaps", data_blocks(all),
      "  set multiplot title 'Gaps between neighbouring channels, T = " + label(horizon) +
          "'\n"
          "  set logscale xy\n  set format y '10^{%T}'\n  set xlabel 'N (channels)'\n"
          "  set xtics (1, 2, 4, 8, 16, 32, 64, 128)\n  set xrange [" +
          shortest(least / 1.3) + ':' + shortest(most * 1.3) +
          "]\n"
          "  set lmargin at screen 0.09\n  set rmargin at screen 0.37\n"
          "  set bmargin at screen 0.13\n  set tmargin at screen 0.86\n"
          "  set title 'smallest gap'\n  set ylabel 'gap in log-rate (no unit)'\n  unset key\n" +
          plot_command(low) +
          "  set lmargin at screen 0.45\n  set rmargin at screen 0.73\n"
          "  set title 'largest gap'\n  unset ylabel\n"
          "  set key at screen 0.745, screen 0.87 left top vertical Left reverse\n" +
          plot_command(high, low.size()) + "  unset multiplot\n");
}

picture timescale_rows(const options& o) {
  const double horizon = middle_horizon(o);
  const int channels = shown_channels(o);
  std::vector<series> all;
  std::string labels;
  std::vector<std::string> shown;
  for (const auto& spectrum : o.spectra)
    if (!spectrum.starts_with("static") && spectrum != "minimax") shown.push_back(spectrum);
  double line = static_cast<double>(shown.size());
  for (const auto& spectrum : shown) {
    basis_cell cell;
    cell.spectrum = spectrum;
    cell.channels = channels;
    cell.horizon = horizon;
    std::string name = spectrum;
    if (is_random(spectrum)) cell.seed = 1;
    if (has_position(spectrum)) {
      cell.position = std::min(horizon, 100.0);
      cell.lag_fraction = 0.5;
      cell.integer_lags = true;
      name += " at t = " + label(*cell.position);
    }
    series s{"", {}, "points", spectrum};
    for (const double scale : timescales(cell))
      if (std::isfinite(scale)) s.points.emplace_back(scale, line);
    std::string escaped;
    for (const char c : name) escaped += c == '_' ? std::string("\\_") : std::string(1, c);
    labels += (labels.empty() ? "" : ", ") + std::string("\"") + escaped + "\" " + shortest(line);
    line -= 1;
    keep(all, s);
  }
  if (all.empty()) return {};
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] == '\\') labels.insert(i++, "\\");
  return make_picture("timescales", data_blocks(all),
                      "  set title 'Timescales of the channels, N = " + std::to_string(channels) +
                          ", T = " + label(horizon) +
                          "'\n  set xlabel 'timescale 1/r (steps)'\n"
                          "  set logscale x\n  set format x '10^{%T}'\n  unset key\n"
                          "  set yrange [0.4:" +
                          shortest(static_cast<double>(shown.size()) + 0.6) + "]\n  set ytics (" +
                          labels + ")\n" + plot_command(all));
}

picture taper(const options& o) {
  if (std::find(o.spectra.begin(), o.spectra.end(), "post") == o.spectra.end()) return {};
  const double horizon = o.horizons.back();
  const int channels = shown_channels(o);
  std::vector<series> all;
  const auto add = [&](const std::string& spectrum, double position, const std::string& title) {
    basis_cell cell;
    cell.spectrum = spectrum;
    cell.channels = channels;
    cell.horizon = horizon;
    if (position > 0) cell.position = position, cell.lag_fraction = 0.5, cell.integer_lags = true;
    series s{title, {}};
    const auto scales = timescales(cell);
    for (std::size_t k = 0; k < scales.size(); ++k)
      s.points.emplace_back(static_cast<double>(k), scales[k]);
    keep(all, s);
  };
  for (const double t : o.positions) add("post", t, "PoST at t = " + label(t));
  add("geometric", 0, "static, made for T = " + label(horizon));
  return make_picture("taper", data_blocks(all),
                      "  set title 'The taper: timescales at several positions, N = " +
                          std::to_string(channels) + ", T = " + label(horizon) +
                          "'\n  set xlabel 'channel k (slowest first)'\n"
                          "  set ylabel 'timescale at position t (steps)'\n  set logscale y\n"
                          "  set format y '10^{%T}'\n" +
                          plot_command(all));
}

}  // namespace

std::vector<picture> pictures(const options& o, std::span<const row> rows,
                              const observations& seen) {
  std::vector<picture> drawn;
  for (auto& p : {collapse(o, rows), positions(o, rows), paradigms(o, rows), gaps(o, rows, seen),
                  timescale_rows(o), taper(o)})
    if (!p.name.empty()) drawn.push_back(p);
  return drawn;
}

}  // namespace table1
