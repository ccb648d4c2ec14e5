// SPDX-License-Identifier: Apache-2.0
/// @file   figures/main.cpp
/// @brief  figures: draws what Figures 1 to 3 of arXiv 2604.07658 show of a model's spectra.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "command_line/usage.hpp"
#include "drawing/files.hpp"
#include "drawing/gnuplot.hpp"
#include "figures/checkpoint.hpp"
#include "figures/options.hpp"
#include "figures/plots.hpp"

namespace {

void make_folder(const std::filesystem::path& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem || !std::filesystem::is_directory(folder, problem))
    throw figures::usage_error("--out: cannot write to " + folder.string() +
                               (problem ? ": " + problem.message() : std::string()));
}

// Pictures of an earlier run are not mixed with those of this one.
void remove_pictures(const std::filesystem::path& folder, figures::family which) {
  std::error_code ignored;
  for (const auto& name : figures::picture_names(which))
    for (const char* const kind : {".gp", ".svg", ".png"})
      std::filesystem::remove(folder / (name + kind), ignored);
}

int run(const figures::options& o) {
  std::vector<figures::model> models;
  for (const auto& c : o.checkpoints)
    models.push_back({c.label, figures::read_layers(c.path, o.which, o.horizon)});
  if (models.empty()) models = figures::initial_models(o.which, o.horizon, o.inverse);
  std::size_t fewest = models[0].layers.size();
  for (const auto& m : models) fewest = std::min(fewest, m.layers.size());
  const int layer = o.layer.value_or(static_cast<int>(fewest / 2));
  if (static_cast<std::size_t>(layer) >= fewest)
    throw figures::usage_error("--layer: need one that each model has, 0 to " +
                               std::to_string(fewest - 1) + ", got " + std::to_string(layer));

  make_folder(o.out);
  const auto pictures = figures::pictures(o.which, models, layer);
  remove_pictures(o.out, o.which);
  drawing::write_atomically(o.out / "timescales.csv", figures::timescales_csv(models));
  std::string problem;
  const auto drawn = drawing::draw(pictures, o.out, problem);
  for (const auto& m : models) {
    double least = HUGE_VAL, most = 0;
    for (const auto& l : m.layers)
      for (const double scale : l.timescales)
        least = std::min(least, scale), most = std::max(most, scale);
    std::cout << m.label << ": " << m.layers.size() << " layers of "
              << m.layers[0].timescales.size() << ", timescales from " << least << " to " << most
              << " steps" << (m.layers[0].exponents.empty() ? ", no taper" : "") << '\n';
  }
  const bool failed = !problem.empty() && drawing::gnuplot_found();
  if (!problem.empty()) (failed ? std::cerr : std::cout) << problem << '\n';
  std::cout << "Written: " << (o.out / "timescales.csv").string() << ", " << pictures.size()
            << " scripts of gnuplot and " << drawn.size() << " pictures beside it\n"
            << std::flush;
  if (!std::cout) throw drawing::file_error("cannot write to standard output");
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  return command_line::status_of("figures",
                                 [&] { return run(figures::parse_options(argc, argv)); });
}
