// SPDX-License-Identifier: Apache-2.0
// The picture of long_memory: its numbers as a text file, drawn by long_memory.gp.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

/// Writes FOLDER/long_memory.txt and draws FOLDER/long_memory.svg; either appears when it is whole.
/// The working directory is FOLDER afterwards.
/// @param x, w, y, exact  inputs, weights, filter and exact sum, one a day
/// @param error_at        relative error of the weights at a lag
/// @return false when a file could not be written or gnuplot failed; a missing gnuplot is no
///   failure, a sentence says so.
inline bool draw(const std::filesystem::path& folder, const std::vector<double>& x,
                 const std::vector<double>& w, const std::vector<double>& y,
                 const std::vector<double>& exact, const std::function<double(double)>& error_at,
                 double certified) {
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);
  std::ofstream file(".long_memory.txt");
  const auto volatility = [](double variance) { return 100 * std::sqrt(252 * variance); };
  double sum_w = 0, average = x[0];
  file << "# year, volatilities in % a year (power law, one average), relative error\n";
  for (std::size_t t = 0; t < x.size(); ++t) {
    sum_w += w[t];
    average += 0.06 * (x[t] - average);
    if (t % 5 != 0) continue;  // a week
    file << 1999 + 20 * static_cast<double>(t) / static_cast<double>(x.size()) << ' '
         << volatility(y[t] / sum_w) << ' ' << volatility(average) << ' ' << y[t] / exact[t] - 1
         << '\n';
  }
  file << "\n\n# lag, relative error of the weights, certified\n";
  for (int i = 0; i <= 500; ++i) {
    const double lag = std::pow(10, i / 100.0);
    file << lag << ' ' << error_at(lag) << ' ' << certified << '\n';
  }
  file.close();
  if (!file) return std::puts("cannot write long_memory.txt"), false;
  std::filesystem::rename(".long_memory.txt", "long_memory.txt");

  if (std::system("command -v gnuplot > /dev/null") != 0)
    return std::puts("no picture: gnuplot was not found (apt-get install gnuplot-nox)"), true;
  constexpr const char* draws = "gnuplot '" EBB_LONG_MEMORY_FOLDER "/long_memory.gp'";
  if (std::system(draws) != 0) return false;
  std::filesystem::rename(".long_memory.svg", "long_memory.svg");
  return true;
}
