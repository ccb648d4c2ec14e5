// SPDX-License-Identifier: Apache-2.0
/// @file   figures/checkpoint.hpp
/// @brief  The layers of a published or own model, from its safetensors file.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <vector>

#include "figures/spectra.hpp"

namespace figures {

/// A file has no such model; the message is one line that names the file and what was looked for.
class checkpoint_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads the decay parameters of all layers; nothing else of the file is read.
///
/// | family         | with PoST                                           | native              |
/// |----------------|-----------------------------------------------------|---------------------|
/// | Mamba-2        | `A_log_base` [], `A_log_deltas` [H-1]               | `A_log` [H]         |
/// | Gated DeltaNet | `A_log_base` [], `A_log_delta` [H-1]                | `A_log` [H]         |
/// | RWKV-7         | `w0_base` [], `w0_delta` [C-1], `w_lora*.bias` [C]  | `w_lora*.bias` [C]  |
///
/// Names are what comes last in a tensor's name; the first part of it that is a number is the
/// layer. A file with a base has PoST.
///
/// @param horizon  T, the training length, > 1 steps
/// @throws checkpoint_error for missing or misshapen parameters, layers that are not 0, 1, ..., or
///   differ in their number of channels, parameters without a finite timescale;
///   safetensors::error
std::vector<layer> read_layers(const std::filesystem::path& path, family which, double horizon);

}  // namespace figures
