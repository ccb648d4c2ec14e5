// SPDX-License-Identifier: Apache-2.0
/// @file   figures/plots.hpp
/// @brief  The pictures of a run and the table of what they show.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "drawing/gnuplot.hpp"
#include "figures/options.hpp"
#include "figures/spectra.hpp"

namespace figures {

/// All channels as CSV: model,layer,channel,timescale,alpha; timescale in steps, alpha empty
/// without a taper, both with 10 digits.
std::string timescales_csv(std::span<const model> models);

/// The names of a family's pictures: MODEL_density, MODEL_layer, MODEL_layers, MODEL_taper.
std::vector<std::string> picture_names(family which);

/// The pictures of these names; MODEL_taper only if a model has a taper.
/// @param models  1 to 4 of them, each with layers
/// @param layer   of MODEL_layer, one that each model has
std::vector<drawing::picture> pictures(family which, std::span<const model> models, int layer);

}  // namespace figures
