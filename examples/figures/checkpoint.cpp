// SPDX-License-Identifier: Apache-2.0
#include "figures/checkpoint.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <string>

#include "safetensors/reader.hpp"

namespace figures {
namespace {

constexpr std::uint64_t most_channels = 1'000'000;
constexpr std::size_t most_layers = 10'000;

struct parameter_names {
  std::string base, deltas;
};

parameter_names names_of(family which) {
  if (which == family::mamba2) return {"A_log_base", "A_log_deltas"};
  if (which == family::gated_deltanet) return {"A_log_base", "A_log_delta"};
  return {"w0_base", "w0_delta"};
}

// Whether the last part of a name, after a dot or alone, is this.
bool ends_with_part(const std::string& name, const std::string& part) {
  return name == part || name.ends_with('.' + part);
}

bool is_decay_bias(const std::string& name) {
  return ends_with_part(name, "bias") &&
         (name.starts_with("w_lora.") || name.find(".w_lora.") != std::string::npos);
}

class layers_reader {
 public:
  layers_reader(const std::filesystem::path& path, family which, double horizon)
      : path_(path), which_(which), horizon_(horizon), file_(path) {}

  std::vector<layer> read() const {
    const auto names = names_of(which_);
    std::vector<std::string> found =
        by_layer([&](const std::string& name) { return ends_with_part(name, names.base); });
    const bool tapered = !found.empty();
    if (!tapered && which_ == family::rwkv7) found = by_layer(is_decay_bias);
    if (!tapered && which_ != family::rwkv7)
      found = by_layer([](const std::string& name) { return ends_with_part(name, "A_log"); });
    if (found.empty())
      refuse("need tensors named " + names.base + " (PoST) or " +
             (which_ == family::rwkv7 ? "w_lora ... bias" : "A_log") + " (native), got none");
    std::vector<layer> layers;
    for (const auto& name : found) {
      try {
        layers.push_back(tapered ? tapered_layer(name, names) : native_layer(name));
      } catch (const std::domain_error& problem) {
        refuse(name, problem.what());
      }
      if (layers.back().timescales.size() != layers.front().timescales.size())
        refuse(name, "need as many channels as layer 0, " +
                         std::to_string(layers.front().timescales.size()) + ", got " +
                         std::to_string(layers.back().timescales.size()));
    }
    return layers;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw checkpoint_error(path_.string() + ": " + what);
  }
  [[noreturn]] void refuse(const std::string& name, const std::string& what) const {
    refuse("tensor '" + safetensors::shown(name) + "': " + what);
  }

  // The names that pass, by the number in them, which must be 0, 1, ...
  template <class Passes>
  std::vector<std::string> by_layer(const Passes& passes) const {
    std::map<std::size_t, std::string> found;
    for (const auto& [name, ignored] : file_.tensors()) {
      if (!passes(name)) continue;
      const std::size_t number = layer_number(name);
      if (!found.emplace(number, name).second)
        refuse(name, "need one tensor of its kind a layer, got " +
                         safetensors::shown(found[number]) + " as well");
    }
    std::vector<std::string> names;
    for (const auto& [number, name] : found) {
      if (number != names.size())
        refuse(name, "need layers 0, 1, ..., got no " + std::to_string(names.size()));
      names.push_back(name);
    }
    return names;
  }

  std::size_t layer_number(const std::string& name) const {
    std::istringstream parts(name);
    for (std::string part; std::getline(parts, part, '.');)
      if (!part.empty() && part.size() <= 5 &&
          std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); }))
        if (const auto number = static_cast<std::size_t>(std::stoul(part)); number < most_layers)
          return number;
    refuse(name,
           "need a layer number below " + std::to_string(most_layers) + " in the name, got none");
  }

  std::vector<double> vector_of(const std::string& name) const {
    const auto found = file_.tensors().find(name);
    if (found == file_.tensors().end()) refuse(name, "need this tensor, got none");
    const auto& shape = found->second.shape;
    if (shape.size() != 1 || shape[0] > most_channels)
      refuse(name, "need one dimension of at most " + std::to_string(most_channels) + ", got " +
                       (shape.size() == 1 ? std::to_string(shape[0])
                                          : std::to_string(shape.size()) + " dimensions"));
    return file_.read<double>(name);
  }

  double scalar_of(const std::string& name) const {
    const auto& shape = file_.tensors().at(name).shape;
    if (!(shape.empty() || (shape.size() == 1 && shape[0] == 1)))
      refuse(name, "need a scalar, got another shape");
    return file_.read<double>(name)[0];
  }

  layer native_layer(const std::string& name) const {
    const auto values = vector_of(name);
    if (values.empty()) refuse(name, "need a channel, got none");
    return which_ == family::rwkv7 ? rwkv7(values) : native(values);
  }

  layer tapered_layer(const std::string& name, const parameter_names& names) const {
    const std::string prefix = name.substr(0, name.size() - names.base.size());
    const double base = scalar_of(name);
    auto deltas = vector_of(prefix + names.deltas);
    if (which_ != family::rwkv7) return native_post(base, std::move(deltas), horizon_);
    std::vector<std::string> biases;
    const auto& all = file_.tensors();
    for (auto at = all.lower_bound(prefix); at != all.end() && at->first.starts_with(prefix); ++at)
      if (is_decay_bias(at->first.substr(prefix.size()))) biases.push_back(at->first);
    if (biases.size() != 1)
      refuse(prefix + "w_lora",
             "need one bias below this name, got " + std::to_string(biases.size()));
    const auto bias = vector_of(biases[0]);
    if (bias.size() != deltas.size() + 1)
      refuse(biases[0], "need as many as channels, " + std::to_string(deltas.size() + 1) +
                            ", got " + std::to_string(bias.size()));
    return rwkv7_post(base, std::move(deltas), bias, horizon_);
  }

  const std::filesystem::path& path_;
  family which_;
  double horizon_;
  safetensors::reader file_;
};

}  // namespace

std::vector<layer> read_layers(const std::filesystem::path& path, family which, double horizon) {
  return layers_reader(path, which, horizon).read();
}

}  // namespace figures
