// SPDX-License-Identifier: Apache-2.0
/// @file   figures/density.hpp
/// @brief  A smooth density of timescales.
#pragma once

#include <span>
#include <utility>
#include <vector>

namespace figures {

/// Gaussian kernel density of x = log10(timescale), on a grid that reaches 4 bandwidths beyond the
/// data.
///
///   p(x) = 1/(n w) sum_i phi((x - x_i)/w),   w = s n^(-1/5) / 2
///
/// phi the standard normal density, s the standard deviation of the x_i (divisor n - 1): Scott's
/// bandwidth, halved as in the paper's figure; at least 0.01. Its integral over x is 1.
///
/// @param timescales  n >= 1 values above 0, steps
/// @param points      of the grid, >= 2
/// @returns pairs of a timescale (steps) and p (share of channels for each decade)
/// Cost: n times `points` exponentials.
std::vector<std::pair<double, double>> density(std::span<const double> timescales, int points);

}  // namespace figures
