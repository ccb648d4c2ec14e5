// SPDX-License-Identifier: Apache-2.0
#include "figures/spectra.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

#include <ebb/decay/post.hpp>
#include <ebb/spectrum/geometric.hpp>
#include <ebb/spectrum/random.hpp>

namespace figures {
namespace {

double sound_timescale(double steps) {
  if (!(steps > 0 && steps <= std::numeric_limits<double>::max()))
    throw std::domain_error("need timescales above 0 and finite, got " + std::to_string(steps));
  return steps;
}

std::vector<double> ordered_rates(double base, std::vector<double> deltas) {
  const auto channels = static_cast<ebb::index_t>(deltas.size()) + 1;
  return ebb::rates_of<double>(ebb::ordered_spectrum<>(base, std::move(deltas)), channels);
}

// The published exponents; they depend on ratios of rates only.
std::vector<double> exponents_by_gaps(std::span<const double> rates, double horizon) {
  const auto bound = ebb::post_taper::absolute_by_gaps(horizon).bind(rates);
  return {bound.alpha().begin(), bound.alpha().end()};
}

// RWKV-7 draws each head of 64 channels apart: -1 to 1, signed squares.
std::vector<double> zigzag(int channels) {
  constexpr int head = 64;
  std::vector<double> values;
  for (int k = 0; k < channels; ++k) {
    const double x = (k % head - 31.5) / 31.5;
    values.push_back(x * std::abs(x));
  }
  return values;
}

std::vector<double> rwkv7_bias(int channels, int layer, int layers) {
  auto bias = zigzag(channels);
  const double depth = static_cast<double>(layer) / (layers - 1);
  for (int k = 0; k < channels; ++k) {
    const double rank = static_cast<double>(k) / (channels - 1);
    double& b = bias[static_cast<std::size_t>(k)];
    b = -5.5 + 6 * std::pow(rank, 1 + std::pow(depth, 0.3)) + 2.5 * b;
  }
  return bias;
}

layer initial_native(family which, int channels, int index, int layers) {
  if (which == family::rwkv7) return rwkv7(rwkv7_bias(channels, index, layers));
  std::vector<double> a_log;
  ebb::uniform_stream uniform(static_cast<std::uint64_t>(1000 * channels + index));
  for (int h = 0; h < channels; ++h)
    a_log.push_back(std::log(which == family::mamba2 ? h + 1 : 16 * uniform.next()));
  return native(a_log);
}

layer initial_post(family which, int channels, double horizon, ebb::gap_inverse inverse) {
  // exp(A_log), or exp(w0), equally spaced in the logarithm between two ends.
  double low = 1, high = horizon;
  if (which == family::mamba2) low = 1 / (reference_step * horizon), high = 1 / reference_step;
  if (which == family::rwkv7) {
    const double slowest = std::exp(0.5) / horizon;  // logistic(w0)
    low = slowest / (1 - slowest), high = std::exp(0.5);
  }
  const auto targets = ebb::rates_of<double>(ebb::geometric_spectrum::rates(low, high), channels);
  const auto spectrum = ebb::ordered_spectrum<>::from_rates(targets, inverse);
  std::vector<double> deltas(spectrum.delta().begin(), spectrum.delta().end());
  if (which != family::rwkv7) return native_post(spectrum.theta(), std::move(deltas), horizon);
  auto bias = zigzag(channels);
  for (double& b : bias) b *= 2.5;
  return rwkv7_post(spectrum.theta(), std::move(deltas), bias, horizon);
}

struct configuration {
  const char* size;
  int channels, layers;
};

std::pair<std::string, std::vector<configuration>> reference(family which) {
  if (which == family::mamba2) return {"Mamba-2", {{"180M", 24, 24}, {"440M", 32, 48}}};
  if (which == family::rwkv7) return {"RWKV-7", {{"C = 768", 768, 12}, {"C = 1024", 1024, 24}}};
  return {"Gated DeltaNet", {{"H = 6", 6, 24}, {"H = 8", 8, 48}}};
}

}  // namespace

layer native(std::span<const double> a_log) {
  layer result;
  for (const double a : a_log)
    result.timescales.push_back(sound_timescale(std::exp(-a) / reference_step));
  return result;
}

layer native_post(double base, std::vector<double> deltas, double horizon) {
  const auto rates = ordered_rates(base, std::move(deltas));
  layer result{{}, exponents_by_gaps(rates, horizon)};
  for (const double r : rates)
    result.timescales.push_back(sound_timescale(1 / (r * reference_step)));
  return result;
}

layer rwkv7(std::span<const double> bias) {
  layer result;
  for (const double b : bias)
    result.timescales.push_back(sound_timescale(std::exp(0.5) * (1 + std::exp(-b))));
  return result;
}

layer rwkv7_post(double base, std::vector<double> deltas, std::span<const double> bias,
                 double horizon) {
  const auto odds = ordered_rates(base, std::move(deltas));  // e^w0
  if (bias.size() != odds.size())
    throw std::invalid_argument("need as many biases as channels, " + std::to_string(odds.size()) +
                                ", got " + std::to_string(bias.size()));
  layer result;
  std::vector<double> base_rates;  // logistic(w0), by steps that keep the order
  for (std::size_t k = 0; k < odds.size(); ++k) {
    base_rates.push_back(1 / (1 + 1 / odds[k]));
    result.timescales.push_back(
        sound_timescale(std::exp(0.5) * (1 + std::exp(-bias[k]) / odds[k])));
  }
  result.exponents = exponents_by_gaps(base_rates, horizon);
  return result;
}

std::vector<model> initial_models(family which, double horizon, ebb::gap_inverse inverse) {
  std::vector<model> models;
  const auto [name, sizes] = reference(which);
  for (const auto& [size, channels, layers] : sizes) {
    model plain{name + ' ' + size, {}}, post{name + " PoST " + size, {}};
    for (int l = 0; l < layers; ++l) {
      plain.layers.push_back(initial_native(which, channels, l, layers));
      post.layers.push_back(initial_post(which, channels, horizon, inverse));
    }
    models.push_back(std::move(plain));
    models.push_back(std::move(post));
  }
  return models;
}

}  // namespace figures
