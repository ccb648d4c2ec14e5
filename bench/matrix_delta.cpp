// SPDX-License-Identifier: Apache-2.0
#include "matrix_rows.hpp"

void bench::offer_delta() {
  offer_forms<gated_deltanet_model>();
  offer_forms<rwkv7_model>();
}
