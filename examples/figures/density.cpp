// SPDX-License-Identifier: Apache-2.0
#include "figures/density.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace figures {

std::vector<std::pair<double, double>> density(std::span<const double> timescales, int points) {
  const auto n = static_cast<double>(timescales.size());
  std::vector<double> x;
  for (const double scale : timescales) x.push_back(std::log10(scale));
  double mean = 0, squares = 0;
  for (const double v : x) mean += v / n;
  for (const double v : x) squares += (v - mean) * (v - mean);
  const double deviation = n > 1 ? std::sqrt(squares / (n - 1)) : 0;
  const double width = std::max(0.01, 0.5 * deviation * std::pow(n, -0.2));

  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  const double first = *least - 4 * width, span = *most - *least + 8 * width;
  std::vector<std::pair<double, double>> curve;
  for (int i = 0; i < points; ++i) {
    const double at = first + span * i / (points - 1);
    double sum = 0;
    for (const double v : x) sum += std::exp(-0.5 * (at - v) * (at - v) / (width * width));
    curve.emplace_back(std::pow(10, at), sum / (n * width * std::sqrt(2 * std::numbers::pi)));
  }
  return curve;
}

}  // namespace figures
