// SPDX-License-Identifier: Apache-2.0
/// @file   table1/plots.hpp
/// @brief  The six pictures of a run.
#pragma once

#include <span>
#include <vector>

#include "drawing/gnuplot.hpp"
#include "table1/observe.hpp"
#include "table1/options.hpp"
#include "table1/row.hpp"

namespace table1 {

/// The pictures that the rows allow; those without rows are left out.
std::vector<drawing::picture> pictures(const options& o, std::span<const row> rows,
                                       const observations& seen);

}  // namespace table1
