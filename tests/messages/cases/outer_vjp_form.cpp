// SPDX-License-Identifier: Apache-2.0
#include <ebb/core/array.hpp>
#include <ebb/recurrence/backend/key_lanes.hpp>
#include <ebb/recurrence/matrix_vjp.hpp>

void call(ebb::array<float>& a, const ebb::outer_data<float>& data) {
  const ebb::matrix_cotangents<float> cotangents;
  const ebb::matrix_gradients<float> gradients;
  ebb::outer_vjp(a, data, cotangents, gradients, {}, ebb::key_lanes{});  // it has no gradients
}
