// SPDX-License-Identifier: Apache-2.0
/// @file   ebb/readout/linear.hpp
/// @brief  The linear readout y = C h + D x.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <ebb/core/error.hpp>
#include <ebb/readout/concept.hpp>

namespace ebb::inline EBB_ABI {

/// Linear readout with fixed weights:  y_i = sum_k C_ik h_k + sum_j D_ij x_j.
///
/// Shapes: C (M x N), D (M x K) or left out, by rows; h (N), x (K), y (M).
/// Cost: M (N + K) multiply-adds, no allocation.
/// Accuracy: sums in order, error at most (N + K) u sum of the absolute products, to first order.
template <real_scalar Real>
class linear_readout {
 public:
  /// @param outputs        M >= 0
  /// @param state_weights  C, M rows of N >= 0 values each
  /// @param input_weights  D, M rows of K values each; empty: K = 0, no skip term
  /// @throws shape_error unless both sizes are multiples of M (none for M = 0).
  linear_readout(index_t outputs, std::vector<Real> state_weights,
                 std::vector<Real> input_weights = {})
      : outputs_(static_cast<std::size_t>(outputs)),
        state_weights_(std::move(state_weights)),
        input_weights_(std::move(input_weights)) {
    detail::require_shape(outputs >= 0, "linear_readout", "need outputs >= 0", outputs);
    channels_ = columns(state_weights_);
    inputs_ = columns(input_weights_);
  }

  index_t outputs() const { return static_cast<index_t>(outputs_); }
  index_t channels() const { return static_cast<index_t>(channels_); }
  index_t inputs() const { return static_cast<index_t>(inputs_); }

  /// @throws shape_error unless h has N, x K and y M values; the position is not used. Without a
  ///   skip term x may have any length.
  void apply(index_t /*position*/, std::span<const Real> h, std::span<const Real> x,
             std::span<Real> y) const {
    detail::require_shape(h.size() == channels_, "linear_readout::apply",
                          "need a state of N channels (got, N)", h.size(), channels_);
    detail::require_shape(inputs_ == 0 || x.size() == inputs_, "linear_readout::apply",
                          "need K inputs (got, K)", x.size(), inputs_);
    detail::require_shape(y.size() == outputs_, "linear_readout::apply", "need M outputs (got, M)",
                          y.size(), outputs_);
    for (std::size_t i = 0; i < outputs_; ++i) {
      Real sum(0);
      for (std::size_t k = 0; k < channels_; ++k) sum += state_weights_[i * channels_ + k] * h[k];
      for (std::size_t j = 0; j < inputs_; ++j) sum += input_weights_[i * inputs_ + j] * x[j];
      y[i] = sum;
    }
  }

 private:
  std::size_t columns(const std::vector<Real>& weights) const {
    detail::require_shape(outputs_ > 0 ? weights.size() % outputs_ == 0 : weights.empty(),
                          "linear_readout", "need weights of M full rows (values, M)",
                          weights.size(), outputs_);
    return outputs_ > 0 ? weights.size() / outputs_ : 0;
  }

  std::size_t outputs_, channels_ = 0, inputs_ = 0;
  std::vector<Real> state_weights_, input_weights_;
};

static_assert(readout_for<linear_readout<float>, float>);
static_assert(readout_for<linear_readout<double>, double>);

}  // namespace ebb::inline EBB_ABI
