// SPDX-License-Identifier: Apache-2.0
/// @file   figures/spectra.hpp
/// @brief  From a model's parameters, learned or initial, to timescales and taper exponents.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <ebb/spectrum/ordered.hpp>

namespace figures {

enum class family { mamba2, gated_deltanet, rwkv7 };

/// The step size dt at which timescales of Mamba-2 and Gated DeltaNet are stated: dt depends on the
/// input, and 0.05 is the one that Mamba-2 PoST is initialised for.
inline constexpr double reference_step = 0.05;

/// One layer. Channels are heads, for RWKV-7 key channels, in the model's order.
struct layer {
  std::vector<double> timescales;  ///< 1 / rate at position 1, steps
  std::vector<double> exponents;   ///< alpha of the taper; none if the model has no taper
};

struct model {
  std::string label;
  std::vector<layer> layers;
};

/// Mamba-2 and Gated DeltaNet: rate exp(A_log) dt, no taper.
/// @throws std::domain_error when a timescale is not above 0 and finite
layer native(std::span<const double> a_log);

/// The same with PoST: exp(A_log) the ordered spectrum, alpha by gaps with t_ref = 1.
/// @param horizon  T, the training length, > 1 steps
/// @throws std::domain_error when a parameter is not finite or a rate not in double's range
layer native_post(double base, std::vector<double> deltas, double horizon);

/// RWKV-7: rate e^(-1/2) logistic(bias), no taper; bias that of w_lora.
/// @throws std::domain_error when a timescale is not above 0 and finite
layer rwkv7(std::span<const double> bias);

/// The same with PoST: rate e^(-1/2) logistic(w0 + bias), w0 ordered; alpha by the gaps of
/// log logistic(w0).
/// @param bias  as many as channels
/// @throws std::domain_error as above; std::invalid_argument when the sizes differ
layer rwkv7_post(double base, std::vector<double> deltas, std::span<const double> bias,
                 double horizon);

/// The two reference configurations of a family, in native form and with PoST, as initialised.
///
/// | family         | channels, layers | native                               | PoST              |
/// |----------------|------------------|--------------------------------------|-------------------|
/// | Mamba-2        | 24, 24; 32, 48   | exp(A_log) = 1, 2, ... H             | timescales [1, T] |
/// | Gated DeltaNet | 6, 24; 8, 48     | exp(A_log) uniform on (0, 16],       | A_log from 0 to   |
/// |                |                  | seed = 1000 H + layer                | log T             |
/// | RWKV-7         | 768, 12; 1024, 24| bias: a curve by layer and a zigzag  | w0 to 0.5, zigzag |
///
/// @param horizon  T, the training length, 3 <= T < inf steps
/// @param inverse  which inverse of softplus makes the deltas
/// Source: the published code of [PoST], [Mamba2], [GatedDeltaNet] and [RWKV7].
std::vector<model> initial_models(family which, double horizon, ebb::gap_inverse inverse);

}  // namespace figures
