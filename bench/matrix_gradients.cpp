// SPDX-License-Identifier: Apache-2.0
#include "matrix_gradients.hpp"

void bench::offer_matrix_gradients() {
  offer_gradients<mamba2_model>();
  offer_gradients<gla_model>();
  offer_gradients<gated_deltanet_model>();
  offer_gradients<rwkv7_model>();
}
