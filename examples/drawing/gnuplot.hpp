// SPDX-License-Identifier: Apache-2.0
/// @file   drawing/gnuplot.hpp
/// @brief  Scripts for gnuplot that carry their data, and running them.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace drawing {

/// A gnuplot script that draws NAME.svg and NAME.png.
struct picture {
  std::string name;
  std::string script;
};

struct series {
  std::string title;
  std::vector<std::pair<double, double>> points;
  std::string style = "linespoints";
  std::string key = {};    ///< series of one key share their line type; empty: the title
  std::string extra = {};  ///< more of gnuplot's style, such as a point type
};

/// The data blocks $d0, $d1, ... of the series.
std::string data_blocks(std::span<const series> all);

/// A plot command for the series, whose blocks are numbered from `first`.
std::string plot_command(std::span<const series> all, std::size_t first = 0);

/// The whole script: settings, data, and the body once for each format.
/// @param body    gnuplot commands that end with the plot
/// @param height  of the SVG picture in pixels; its width is 920
picture make_picture(const std::string& name, const std::string& data, const std::string& body,
                     int height = 480);

/// Whether there is a gnuplot to draw with.
bool gnuplot_found();

/// Writes NAME.gp into the folder and draws it, each file by atomic rename.
/// @param[out] problem  a sentence when gnuplot is missing or failed; the scripts are there
/// @returns the names of what was drawn
/// @throws file_error when a script cannot be written
std::vector<std::string> draw(std::span<const picture> pictures,
                              const std::filesystem::path& folder, std::string& problem);

}  // namespace drawing
