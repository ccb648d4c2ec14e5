// SPDX-License-Identifier: Apache-2.0
#include "figures/options.hpp"

#include <charconv>
#include <utility>

#include "command_line/parse.hpp"

namespace figures {
namespace {

constexpr std::size_t most_checkpoints = 4;

family family_of(const std::string& text) {
  if (text == "mamba2") return family::mamba2;
  if (text == "gated_deltanet") return family::gated_deltanet;
  if (text == "rwkv7") return family::rwkv7;
  throw usage_error("--model: need mamba2, gated_deltanet or rwkv7, got '" + text + "'");
}

double whole_number(const std::string& name, const std::string& text, double least, double most) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, status] = std::from_chars(text.data(), last, value);
  // Not the reverse comparison, so that NaN is refused.
  if (status != std::errc() || end != last || !(value >= least && value <= most) ||
      value != static_cast<double>(static_cast<long long>(value)))
    throw usage_error(name + ": need a whole number from " +
                      std::to_string(static_cast<long long>(least)) + " to " +
                      std::to_string(static_cast<long long>(most)) + ", got '" + text + "'");
  return value;
}

// What a legend, a table and gnuplot can show without quotes.
std::string plain(std::string text) {
  for (char& c : text)
    if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == ' ' ||
          c == '.' || c == '-' || c == '+' || c == '_'))
      c = '-';
  return text.substr(0, 40);
}

bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

// [LABEL=]FILE; a file whose name has a '=' is a file.
checkpoint checkpoint_of(const std::string& text) {
  const auto at = text.find('=');
  std::string label;
  std::filesystem::path path = text;
  if (!is_file(path) && at != std::string::npos) {
    label = text.substr(0, at);
    path = text.substr(at + 1);
  }
  if (!is_file(path)) throw usage_error("--checkpoint: need a file, got '" + path.string() + "'");
  if (label.empty()) {
    label = path.stem().string();
    const auto folder = std::filesystem::absolute(path).parent_path().filename().string();
    if (label == "model" && !folder.empty()) label = folder;
  }
  return {plain(label), path};
}

}  // namespace

options parse_options(int argc, const char* const* argv) {
  CLI::App app{
      "Draws the timescales and taper exponents of a model's layers, as Figures 1 to 3 of arXiv "
      "2604.07658 do: their density over all layers, one layer from slow to fast, all layers as a "
      "heat map, and the exponents against the linear taper. Without a checkpoint it takes the "
      "paper's reference configurations as they are initialised.",
      "figures"};
  std::vector<std::string> checkpoints;
  std::string model = "mamba2", horizon = "2048", layer, out = "figures";
  bool as_published = false;
  app.add_option("--checkpoint", checkpoints,
                 "a model's safetensors file, and its name in the pictures; up to 4 times")
      ->type_name("[LABEL=]FILE")
      ->allow_extra_args(false);
  app.add_option("--model", model,
                 "mamba2, gated_deltanet or rwkv7: whose parameters the files hold, or whose "
                 "initialisation is drawn (default mamba2)")
      ->type_name("NAME");
  app.add_option("--train-length", horizon, "T, steps, 3 to 1e12 (default 2048)")
      ->type_name("STEPS");
  auto* const layer_option =
      app.add_option("--layer", layer,
                     "the layer whose timescales are sorted, from 0 (default the middle one of the "
                     "model with the fewest)")
          ->type_name("NUMBER");
  app.add_flag("--as-published", as_published,
               "initial deltas from the published inverse of softplus, which adds 1e-6, instead of "
               "the exact one");
  app.add_option("--out", out, "where to write; made if missing (default figures)")
      ->type_name("DIR");
  app.footer("Exit status: 0 done, 1 failed, 2 bad options.");
  command_line::parse(app, argc, argv);

  options o;
  o.which = family_of(model);
  o.horizon = whole_number("--train-length", horizon, 3, 1e12);
  if (layer_option->count() > 0)
    o.layer = static_cast<int>(whole_number("--layer", layer, 0, 9999));
  if (checkpoints.size() > most_checkpoints)
    throw usage_error("--checkpoint: need at most " + std::to_string(most_checkpoints) +
                      " files, got " + std::to_string(checkpoints.size()));
  for (const auto& text : checkpoints) {
    auto next = checkpoint_of(text);
    for (const auto& c : o.checkpoints)
      if (c.label == next.label)
        throw usage_error("--checkpoint: need names that differ, got '" + c.label +
                          "' twice; say LABEL=FILE");
    o.checkpoints.push_back(std::move(next));
  }
  if (as_published && !checkpoints.empty())
    throw usage_error("--as-published: need an initialisation, got a checkpoint");
  if (as_published) o.inverse = ebb::gap_inverse::as_published;
  if (out.empty()) throw usage_error("--out: need a directory, got ''");
  o.out = out;
  return o;
}

}  // namespace figures
