// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include <ebb/core/dispatch.hpp>

#include "more.hpp"

consumer::kernels consumer::kernels_here() {
  return {ebb::name_of(ebb::compiled_level).data(), &flags_of_object, &sum_of_vector, &scan};
}
