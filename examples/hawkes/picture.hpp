// SPDX-License-Identifier: Apache-2.0
// The picture of hawkes, drawn by gnuplot.
#pragma once

#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drawing/gnuplot.hpp"

/// Writes FOLDER/hawkes.gp and draws FOLDER/hawkes.svg.
/// @param days, intensity  of events, in days from 1999 on
/// @param errors, bounds   of the log-likelihood, by channels
/// @return false when gnuplot failed; where there is none a sentence says so.
inline bool draw(const std::filesystem::path& folder, const std::vector<double>& days,
                 const std::vector<double>& intensity,
                 const std::vector<std::pair<double, double>>& errors,
                 const std::vector<std::pair<double, double>>& bounds) {
  using drawing::series;
  std::vector<series> all{{"events a year, expected at each event", {}, "impulses"},
                          {"certified", bounds, "linespoints"},
                          {"observed", errors, "linespoints"}};
  for (std::size_t i = 0; i < days.size(); ++i)
    all[0].points.emplace_back(1999 + 20 * days[i] / 5021, 5021 / 20.0 * intensity[i]);
  const std::string body = R"(  set multiplot layout 2,1
  set key top right inside
  set title 'Days on which the euro moved by more than 1 % call for more of them'
  set xlabel 'year'
  set ylabel 'intensity (1/year)'
  set xrange [1999:2019]
  set xtics 2
  set yrange [0:]
)" + drawing::plot_command(std::span(all).first(1)) +
                           R"(
  set title 'Log-likelihood of the simulated events: error against all pairs of events'
  set xlabel 'exponentials'
  set ylabel 'absolute error'
  set logscale y
  set format y '10^{%T}'
  set xrange [3:21]
  set xtics 4
  set yrange [*:*]
)" + drawing::plot_command(std::span(all).subspan(1), 1) +
                           "  unset multiplot\n  unset logscale\n  set format y\n";
  const drawing::picture picture =
      drawing::make_picture("hawkes", drawing::data_blocks(all), body, 640);
  std::string problem;
  const bool drawn = !drawing::draw(std::span(&picture, 1), folder, problem).empty();
  if (!problem.empty()) std::puts(problem.c_str());
  return drawn || problem.starts_with("No pictures");
}
