// SPDX-License-Identifier: Apache-2.0
// The picture of fractional, drawn by gnuplot.
#pragma once

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <ebb/approx/exponential_sum.hpp>

#include "drawing/gnuplot.hpp"

/// Writes FOLDER/fractional.gp and draws FOLDER/fractional.svg.
/// @param u, y  a signal and its derivative, a value a day from 1999 on
/// @param tail  for x^-b on 1 <= x <= horizon, with relative error at most delta
/// @return false when gnuplot failed; where there is none a sentence says so.
inline bool draw(const std::filesystem::path& folder, const std::vector<double>& u,
                 const std::vector<double>& y, double b, const ebb::approx::exponential_sum& tail,
                 double delta, double horizon) {
  using drawing::series;
  std::vector<series> all{{"log(dollars to the euro), from the first day on", {}, "lines"},
                          {"5 times its derivative of order 0.4 (days)", {}, "lines"},
                          {"relative error of 20 exponentials", {}, "lines"},
                          {"certified", {{1, 1e8 * delta}, {horizon, 1e8 * delta}}, "lines"},
                          {"", {{1, -1e8 * delta}, {horizon, -1e8 * delta}}, "lines", "certified"}};
  for (std::size_t n = 0; n < y.size(); n += 5) {
    const double year = 1999 + 20 * static_cast<double>(n) / static_cast<double>(y.size());
    all[0].points.emplace_back(year, u[n + 1]);
    all[1].points.emplace_back(year, 5 * y[n]);
  }
  for (int i = 0; i <= 600; ++i) {
    const double x = std::pow(horizon, i / 600.0);
    all[2].points.emplace_back(x, 1e8 * (tail(x) * std::pow(x, b) - 1));
  }
  const std::string body = R"(  set multiplot layout 2,1
  set key top left inside
  set title 'Between the rate and its returns: a fractional derivative, by 20 recurrences'
  set xlabel 'year'
  set xrange [1999:2019]
  set xtics 2
)" + drawing::plot_command(std::span(all).first(2)) +
                           R"(
  set key top left outside horizontal
  set title 'The kernel x^{-0.4}'
  set xlabel 'lag (days)'
  set ylabel 'relative error (10^{-8})'
  set xtics autofreq
  set logscale x
  set format x '10^{%T}'
  set xrange [1:)" + std::to_string(horizon) +
                           "]\n" + drawing::plot_command(std::span(all).subspan(2), 2) +
                           "  unset multiplot\n  unset logscale\n  unset ylabel\n  set format x\n";
  const drawing::picture picture =
      drawing::make_picture("fractional", drawing::data_blocks(all), body, 640);
  std::string problem;
  const bool drawn = !drawing::draw(std::span(&picture, 1), folder, problem).empty();
  if (!problem.empty()) std::puts(problem.c_str());
  return drawn || problem.starts_with("No pictures");
}
