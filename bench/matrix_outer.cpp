// SPDX-License-Identifier: Apache-2.0
#include "matrix_rows.hpp"

void bench::offer_outer() {
  offer_forms<mamba2_model>();
  offer_forms<mamba1_model>();
  offer_forms<gla_model>();
  offer_forms<retnet_model>();
}
