// SPDX-License-Identifier: Apache-2.0
#include <ebb/decay/average.hpp>
#include <ebb/decay/constant.hpp>
#include <ebb/recurrence/delta.hpp>

void call(std::span<const double> rates, const ebb::delta_data<float>& data) {
  ebb::delta(ebb::normalised(ebb::constant_decay()).bind(rates), data);
}
