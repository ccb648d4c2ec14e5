// SPDX-License-Identifier: Apache-2.0
// The picture of rough_volatility, drawn by gnuplot.
#pragma once

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "drawing/gnuplot.hpp"

/// Writes FOLDER/rough_volatility.gp and draws FOLDER/rough_volatility.svg.
/// @param x, forecast  log v over that of 10 % a year, a value a day from 1999 on; its forecast
/// @param v            a path of rough Bergomi over 0 < t <= 1
/// @return false when gnuplot failed; where there is none a sentence says so.
inline bool draw(const std::filesystem::path& folder, const std::vector<double>& x,
                 const std::vector<double>& forecast, const std::vector<double>& v) {
  using drawing::series;
  std::vector<series> all{
      {"last five days", {}, "lines", "", "lc rgb '#bbbbbb'"},
      {"rough forecast, by 20 factors", {}, "lines", "", "lc rgb '#000000' dt 1"},
      {"", {}, "lines"}};
  for (std::size_t n = 0; n < x.size(); n += 5) {
    const double year = 1999 + 20 * static_cast<double>(n) / static_cast<double>(x.size());
    all[0].points.emplace_back(year, 10 * std::exp(0.5 * x[n]));
    all[1].points.emplace_back(year, 10 * std::exp(0.5 * forecast[n]));
  }
  for (std::size_t n = 0; n < v.size(); n += 10)
    all[2].points.emplace_back(static_cast<double>(n + 1) / static_cast<double>(v.size()),
                               20 * std::sqrt(v[n]));
  const std::string body = R"(  set multiplot layout 2,1
  set key top right inside
  set title 'Dollars to the euro: volatility, and its forecast for 20 days later'
  set xlabel 'year'
  set ylabel 'volatility (% a year)'
  set xrange [1999:2019]
  set xtics 2
  set yrange [0:30]
)" + drawing::plot_command(std::span(all).first(2)) +
                           R"(
  unset key
  set title 'A path of rough Bergomi, H = 0.1, by 20 factors'
  set xlabel 'time (years)'
  set xrange [0:1]
  set xtics autofreq
  set yrange [0:*]
)" + drawing::plot_command(std::span(all).subspan(2), 2) +
                           "  unset multiplot\n";
  const drawing::picture picture =
      drawing::make_picture("rough_volatility", drawing::data_blocks(all), body, 640);
  std::string problem;
  const bool drawn = !drawing::draw(std::span(&picture, 1), folder, problem).empty();
  if (!problem.empty()) std::puts(problem.c_str());
  return drawn || problem.starts_with("No pictures");
}
