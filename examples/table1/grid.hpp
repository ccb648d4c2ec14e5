// SPDX-License-Identifier: Apache-2.0
/// @file   table1/grid.hpp
/// @brief  Which cells a run measures, in the order of its rows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "table1/measure.hpp"
#include "table1/options.hpp"

namespace table1 {

/// A, B and the part of the position that lags may reach; C when the weights are bounded.
struct shape {
  double fast = 0, slow = 0, lag_fraction = 0.5;
  std::optional<double> weights_bound;
};

bool is_random(std::string_view spectrum);
bool has_position(std::string_view spectrum);  ///< tapered and static_*

/// The shapes in which a spectrum enters the grid: when the options name none, those that the
/// claims need; otherwise every combination of what they name, an end that the spectrum does not
/// have left at 0.
std::vector<shape> shapes_of(std::string_view spectrum, const options& o);

/// All cells of a run. The order depends on the options alone.
std::vector<basis_cell> grid(const options& o);

/// Equal for two cells exactly when they have the same functions on the same lags: a tapered
/// spectrum with two tapered channels and more, and static_t, do not depend on the horizon.
std::string measurement_key(const basis_cell& cell);

/// Relative time a cell takes, for the order of work and the time left.
double expected_cost(const basis_cell& cell);

}  // namespace table1
