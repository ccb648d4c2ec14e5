// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include <ebb/core/array.hpp>
#include <ebb/recurrence/outer.hpp>

void call(ebb::array<float>& a, const ebb::outer_data<std::complex<float>>& data) {
  ebb::outer(a, data);
}
