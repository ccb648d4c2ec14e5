// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/readout/concept.hpp
/// @brief  What turns a state into an output.
#pragma once

#include <concepts>
#include <span>

#include <ebb/core/numeric.hpp>

namespace ebb::inline EBB_ABI {

/// A map from the state and the input of one step to its output, without a state of its own.
///
///   r.apply(position, h_row, x_row, y_row)
///
///   position   absolute 1-based position; a readout may depend on it
///   h_row      the state of N channels, read
///   x_row      the input of the step, read; may be empty where there is no skip term
///   y_row      the output, written; apart from h_row and x_row
template <class R, class Real>
concept readout_for = real_scalar<Real> &&
    requires(const R& r, index_t position, std::span<const Real> row, std::span<Real> out) {
  { r.apply(position, row, row, out) } -> std::same_as<void>;
};

}  // namespace ebb::inline EBB_ABI
