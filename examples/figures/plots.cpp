// SPDX-License-Identifier: Apache-2.0
#include "figures/plots.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

#include "drawing/text.hpp"
#include "figures/density.hpp"

namespace figures {
namespace {

using drawing::series;
using drawing::significant;

std::string file_name(family which) {
  if (which == family::mamba2) return "mamba2";
  return which == family::rwkv7 ? "rwkv7" : "gated_deltanet";
}

std::string timescale_axis(family which) {
  return which == family::rwkv7
             ? "timescale at position 1 (steps)"
             : "timescale at position 1, dt = " + significant(reference_step, 3) + " (steps)";
}

std::string channels_name(family which) { return which == family::rwkv7 ? "channel" : "head"; }

// gnuplot reads "_" as a subscript.
std::string legend(const std::string& label) {
  std::string text;
  for (const char c : label) text += c == '_' ? std::string("\\\\_") : std::string(1, c);
  return text;
}

// Points are drawn where there are few.
std::string line_style(const model& m) {
  return m.layers[0].timescales.size() > 64 ? "lines" : "linespoints";
}

drawing::picture density_picture(family which, std::span<const model> models) {
  std::vector<series> all;
  for (const auto& m : models) {
    std::vector<double> scales;
    for (const auto& l : m.layers)
      scales.insert(scales.end(), l.timescales.begin(), l.timescales.end());
    all.push_back({legend(m.label), density(scales, 400), "lines"});
  }
  return drawing::make_picture(
      file_name(which) + "_density", drawing::data_blocks(all),
      "  set title 'Density of timescales, all layers'\n  set xlabel '" + timescale_axis(which) +
          "'\n  set ylabel 'share of " + channels_name(which) +
          "s for each decade'\n  set logscale x\n  set format x '10^{%T}'\n  set yrange [0:]\n" +
          drawing::plot_command(all));
}

drawing::picture layer_picture(family which, std::span<const model> models, int layer) {
  std::vector<series> all;
  for (const auto& m : models) {
    auto scales = m.layers[static_cast<std::size_t>(layer)].timescales;
    std::sort(scales.begin(), scales.end(), std::greater<>());
    series s{legend(m.label), {}, line_style(m)};
    for (std::size_t k = 0; k < scales.size(); ++k)
      s.points.emplace_back(static_cast<double>(k), scales[k]);
    all.push_back(std::move(s));
  }
  return drawing::make_picture(file_name(which) + "_layer", drawing::data_blocks(all),
                               "  set title 'Timescales of layer " + std::to_string(layer) +
                                   ", sorted'\n  set xlabel 'rank of the " + channels_name(which) +
                                   " (0: slowest)'\n  set ylabel '" + timescale_axis(which) +
                                   "'\n  set logscale y\n  set format y '10^{%T}'\n" +
                                   drawing::plot_command(all));
}

drawing::picture layers_picture(family which, std::span<const model> models) {
  std::ostringstream data, plots;
  double least = HUGE_VAL, most = 0;
  const std::size_t columns = std::min<std::size_t>(models.size(), 2);
  const std::size_t rows = (models.size() + columns - 1) / columns;
  for (std::size_t i = 0; i < models.size(); ++i) {
    data << "$d" << i << " << EOD\n";
    for (const auto& l : models[i].layers) {
      for (const double scale : l.timescales) {
        data << significant(scale, 4) << ' ';
        least = std::min(least, scale), most = std::max(most, scale);
      }
      data << '\n';
    }
    data << "EOD\n";
    const std::size_t channels = models[i].layers[0].timescales.size();
    // An image, and where they are few its cells as rectangles: viewers blur an image's edges, and
    // show what lies below between rectangles.
    const bool few = channels * models[i].layers.size() <= 2000;
    plots << "  set title \"" << legend(models[i].label)
          << "\"\n  set xrange [-0.5:" << static_cast<double>(channels) - 0.5 << "]\n  set yrange ["
          << static_cast<double>(models[i].layers.size()) - 0.5 << ":-0.5]\n"
          << (i % columns == 0 ? "  set ylabel 'layer' offset 1\n" : "  unset ylabel\n")
          << (i + columns >= models.size() ? "  set xlabel '" + channels_name(which) + "'\n"
                                           : std::string("  unset xlabel\n"))
          << (i + 1 == models.size() ? "  set colorbox user origin screen 0.87, screen 0.2 size "
                                       "screen 0.02, screen 0.6\n"
                                     : "  unset colorbox\n")
          << "  plot $d" << i << " matrix with image notitle"
          << (few ? ", '' matrix with image pixels notitle\n" : "\n");
  }
  if (least == most) least /= 2, most *= 2;
  std::ostringstream body;
  body << "  set multiplot layout " << rows << ',' << columns
       << " title 'Timescales of all layers' margins 0.07,0.84," << (rows > 1 ? "0.12" : "0.19")
       << ',' << (rows > 1 ? "0.88" : "0.78") << " spacing 0.07,0.15\n"
       << "  unset key\n  unset grid\n  set border 15\n  set tics out nomirror\n"
       << "  set logscale cb\n  set format cb '10^{%T}'\n  set cbrange [" << significant(least, 6)
       << ':' << significant(most, 6) << "]\n  set cblabel '" << timescale_axis(which)
       << "' offset 1\n"
       // Viridis: even in lightness, and for the colour-blind.
       << "  set palette defined (0 '#440154', 1 '#472c7a', 2 '#3b518b', 3 '#2c718e', 4 '#21908d', "
          "5 '#27ad81', 6 '#5cc863', 7 '#aadc32', 8 '#fde725')\n"
       << plots.str() << "  unset multiplot\n";
  return drawing::make_picture(file_name(which) + "_layers", data.str(), body.str(),
                               rows > 1 ? 640 : 380);
}

// Mean over the layers, and a band of one standard deviation where they differ.
void add_taper(std::vector<series>& all, const model& m) {
  const std::size_t n = m.layers[0].exponents.size();
  const auto layers = static_cast<double>(m.layers.size());
  series mean{legend(m.label), {}, line_style(m), m.label};
  series band{"", {}, "filledcurves closed", m.label, "fs transparent solid 0.2 noborder"};
  double widest = 0;
  std::vector<std::pair<double, double>> below;
  for (std::size_t k = 0; k < n; ++k) {
    double sum = 0, squares = 0;
    for (const auto& l : m.layers) sum += l.exponents[k];
    for (const auto& l : m.layers) squares += std::pow(l.exponents[k] - sum / layers, 2);
    const double deviation = std::sqrt(squares / layers);
    const double rank = n > 1 ? static_cast<double>(k) / static_cast<double>(n - 1) : 0;
    mean.points.emplace_back(rank, sum / layers);
    band.points.emplace_back(rank, sum / layers + deviation);
    below.emplace_back(rank, sum / layers - deviation);
    widest = std::max(widest, deviation);
  }
  band.points.insert(band.points.end(), below.rbegin(), below.rend());
  if (widest > 1e-6) all.push_back(std::move(band));
  all.push_back(std::move(mean));
}

drawing::picture taper_picture(family which, std::span<const model> models) {
  std::vector<series> all{{"linear", {{0, 1}, {1, 0}}, "lines"}};
  for (const auto& m : models)
    if (!m.layers[0].exponents.empty()) add_taper(all, m);
  if (all.size() == 1) return {};
  return drawing::make_picture(file_name(which) + "_taper", drawing::data_blocks(all),
                               "  set title 'Exponents of the taper, mean of all layers'\n"
                               "  set xlabel 'rank of the " +
                                   channels_name(which) +
                                   " (0: slowest, 1: fastest)'\n"
                                   "  set ylabel 'exponent {/Symbol a}'\n  set yrange "
                                   "[-0.02:1.02]\n" +
                                   drawing::plot_command(all));
}

}  // namespace

std::string timescales_csv(std::span<const model> models) {
  std::string text = "model,layer,channel,timescale,alpha\n";
  for (const auto& m : models)
    for (std::size_t l = 0; l < m.layers.size(); ++l)
      for (std::size_t k = 0; k < m.layers[l].timescales.size(); ++k) {
        const auto& exponents = m.layers[l].exponents;
        text += m.label + ',' + std::to_string(l) + ',' + std::to_string(k) + ',' +
                significant(m.layers[l].timescales[k], 10) + ',' +
                (exponents.empty() ? "" : significant(exponents[k], 10)) + '\n';
      }
  return text;
}

std::vector<std::string> picture_names(family which) {
  std::vector<std::string> names;
  for (const char* const what : {"_density", "_layer", "_layers", "_taper"})
    names.push_back(file_name(which) + what);
  return names;
}

std::vector<drawing::picture> pictures(family which, std::span<const model> models, int layer) {
  std::vector<drawing::picture> drawn{density_picture(which, models),
                                      layer_picture(which, models, layer),
                                      layers_picture(which, models)};
  if (auto taper = taper_picture(which, models); !taper.name.empty())
    drawn.push_back(std::move(taper));
  return drawn;
}

}  // namespace figures
