// SPDX-License-Identifier: Apache-2.0
/// @file   table1/run.hpp
/// @brief  Measures the cells of a grid on several threads.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "table1/journal.hpp"
#include "table1/progress.hpp"
#include "table1/row.hpp"

namespace table1 {

/// The cells that still have to be measured: those without a row in the journal, and of cells with
/// the same measurement_key only the first.
std::vector<basis_cell> missing(std::span<const basis_cell> cells, std::span<const double> betas,
                                const journal& finished);

/// Measures the cells, the most expensive first, and adds each to the journal as it is done.
/// Returns early when `stop` becomes true; what is finished then is in the journal.
/// @throws whatever a measurement throws, after the other threads have stopped
void measure_all(std::span<const basis_cell> cells, std::span<const double> betas, int threads,
                 journal& finished, progress& report, std::atomic<bool>& stop);

/// The rows of all cells, in the order of the cells, then of the betas.
/// @pre every cell, or one with its measurement_key, is in the journal
std::vector<row> collect(std::span<const basis_cell> cells, std::span<const double> betas,
                         const journal& finished);

}  // namespace table1
