// SPDX-License-Identifier: Apache-2.0
/// @file   table1/overhead.hpp
/// @brief  What tapered decays cost a scan, measured here and now.
#pragma once

#include <vector>

#include "table1/observe.hpp"

namespace table1 {

/// Steps of each timed scan, float data.
inline constexpr int timed_steps = 4096;

/// Scans of 64, 128 and 768 channels with `post_taper` (geometric timescales 1 .. 4096, relative to
/// 4096), from positions 1 and 10000, over the faster of the scan with the same spectrum constant
/// and a plain loop over rows. All of it in turn, medians of 11 rounds of processor time; by
/// vectors where xsimd was found when this was compiled.
std::vector<timing> time_scans();

}  // namespace table1
